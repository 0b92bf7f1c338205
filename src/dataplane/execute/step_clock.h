/*
 * step_clock.h - when a rank has ended each step of a schedule.
 *
 * A step ends with the last of its operations. Executors note it where a rank has a clock.
 */
#ifndef CCTEST_DATAPLANE_EXECUTE_STEP_CLOCK_H
#define CCTEST_DATAPLANE_EXECUTE_STEP_CLOCK_H

#include "base/clock.h"

struct step_clock {
    int steps; /* of the schedule, as it labels them */
    uint64_t
        *ended; /* clock_ns() at the end of each, in the last run; 0: this rank has no part in it */
};

/* An operation of this step is complete. NULL is allowed: no clock. */
static inline void step_clock_note(struct step_clock *clock, int step)
{
    if (clock)
        clock->ended[step] = clock_ns();
}

#endif
