/*
 * execution.h - what a rank runs again and again: started, then polled to its end. An executor runs
 * a schedule, a vendor's library a collective of its own.
 */
#ifndef CCTEST_DATAPLANE_EXECUTE_EXECUTION_H
#define CCTEST_DATAPLANE_EXECUTE_EXECUTION_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"
#include "dataplane/execute/fault.h"
#include "collective/schedule/schedule.h"

/* Where a run stands: its first incomplete operation, in program order. */
struct position {
    int operation; /* index in the schedule; -1: none */
    enum operation_kind kind;
    int peer, lane, step; /* step: STEP_VENDOR in a vendor's collective, which shows none */
    size_t done, length;  /* bytes */
};

struct execution;

struct execution_hooks {
    /* Begins a run; the last one must be complete. */
    enum status (*start)(struct execution *execution);
    /* Moves what can be moved, without waiting. *complete: the run is over. *moved: this call has
     * moved something. */
    enum status (*progress)(struct execution *execution, bool *moved, bool *complete);
    /* Called now and then while nothing moves: fails if the run can no longer come to its end. */
    enum status (*check)(const struct execution *execution);
    void (*position)(const struct execution *execution, struct position *position);
    /* How long a device took for the last run, by its own clock, ns. NULL: no device ran it. */
    uint64_t (*device_time)(const struct execution *execution);
    /* Injects the fault into incoming message `nth` (from 0) of the next run. NULL, like the next:
     * it shows no messages. */
    void (*inject)(struct execution *execution, enum fault_kind fault, int nth);
    /* True if no message has met the injected fault yet. */
    bool (*inject_pending)(const struct execution *execution);
    void (*destroy)(struct execution *execution);
};

/* The first member of whatever is run. */
struct execution {
    const struct execution_hooks *hooks;
};

static inline void execution_destroy(struct execution *execution) /* NULL is allowed */
{
    if (execution)
        execution->hooks->destroy(execution);
}

#endif
