/*
 * profile.h - where the time of a rank goes: each moment of its iterations belongs to one activity.
 *
 * Code that copies or combines enters that activity and leaves it; the handling of cells in between
 * is part of it. The executor tells waiting from bookkeeping: after a poll that moved nothing, the
 * rank waits, until it touches the next byte. A change of activity costs one read of a counter,
 * however long it lasts.
 *
 * A rank has one profile or none. NULL is allowed everywhere: no profile.
 */
#ifndef CCTEST_DATAPLANE_MEMORY_PROFILE_H
#define CCTEST_DATAPLANE_MEMORY_PROFILE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"

enum activity {
    PROFILE_BOOKKEEPING, /* everything else */
    PROFILE_COPY,        /* moves bytes, here or in a system call */
    PROFILE_REDUCE,      /* combines */
    PROFILE_PEER,        /* waits for a peer: a message has not arrived, or has not been taken */
    PROFILE_CREDIT,      /* waits for room on a link, to send */
    ACTIVITIES
};

struct profile {
    uint64_t cycles[ACTIVITIES]; /* of this iteration, by profile_clock() */
    uint64_t last;               /* the last change */
    enum activity now;
    bool starved;    /* in this poll a message found no room on its link */
    uint64_t opened; /* ns */
    /* Times of this iteration, ns, if a device ran it: by the device's clock. They count instead of
     * the cycles then, and what is left of the iteration is bookkeeping. */
    double device[ACTIVITIES];
    double shares[ACTIVITIES]; /* of an iteration's time, summed over the closed iterations */
};

/* A counter that runs at one rate on all cores, whatever rate it is. */
static inline uint64_t profile_clock(void)
{
#if defined(__x86_64__)
    return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
    uint64_t count;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(count));
    return count;
#else
    return clock_ns();
#endif
}

/* From here on this rank does `activity`. Returns the one before. */
static inline enum activity profile_enter(struct profile *profile, enum activity activity)
{
    if (!profile || profile->now == activity)
        return activity;
    uint64_t time = profile_clock();
    enum activity before = profile->now;
    profile->cycles[before] += time - profile->last;
    profile->last = time;
    profile->now = activity;
    return before;
}

/* The end of a copy or a reduction, if there was any. */
static inline void profile_leave(struct profile *profile)
{
    if (profile && (profile->now == PROFILE_COPY || profile->now == PROFILE_REDUCE))
        profile_enter(profile, PROFILE_BOOKKEEPING);
}

/* The activity entered last did nothing: its time counts as `before`. */
static inline void profile_revert(struct profile *profile, enum activity before)
{
    if (profile)
        profile->now = before;
}

/* A message found no room on its link. */
static inline void profile_starve(struct profile *profile)
{
    if (profile)
        profile->starved = true;
}

/* The end of a poll. */
static inline void profile_poll_end(struct profile *profile, bool moved)
{
    if (!profile)
        return;
    enum activity wait = profile->starved ? PROFILE_CREDIT : PROFILE_PEER;
    profile->starved = false;
    profile_enter(profile, moved ? PROFILE_BOOKKEEPING : wait);
}

/* Around an iteration. All count alike in the shares, so that a long interruption of one does not
 * dominate. */
static inline void profile_open(struct profile *profile)
{
    if (!profile)
        return;
    for (int a = 0; a < ACTIVITIES; a++)
        profile->cycles[a] = profile->device[a] = 0;
    profile->opened = clock_ns();
    profile->now = PROFILE_BOOKKEEPING;
    profile->starved = false;
    profile->last = profile_clock();
}

static inline void profile_close(struct profile *profile)
{
    if (!profile)
        return;
    profile->cycles[profile->now] += profile_clock() - profile->last;
    double cycles = 0, device = 0, passed = (double)(clock_ns() - profile->opened);
    for (int a = 0; a < ACTIVITIES; a++) {
        cycles += (double)profile->cycles[a];
        device += profile->device[a];
    }
    if (device > 0)
        profile->device[PROFILE_BOOKKEEPING] += passed > device ? passed - device : 0;
    double total = device <= 0 ? cycles : passed > device ? passed : device;
    for (int a = 0; a < ACTIVITIES && total > 0; a++)
        profile->shares[a] +=
            (device > 0 ? profile->device[a] : (double)profile->cycles[a]) / total;
}

#endif
