/*
 * test_supervisor.c - the status of a job, made of how its ranks ended: the worst one counts,
 * whichever rank it is of, none is without a sentence, and no rank keeps the supervisor from its
 * end.
 * tier: check; load: wait; program: own
 */
#include "tests/unit/child.h"

#include <pthread.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>

#include "base/host.h"
#include "base/status.h"
#include "controlplane/bootstrap/internal.h"

#define RANKS_MOST 4
#define KILLED     1000 /* it kills itself */

/* How each rank ends: its exit status, or KILLED. */
struct ends {
    int ranks, of[RANKS_MOST];
    int status;         /* the job's */
    const char *reason; /* in what is printed; NULL: nothing is printed */
};

static int job_run(void *argument)
{
    const struct ends *ends = argument;
    struct supervisor *supervisor = supervisor_create(ends->ranks, false);
    for (int rank = 0; supervisor && rank < ends->ranks; rank++)
        if (supervisor_fork(supervisor, rank) == 0) {
            if (ends->of[rank] == KILLED)
                kill(getpid(), SIGKILL);
            _exit(ends->of[rank]);
        }
    int status = supervisor ? (int)supervisor_wait(supervisor, 30) : -1;
    if (supervisor)
        supervisor_destroy(supervisor);
    return status;
}

static int job_run_heedless(void *argument)
{
    signal(SIGCHLD, SIG_IGN); /* as of a parent that does not care for its children */
    alarm(20);
    return job_run(argument);
}

static const struct ends all_ends[] = {
    {3, {0, 0, 0}, STATUS_OK, NULL},
    {3, {0, 3, 0}, STATUS_WRONG_DATA, "rank 1 ended with status 3 (wrong-data), but rank 0 with 0"},
    {3, {0, 0, 1}, STATUS_ERROR, "rank 2 ended with status 1 (error), but rank 0 with 0 (ok)"},
    {3, {5, 5, 5}, STATUS_TIMEOUT, NULL}, /* rank 0 says why */
    {4, {3, 5, 3, 3}, STATUS_TIMEOUT, "rank 1 ended with status 5 (timeout), but rank 0 with 3"},
    {4, {5, 3, 1, 4}, STATUS_TIMEOUT, NULL},
    {3, {4, 3, 1}, STATUS_ERROR, "rank 2 ended with status 1"},
    {3, {0, 0, KILLED}, STATUS_TIMEOUT, "rank 2 (pid .*) was killed by signal 9"},
    {3, {KILLED, 0, 0}, STATUS_TIMEOUT, "rank 0 (pid .*) was killed by signal 9"},
    {3, {0, 42, 0}, STATUS_ERROR, "rank 1 (pid .*) ended with exit status 42, which cctest does"},
};

/* `reason` may hold one ".*". */
static bool is_said(const char *text, const char *reason)
{
    const char *gap = strstr(reason, ".*");
    char begin[200];
    snprintf(begin, sizeof begin, "%.*s", gap ? (int)(gap - reason) : (int)strlen(reason), reason);
    const char *at = strstr(text, begin);
    return at && (!gap || strstr(at, gap + 2));
}

static void the_worst_status_counts(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof all_ends / sizeof all_ends[0]; i++)
        for (int heedless = 0; heedless < 2; heedless++) {
            struct ends ends = all_ends[i];
            const struct child *child = child_run(heedless ? job_run_heedless : job_run, &ends);
            if (!WIFEXITED(child->status) || WEXITSTATUS(child->status) != ends.status)
                fail_msg("case %zu: ended with %#x, not status %d; it says: %s", i, child->status,
                         ends.status, child->err);
            if (ends.reason ? !is_said(child->err, ends.reason) : child->err[0] != '\0')
                fail_msg("case %zu: it says: %s", i, child->err);
        }
}

static void interrupted_is_worse_than_a_timeout_and_so_on(void **state)
{
    static const enum status order[] = {STATUS_INTERRUPTED, STATUS_TIMEOUT, STATUS_ERROR,
                                        STATUS_UNAVAILABLE, STATUS_USAGE,   STATUS_WRONG_DATA,
                                        STATUS_SLOW,        STATUS_OK};
    const size_t count = sizeof order / sizeof order[0];
    (void)state;
    for (size_t a = 0; a < count; a++)
        for (size_t b = 0; b < count; b++)
            assert_int_equal(status_worse(order[a], order[b]), order[a < b ? a : b]);
}

/* A child holds the last rank as a debugger does, until the supervisor has ended. */
static int job_run_debugged(void *argument)
{
    int ready[2], rank_pid;
    (void)argument;
    struct supervisor *supervisor = supervisor_create(2, false);
    if (!supervisor || pipe(ready) != 0)
        return -1;
    if (supervisor_fork(supervisor, 0) == 0) {
        char byte;
        close(ready[1]);
        _exit(read(ready[0], &byte, 1) == 1 ? STATUS_TIMEOUT : STATUS_ERROR);
    }
    rank_pid = supervisor_fork(supervisor, 1);
    if (rank_pid == 0) {
        prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
        for (;;)
            pause();
    }
    pid_t debugger = fork();
    if (debugger == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        while (ptrace(PTRACE_ATTACH, rank_pid, NULL, NULL) != 0)
            usleep(1000);
        waitpid(rank_pid, NULL, __WALL);
        for (;;)
            if (write(ready[1], "x", 1) < 0 || pause() < 0)
                continue;
    }
    alarm(30);
    int status = (int)supervisor_wait(supervisor, 30);
    kill(debugger, SIGKILL);
    waitpid(debugger, NULL, 0);
    supervisor_destroy(supervisor);
    return status;
}

static void a_debugger_holds_no_job(void **state)
{
    (void)state;
    const struct child *child = child_run(job_run_debugged, NULL);
    assert_true(WIFEXITED(child->status));
    assert_int_equal(WEXITSTATUS(child->status), STATUS_TIMEOUT);
    assert_non_null(strstr(child->err, "rank 1"));
    assert_non_null(strstr(child->err, "is stopped and did not end with the others"));
    assert_non_null(strstr(child->err, "but another process holds it"));
}

static bool kills_nothing;

/* Takes the place of the C library's, and so a rank cannot be killed. */
int kill(pid_t pid, int signal)
{
    return kills_nothing && signal == SIGKILL ? 0 : (int)syscall(SYS_kill, pid, signal);
}

static void *thread_pause(void *argument)
{
    for (;;)
        pause();
    return argument;
}

/* Never returns: a rank that waits, one that waits in the kernel as vfork() does, and one of which
 * only the first thread is dead. */
static void rank_stay(int rank)
{
    pthread_t thread;
    if (rank == 2 && vfork() == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (;;)
            pause();
    }
    if (rank == 3 && pthread_create(&thread, NULL, thread_pause, NULL) == 0)
        syscall(SYS_exit, 0);
    for (;;)
        pause();
}

static int job_run_undying(void *argument)
{
    struct supervisor *supervisor = supervisor_create(4, false);
    int pids[4];
    (void)argument;
    for (int rank = 0; supervisor && rank < 4; rank++) {
        pids[rank] = supervisor_fork(supervisor, rank);
        if (pids[rank] == 0 && rank > 0)
            rank_stay(rank);
        if (pids[rank] == 0)
            _exit(STATUS_TIMEOUT);
    }
    alarm(40);
    kills_nothing = true;
    int status = supervisor ? (int)supervisor_wait(supervisor, 30) : -1;
    kills_nothing = false;
    for (int rank = 1; rank < 4; rank++) {
        kill(pids[rank], SIGKILL);
        waitpid(pids[rank], NULL, 0);
    }
    return status;
}

static void a_rank_that_does_not_die_holds_no_job(void **state)
{
    (void)state;
    const struct child *child = child_run(job_run_undying, NULL);
    assert_true(WIFEXITED(child->status));
    assert_int_equal(WEXITSTATUS(child->status), STATUS_TIMEOUT);
    assert_true(is_said(child->err, "rank 1 (pid .*) was killed, but is still there (state S)"));
    assert_true(is_said(child->err, "rank 2 (pid .*) was killed, but hangs in the kernel"));
    assert_true(is_said(child->err, "rank 3 (pid .*) was killed, but is still there (state S)"));
    assert_null(strstr(child->err, "another process holds it"));
}

static int job_run_stopped(void *argument)
{
    const double timeout = 2;
    bool *continued = argument; /* before twice this, and their work takes longer than that */
    struct supervisor *supervisor = supervisor_create(2, false);
    pid_t pids[2] = {0};
    for (int rank = 0; supervisor && rank < 2; rank++) {
        pids[rank] = supervisor_fork(supervisor, rank);
        if (pids[rank] == 0) {
            raise(SIGSTOP);
            sleep(6);
            _exit(0);
        }
    }
    pid_t helper = fork();
    if (helper == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (int rank = 0; *continued && rank < 2; rank++) {
            while (host_process_state(pids[rank]) != 'T')
                usleep(10000);
            usleep(200000);
            kill(pids[rank], SIGCONT);
        }
        _exit(0);
    }
    alarm(60);
    int status =
        supervisor ? (int)supervisor_wait(supervisor, *continued ? 2 * timeout : timeout) : -1;
    waitpid(helper, NULL, 0);
    if (supervisor)
        supervisor_destroy(supervisor);
    return status;
}

static void a_job_whose_ranks_are_all_stopped_ends(void **state)
{
    (void)state;
    bool continued = false;
    const struct child *child = child_run(job_run_stopped, &continued);
    assert_true(WIFEXITED(child->status));
    assert_int_equal(WEXITSTATUS(child->status), STATUS_TIMEOUT);
    assert_true(is_said(
        child->err, "no rank has progressed for .*all ranks that are left (2 of 2) are stopped"));
    continued = true;
    child = child_run(job_run_stopped, &continued);
    assert_true(WIFEXITED(child->status));
    assert_int_equal(WEXITSTATUS(child->status), STATUS_OK);
    assert_string_equal(child->err, "");
}

/* As where a job cannot start its last rank. */
static int job_run_given_up(void *argument)
{
    struct supervisor *supervisor = supervisor_create(1, false);
    (void)argument;
    if (supervisor && supervisor_fork(supervisor, 0) == 0)
        rank_stay(0);
    alarm(30);
    kills_nothing = true;
    if (supervisor)
        supervisor_destroy(supervisor);
    return 0;
}

static void a_rank_that_does_not_die_holds_no_job_that_is_given_up(void **state)
{
    (void)state;
    const struct child *child = child_run(job_run_given_up, NULL);
    assert_true(WIFEXITED(child->status));
    assert_int_equal(WEXITSTATUS(child->status), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(interrupted_is_worse_than_a_timeout_and_so_on),
        cmocka_unit_test(the_worst_status_counts),
        cmocka_unit_test(a_debugger_holds_no_job),
        cmocka_unit_test(a_rank_that_does_not_die_holds_no_job),
        cmocka_unit_test(a_rank_that_does_not_die_holds_no_job_that_is_given_up),
        cmocka_unit_test(a_job_whose_ranks_are_all_stopped_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
