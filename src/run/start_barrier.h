/*
 * start_barrier.h - the start barrier: all ranks come together before an iteration begins.
 *
 * The ranks of a host meet in shared memory (node_barrier.h). Where there are several hosts, the
 * first rank of each then goes through a dissemination barrier over the links, and its host's ranks
 * meet a second time, to learn that all have come. A rank that cannot share memory with its host
 * (it may run in a container of its own) counts as a host of its own.
 *
 * The order of calls: start_barrier_open; exchange of the offers; start_barrier_join; exchange of
 * `shared != NULL`; start_barrier_arrange; start_barrier_link, when there are links.
 */
#ifndef CCTEST_RUN_START_BARRIER_H
#define CCTEST_RUN_START_BARRIER_H

#include "dataplane/execute/executor.h"
#include "run/node_barrier.h"
#include "run/node_ranks.h"

/* Where the first rank of a host has made memory for the host's barrier. */
struct barrier_offer {
    uint64_t cookie; /* stands at the memory's beginning */
    int32_t pid;     /* process that made it */
    int fd;          /* its descriptor there; -1: it made none */
};
void barrier_offer_encode(const struct barrier_offer *offer, struct bytes *share);
bool barrier_offer_decode(struct barrier_offer *offer, struct reader *reader); /* false: invalid */

struct start_barrier {
    struct node_barrier node_barrier;
    struct barrier_offer offer; /* this rank's; open until start_barrier_arrange() */
    void *shared; /* the barrier of the host, mapped by all of its ranks; NULL: it has none */
    size_t bytes;
    int *members;              /* world ranks that meet at this rank's barrier, ascending */
    struct schedule *schedule; /* between first ranks; NULL: this is none, or there is one host */
    struct region region;      /* the schedule's three bytes, each in a place of its own, in host
                                  memory, wherever the job's buffers lie */
    struct memory memory;      /* of the region */
    struct executor *executor; /* the schedule, when there are links */
    int node_barriers;
    int *node_barrier_of; /* by world rank: which node barrier, numbered by first ranks */
};

/* Before there are links. The first rank of a host makes memory for the host's barrier. That it
 * cannot is no error: each rank of the host is alone then. */
void start_barrier_open(struct start_barrier *barrier, const struct node_ranks *node);

/* Maps what the host's first rank offers. */
void start_barrier_join(struct start_barrier *barrier, const struct node_ranks *node,
                        const struct barrier_offer *offer);

/* Where all ranks run. */
struct barrier_ranks {
    int ranks, rank;              /* of the job; this one */
    const struct member *members; /* by rank */
    const bool *shares;           /* by rank: does it map its host's barrier? */
};

/* Finds out which ranks meet where. Where several hosts meet, the first ranks write their schedule,
 * and allocate barrier->region. `lane`: on which the messages between hosts go. Comes before the
 * links are opened. */
enum status start_barrier_arrange(struct start_barrier *barrier, const struct barrier_ranks *all,
                                  int lane);

/* Makes the executor. `shared`: what all executors of this rank have in common. */
enum status start_barrier_link(struct start_barrier *barrier, const struct executor_config *shared);

void start_barrier_close(struct start_barrier *barrier); /* all zero is allowed */

#endif
