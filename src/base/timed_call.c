/*
 * timed_call.c - waiting with an eye on the clock and on signals.
 */
#include "base/timed_call.h"

#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"
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

struct timed_call {
    void (*work)(void *argument);
    void *argument;
    int done; /* eventfd */
};

static void *timed_call_main(void *argument)
{
    struct timed_call *call = argument;
    call->work(call->argument);
    eventfd_write(call->done, 1);
    return NULL;
}

static void timed_call_free(struct timed_call *call)
{
    close(call->done);
    free(call);
}

/* Begins it, and waits for it. */
static int timed_call_follow(struct timed_call *call, int signals, double seconds)
{
    pthread_t thread;
    int end = pthread_create(&thread, NULL, timed_call_main, call);
    if (end) {
        timed_call_free(call);
        return end;
    }
    end = timed_call_await(call->done, signals, seconds);
    if (timed_call_is_abandoned(end)) {
        pthread_detach(thread);
        return end;
    }
    pthread_join(thread, NULL);
    timed_call_free(call);
    return 0;
}

int timed_call_run(void (*work)(void *argument), void *argument, double seconds)
{
    struct timed_call *call = malloc(sizeof *call);
    if (!call)
        return ENOMEM;
    *call =
        (struct timed_call){.work = work, .argument = argument, .done = eventfd(0, EFD_CLOEXEC)};
    if (call->done < 0) {
        int error = errno;
        free(call);
        return error;
    }
    sigset_t mask;
    int signals = signals_borrow(&mask); /* before there is a thread, which is not to get any */
    int end = timed_call_follow(call, signals, seconds);
    signals_return(signals, &mask);
    return end;
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
        snprintf(text, size, "%s", strerror(end));
    return text;
}
