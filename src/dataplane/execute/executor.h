/*
 * executor.h - the executor: runs a schedule over transports, on the memory of this rank.
 *
 * An executor is one schedule made ready for given buffers: addresses and channels are found once,
 * and each run only resets and posts. It is started and polled, so that its caller can do other
 * things in between.
 */
#ifndef CCTEST_DATAPLANE_EXECUTE_EXECUTOR_H
#define CCTEST_DATAPLANE_EXECUTE_EXECUTOR_H

#include "dataplane/execute/execution.h"
#include "dataplane/execute/stage.h"
#include "dataplane/execute/step_clock.h"
#include "dataplane/memory/memory.h"
#include "collective/schedule/schedule.h"
#include "dataplane/transport/links.h"

struct executor;

struct executor_config {
    const struct schedule *schedule; /* must outlive the executor */
    char *buffer[BUFFERS];           /* addresses of source, destination, scratch */
    char *spare;                     /* where an injected fault drops a message, of any length that
                                        comes in; NULL: none is dropped */
    size_t element;                  /* bytes */
    reduce_function *reduce;         /* NULL if the schedule reduces nothing */
    finish_function *finish;         /* NULL if it finishes no result */
    size_t chunk;             /* grain in bytes; 0: whole messages; GRAIN_AUTO: by their length */
    size_t nontemporal_least; /* buffers of so many bytes together fit into no cache */
    struct memory memory;     /* where the buffers lie */
    struct links *links;
    struct staging *staging; /* for links that do not reach that memory; NULL: all do */
    struct profile *profile; /* NULL: no profile */
    struct step_clock *clock; /* likewise; it has the steps of the schedule */
};

/* The channels that the schedule uses must be connected. */
enum status executor_create(const struct executor_config *config, struct executor **executor);
void executor_destroy(struct executor *executor); /* NULL is allowed */

/* The executor as what is run: its hooks are the functions below. */
struct execution *executor_execution(struct executor *executor);

/* As in struct execution_hooks; check() fails if a peer that the run waits for is gone. */
enum status executor_start(struct executor *executor);
enum status executor_progress(struct executor *executor, bool *moved, bool *complete);
enum status executor_check(const struct executor *executor);
void executor_position(const struct executor *executor, struct position *position);
void executor_inject(struct executor *executor, enum fault_kind fault, int nth);
bool executor_inject_pending(const struct executor *executor);

#endif
