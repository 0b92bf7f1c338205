/*
 * tick.h - a sign of life from long work that moves nothing between ranks: first touch of memory,
 * filling it, comparing results.
 */
#ifndef CCTEST_BASE_TICK_H
#define CCTEST_BASE_TICK_H

#include <stdbool.h>
#include <stddef.h>

struct tick {
    bool (*call)(void *argument); /* false: the job has ended, give up */
    void *argument;
};

/* To be called every few MiB. NULL is allowed: nobody listens. */
static inline bool tick_on(const struct tick *tick)
{
    return !tick || tick->call(tick->argument);
}

#endif
