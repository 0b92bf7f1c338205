/*
 * profile.h - where a rank's time goes: every moment of its iterations belongs to one activity.
 *
 * Whoever is about to copy or combine says so, and says when it is over; what it takes to hand over
 * one cell after the other in between is part of it. The executor tells waiting from bookkeeping:
 * from the end of a look at what can be moved that found nothing, the rank waits, until it touches
 * the next byte. A change costs one read of a counter, however long or short a wait is.
 *
 * A rank has one profile or none: NULL is allowed everywhere, and means that nobody wants to know.
 */
#ifndef CCTEST_MEMORY_PROFILE_H
#define CCTEST_MEMORY_PROFILE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"

enum activity {
    PROFILE_BOOKKEEPING, /* all that is none of the others */
    PROFILE_COPY,        /* moving bytes, here or in a system call */
    PROFILE_REDUCE,      /* combining */
    PROFILE_PEER,        /* nothing can move: a message has not come, or has not been taken */
    PROFILE_CREDIT,      /* nothing can move: something is to be sent, and the link has no room */
    ACTIVITIES
};

struct profile {
    uint64_t cycles[ACTIVITIES]; /* of this iteration, by profile_clock() */
    uint64_t last;               /* the last change */
    enum activity now;
    bool starved;              /* in this look something found no room to be sent */
    double shares[ACTIVITIES]; /* of an iteration's time, summed over those that were closed */
};

/* A counter that runs at one rate for all cores; what that rate is does not matter. */
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

/* From here on this rank does that; returns what it did before. */
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

/* It has copied or combined what there was, if there was any. */
static inline void profile_leave(struct profile *profile)
{
    if (profile && (profile->now == PROFILE_COPY || profile->now == PROFILE_REDUCE))
        profile_enter(profile, PROFILE_BOOKKEEPING);
}

/* What was entered last came to nothing: its time goes to what was there `before`. */
static inline void profile_revert(struct profile *profile, enum activity before)
{
    if (profile)
        profile->now = before;
}

/* Something found no room to be sent. */
static inline void profile_starve(struct profile *profile)
{
    if (profile)
        profile->starved = true;
}

/* The end of a look at what can be moved. */
static inline void profile_look_end(struct profile *profile, bool moved)
{
    if (!profile)
        return;
    enum activity wait = profile->starved ? PROFILE_CREDIT : PROFILE_PEER;
    profile->starved = false;
    profile_enter(profile, moved ? PROFILE_BOOKKEEPING : wait);
}

/* Around an iteration. Each counts alike in the shares, so that one that was interrupted for long
 * does not drown the others. */
void profile_open(struct profile *profile);
void profile_close(struct profile *profile);

#endif
