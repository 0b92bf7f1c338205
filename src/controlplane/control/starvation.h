/*
 * starvation.h - does a thread wait for a core?
 *
 * On a loaded machine a thread may stand ready to run for seconds and get no core. Nothing is stuck
 * then, so the helper counts it as progress: the deadline begins anew. A rank that waits for others
 * gets a core now and then, in which it moves nothing, so it is never taken for one that starves.
 */
#ifndef CCTEST_CONTROLPLANE_CONTROL_STARVATION_H
#define CCTEST_CONTROLPLANE_CONTROL_STARVATION_H

#include <stdbool.h>
#include <stdint.h>

/* Starving counts for so many deadlines after the last progress of its own. Nothing hangs. */
#define STARVATION_DEADLINES 4

/* A thread as of one moment. */
struct thread_sight {
    double now;        /* seconds */
    uint64_t cpu_ns;   /* that it has had */
    uint64_t progress; /* that it has made */
    bool ready;        /* it runs, or waits for nothing but a core */
};

struct starvation {
    double ready_since; /* it was ready at each look since then, and has had no core */
    double progressed;  /* when its progress last grew */
    uint64_t cpu_ns, progress;
    uint64_t count; /* looks at which it starved */
};

/* To be called some times in a deadline (seconds). After half of one without a core the thread
 * starves. */
void starvation_look(struct starvation *starvation, const struct thread_sight *sight,
                     double deadline);

#endif
