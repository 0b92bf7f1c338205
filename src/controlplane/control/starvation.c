/*
 * starvation.c - does a thread wait for a core?
 */
#include "controlplane/control/internal.h"

void starvation_look(struct starvation *starvation, const struct thread_sight *sight,
                     double deadline)
{
    if (sight->progress != starvation->progress) {
        starvation->progress = sight->progress;
        starvation->progressed = sight->now;
    }
    if (!sight->ready || sight->cpu_ns != starvation->cpu_ns) {
        starvation->cpu_ns = sight->cpu_ns;
        starvation->ready_since = sight->now;
    }
    bool starves = sight->now - starvation->ready_since > deadline / 2;
    bool counts = sight->now - starvation->progressed < STARVATION_DEADLINES * deadline;
    starvation->count += starves && counts;
}
