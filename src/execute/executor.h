/*
 * executor.h - the executor: runs a schedule over transports, on the memory of this rank.
 *
 * A plan is a schedule that was made ready for given buffers: addresses, channels and wake lists
 * are found once; each run only resets and posts. It is started and polled, so that several can run
 * at the same time and a caller can look at other things in between.
 */
#ifndef CCTEST_EXECUTE_EXECUTOR_H
#define CCTEST_EXECUTE_EXECUTOR_H

#include "memory/memory.h"
#include "schedule/schedule.h"
#include "transport/links.h"

struct plan;

struct plan_config {
    const struct schedule *schedule; /* must outlive the plan */
    char *buffer[BUFFERS];           /* addresses of source, destination, scratch */
    size_t element;                  /* bytes */
    reduce_function *reduce;         /* NULL if the schedule reduces nothing */
    finish_function *finish;         /* NULL if nothing in it finishes a result */
    size_t chunk; /* grain in bytes; 0: whole messages (nothing follows before all of it is done);
                     GRAIN_AUTO: by their length */
    size_t stream_least; /* bytes of all buffers together that no cache keeps */
    const struct memory_kind *memory;
    struct engine *engine; /* for local operations; of that kind */
    struct links *links;
    struct profile *profile; /* NULL: nobody wants to know where the time goes */
};

/* Channels that the schedule uses must be connected. */
enum status plan_create(const struct plan_config *config, struct plan **plan);
void plan_destroy(struct plan *plan); /* NULL is allowed */

/* Begins a run; the last one must be complete. */
enum status plan_start(struct plan *plan);

/* Moves what can be moved, without waiting. *complete is set when the run is over; *moved when
 * anything moved in this call. */
enum status plan_progress(struct plan *plan, bool *moved, bool *complete);

/* Called now and then while nothing moves: do the peers that the run waits for still live? */
enum status plan_check(const struct plan *plan);

/* What the run waits in: the earliest operation in program order that is not complete. */
struct whereabouts {
    int operation; /* index in the schedule; -1: none */
    enum operation_kind kind;
    int peer, lane, step;
    size_t done, length; /* bytes */
};
void plan_where(const struct plan *plan, struct whereabouts *where);

/* Injected faults, for testing the tester: the `nth` incoming message of the next run is treated
 * so. */
enum plan_fault {
    PLAN_FAULT_NONE,
    PLAN_FAULT_CORRUPT, /* one bit of one of its elements flips on arrival */
    PLAN_FAULT_DROP,    /* it is received and ignored */
};
void plan_inject(struct plan *plan, enum plan_fault fault, int nth);
/* Is there still a fault that has struck nothing? */
bool plan_inject_pending(const struct plan *plan);

#endif
