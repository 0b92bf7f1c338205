/*
 * test_host_work.c - how fast the CPUs of a host are, on a machine that is made up: its CPUs, the
 * time that each of them takes, and its memory are this test's.
 * tier: check; load: cpu1; program: own
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#undef fail /* log.h has a function of that name */

#include <jansson.h>
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "accept/accept.h"
#include "base/log.h"
#include "host/host.h"

/* ---- the machine ---- */

#define CPUS 3
static const int numbers[CPUS] = {0, 2, 5};
static long piece_ns[CPUS]; /* that a piece of work takes there */
static size_t available;    /* bytes of memory */

static _Thread_local int own = -1; /* the CPU of the thread, by its place; -1: any */

/* A thread of a CPU looks at the clock after each piece of its work. */
int clock_gettime(clockid_t clock, struct timespec *time)
{
    static _Thread_local long now;
    (void)clock;
    now += own < 0 ? 1 : piece_ns[own];
    *time = (struct timespec){now / 1000000000, now % 1000000000};
    return 0;
}

int sched_getaffinity(pid_t thread, size_t size, cpu_set_t *cpus)
{
    (void)thread;
    memset(cpus, 0, size);
    for (int i = 0; i < CPUS; i++)
        CPU_SET(numbers[i], cpus);
    return 0;
}

int sched_setaffinity(pid_t thread, size_t size, const cpu_set_t *cpus)
{
    (void)thread, (void)size;
    for (int i = 0; i < CPUS && CPU_COUNT(cpus) == 1; i++)
        if (CPU_ISSET(numbers[i], cpus))
            own = i;
    return 0;
}

size_t memory_available(void)
{
    return available;
}

/* Control groups have no limits, and nothing asks for pools. */
bool memory_group_limit(size_t *bytes)
{
    (void)bytes;
    return false;
}

void memory_look(struct memory_pool pools[MEMORY_POOLS])
{
    memset(pools, 0, MEMORY_POOLS * sizeof pools[0]);
}

const struct memory_pool *memory_scarcer(const struct memory_pool pools[MEMORY_POOLS])
{
    return &pools[0];
}

/* ---- measurements ---- */

#define PIECE_STEPS 100000.0
#define PIECE_BYTES 1048576.0
/* Three buffers of a piece for each CPU and one more, in a quarter of the memory. */
#define MEMORY_LEAST ((size_t)(4 * 3 * (CPUS + 1) * PIECE_BYTES))

/* The caller's. */
static json_t *results_of(void)
{
    FILE *file = tmpfile();
    assert_non_null(file);
    assert_int_equal(host_work_run(WORK_CPU, fileno(file)), STATUS_OK);
    rewind(file);
    json_t *document = json_loadf(file, 0, NULL);
    assert_non_null(document);
    fclose(file);
    return document;
}

static bool is_near(double value, double expected)
{
    return fabs(value / expected - 1) < 1e-9;
}

/* `part`: NULL: the line is of all. */
static void line_is(const json_t *line, const char *name, const char *key, double expected,
                    const char *part)
{
    assert_string_equal(json_string_value(json_object_get(line, "collective")), name);
    assert_int_equal(json_integer_value(json_object_get(line, "ranks")), CPUS);
    assert_true(is_near(json_number_value(json_object_get(line, key)), expected));
    assert_int_equal(json_object_get(line, "part") != NULL, part != NULL);
    if (part)
        assert_string_equal(json_string_value(json_object_get(line, "part")), part);
}

/* The slowest core is the one at this place. */
static void slowest_is(int place)
{
    char part[16];
    double pieces = 0; /* a second, of all */
    json_t *document = results_of(), *lines = json_object_get(document, "results");
    for (int i = 0; i < CPUS; i++)
        pieces += 1e9 / (double)piece_ns[i];
    snprintf(part, sizeof part, "CPU %d", numbers[place]);
    assert_int_equal(json_array_size(lines), 3);
    line_is(json_array_get(lines, 0), "core", "Msteps",
            PIECE_STEPS / 1e6 * 1e9 / (double)piece_ns[place], part);
    line_is(json_array_get(lines, 1), "copy", "GBps", PIECE_BYTES / 1e9 * pieces, NULL);
    line_is(json_array_get(lines, 2), "sum", "GBps", PIECE_BYTES / 1e9 * pieces, NULL);
    json_decref(document);
}

/* The time of a work is no multiple of what a piece takes. */
static void slowest_core_is_named_and_all_are_added_up(void **state)
{
    (void)state;
    available = MEMORY_LEAST;
    for (int slow = 0; slow < CPUS; slow++) {
        for (int i = 0; i < CPUS; i++)
            piece_ns[i] = i == slow ? 90000000 : 50000000 + 7000000 * i;
        slowest_is(slow);
    }
    piece_ns[0] = piece_ns[1] = piece_ns[2] = 70000000;
    slowest_is(0); /* the first of equals */
}

static void memory_may_be_too_little(void **state)
{
    (void)state;
    struct log log;
    struct failure failure = {.text = ""};
    available = MEMORY_LEAST - 1;
    log_init(&log, -1, 0);
    log_attach(&log);
    assert_int_equal(host_work_run(WORK_CPU, -1), STATUS_ERROR);
    assert_true(log_failure(&log, &failure));
    assert_non_null(strstr(failure.text, "too little memory, to measure this host by itself"));
    log_attach(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slowest_core_is_named_and_all_are_added_up),
        cmocka_unit_test(memory_may_be_too_little),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
