/*
 * timed_call.c - waiting with an eye on the clock, and on signals or a tick.
 */
#include "base/timed_call.h"

#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/signals.h"

int timed_call_await(int fd, int signals, double seconds)
{
    double until = clock_seconds() + seconds, left = seconds;
    for (;;) {
        struct pollfd set[] = {{.fd = fd, .events = POLLIN}, {.fd = signals, .events = POLLIN}};
        poll(set, 2, left > 0 ? (int)(left * 1000) + 1 : 0);
        if (set[0].revents)
            return 0;
        int signal = signals_read(signals, NULL);
        if (signal)
            return -signal;
        if (left <= 0)
            return ETIMEDOUT;
        left = until - clock_seconds();
    }
}

enum call_state { CALL_RUNS, CALL_IS_DONE, CALL_IS_ABANDONED };

struct timed_call {
    void (*work)(void *argument);
    void *argument;
    pthread_t thread;
    int done;                      /* eventfd */
    _Atomic enum call_state state; /* the thread of an abandoned call frees it */
    struct log log;                /* the work's: it may live longer than the caller's */
};

static void timed_call_free(struct timed_call *call)
{
    if (call->done >= 0)
        close(call->done);
    free(call);
}

static void *timed_call_main(void *argument)
{
    struct timed_call *call = argument;
    log_attach(&call->log);
    call->work(call->argument);
    eventfd_write(call->done, 1);
    if (atomic_exchange(&call->state, CALL_IS_DONE) == CALL_IS_ABANDONED)
        timed_call_free(call);
    return NULL;
}

/* Returns 0, or the errno that kept it from starting. */
static int timed_call_begin(void (*work)(void *argument), void *argument, struct timed_call **call)
{
    const struct log *log = log_current();
    *call = malloc(sizeof **call);
    if (!*call)
        return ENOMEM;
    **call =
        (struct timed_call){.work = work, .argument = argument, .done = eventfd(0, EFD_CLOEXEC)};
    log_init(&(*call)->log, log->rank, log->verbosity);
    int error =
        (*call)->done < 0 ? errno : pthread_create(&(*call)->thread, NULL, timed_call_main, *call);
    if (error)
        timed_call_free(*call);
    return error;
}

/* `end`: how the wait for it ended. */
static int timed_call_end(struct timed_call *call, int end)
{
    struct failure failure;
    pthread_t thread = call->thread;
    if (timed_call_is_abandoned(end) &&
        atomic_exchange(&call->state, CALL_IS_ABANDONED) == CALL_RUNS) {
        pthread_detach(thread);
        return end;
    }
    pthread_join(thread, NULL);
    if (log_failure(&call->log, &failure))
        fail_again(&failure);
    timed_call_free(call);
    return 0;
}

int timed_call_run(void (*work)(void *argument), void *argument, double seconds)
{
    struct timed_call *call;
    sigset_t mask;
    int signals = signals_borrow(&mask); /* before there is a thread, which is not to get any */
    int end = timed_call_begin(work, argument, &call);
    if (end == 0)
        end = timed_call_end(call, timed_call_await(call->done, signals, seconds));
    signals_return(signals, &mask);
    return end;
}

#define TICK_MS 5 /* between two */

static int timed_call_tick(int done, const struct tick *tick, double seconds)
{
    double until = clock_seconds() + seconds;
    for (;;) {
        struct pollfd set = {.fd = done, .events = POLLIN};
        if (poll(&set, 1, TICK_MS) > 0)
            return 0;
        bool works = clock_seconds() < until;
        enum tick_answer answer = works ? TICK_GO_ON : tick_wait(tick, -1);
        if (answer == TICK_ENDED || (works && !tick_on(tick)))
            return ECANCELED;
        if (answer == TICK_LATE)
            return ETIMEDOUT;
    }
}

int timed_call_ticking(void (*work)(void *argument), void *argument, const struct tick *tick,
                       double seconds)
{
    struct timed_call *call;
    int end = timed_call_begin(work, argument, &call);
    return end ? end : timed_call_end(call, timed_call_tick(call->done, tick, seconds));
}

void timed_call_reraise(int end)
{
    if (end < 0)
        kill(getpid(), -end);
}

const char *timed_call_text(int end, char *text, size_t size)
{
    if (end < 0)
        snprintf(text, size, "interrupted by SIG%s", sigabbrev_np(-end));
    else
        snprintf(text, size, "%s",
                 end == ECANCELED ? "the job has ended meanwhile" : strerror(end));
    return text;
}
