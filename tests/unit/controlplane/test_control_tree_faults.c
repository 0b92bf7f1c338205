/*
 * test_control_tree_faults.c - the control plane as a tree whose ranks are processes, any of which
 * dies, stops or pauses.
 * tier: check; load: cpu1
 */
#include "tests/unit/jobs.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"

#if defined __SANITIZE_THREAD__ || defined __SANITIZE_ADDRESS__
#define SLACK 30 /* seconds, for machines that are busy */
#else
#define SLACK 2
#endif
#define NAP_SECONDS 2.2

enum pace { STOP, GO_ON, NAP };

static enum status loop_life(struct control *control, struct job_of_ranks *job)
{
    bool leads = control_rank(control) == 0;
    enum status status = exchange_all(control, 1);
    atomic_fetch_add(&job->running, 1);
    for (int round = 0; status == STATUS_OK; round++) {
        int pace = atomic_load(&job->pace);
        struct blobs paces;
        status = data_exchange(control, EXCHANGE_ALLGATHER, &pace, sizeof pace, &paces);
        if (status == STATUS_OK)
            memcpy(&pace, paces.data[0], sizeof pace);
        blobs_free(&paces);
        if (status != STATUS_OK || pace == STOP)
            break;
        if (pace == NAP)
            usleep(NAP_SECONDS * 1e6);
        status = exchange_all(control, round);
        if (leads)
            atomic_fetch_add(&job->through, 1);
        usleep(1000);
    }
    return status == STATUS_OK ? control_finish(control, STATUS_OK) : status;
}

static void processes_start(struct job_of_ranks *job)
{
    fflush(NULL);
    atomic_store(&job->pace, GO_ON);
    job->life = loop_life;
    struct listeners listeners = job->listeners; /* rank 0 reads those that all share */
    for (int rank = 0; rank < job->ranks; rank++) {
        pid_t pid = fork();
        assert_true(pid >= 0);
        if (pid == 0) {
            alarm(60);
            if (rank > 0)
                listeners_close(&listeners);
            rank_live(job, rank);
            _exit(0);
        }
        job->outcome[rank].pid = pid;
    }
    listeners_close(&listeners);
}

static void processes_await(struct job_of_ranks *job)
{
    for (int i = 0; i < 2000 && atomic_load(&job->running) < job->ranks; i++)
        usleep(5000);
    for (int rank = 0; atomic_load(&job->running) < job->ranks && rank < job->ranks; rank++)
        print_error("rank %d: %s\n", rank, job->outcome[rank].log.failure.text);
    assert_int_equal(job->ranks, atomic_load(&job->running));
}

/* All but the victim end, with `status`. */
static void processes_expect(struct job_of_ranks *job, enum status status)
{
    for (int rank = 0; rank < job->ranks; rank++) {
        int how;
        if (rank == job->victim)
            continue;
        assert_int_equal(job->outcome[rank].pid, waitpid(job->outcome[rank].pid, &how, 0));
        assert_true(WIFEXITED(how));
        if (job->outcome[rank].status != status)
            print_error("victim %d, rank %d: %s\n", job->victim, rank, job->outcome[rank].message);
        assert_int_equal(status, job->outcome[rank].status);
    }
    if (job->victim >= 0) {
        kill(job->outcome[job->victim].pid, SIGKILL);
        waitpid(job->outcome[job->victim].pid, NULL, 0);
    }
}

enum { FAMILY = 7 }; /* a tree of two children each: three ranks are neither root nor leaf, or so */

/* Until all ranks sleep, or are about to. */
static void nap_begin(struct job_of_ranks *job)
{
    atomic_store(&job->pace, NAP);
    for (int i = 0, through = -1; i < 200 && through != atomic_load(&job->through); i++) {
        through = atomic_load(&job->through);
        usleep(50000);
    }
    atomic_store(&job->pace, GO_ON);
}

/* One job for each victim, all at once; returns when the signal was sent. */
static double strike(struct job_of_ranks *jobs[FAMILY], double timeout, enum pace pace, int signal)
{
    for (int victim = 0; victim < FAMILY; victim++) {
        jobs[victim] = job_create(FAMILY, 2, timeout);
        jobs[victim]->victim = victim;
        processes_start(jobs[victim]);
    }
    for (int victim = 0; victim < FAMILY; victim++)
        processes_await(jobs[victim]);
    for (int victim = 0; victim < FAMILY && pace == NAP; victim++)
        nap_begin(jobs[victim]);
    double began = clock_seconds();
    for (int victim = 0; victim < FAMILY; victim++)
        kill(jobs[victim]->outcome[victim].pid, signal);
    return began;
}

/* The dead one alone is named, wherever it stood, and all others end with the verdict. */
static void test_any_rank_dies(void **state)
{
    (void)state;
    struct job_of_ranks *jobs[FAMILY];
    double began = strike(jobs, 5, GO_ON, SIGKILL);
    for (int victim = 0; victim < FAMILY; victim++)
        processes_expect(jobs[victim], STATUS_TIMEOUT);
    assert_true(clock_seconds() - began < 1 + SLACK);
    for (int victim = 0; victim < FAMILY; victim++) {
        if (victim > 0) {
            assert_int_equal(1, jobs[victim]->outcome[0].errors);
            assert_int_equal(victim, jobs[victim]->outcome[0].bottleneck);
            assert_non_null(strstr(jobs[victim]->outcome[0].message, "is gone"));
        }
        job_free(jobs[victim]);
    }
}

/* The stopped one alone is silent: those behind it speak to rank 0 themselves. */
static void test_any_rank_is_stopped(void **state)
{
    (void)state;
    struct job_of_ranks *jobs[FAMILY];
    double began = strike(jobs, 2, GO_ON, SIGSTOP);
    for (int victim = 0; victim < FAMILY; victim++)
        processes_expect(jobs[victim], STATUS_TIMEOUT);
    assert_true(clock_seconds() - began < 2 + SLACK);
    for (int victim = 0; victim < FAMILY; victim++) {
        const struct outcome *root = &jobs[victim]->outcome[0];
        if (victim > 0) {
            assert_int_equal(victim, root->bottleneck);
            assert_non_null(strstr(root->message, "sent no heartbeat"));
            assert_null(strstr(root->message, "; also silent"));
        }
        job_free(jobs[victim]);
    }
}

/* One that goes on in time is nobody's fault. Meanwhile the others wake up, and those behind it say
 * on two ways that they are in the next exchange: it counts once. */
static void test_any_rank_pauses(void **state)
{
    (void)state;
    struct job_of_ranks *jobs[FAMILY];
    strike(jobs, 5, NAP, SIGSTOP);
    usleep(2500000);
    for (int victim = 0; victim < FAMILY; victim++) {
        struct job_of_ranks *job = jobs[victim];
        int through = atomic_load(&job->through);
        kill(job->outcome[victim].pid, SIGCONT);
        for (int i = 0; i < 2000 && atomic_load(&job->through) < through + 20; i++)
            usleep(5000);
        assert_true(atomic_load(&job->through) >= through + 20);
        job->victim = -1;
    }
    usleep(500000); /* a verdict would have come by now */
    for (int victim = 0; victim < FAMILY; victim++)
        atomic_store(&jobs[victim]->pace, STOP);
    for (int victim = 0; victim < FAMILY; victim++) {
        processes_expect(jobs[victim], STATUS_OK);
        assert_int_equal(0, jobs[victim]->outcome[0].errors);
        job_free(jobs[victim]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_any_rank_dies),
        cmocka_unit_test(test_any_rank_is_stopped),
        cmocka_unit_test(test_any_rank_pauses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
