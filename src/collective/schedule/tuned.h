/*
 * tuned.h - which algorithm was the fastest where it was measured, and which is to be taken elsewhere.
 *
 * A cell has the times of algorithms for one collective, number of ranks and size. Between cells times
 * are interpolated in logarithms: the cells with the next smaller and larger number of ranks, and in each
 * of these numbers the next smaller and larger size, count the more the nearer they are. Beyond the
 * outermost cells the nearest ones count alone. A power of two of ranks is held against powers of two, where
 * any were measured; another number that was not measured itself against the next powers of two and the next
 * others, half each where there are both. An algorithm's
 * merit is the weighted mean of the logarithm of its time over the cell's best. The bests are the same for
 * all algorithms, so the pick is the one whose interpolated time, in logarithms, is the least.
 *
 * Pure: no files, no clock.
 */
#ifndef CCTEST_COLLECTIVE_SCHEDULE_TUNED_H
#define CCTEST_COLLECTIVE_SCHEDULE_TUNED_H

#include "base/arena.h"
#include "collective/schedule/algorithm.h"

struct tuned_algorithm {
    const char *text; /* as -a takes it: "bruck:radix=4" */
    struct choice choice;
    double time, low, high; /* us: the median of rounds, and the range of its interval */
};

struct tuned_cell {
    const struct collective *collective;
    int ranks, nodes;
    size_t bytes;                       /* as tables print it: the larger buffer of one rank */
    struct tuned_algorithm *algorithms; /* the winner first; one at least */
    int count;
};

#define TUNED_TEXT_MOST 80
#define TUNED_MOST      128 /* algorithms of a cell */

/* What was measured where. All texts and lists belong to the arena. */
struct tuned {
    struct arena *arena;
    const char *path;          /* of the file, for sentences */
    char cpu[TUNED_TEXT_MOST]; /* model of the machine's CPUs; "": not known */
    char memory[TUNED_TEXT_MOST], transport[TUNED_TEXT_MOST],
        datatype[TUNED_TEXT_MOST];  /* likewise, */
    char protocol[TUNED_TEXT_MOST]; /* of the device executor */
    int threads;                    /* CPUs of a host; 0: not known */
    struct tuned_cell *cells;
    size_t count;
    uint64_t fingerprint; /* of all that picks depend on */
};

void tuned_free(struct tuned *tuned); /* NULL is allowed */

/* Hashes what picks depend on. */
void tuned_seal(struct tuned *tuned);

#define TUNED_WHY_MOST 160
struct tuned_pick {
    const struct tuned_algorithm *algorithm;
    char why[TUNED_WHY_MOST]; /* "the fastest of 24 on 4 ranks in tuned.json" */
};

/* The algorithm of the best merit for a problem of `bytes` bytes (the size that tables print) that does
 * not refuse it. False: nothing was measured of the collective, or all refuse. */
bool tuned_choose(const struct tuned *tuned, const struct problem *problem, size_t bytes,
                  struct tuned_pick *pick);

#endif
