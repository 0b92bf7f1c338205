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

#include "base/status.h"

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
#define COLLECTIVES_TEXT_MOST                                                                      \
    (COLLECTIVES * 17) /* bytes of the names of all of them, with commas */

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
/* By name or alias, also as a program of another tool (osu_bcast, all_reduce_perf); NULL if
 * unknown. */
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
    /* The place of each of the job's ranks on a short ring: different numbers. NULL: not known, and
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
extern const char *const buffer_names[]; /* "source", "destination", "scratch"; ended by NULL */

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

/* Elements of a barrier: one for each rank, of which that rank alone sets bits (inputs.c), so that
 * a contribution that is missing shows, whichever rank's it is. More ranks take turns, iteration by
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

/* ---- The lengths of blocks, and the partners of sendrecv.
 *
 * The forms with counts (alltoallv, allgatherv, gatherv, scatterv, reduce_scatterv) take the
 * lengths of their blocks from a distribution or a file. The patterns of sendrecv define each
 * rank's partners. All ranks hold the same counts.
 * ---- */

enum counts_kind {
    COUNTS_VECTOR,   /* one number for each rank: the length of its block */
    COUNTS_MATRIX,   /* one for each pair: the length of the block from `from` to `to` */
    COUNTS_PARTNERS, /* sendrecv: the rank that each rank sends to, and receives from */
};

struct counts {
    enum counts_kind kind;
    int ranks;
    size_t *before; /* one row, [ranks + 1]: elements of all blocks before each, and of all. It is
                         the vector, or the row of every sender of a matrix. A matrix of a file has
                         a row for each sender: [from][ranks + 1] */
    size_t
        *received; /* matrix of a file: [to][ranks + 1], elements for `to` of ranks before `from` */
    bool rotated;  /* matrix of one row: its index is the distance, (to - from) mod ranks */
    int *to, *from; /* partners: -1: none */
};

enum distribution {
    DISTRIBUTION_UNIFORM, /* the same for all */
    DISTRIBUTION_ZIPF,    /* the k-th most popular rank gets 1/k^S of the most popular one's */
    DISTRIBUTION_HOT,     /* rank 0 gets the fraction F of everything, the others the rest */
    DISTRIBUTION_SPREAD,  /* rank r gets in proportion to r; in a matrix, to the distance from the
                             sender: from nothing to twice the mean */
    DISTRIBUTION_FILE,    /* elements, from a file: a line for each sender with a number for each
                             receiver (matrix), or a number for each rank (vector) */
};

/* The argument of --counts. */
struct counts_spec {
    enum distribution distribution;
    double parameter;     /* S or F */
    const char *path;     /* of a file */
    size_t *numbers;      /* of a file, in its order */
    size_t rows, columns; /* of a file: lines with numbers, numbers in each */
};

/* "uniform", "zipf:S" (S from 0 to 10), "hot:F" (F from 0 to 1), "spread", or the path of a file,
 * which is read: whole numbers between blanks or commas, as many in each line that has any; '#'
 * begins a comment. Errors: STATUS_USAGE, with the file and the line; STATUS_ERROR for a FIFO
 * without a writer, or whose writer neither writes nor ends for some time. spec->path is `text`;
 * spec->numbers is the caller's, to be freed with free(). */
enum status counts_read(const char *text, struct counts_spec *spec);

/* Counts for `ranks` ranks, with `total` elements in all blocks together (vector), or in the blocks
 * of each sender (matrix); a file has its own totals. Zipf draws the popular ranks from the seed.
 * STATUS_USAGE if the file does not fit the number of ranks. Free with counts_free(). */
enum status counts_create(const struct counts_spec *spec, enum counts_kind kind, int ranks,
                          size_t total, uint64_t seed, struct counts **counts);
/* Counts of kind COUNTS_PARTNERS: partner(r) is the rank that r sends to, -1: none. No two ranks
 * send to the same one. */
enum status counts_of_partners(int ranks, int (*partner)(const void *context, int rank, int ranks),
                               const void *context, struct counts **counts);
void counts_free(struct counts *counts); /* NULL is allowed */

/* Elements in all blocks together, divided by their number, rounded up. Vector or matrix. */
size_t counts_mean(const struct counts *counts);

/* A number that differs where the contents of two files differ. */
uint64_t counts_fingerprint(const struct counts_spec *spec);

/* Elements of `count` blocks of the one row from `first` on, wrapping round at its end. */
static inline size_t counts_of_row(const struct counts *counts, int first, int count)
{
    const size_t *before = counts->before;
    int p = counts->ranks, end = first + count;
    if (end <= p)
        return before[end] - before[first];
    return before[p] - before[first] + before[end - p];
}

/* Matrix: the length of the block from `from` to `to`. *offset: where it begins in the source of
 * `from` (counts_sent) or in the destination of `to` (counts_received). */
static inline size_t counts_sent(const struct counts *counts, int from, int to, size_t *offset)
{
    int p = counts->ranks, first = counts->rotated ? (p - from) % p : 0;
    if (counts->received) {
        const size_t *row = counts->before + (size_t)from * ((size_t)p + 1);
        *offset = row[to];
        return row[to + 1] - row[to];
    }
    *offset = counts_of_row(counts, first, to);
    return counts_of_row(counts, (first + to) % p, 1);
}

static inline size_t counts_received(const struct counts *counts, int from, int to, size_t *offset)
{
    int p = counts->ranks;
    if (counts->received) {
        const size_t *column = counts->received + (size_t)to * ((size_t)p + 1);
        *offset = column[from];
        return column[from + 1] - column[from];
    }
    if (counts->rotated) { /* ranks 0, 1, ... are at the distances to, to - 1, ... */
        *offset = counts_of_row(counts, (to - from + 1 + p) % p, from);
        return counts_of_row(counts, (to - from + p) % p, 1);
    }
    size_t length = counts_of_row(counts, to, 1);
    *offset = (size_t)from * length;
    return length;
}

/* ---- A short ring: an order of ranks in which neighbours are near each other.
 *
 * The length of a ring is the sum of the distances from each rank to the next and from the last to
 * the first. The shortest is the travelling salesman's tour, so it is searched for: exactly up to
 * EXACT_RANKS_MOST ranks (Held, Karp, "A dynamic programming approach to sequencing problems",
 * 1962); else the nearest rank that is left is next, and then two edges are exchanged for two
 * shorter ones as long as there are some (2-opt: Croes, "A method for solving traveling-salesman
 * problems", 1958). Where distances are those of a tree (cache, node, switch), the nearest one next
 * is the shortest.
 *
 * The search has no clock and no chance in it: equal distances give the same order on all ranks.
 * ---- */

#define EXACT_RANKS_MOST  12
#define SEARCH_RANKS_MOST 1024 /* of more ranks, only orders that are given are compared */

struct rank_distances {
    /* The distance of two different ranks, the same in both directions. */
    uint32_t (*between)(const void *argument, int a, int b);
    const void *argument;
};

/* The length of a ring. */
uint64_t ring_length(const struct rank_distances *distances, const int *order, int ranks);

/* Writes the ranks in the order of a short ring, from rank 0. It is never longer than that of their
 * numbers, which is taken where no shorter one is found, nor than `given`, another order (NULL:
 * none). STATUS_ERROR: out of memory. */
enum status ring_order_find(const struct rank_distances *distances, const int *given, int ranks,
                            int *order);

/* The same ring as the place of each rank on it (problem->ring_place). `compare`, of two ranks: the
 * order that is given. Returns an array, the caller's to be freed with free(); NULL: out of
 * memory. */
int *ring_places_find(const struct rank_distances *distances, int ranks,
                      int (*compare)(const void *a, const void *b, void *argument), void *argument);

/* ---- Groups of ranks: the ranks of a node, or any other group.
 *
 * Hierarchical algorithms treat ranks of one group differently from ranks of another. The groups
 * come from where the ranks run, from --shape, or from an algorithm's own groups= option.
 * ---- */

struct shape {
    int ranks, groups;
    int *group;      /* of each rank */
    int *local_rank; /* of each rank: its index among the ranks of its group */
    int *start; /* groups + 1: group g's ranks are members[start[g]] .. members[start[g + 1] - 1] */
    int *members; /* ranks by group, ascending in each group */
    bool uniform; /* all groups have the same size */
};

/* From the group of each rank, as any numbers: equal numbers mean the same group. The shape numbers
 * groups in the order of their first ranks. NULL: out of memory. */
struct shape *shape_create(const int *group_of_rank, int ranks);

/* Groups of consecutive ranks, of `count` sizes (1 at least); one size stands for all groups. NULL,
 * with a sentence in `why`: the sizes do not add up to `ranks`, or memory ran out. */
struct shape *shape_of_sizes(const int *sizes, int count, int ranks, char *why, size_t size);

/* The same groups of the same ranks? */
bool shape_equal(const struct shape *a, const struct shape *b);

void shape_free(struct shape *shape); /* NULL is allowed */

static inline int shape_size(const struct shape *shape, int group)
{
    return shape->start[group + 1] - shape->start[group];
}

/* The world rank of a local rank of a group. */
static inline int shape_rank(const struct shape *shape, int group, int local_rank)
{
    return shape->members[shape->start[group] + local_rank];
}

#endif
