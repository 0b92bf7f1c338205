/*
 * collective.h - what each collective promises: its contract.
 *
 * A contract defines how large each rank's buffers are, and for every element of each rank's
 * destination the source elements that contribute to it. The verifier, the run-time check and its
 * diagnosis all read this one contract; no other code knows what a collective means.
 *
 * `count` is the unit of a contract, in elements. For allreduce, broadcast, reduce, sendrecv and
 * barrier it is the whole vector. For allgather, gather, scatter, reduce_scatter and alltoall it is
 * one block: the data from one rank to another. In the forms with counts (allgatherv, ...)
 * problem->counts has the lengths of the blocks, and `count` is their mean, rounded up.
 */
#ifndef CCTEST_COLLECTIVE_COLLECTIVE_H
#define CCTEST_COLLECTIVE_COLLECTIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum collective_id {
    COLLECTIVE_ALLREDUCE,
    COLLECTIVE_ALLGATHER,
    COLLECTIVE_REDUCE_SCATTER,
    COLLECTIVE_ALLTOALL,
    COLLECTIVE_BROADCAST,
    COLLECTIVE_REDUCE,
    COLLECTIVE_GATHER,
    COLLECTIVE_SCATTER,
    COLLECTIVE_ALLTOALLV,
    COLLECTIVE_ALLGATHERV,
    COLLECTIVE_REDUCE_SCATTERV,
    COLLECTIVE_GATHERV,
    COLLECTIVE_SCATTERV,
    COLLECTIVE_SENDRECV,
    COLLECTIVE_BARRIER,
};
#define COLLECTIVES (COLLECTIVE_BARRIER + 1)

/* The form of a source or destination. */
struct extent_side {
    bool blocks;    /* a block for each rank; else one vector, or one block */
    bool root_only; /* only the root has it */
};

#define COLLECTIVE_ALIASES_MOST 6

struct collective {
    enum collective_id id;
    const char *name;                             /* "reduce_scatter" */
    const char *aliases[COLLECTIVE_ALIASES_MOST]; /* "reducescatter", "reduce-scatter", ..., NULL */
    const char *summary;                          /* one line for `cctest list` */
    struct extent_side source, destination;
    bool counted; /* each block has its own length: problem->counts */
    bool reduces; /* it has an operator */
    bool rooted;  /* it has a root */
    bool sized;   /* it moves data whose size the user chooses (not barrier) */
};

/* Ended by NULL. */
extern const struct collective *const collectives[];
const struct collective *collective_of(enum collective_id id);
/* By name or alias, also as a program of another tool (osu_bcast, all_reduce_perf); NULL if unknown. */
const struct collective *collective_find(const char *name);

/* One instance of a collective: everything that its contract depends on. */
struct problem {
    const struct collective *collective;
    int ranks;
    int root;      /* rooted collectives; else 0 */
    size_t count;  /* elements, see above */
    bool in_place; /* source and destination share memory as collective_alias() says */
    bool finishes; /* the operator has a last step on the result (avg) */
    const struct counts *counts; /* forms with counts, and sendrecv; else NULL. Not owned */
    const struct shape *shape;   /* the groups of ranks; NULL: not known. Not owned */
    const int *members; /* the job's ranks that these are, ascending; NULL: the same. Not owned */
    /* Of each of the job's ranks, its place on a short ring: different numbers. NULL: not known, and
     * rings go by the numbers of ranks. Not owned. */
    const int *ring_place;
};

/* The job's rank that a rank of the problem is. */
static inline int problem_member(const struct problem *problem, int rank)
{
    return problem->members ? problem->members[rank] : rank;
}

/* The other way; -1: the job's rank is none of the problem. */
int problem_rank(const struct problem *problem, int member);

enum buffer { BUFFER_SOURCE, BUFFER_DESTINATION, BUFFER_SCRATCH, BUFFERS };
extern const char *const buffer_names[BUFFERS]; /* "source", "destination", "scratch" */

/* Elements of a rank's source or destination. */
size_t collective_extent(const struct problem *problem, int rank, enum buffer buffer);

/* Blocks of a source or destination: `ranks`, one for each, or 1. */
int collective_blocks(const struct collective *collective, enum buffer buffer, int ranks);

/* Elements of block `index` of a rank's source or destination, and where it begins there. For a
 * rank without that buffer: as if it were the root. */
size_t collective_block(const struct problem *problem, int rank, enum buffer buffer, int index,
                        size_t *offset);

/* In-place: the smaller buffer lies inside the larger one. Returns the one that is inside
 * (BUFFER_SOURCE or BUFFER_DESTINATION) and sets its element offset there. NCCL and
 * MPI have the same conventions: reduce_scatter's and scatter's destination is block `rank` of the
 * source, allgather's and gather's source is block `rank` of the destination; elsewhere both begin
 * at the same place. */
enum buffer collective_alias(const struct problem *problem, int rank, size_t *offset);

/* The contents that a run of destination elements must have. */
struct expectation {
    size_t at, length; /* destination elements */
    int rank;          /* the source's rank; EVERY_RANK: all ranks' elements, combined */
    size_t from;       /* element of the source(s) that belongs to `at` */
};
#define EVERY_RANK (-1) /* negative, as inputs_expect() takes it */

/* The `index`th expectation for `rank`'s destination, in ascending order, without gaps. Returns
 * false when there are no more. */
bool collective_expects(const struct problem *problem, int rank, int index,
                        struct expectation *expectation);

/* Do all ranks have a destination, with equal contents? */
bool collective_is_uniform(const struct collective *collective);

/* Elements of a barrier: one for each rank, of which that rank alone sets bits (inputs.c), so that a
 * contribution that is missing shows, whichever rank's it is. More ranks take turns, iteration by
 * iteration: a signal stays within a cache line. */
#define BARRIER_COUNT_MOST 32

/* Bytes <-> count. collective_count rounds up; it is 0 only if `bytes` is. A barrier has a count of
 * its own, and no size. collective_bytes is the size that tables print: the larger buffer of one
 * rank. */
size_t collective_count(const struct collective *collective, size_t bytes, size_t element,
                        int ranks);
size_t collective_bytes(const struct problem *problem, size_t element);

/* busbw = algbw * factor, with the factors of nccl-tests (doc/PERFORMANCE.md): allreduce 2(n-1)/n;
 * allgather, gather, scatter, reduce_scatter, alltoall and their forms with counts (n-1)/n;
 * broadcast, reduce and sendrecv 1. 0 where bandwidth has no meaning. */
double collective_bus_factor(const struct collective *collective, int ranks);

#endif
