/*
 * supervisor.c - the parent of ranks that are processes: it leaves none behind.
 *
 * Ranks end by themselves, all about the same time: the control plane sees to it. The supervisor is
 * for those that cannot: stopped, killed, or stuck. It says what only a parent knows (which signal
 * killed a rank) and ends with SIGKILL who is still there some time after the others.
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

#define BEHIND_SECONDS 1.3  /* a rank may end this much later than the others, */
#define BUSY_SECONDS   15.0 /* or this much, where it may have reason to: see patience_with() */
#define SIGNAL_SECONDS 5.0  /* for all to end after a signal */
#define AGAIN_SECONDS  1.0  /* a signal so soon after the first is the same one, sent twice */

struct child {
    pid_t pid; /* 0: not started, or ended */
    bool stopped;
    bool ended_by_us;
};

struct supervisor {
    int ranks, alive;
    int signals; /* signalfd of what ends a job, and of SIGCHLD */
    sigset_t old;
    struct child *children;
    enum status status;
    double behind;   /* when a first rank ended other than well, or rank 0 at all; 0: none */
    double signaled; /* when a signal was passed on; 0: none */
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
        if (getppid() != parent) /* it died before it could be asked for */
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

/* Of a rank that had not joined yet the others would learn at the deadline only. */
static void children_learn_loss(struct supervisor *supervisor, int lost)
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
            say("rank %d (pid %d) ended with exit status %d, which is none of cctest's", rank,
                (int)child->pid, WEXITSTATUS(how));
    } else if (!child->ended_by_us) {
        say("rank %d (pid %d) was killed by signal %d (%s)", rank, (int)child->pid, WTERMSIG(how),
            strsignal(WTERMSIG(how)));
        children_learn_loss(supervisor, rank);
    }
    supervisor->status = status_graver(supervisor->status, status);
    if (supervisor->behind == 0 && (rank == 0 || status != STATUS_OK))
        supervisor->behind = clock_seconds();
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
        child->ended_by_us = child->ended_by_us || signal == SIGKILL;
        kill(child->pid, signal);
    }
}

/* The first signal is for the ranks to end well; a second one means now. */
static void signals_pass_on(struct supervisor *supervisor)
{
    struct signalfd_siginfo info;
    while (read(supervisor->signals, &info, sizeof info) == (ssize_t)sizeof info) {
        if (info.ssi_signo == SIGCHLD)
            continue;
        double now = clock_seconds();
        if (supervisor->signaled == 0) {
            /* Where the ranks do not react any more it is still this that ended the job. */
            supervisor->status = status_graver(supervisor->status, STATUS_INTERRUPTED);
            children_signal(supervisor, (int)info.ssi_signo);
            supervisor->signaled = now;
        } else if (now - supervisor->signaled > AGAIN_SECONDS) {
            children_signal(supervisor, SIGKILL);
        }
    }
}

/* Rank 0 may be writing results; and after a good end, any rank may have much memory to give back.
 */
static double patience_with(const struct supervisor *supervisor, int rank)
{
    bool excused = rank == 0 || supervisor->status == STATUS_OK;
    return excused && !supervisor->children[rank].stopped ? BUSY_SECONDS : BEHIND_SECONDS;
}

static void end_those_behind(struct supervisor *supervisor)
{
    double now = clock_seconds();
    for (int rank = 0; rank < supervisor->ranks; rank++) {
        struct child *child = &supervisor->children[rank];
        double patience = patience_with(supervisor, rank);
        bool late = (supervisor->behind > 0 && now - supervisor->behind > patience) ||
                    (supervisor->signaled > 0 && now - supervisor->signaled > SIGNAL_SECONDS);
        if (!child->pid || child->ended_by_us || !late)
            continue;
        child->ended_by_us = true;
        kill(child->pid, SIGKILL); /* before anything is said, which may take its time */
        /* After a bad end it is no news that a rank is still giving back its memory. */
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
        poll(&set, 1, supervisor->behind > 0 || supervisor->signaled > 0 ? 100 : 1000);
        signals_pass_on(supervisor);
        children_reap(supervisor);
        end_those_behind(supervisor);
    }
    return supervisor->status;
}

void supervisor_destroy(struct supervisor *supervisor)
{
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
