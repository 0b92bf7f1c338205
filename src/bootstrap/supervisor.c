/*
 * supervisor.c - the parent of ranks that are processes: none outlives it.
 *
 * The control plane ends all ranks at about the same time. The supervisor handles ranks that cannot
 * follow it: stopped, killed or stuck. It reports the signal that killed a rank, which only a
 * parent knows; it passes signals on; and some time after the other ranks have ended it kills the
 * rest.
 */
#include "bootstrap/supervisor.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/signals.h"

#define LATE_SECONDS   1.3  /* a rank may end this much later than the others, */
#define BUSY_SECONDS   15.0 /* or this much, if it may be busy: see seconds_allowed() */
#define SIGNAL_SECONDS 5.0  /* for all ranks to end after a signal */
#define REPEAT_SECONDS 1.0  /* a signal so soon after the first is the same one, sent twice */

struct child {
    pid_t pid; /* 0: not started, or ended */
    bool stopped;
    bool killed; /* by the supervisor */
};

struct supervisor {
    int ranks, alive;
    int signals; /* signalfd of the signals that end a job, and of SIGCHLD */
    sigset_t old;
    struct child *children;
    enum status status;
    double ending;   /* when the first rank failed, or rank 0 ended; 0: not yet */
    double signaled; /* when a signal was passed on; 0: not yet */
};

struct supervisor *supervisor_create(int ranks)
{
    struct supervisor *supervisor = calloc(1, sizeof *supervisor);
    struct child *children = calloc((size_t)ranks, sizeof *children);
    sigset_t set;
    signals_ending(&set);
    sigaddset(&set, SIGCHLD);
    int signals = supervisor && children ? signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK) : -1;
    if (signals < 0) {
        free(supervisor);
        free(children);
        return NULL;
    }
    *supervisor = (struct supervisor){.ranks = ranks, .signals = signals, .children = children};
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

static void child_ended(struct supervisor *supervisor, int rank, int how)
{
    struct child *child = &supervisor->children[rank];
    enum status status = STATUS_TIMEOUT;
    if (WIFEXITED(how)) {
        status = status_of(WEXITSTATUS(how));
        if ((int)status != WEXITSTATUS(how))
            say("rank %d (pid %d) ended with exit status %d, which cctest does not use", rank,
                (int)child->pid, WEXITSTATUS(how));
    } else if (!child->killed) {
        say("rank %d (pid %d) was killed by signal %d (%s)", rank, (int)child->pid, WTERMSIG(how),
            strsignal(WTERMSIG(how)));
        children_notify_lost(supervisor, rank);
    }
    supervisor->status = status_graver(supervisor->status, status);
    if (supervisor->ending == 0 && (rank == 0 || status != STATUS_OK))
        supervisor->ending = clock_seconds();
    child->pid = 0;
    supervisor->alive--;
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
        child->killed = child->killed || signal == SIGKILL;
        kill(child->pid, signal);
    }
}

/* Stops all ranks, or waits until they have ended. */
static void children_stop(struct supervisor *supervisor)
{
    children_signal(supervisor, SIGSTOP);
    for (int rank = 0; rank < supervisor->ranks; rank++) {
        pid_t pid = supervisor->children[rank].pid;
        siginfo_t info;
        while (pid && waitid(P_PID, (id_t)pid, &info, WSTOPPED | WEXITED | WNOWAIT) < 0 &&
               errno == EINTR)
            ;
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
            supervisor->status = status_graver(supervisor->status, STATUS_INTERRUPTED);
            children_signal(supervisor, (int)info.ssi_signo);
            supervisor->signaled = now;
        } else if (now - supervisor->signaled > REPEAT_SECONDS) {
            children_signal(supervisor, SIGKILL);
        }
    }
}

/* Rank 0 may still be writing results; after a good end, any rank may be freeing much memory. */
static double seconds_allowed(const struct supervisor *supervisor, int rank)
{
    bool may_be_busy = rank == 0 || supervisor->status == STATUS_OK;
    return may_be_busy && !supervisor->children[rank].stopped ? BUSY_SECONDS : LATE_SECONDS;
}

static void children_kill_late(struct supervisor *supervisor)
{
    double now = clock_seconds();
    for (int rank = 0; rank < supervisor->ranks; rank++) {
        struct child *child = &supervisor->children[rank];
        double allowed = seconds_allowed(supervisor, rank);
        bool late = (supervisor->ending > 0 && now - supervisor->ending > allowed) ||
                    (supervisor->signaled > 0 && now - supervisor->signaled > SIGNAL_SECONDS);
        if (!child->pid || child->killed || !late)
            continue;
        child->killed = true;
        kill(child->pid, SIGKILL); /* first, since printing may block */
        /* After a failure, a rank that is still freeing its memory is not worth a line. */
        bool news = child->stopped || supervisor->status == STATUS_OK;
        say_verbose(news ? 0 : 1,
                    "rank %d (pid %d) %s and did not end with the others: it was killed", rank,
                    (int)child->pid, child->stopped ? "is stopped" : "is still there");
    }
}

enum status supervisor_wait(struct supervisor *supervisor)
{
    while (supervisor->alive > 0) {
        struct pollfd set = {.fd = supervisor->signals, .events = POLLIN};
        poll(&set, 1, supervisor->ending > 0 || supervisor->signaled > 0 ? 100 : 1000);
        signals_pass_on(supervisor);
        children_reap(supervisor);
        children_kill_late(supervisor);
    }
    return supervisor->status;
}

void supervisor_destroy(struct supervisor *supervisor)
{
    children_stop(supervisor); /* none may see, and report, the end of another */
    children_signal(supervisor, SIGKILL);
    for (int rank = 0; rank < supervisor->ranks; rank++)
        while (supervisor->children[rank].pid &&
               waitpid(supervisor->children[rank].pid, NULL, 0) < 0 && errno == EINTR)
            ;
    pthread_sigmask(SIG_SETMASK, &supervisor->old, NULL);
    close(supervisor->signals);
    free(supervisor->children);
    free(supervisor);
}
