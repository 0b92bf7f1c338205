/*
 * programs.h - the programs of all ranks, and whether one of them stands for all.
 *
 * Ranks are those of the job: several groups of them may run at the same time, each its own problem.
 *
 * Many algorithms treat all ranks alike: rank r does what rank 0 does, with peers that are as far
 * from it. Then all ranks do everything at the same time, and a simulation of rank 0 alone is exact,
 * as long as links and cores treat all ranks alike, too. "As far" means: the same distance around
 * the ring of ranks; the same bits flipped in the rank's number; or, where ranks form groups of one
 * size, the same distance around the ring of groups, and around that of the ranks in a group.
 *
 * The programs show whether that is so. An algorithm may declare that all its ranks are alike; then only
 * some programs are written and compared, since those of p ranks with p messages each take p^2 time.
 */
#ifndef CCTEST_PREDICT_SIMULATE_PROGRAMS_H
#define CCTEST_PREDICT_SIMULATE_PROGRAMS_H

#include "base/status.h"
#include "collective/schedule/algorithm.h"
#include "predict/simulate/rank_program.h"

enum symmetry {
    SYMMETRY_NONE,   /* each rank has a program of its own */
    SYMMETRY_RING,   /* peer - rank, modulo the ranks */
    SYMMETRY_XOR,    /* peer ^ rank */
    SYMMETRY_GROUPS, /* the difference of groups, and of places in them, each modulo their number */
    SYMMETRIES
};

struct programs {
    int ranks;
    enum symmetry symmetry;
    int held; /* programs: 1 where rank 0 stands for all, else those of all ranks */
    size_t operations; /* of these */
    struct rank_program **program; /* of each; ranks with equal programs share them */
    int32_t **peers;               /* of each, by operation */
    struct rank_program **distinct; /* each program once */
    int distinct_count;
    const struct shape *shape; /* of the problem; NULL: none */
};

/* Of each pair of ranks, what must be equal where a symmetry is to hold, such as the class of the link. */
typedef int link_kind(const void *context, int rank, int peer);

struct program_source {
    const struct choice *choice;
    const struct problem *problem; /* of each group; a single one has the job's ranks */
    int groups;
    int channels;
    bool symmetric; /* one rank may stand for all: of a single group */
    link_kind *kind; /* NULL: all pairs are alike */
    const void *context;
    size_t operations_most; /* that may be held, of all ranks */
};

/* Builds the schedules of all ranks. Errors as of schedule_build(); STATUS_USAGE: they have more than
 * operations_most; STATUS_ERROR: memory ran out. On success the caller calls programs_close(). */
enum status programs_open(const struct program_source *source, struct programs *programs);
void programs_close(struct programs *programs);

/* How far a peer is from a rank, under a symmetry: the peer that rank 0 has at that distance. */
int symmetry_peer(const struct programs *programs, enum symmetry symmetry, int rank, int peer);

#endif
