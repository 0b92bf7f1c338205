/*
 * test_timed_call.c - calls in another thread: a long one keeps the job alive for as long as it may
 * take, and not longer.
 * tier: check; load: wait
 */
#include "tests/unit/jobs.h"

#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/timed_call.h"
#include "run/run.h"

/* Timeouts of the job, and lengths of the call, in s, by whether the call is bounded to less than
 * it takes. */
static const double timeouts[] = {2, 0.5}, nap_seconds[] = {3, 10};

struct nap {
    double seconds;
    _Atomic bool through;
};

static void nap_work(void *argument)
{
    struct nap *nap = argument;
    usleep((useconds_t)(nap->seconds * 1e6));
    atomic_store(&nap->through, true);
}

/* The arguments that an abandoned call still uses. */
static struct nap naps[2];

/* Rank 1 is in a call longer than the job's timeout. It is expected to take `pace` ms at most. */
static enum status nap_life(struct control *control, struct job_of_ranks *job)
{
    struct runner runner = {.control = control, .progress = control_progress(control)};
    struct nap *nap = &naps[job->victim];
    enum status status = STATUS_OK;
    runner_tick_open(&runner);
    if (control_rank(control) == 1) {
        double bound = atomic_load(&job->pace) / 1e3, began = clock_seconds();
        int end = timed_call_ticking(nap_work, nap, &runner.tick, bound);
        double took = clock_seconds() - began;
        if (end == 0 && atomic_load(&nap->through) && took >= nap->seconds)
            status = all_meet(control);
        else if (timed_call_is_abandoned(end) && took >= bound + timeouts[1])
            status = control_fail(control, fail(STATUS_TIMEOUT, "the nap is too long"));
        else
            status = control_fail(control, fail(STATUS_ERROR, "%d after %g s", end, took));
        return status == STATUS_OK ? control_finish(control, status) : status;
    }
    return all_meet(control) == STATUS_OK ? control_finish(control, STATUS_OK) : STATUS_TIMEOUT;
}

static void test_long_call_in_a_job(void **state)
{
    (void)state;
    for (int bounded = 0; bounded < 2; bounded++) {
        struct job_of_ranks *job = job_create(2, 0, timeouts[bounded]);
        job->victim = bounded;
        naps[bounded].seconds = nap_seconds[bounded];
        atomic_store(&job->pace, bounded ? 300 : 10000);
        job->life = nap_life;
        job_expect(job, bounded ? STATUS_TIMEOUT : STATUS_OK);
        job_free(job);
    }
}

struct counted {
    int worked, waited;
    enum tick_answer answer; /* to a wait */
};

static enum tick_answer counted_tick(void *argument, int peer)
{
    struct counted *counted = argument;
    counted->worked += peer == TICK_WORKED;
    counted->waited += peer == -1;
    return counted->waited > 3 ? counted->answer : TICK_GO_ON;
}

/* In time the call is work, then a wait. The answer to a wait ends it. */
static void test_ticks(void **state)
{
    (void)state;
    static struct nap long_nap[2] = {{.seconds = 10}, {.seconds = 10}};
    static const int ends[] = {ETIMEDOUT, ECANCELED};
    for (int i = 0; i < 2; i++) {
        struct counted counted = {.answer = i == 0 ? TICK_LATE : TICK_ENDED};
        const struct tick tick = {.call = counted_tick, .argument = &counted};
        struct nap nap = {.seconds = 0.1};
        assert_int_equal(0, timed_call_ticking(nap_work, &nap, &tick, 10));
        assert_true(counted.worked > 3 && counted.waited == 0);
        assert_int_equal(ends[i], timed_call_ticking(nap_work, &long_nap[i], &tick, 0));
        assert_int_equal(4, counted.waited);
        assert_true(timed_call_is_abandoned(ends[i]));
    }
    struct nap nap = {.seconds = 0.1};
    assert_int_equal(0, timed_call_ticking(nap_work, &nap, NULL, 0));
    assert_true(atomic_load(&nap.through));
}

static void failing_work(void *argument)
{
    *(enum status *)argument = fail(STATUS_UNAVAILABLE, "the device is gone");
}

/* A failure in the other thread is the rank's own. */
static void test_failure_is_the_callers(void **state)
{
    (void)state;
    struct counted counted = {0};
    const struct tick tick = {.call = counted_tick, .argument = &counted};
    for (int ticks = 0; ticks < 2; ticks++) {
        struct log log;
        enum status status = STATUS_OK;
        log_init(&log, 3, 0);
        log_attach(&log);
        assert_int_equal(0, ticks ? timed_call_ticking(failing_work, &status, &tick, 10)
                                  : timed_call_run(failing_work, &status, 10));
        assert_int_equal(STATUS_UNAVAILABLE, status);
        assert_int_equal(STATUS_UNAVAILABLE, log.failure.status);
        assert_string_equal("the device is gone", log.failure.text);
        log_attach(NULL);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_long_call_in_a_job),
        cmocka_unit_test(test_ticks),
        cmocka_unit_test(test_failure_is_the_callers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
