/*
 * supervisor.c - the parent of ranks that are processes: none survives it.
 *
 * The control plane ends all ranks at about the same time. The supervisor handles ranks that cannot
 * follow it: stopped, killed or stuck. It reports the signal that killed a rank, which only a
 * parent knows; it passes signals on; and some time after the other ranks have ended it kills the
 * rest.
 */
#include "controlplane/bootstrap/internal.h"

#include <math.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/host.h"
#include "base/list.h"
#include "base/log.h"
#include "base/signals.h"

#define LATE_SECONDS   1.3  /* a rank may end this much later than the others, */
#define BUSY_SECONDS   15.0 /* or this much, if it may be busy: see child_is_late() */
#define SIGNAL_SECONDS 5.0  /* for all ranks to end after a signal */
#define REPEAT_SECONDS 1.0  /* a signal so soon after the first is the same one, sent twice */

/* For a dead rank to vanish, which a debugger may hold longer; and for a killed one to die, which
 * may be freeing much, or hang in a driver. */
#define HELD_SECONDS 2.0
#define KILL_SECONDS 10.0
#define LOOK_MS      10 /* between two looks at ranks that are to stop or to die */

#define WATCH_MS     1000 /* between two looks at ranks that run, */
#define WATCH_END_MS 100  /* and at ranks that are to end */

struct child {
    pid_t pid; /* 0: not started, or ended */
    bool stopped;
    double killed_at;   /* by the supervisor; 0: it was not */
    enum status status; /* once it has ended */
};

struct supervisor {
    int ranks, alive;
    bool survives;
    int signals; /* signalfd of the signals that end a job, and of SIGCHLD */
    sigset_t old;
    struct child *children;
    enum status status;
    double stopped;  /* seconds for which all ranks that are left have been stopped */
    double ending;   /* when the first rank failed, or rank 0 ended; 0: not yet */
    double signaled; /* when a signal was passed on; 0: not yet */
    int signal;      /* which */
};

struct supervisor *supervisor_create(int ranks, bool survives)
{
    sigset_t set;
    signal(SIGCHLD, SIG_DFL); /* else, where the caller ignores it, the kernel reaps the ranks */
    signals_ending(&set);
    sigaddset(&set, SIGCHLD);
    int signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    if (signals < 0)
        return NULL;
    struct supervisor *supervisor = new_array(1, sizeof *supervisor);
    *supervisor = (struct supervisor){.ranks = ranks, .survives = survives, .signals = signals};
    supervisor->children = new_array((size_t)ranks, sizeof *supervisor->children);
    pthread_sigmask(SIG_BLOCK, &set, &supervisor->old);
    return supervisor;
}

int supervisor_fork(struct supervisor *supervisor, int rank)
{
    pid_t parent = getpid();
    pid_t pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent) /* it died before prctl() took effect */
            _exit((int)STATUS_TIMEOUT);
    } else if (pid > 0) {
        supervisor->children[rank].pid = pid;
        supervisor->alive++;
    }
    return pid;
}

void supervisor_leave(struct supervisor *supervisor)
{
    close(supervisor->signals);
    pthread_sigmask(SIG_SETMASK, &supervisor->old, NULL);
    free(supervisor->children);
    free(supervisor);
}

/* The control plane does not see the death of a rank that has not joined. */
static void children_notify_lost(struct supervisor *supervisor, int lost)
{
    for (int rank = 0; rank < supervisor->ranks; rank++)
        if (supervisor->children[rank].pid && rank != lost)
            sigqueue(supervisor->children[rank].pid, SIGNAL_LOST,
                     (union sigval){.sival_int = lost});
}

static void child_gone(struct supervisor *supervisor, int rank, enum status status)
{
    struct child *child = &supervisor->children[rank];
    child->status = status;
    child->pid = 0;
    bool decides = rank == 0 || !supervisor->survives;
    if (decides)
        supervisor->status = status_worse(supervisor->status, status);
    supervisor->alive--;
    if (supervisor->ending > 0 || rank == 0 || (!status_is_whole(status) && decides))
        supervisor->ending = clock_seconds(); /* each end gives the others more time */
}

static void child_ended(struct supervisor *supervisor, int rank, int how)
{
    struct child *child = &supervisor->children[rank];
    enum status status = STATUS_OK; /* children_kill_late() has set the supervisor's */
    struct failure failure;
    if (WIFEXITED(how)) {
        status = status_of(WEXITSTATUS(how));
        failure_set_peer(&failure, REASON_PEER_INVALID, rank,
                         "rank %d (pid %d) ended with exit status %d, which cctest does not use",
                         rank, (int)child->pid, WEXITSTATUS(how));
        if ((int)status != WEXITSTATUS(how))
            fail_aloud(&failure);
    } else if (child->killed_at == 0) {
        failure_set_peer(&failure, REASON_PEER_LOST, rank,
                         "rank %d (pid %d) was killed by signal %d (%s)", rank, (int)child->pid,
                         WTERMSIG(how), strsignal(WTERMSIG(how)));
        status = fail_aloud(&failure);
        if (!supervisor->survives)
            children_notify_lost(supervisor, rank);
    }
    child_gone(supervisor, rank, status);
}

static void children_reap(struct supervisor *supervisor)
{
    for (int rank = 0; rank < supervisor->ranks; rank++) {
        struct child *child = &supervisor->children[rank];
        int how;
        while (child->pid && waitpid(child->pid, &how, WNOHANG | WUNTRACED | WCONTINUED) > 0) {
            if (WIFSTOPPED(how) || WIFCONTINUED(how))
                child->stopped = WIFSTOPPED(how);
            else
                child_ended(supervisor, rank, how);
        }
    }
}

static void children_signal(struct supervisor *supervisor, int signal)
{
    for (int rank = 0; rank < supervisor->ranks; rank++) {
        struct child *child = &supervisor->children[rank];
        if (!child->pid)
            continue;
        if (signal == SIGKILL && child->killed_at == 0)
            child->killed_at = clock_seconds();
        kill(child->pid, signal);
    }
}

/* Stops or kills all ranks, and waits until they have stopped or ended. One that hangs in the
 * kernel may do neither: after `seconds` it is left. */
static void children_end(struct supervisor *supervisor, int signal, double seconds)
{
    int what = WEXITED | WNOHANG | WNOWAIT | (signal == SIGSTOP ? WSTOPPED : 0);
    double until = clock_seconds() + seconds;
    children_signal(supervisor, signal);
    for (int rank = 0; rank < supervisor->ranks; rank++) {
        pid_t pid = supervisor->children[rank].pid;
        siginfo_t info = {.si_pid = 0};
        while (pid && waitid(P_PID, (id_t)pid, &info, what) == 0 && info.si_pid == 0 &&
               clock_seconds() < until)
            poll(NULL, 0, LOOK_MS);
        if (pid && signal == SIGKILL)
            waitpid(pid, NULL, WNOHANG);
    }
}

/* After the first signal the ranks end in order; a second one kills them. */
static void signals_pass_on(struct supervisor *supervisor)
{
    struct signalfd_siginfo info;
    while (read(supervisor->signals, &info, sizeof info) == (ssize_t)sizeof info) {
        if (info.ssi_signo == SIGCHLD)
            continue;
        double now = clock_seconds();
        if (supervisor->signaled == 0) {
            /* Even if the ranks no longer react to it, the signal ended the job. */
            supervisor->status = status_worse(supervisor->status, STATUS_INTERRUPTED);
            children_signal(supervisor, (int)info.ssi_signo);
            supervisor->signaled = now;
            supervisor->signal = (int)info.ssi_signo;
        } else if (now - supervisor->signaled > REPEAT_SECONDS) {
            children_signal(supervisor, SIGKILL);
        }
    }
}

/* A rank under a debugger stops without a word to its parent. */
static bool child_is_stopped(const struct child *child)
{
    char state = host_process_state(child->pid);
    return child->stopped || state == 'T' || state == 't';
}

/* Rank 0 may still be writing results; after a whole end, any rank may be freeing much memory. */
static bool child_is_late(const struct supervisor *supervisor, int rank, double now)
{
    bool may_be_busy = rank == 0 || status_is_whole(supervisor->status);
    double since = supervisor->ending > 0 ? now - supervisor->ending : 0;
    if (supervisor->signaled > 0 && now - supervisor->signaled > SIGNAL_SECONDS)
        return true;
    return since > LATE_SECONDS &&
           (!may_be_busy || since > BUSY_SECONDS || child_is_stopped(&supervisor->children[rank]));
}

static void child_kill_late(struct supervisor *supervisor, int rank)
{
    struct child *child = &supervisor->children[rank];
    struct failure failure;
    bool stopped = child_is_stopped(child);
    child->killed_at = clock_seconds();
    kill(child->pid, SIGKILL); /* first, since printing may block */
    failure_set_peer(&failure, REASON_PEER_LATE, rank,
                     "rank %d (pid %d) %s and did not end with the others: it was killed", rank,
                     (int)child->pid, stopped ? "is stopped" : "is still there");
    /* After a failure, a rank that is still freeing its memory is not worth a line. */
    if (stopped || status_is_whole(supervisor->status))
        supervisor->status = status_worse(supervisor->status, fail_aloud(&failure));
}

/* The kernel keeps a dead process for its debugger, and a killed one while a call of one of its
 * threads cannot be interrupted. The parent does not wait for either. */
static void child_leave(struct supervisor *supervisor, int rank)
{
    struct child *child = &supervisor->children[rank];
    struct failure failure;
    char state = host_process_remains(child->pid), still[40];
    if (clock_seconds() - child->killed_at <= (state == 'Z' ? HELD_SECONDS : KILL_SECONDS))
        return;
    snprintf(still, sizeof still, "is still there (state %c)", state ? state : '?');
    failure_set_peer(&failure, REASON_PEER_LATE, rank, "rank %d (pid %d) was killed, but %s", rank,
                     (int)child->pid,
                     state == 'Z'   ? "another process holds it, perhaps a debugger: end that"
                     : state == 'D' ? "hangs in the kernel (state D): look in the kernel's log for "
                                      "the file system, network or driver that does not answer"
                                    : still);
    child_gone(supervisor, rank, fail_aloud(&failure));
}

static void children_kill_late(struct supervisor *supervisor)
{
    double now = clock_seconds();
    for (int rank = 0; rank < supervisor->ranks; rank++) {
        struct child *child = &supervisor->children[rank];
        if (!child->pid || (supervisor->ending == 0 && supervisor->signaled == 0))
            continue;
        if (child->killed_at == 0 && child_is_late(supervisor, rank, now))
            child_kill_late(supervisor, rank);
        else if (child->killed_at > 0 && now - child->killed_at > HELD_SECONDS)
            child_leave(supervisor, rank);
    }
}

static bool children_are_stopped(const struct supervisor *supervisor)
{
    for (int rank = 0; rank < supervisor->ranks; rank++)
        if (supervisor->children[rank].pid && !supervisor->children[rank].stopped)
            return false;
    return supervisor->alive > 0;
}

/* No rank is left to judge that none makes progress. While the supervisor is stopped, too, as by
 * Ctrl-Z, no time counts: of the `seconds` since the last look at most one wait does. */
static void children_watch_stopped(struct supervisor *supervisor, double seconds, double timeout)
{
    struct failure failure;
    if (!children_are_stopped(supervisor)) {
        supervisor->stopped = 0;
        return;
    }
    supervisor->stopped += fmin(seconds, WATCH_MS / 1e3);
    if (supervisor->stopped <= timeout || supervisor->ending > 0)
        return;
    supervisor->ending = clock_seconds();
    children_signal(supervisor, SIGKILL); /* first, since printing may block */
    failure_set(
        &failure, STATUS_TIMEOUT,
        "no rank has progressed for %.1f s: all ranks that are left (%d of %d) are stopped, as "
        "by SIGSTOP, and were killed; SIGCONT continues a stopped rank",
        supervisor->stopped, supervisor->alive, supervisor->ranks);
    supervisor->status = status_worse(supervisor->status, fail_aloud(&failure));
}

/* No status is without a reason: rank 0 reports that of its own status, and the supervisor has said
 * what else happened, but for ranks and signals that contradict rank 0. */
static void supervisor_explain(const struct supervisor *supervisor)
{
    const struct child *root = &supervisor->children[0];
    struct failure failure;
    if (supervisor->status == root->status || log_failure(log_current(), &failure))
        return;
    int rank = 0;
    while (rank < supervisor->ranks && supervisor->children[rank].status != supervisor->status)
        rank++;
    if (rank == supervisor->ranks)
        failure_set(&failure, supervisor->status, "interrupted by signal %d (%s) at the end",
                    supervisor->signal, strsignal(supervisor->signal));
    else
        failure_set(&failure, supervisor->status,
                    "rank %d ended with status %d (%s), but rank 0 with %d (%s)", rank,
                    (int)supervisor->status, status_word(supervisor->status), (int)root->status,
                    status_word(root->status));
    failure.peer = rank < supervisor->ranks ? rank : NO_RANK;
    fail_aloud(&failure);
}

enum status supervisor_wait(struct supervisor *supervisor, double timeout)
{
    double looked_at = clock_seconds();
    while (supervisor->alive > 0) {
        struct pollfd set = {.fd = supervisor->signals, .events = POLLIN};
        bool ends = supervisor->ending > 0 || supervisor->signaled > 0;
        poll(&set, 1, ends ? WATCH_END_MS : WATCH_MS);
        double now = clock_seconds();
        signals_pass_on(supervisor);
        children_reap(supervisor);
        children_watch_stopped(supervisor, now - looked_at, timeout);
        children_kill_late(supervisor);
        looked_at = now;
    }
    supervisor_explain(supervisor);
    return supervisor->status;
}

void supervisor_destroy(struct supervisor *supervisor)
{
    /* They stop first: none may see, and report, the end of another. */
    children_end(supervisor, SIGSTOP, HELD_SECONDS);
    children_end(supervisor, SIGKILL, KILL_SECONDS);
    pthread_sigmask(SIG_SETMASK, &supervisor->old, NULL);
    close(supervisor->signals);
    free(supervisor->children);
    free(supervisor);
}
