/*
 * run_watch.c - when this process did not run, and how long a thread waits for its core.
 */
#include "base/run_watch.h"

#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"

static void gap_note(struct run_watch *watch, struct run_gap gap)
{
    uint64_t ns = gap.ended - gap.began;
    pthread_mutex_lock(&watch->lock);
    watch->recent[atomic_load(&watch->gaps) % RUN_GAPS_MOST] = gap;
    atomic_fetch_add(&watch->gaps, 1);
    pthread_mutex_unlock(&watch->lock);
    atomic_fetch_add(&watch->gap_us, ns / 1000);
}

static void *watch_main(void *argument)
{
    struct run_watch *watch = argument;
    const struct timespec pause = {.tv_nsec = watch->pause};
    for (uint64_t due = clock_ns() + watch->pause; !atomic_load(&watch->ends);) {
        nanosleep(&pause, NULL);
        uint64_t now = clock_ns();
        if (now > due && now - due >= watch->least)
            gap_note(watch, (struct run_gap){.began = due, .ended = now});
        due = now + watch->pause;
    }
    return NULL;
}

void run_watch_start(struct run_watch *watch, double least, double pause)
{
    sigset_t all, before;
    if (watch->runs)
        return;
    atomic_store(&watch->ends, false);
    watch->least = (uint64_t)(least * 1e9);
    watch->pause = (uint32_t)(pause * 1e9);
    pthread_mutex_init(&watch->lock, NULL);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    watch->runs = pthread_create(&watch->thread, NULL, watch_main, watch) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void run_watch_stop(struct run_watch *watch)
{
    atomic_store(&watch->ends, true);
    if (watch->runs)
        pthread_join(watch->thread, NULL);
    watch->runs = false;
}

uint64_t run_watch_gaps_within(struct run_watch *watch, uint64_t begin, uint64_t end)
{
    uint64_t ns = 0;
    if (!watch->runs)
        return 0;
    pthread_mutex_lock(&watch->lock);
    uint64_t count = atomic_load(&watch->gaps);
    for (uint64_t n = count > RUN_GAPS_MOST ? count - RUN_GAPS_MOST : 0; n < count; n++) {
        struct run_gap gap = watch->recent[n % RUN_GAPS_MOST];
        uint64_t from = gap.began > begin ? gap.began : begin;
        uint64_t until = gap.ended < end ? gap.ended : end;
        ns += until > from ? until - from : 0;
    }
    pthread_mutex_unlock(&watch->lock);
    return ns;
}

/* Source: Documentation/scheduler/sched-stats.rst of Linux: ns on the core, ns waiting, turns. */
int64_t wait_meter_ns(const struct wait_meter *meter)
{
    char text[80];
    ssize_t length = meter->known ? pread(meter->file, text, sizeof text - 1, 0) : -1;
    uint64_t ran, waited;
    text[length > 0 ? length : 0] = '\0';
    bool told = sscanf(text, "%" SCNu64 " %" SCNu64, &ran, &waited) == 2 && ran > 0;
    return told ? (int64_t)waited : -1;
}

void wait_meter_open(struct wait_meter *meter)
{
    meter->file = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
    meter->known = meter->file >= 0;
    if (wait_meter_ns(meter) < 0)
        wait_meter_close(meter);
}

void wait_meter_close(struct wait_meter *meter)
{
    if (meter->known)
        close(meter->file);
    meter->known = false;
}
