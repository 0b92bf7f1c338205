/*
 * start_barrier.h - the start barrier: all ranks come together before an iteration begins.
 *
 * The ranks of a host meet at a gate in shared memory (node_barrier.h). Where there are several hosts, the
 * first rank of each then goes through a dissemination barrier over the links, and its host's ranks
 * meet a second time, to learn that all have come. Ranks that cannot share memory (each in a
 * container of its own, say) count as hosts of their own.
 */
#ifndef CCTEST_RUN_START_BARRIER_H
#define CCTEST_RUN_START_BARRIER_H

#include "control/control.h"
#include "execute/executor.h"
#include "run/node_barrier.h"

struct start_barrier {
    struct node_barrier node_barrier;
    void *memory; /* the gate's; mapped by all of its ranks */
    size_t bytes;
    int *members;              /* world ranks of those who meet at the gate, ascending */
    struct schedule *schedule; /* between first ranks; NULL: this is none, or there is one gate */
    struct region region;      /* the schedule's three bytes, each in a place of its own */
    struct executor *executor; /* the schedule, when there are links */
    int gates;
    int *node_barrier_of; /* by world rank: at which gate it is, counted by their first ranks */
};

/* Called by all ranks together, before there are links. `kind`: the job's kind of memory, so that
 * its links reach start->region; `lane`: on which the barrier's messages go. */
enum status start_barrier_open(struct start_barrier *barrier, struct control *control,
                               const struct memory_kind *kind, int lane);

/* When there are links: makes the plan. `config` holds what all plans of this rank share. */
enum status start_barrier_link(struct start_barrier *barrier, const struct executor_config *config);

void start_barrier_close(
    struct start_barrier *barrier); /* one that was never opened is allowed: all zero */

#endif
