/*
 * executor.h - the executor: runs a schedule over transports, on the memory of this rank.
 *
 * A plan is a schedule that was made ready for given buffers: addresses, channels and wake lists
 * are found once; each run only resets and posts. It is started and polled, so that several can run
 * at the same time and a caller can look at other things in between.
 */
#ifndef CCTEST_EXECUTE_EXECUTOR_H
#define CCTEST_EXECUTE_EXECUTOR_H

#include "execute/fault.h"
#include "memory/memory.h"
#include "schedule/schedule.h"
#include "transport/links.h"

struct executor;

struct executor_config {
    const struct schedule *schedule; /* must outlive the plan */
    char *buffer[BUFFERS];           /* addresses of source, destination, scratch */
    size_t element;                  /* bytes */
    reduce_function *reduce;         /* NULL if the schedule reduces nothing */
    finish_function *finish;         /* NULL if nothing in it finishes a result */
    size_t chunk; /* grain in bytes; 0: whole messages (nothing follows before all of it is done);
                     GRAIN_AUTO: by their length */
    size_t nontemporal_least; /* bytes of all buffers together that no cache keeps */
    const struct memory_kind *memory;
    struct engine *engine; /* for local operations; of that kind */
    struct links *links;
    struct profile *profile; /* NULL: nobody wants to know where the time goes */
};

/* Channels that the schedule uses must be connected. */
enum status executor_create(const struct executor_config *config, struct executor **executor);
void executor_destroy(struct executor *executor); /* NULL is allowed */

/* Begins a run; the last one must be complete. */
enum status executor_start(struct executor *executor);

/* Moves what can be moved, without waiting. *complete is set when the run is over; *moved when
 * anything moved in this call. */
enum status executor_progress(struct executor *executor, bool *moved, bool *complete);

/* Called now and then while nothing moves: do the peers that the run waits for still live? */
enum status executor_check(const struct executor *executor);

/* What the run waits in: the earliest operation in program order that is not complete. */
struct position {
    int operation; /* index in the schedule; -1: none */
    enum operation_kind kind;
    int peer, lane, step;
    size_t done, length; /* bytes */
};
void executor_position(const struct executor *executor, struct position *where);

/* Injects the fault into incoming message `nth` (from 0) of the next run. */
void executor_inject(struct executor *executor, enum fault_kind fault, int nth);
/* True if no message has met the injected fault yet. */
bool executor_inject_pending(const struct executor *executor);

#endif
