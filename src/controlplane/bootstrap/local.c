/*
 * local.c - ranks that this process starts: processes under a supervisor, or threads.
 *
 * The supervisor is not a rank. It makes the secret and rank 0's listening socket before it forks,
 * so all ranks inherit them. See supervisor.c for the rest of its work.
 */
#include "controlplane/bootstrap/internal.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/host.h"
#include "base/list.h"
#include "base/log.h"
#include "base/signals.h"

#define LOCAL_RANKS_LEAST 2
#define LOCAL_RANKS_MOST  8

int local_ranks(const struct bootstrap_options *options)
{
    if (options->np > 0)
        return options->np;
    cpu_set_t set;
    int cores = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : LOCAL_RANKS_LEAST;
    return cores < LOCAL_RANKS_LEAST  ? LOCAL_RANKS_LEAST
           : cores > LOCAL_RANKS_MOST ? LOCAL_RANKS_MOST
                                      : cores;
}

/* Ranks wait for each other, so if not all threads can be started, none may begin. */
struct thread_start {
    const struct bootstrap_options *options;
    rank_main *main;
    void *argument;
    pthread_mutex_t lock; /* held while threads are being started */
    bool called_off;
};

struct thread {
    pthread_t thread;
    struct thread_start *start;
    struct membership membership;
    enum status status;
};

static void *thread_main(void *argument)
{
    struct thread *thread = argument;
    struct thread_start *start = thread->start;
    pthread_mutex_lock(&start->lock);
    bool called_off = start->called_off;
    pthread_mutex_unlock(&start->lock);
    if (!called_off)
        thread->status =
            rank_main_run(start->options, &thread->membership, start->main, start->argument);
    return NULL;
}

static enum status run_threads(const struct bootstrap_options *options,
                               const struct membership *membership, rank_main *main, void *argument)
{
    struct thread *threads = new_array((size_t)membership->ranks, sizeof *threads);
    enum status status = STATUS_OK;
    struct thread_start start = {
        .options = options, .main = main, .argument = argument, .lock = PTHREAD_MUTEX_INITIALIZER};
    int started = 0;
    pthread_mutex_lock(&start.lock);
    while (started < membership->ranks) {
        struct thread *thread = &threads[started];
        *thread = (struct thread){.start = &start, .membership = *membership};
        thread->membership.rank = started;
        if (started > 0)
            thread->membership.listeners.count = 0;
        int error = pthread_create(&thread->thread, NULL, thread_main, thread);
        if (error) {
            status = fail(STATUS_ERROR,
                          "could not start a thread for rank %d of %d: %s; " HOST_START_ADVICE,
                          started, membership->ranks, strerror(error));
            start.called_off = true;
            break;
        }
        started++;
    }
    pthread_mutex_unlock(&start.lock);
    for (int rank = 0; rank < started; rank++) {
        pthread_join(threads[rank].thread, NULL);
        status = status_worse(status, threads[rank].status);
    }
    sodium_memzero(threads, (size_t)membership->ranks * sizeof *threads);
    free(threads);
    return status;
}

/* A forked child becomes `rank`, and exits. */
static void child_run(const struct bootstrap_options *options, const struct membership *membership,
                      int rank, rank_main *main, void *argument)
{
    struct membership mine = *membership;
    mine.rank = rank;
    if (rank > 0)
        listeners_close(&mine.listeners);
    exit((int)rank_main_run(options, &mine, main, argument));
}

static enum status run_processes(const struct bootstrap_options *options,
                                 struct membership *membership, rank_main *main, void *argument)
{
    struct supervisor *supervisor = supervisor_create(membership->ranks, options->survives);
    if (!supervisor)
        return fail(STATUS_ERROR, "no descriptor is left for signals");
    membership->own_process = true;
    membership->supervisor = getpid();
    fflush(NULL); /* or every child would write what is still in stdio's buffers */
    enum status status = STATUS_OK;
    for (int rank = 0; rank < membership->ranks && status == STATUS_OK; rank++) {
        int result = supervisor_fork(supervisor, rank);
        if (result == 0) {
            supervisor_leave(supervisor);
            child_run(options, membership, rank, main, argument);
        }
        if (result < 0)
            status = fail(STATUS_ERROR, "could not start rank %d of %d: %s; " HOST_START_ADVICE,
                          rank, membership->ranks, strerror(errno));
    }
    listeners_close(&membership->listeners);
    if (status == STATUS_OK)
        status = supervisor_wait(supervisor, options->timeout);
    supervisor_destroy(supervisor);
    return status;
}

enum status bootstrap_run_local(const struct bootstrap_options *options, rank_main *main,
                                void *argument)
{
    struct membership membership = {.ranks = local_ranks(options),
                                    .root_host = "localhost",
                                    .has_secret = true,
                                    .started_here = true,
                                    .bootstrap = "local"};
    TRY(interface_check(options->interface)); /* once, not by every rank */
    randombytes_buf(membership.secret, sizeof membership.secret);
    enum status status = addresses_listen(NULL, true, &membership.listeners, &membership.root_home);
    if (status == STATUS_OK) {
        /* From here on the supervisor or rank 0 reads the signals, so none is lost. */
        sigset_t set;
        signals_ending(&set);
        sigaddset(&set, SIGNAL_LOST);
        pthread_sigmask(SIG_BLOCK, &set, NULL);
        status = options->ranks_as == RANKS_THREADS
                     ? run_threads(options, &membership, main, argument)
                     : run_processes(options, &membership, main, argument);
        /* The signals stay blocked: one that comes after the end of the job must not change the
         * exit status. */
    }
    sodium_memzero(&membership, sizeof membership);
    return status;
}
