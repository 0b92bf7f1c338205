/*
 * pulse.c - rank 0's heartbeats while it does not turn.
 */
#include "controlplane/agents/internal.h"

#include <errno.h>
#include <time.h>

#include "base/clock.h"
#include "controlplane/control/control.h"

/* False: it is to stop. */
static bool pulse_wait(struct pulse *pulse)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += (time_t)pulse->seconds;
    until.tv_nsec += (long)(1e9 * (pulse->seconds - (double)(time_t)pulse->seconds));
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    pthread_mutex_lock(&pulse->lock);
    while (!pulse->stops && pthread_cond_timedwait(&pulse->stop, &pulse->lock, &until) != ETIMEDOUT)
        ;
    bool goes_on = !pulse->stops;
    pthread_mutex_unlock(&pulse->lock);
    return goes_on;
}

static void *pulse_main(void *argument)
{
    struct pulse *pulse = argument;
    while (pulse_wait(pulse)) {
        pulse->beat = clock_seconds();
        child_links_send(pulse->links, 0, FRAME_HEARTBEAT, NULL, 0);
        child_links_flush(pulse->links);
    }
    return NULL;
}

void pulse_init(struct pulse *pulse, struct child_links *links, double seconds)
{
    pthread_condattr_t attributes;
    *pulse = (struct pulse){.links = links, .seconds = seconds, .lock = PTHREAD_MUTEX_INITIALIZER};
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&pulse->stop, &attributes);
    pthread_condattr_destroy(&attributes);
}

void pulse_start(struct pulse *pulse)
{
    pulse->stops = false;
    pulse->beat = clock_seconds();
    pulse->runs = pthread_create(&pulse->thread, NULL, pulse_main, pulse) == 0;
}

void pulse_stop(struct pulse *pulse)
{
    if (!pulse->runs)
        return;
    pthread_mutex_lock(&pulse->lock);
    pulse->stops = true;
    pthread_cond_signal(&pulse->stop);
    pthread_mutex_unlock(&pulse->lock);
    pthread_join(pulse->thread, NULL);
    pulse->runs = false;
}

void pulse_free(struct pulse *pulse)
{
    pulse_stop(pulse);
    pthread_cond_destroy(&pulse->stop);
}
