/*
 * test_run_watch.c - a process learns when it was stopped, and when not; a thread, how long others
 * had its core.
 * tier: check; load: wait
 */
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/run_watch.h"

#define STOPPED_MS 600
#define MS         1000000u

static void sleep_ms(long ms)
{
    nanosleep(&(struct timespec){.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000}, NULL);
}

static volatile sig_atomic_t goes_on;

static void note_going_on(int signal_number)
{
    (void)signal_number;
    goes_on = 1;
}

/* Says that it runs, is stopped, and says what it noted: before the watch, meanwhile, in the first
 * half of that time, and in all; and how long it was. */
static _Noreturn void watched_process(int to)
{
    struct run_watch watch = {.runs = false};
    uint64_t began = clock_ns();
    signal(SIGCONT, note_going_on);
    run_watch_start(&watch, 0.3, 0.01);
    sleep_ms(50);
    uint64_t halted = clock_ns();
    if (write(to, "", 1) != 1)
        _exit(1);
    while (!goes_on) /* it is stopped in here */
        cpu_relax();
    uint64_t ended = clock_ns();
    for (int i = 0; i < 200 && atomic_load(&watch.gaps) == 0; i++)
        sleep_ms(10);
    sleep_ms(100); /* what is past is not noted again */
    uint64_t noted[] = {run_watch_gaps_within(&watch, 0, began),
                        run_watch_gaps_within(&watch, halted, ended),
                        run_watch_gaps_within(&watch, halted, halted + STOPPED_MS * MS / 2),
                        atomic_load(&watch.gaps),
                        atomic_load(&watch.gap_us),
                        (clock_ns() - began) / 1000};
    run_watch_stop(&watch);
    _exit(write(to, noted, sizeof noted) != (ssize_t)sizeof noted);
}

static void a_stop_is_noted_with_its_moment(void **state)
{
    (void)state;
    int ends[2], status;
    char byte;
    uint64_t noted[6];
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    if (child == 0)
        watched_process(ends[1]);
    assert_int_equal(read(ends[0], &byte, 1), 1);
    kill(child, SIGSTOP);
    sleep_ms(STOPPED_MS);
    kill(child, SIGCONT);
    assert_int_equal(read(ends[0], noted, sizeof noted), sizeof noted);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(noted[0], 0);
    assert_true(noted[1] > (STOPPED_MS - 100) * MS);
    assert_true(noted[2] > (STOPPED_MS / 2 - 100) * MS && noted[2] <= STOPPED_MS * MS / 2);
    assert_true(noted[3] >= 1);
    assert_in_range(noted[4], (STOPPED_MS - 100) * 1000, noted[5]);
}

static void a_watch_that_was_not_started_knows_nothing(void **state)
{
    (void)state;
    struct run_watch watch = {.runs = false};
    assert_int_equal(run_watch_gaps_within(&watch, 0, UINT64_MAX), 0);
    run_watch_stop(&watch);
}

static void a_watch_that_was_stopped_runs_again(void **state)
{
    (void)state;
    struct run_watch watch = {.runs = false};
    run_watch_start(&watch, 0.001, 0.025);
    run_watch_stop(&watch);
    run_watch_start(&watch, 0.001, 0.025);
    assert_false(atomic_load(&watch.ends));
    assert_int_equal(watch.pause, 25 * MS);
    run_watch_stop(&watch);
}

/* Computes for so long on the first core that it may use. */
static void compute(uint64_t ns)
{
    cpu_set_t cores, first;
    int core = 0;
    assert_int_equal(sched_getaffinity(0, sizeof cores, &cores), 0);
    while (!CPU_ISSET(core, &cores))
        core++;
    CPU_ZERO(&first);
    CPU_SET(core, &first);
    assert_int_equal(sched_setaffinity(0, sizeof first, &first), 0);
    for (uint64_t until = clock_ns() + ns; clock_ns() < until;)
        ;
}

/* Two others compute on the same core: this thread gets a third of it, or less if more want it. */
static void a_thread_knows_how_long_others_had_its_core(void **state)
{
    (void)state;
    const uint64_t ns = 600 * MS;
    pid_t others[2];
    for (int i = 0; i < 2; i++) {
        others[i] = fork();
        if (others[i] == 0) {
            compute(2 * ns);
            _exit(0);
        }
    }
    struct wait_meter waits = {.known = false};
    assert_int_equal(wait_meter_ns(&waits), -1);
    wait_meter_open(&waits);
    if (!waits.known)
        skip(); /* the kernel counts no waits */
    int64_t before = wait_meter_ns(&waits);
    sleep_ms(100);
    uint64_t began = clock_ns();
    assert_in_range(wait_meter_ns(&waits) - before, 0, 50 * MS); /* a sleep is no wait */
    compute(ns);
    uint64_t waited = (uint64_t)(wait_meter_ns(&waits) - before), elapsed = clock_ns() - began;
    assert_in_range(waited, elapsed / 3, elapsed + 50 * MS);
    wait_meter_close(&waits);
    assert_int_equal(wait_meter_ns(&waits), -1);
    for (int i = 0; i < 2; i++)
        assert_int_equal(waitpid(others[i], NULL, 0), others[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_stop_is_noted_with_its_moment),
        cmocka_unit_test(a_watch_that_was_stopped_runs_again),
        cmocka_unit_test(a_watch_that_was_not_started_knows_nothing),
        cmocka_unit_test(a_thread_knows_how_long_others_had_its_core),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
