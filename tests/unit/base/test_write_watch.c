/*
 * test_write_watch.c - one write that takes long is told; many that take long together are not, nor
 * is a wait for a reader or for a core.
 * tier: check; load: cpu1
 */
#include "tests/unit/child.h"

#include <pthread.h>
#include <string.h>
#include <sys/syscall.h>

#include "base/host.h"
#include "base/write_watch.h"

static pthread_barrier_t started;
static pid_t sleeper; /* a thread that is not ready to run */

static void *thread_sleep(void *argument)
{
    sleeper = (pid_t)syscall(SYS_gettid);
    pthread_barrier_wait(&started);
    for (;;)
        pause();
    return argument;
}

/* How a thread writes. */
struct writer {
    bool runs, waits;     /* it is ready to run; it waits for a reader */
    unsigned long pieces; /* that the file takes between two looks */
    double least, most;   /* seconds that the watch is to see after 7 s of 35 looks */
    bool is_told;
};

static const struct writer writers[] = {
    {.least = 6.5, .most = 7.1, .is_told = true},
    {.pieces = 1, .most = 0},
    {.waits = true, .most = 0},
    {.runs = true, .most = 0.6},
};

static int writer_watch(void *argument)
{
    const struct writer *writer = argument;
    pthread_t thread;
    pthread_barrier_init(&started, NULL, 2);
    if (pthread_create(&thread, NULL, thread_sleep, NULL) != 0)
        return 2;
    pthread_barrier_wait(&started);
    while (host_thread_is_ready(sleeper))
        usleep(1000);
    struct write_watch watch = {.thread = writer->runs ? (pid_t)syscall(SYS_gettid) : sleeper};
    double seconds = 0, most = 0;
    for (int look = 0; look <= 35; look++) {
        seconds = write_watch_look(&watch, "the file", writer->pieces * (unsigned long)look,
                                   writer->waits, 100 + look * 0.2);
        most = seconds > most ? seconds : most;
    }
    return seconds >= writer->least && most <= writer->most ? 0 : 1;
}

static void one_write_that_takes_long_is_told_once(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof writers / sizeof writers[0]; i++) {
        struct writer writer = writers[i];
        const struct child *child = child_run(writer_watch, &writer);
        const char *told = strstr(child->err, "takes long");
        if (!WIFEXITED(child->status) || WEXITSTATUS(child->status) != 0)
            fail_msg("writer %zu: ended with %#x", i, child->status);
        assert_int_equal(told != NULL, writer.is_told);
        assert_null(told ? strstr(told + 1, "takes long") : NULL);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_write_that_takes_long_is_told_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
