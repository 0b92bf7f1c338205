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

int errand_await(int fd, int signals, double seconds)
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

struct errand {
    void (*work)(void *argument);
    void *argument;
    int done; /* eventfd */
};

static void *errand_main(void *argument)
{
    struct errand *errand = argument;
    errand->work(errand->argument);
    eventfd_write(errand->done, 1);
    return NULL;
}

static void errand_free(struct errand *errand)
{
    close(errand->done);
    free(errand);
}

/* Begins it, and waits for it. */
static int errand_follow(struct errand *errand, int signals, double seconds)
{
    pthread_t thread;
    int end = pthread_create(&thread, NULL, errand_main, errand);
    if (end) {
        errand_free(errand);
        return end;
    }
    end = errand_await(errand->done, signals, seconds);
    if (errand_is_left(end)) {
        pthread_detach(thread);
        return end;
    }
    pthread_join(thread, NULL);
    errand_free(errand);
    return 0;
}

int errand_run(void (*work)(void *argument), void *argument, double seconds)
{
    struct errand *errand = malloc(sizeof *errand);
    if (!errand)
        return ENOMEM;
    *errand = (struct errand){.work = work, .argument = argument, .done = eventfd(0, EFD_CLOEXEC)};
    if (errand->done < 0) {
        int error = errno;
        free(errand);
        return error;
    }
    sigset_t mask;
    int signals = signals_borrow(&mask); /* before there is a thread, which is not to get any */
    int end = errand_follow(errand, signals, seconds);
    signals_return(signals, &mask);
    return end;
}

void errand_pass_on(int end)
{
    if (end < 0)
        kill(getpid(), -end);
}

const char *errand_text(int end, char *text, size_t size)
{
    if (end < 0)
        snprintf(text, size, "interrupted by SIG%s", sigabbrev_np(-end));
    else
        snprintf(text, size, "%s", strerror(end));
    return text;
}
