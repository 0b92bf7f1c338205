/*
 * tick.h - "this rank is alive: may it go on?" The one callback of work that takes long and of
 * whatever waits for another rank outside of a run.
 */
#ifndef CCTEST_BASE_TICK_H
#define CCTEST_BASE_TICK_H

#include <stdbool.h>
#include <stddef.h>

enum tick_answer {
    TICK_GO_ON,
    TICK_LATE,  /* no rank of the job has progressed for the timeout: a wait fails, and names what
                   is missing. Work goes on. */
    TICK_ENDED, /* the job has ended: give up */
};

#define TICK_WORKED (-2) /* as `peer`: this rank has done a piece of work, which is progress */

struct tick {
    /* `peer`: the rank that this one waits for; -1: it waits for none in particular; or
     * TICK_WORKED. */
    enum tick_answer (*call)(void *argument, int peer);
    void *argument;
};

/* Called every few MiB of work, and for each connection that is made. False: give up. NULL is
 * allowed: go on. */
static inline bool tick_on(const struct tick *tick)
{
    return !tick || tick->call(tick->argument, TICK_WORKED) != TICK_ENDED;
}

/* Called every few milliseconds of a wait. No waiting rank can judge by itself how long it may
 * wait, since others may be progressing. NULL is allowed: wait as long as it takes. */
static inline enum tick_answer tick_wait(const struct tick *tick, int peer)
{
    return tick ? tick->call(tick->argument, peer) : TICK_GO_ON;
}

#endif
