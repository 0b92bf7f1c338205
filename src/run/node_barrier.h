/*
 * node_barrier.h - the barrier of one host's ranks, in shared memory.
 *
 * A dissemination barrier (Hensgen, Finkel, Manber 1988) on flags, each in a cache line of its own:
 * in round k a rank raises the flag of the rank 2^k places on, and waits for its own. All ranks are
 * released at nearly the same time, so the timed operation after it starts evenly; a counter with
 * one last writer does not give this. What a rank writes before it arrives, all ranks see after they
 * have passed. The barrier needs only memory that all its ranks map, so that the programs that
 * cctest is compared with can use it too.
 */
#ifndef CCTEST_RUN_NODE_BARRIER_H
#define CCTEST_RUN_NODE_BARRIER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct node_barrier_flag;

/* One rank's view of the barrier. */
struct node_barrier {
    struct node_barrier_flag *flags; /* in the shared memory, zero at first: one a round and rank */
    int rank, ranks; /* index of this rank among the ranks that meet, and their number */
    int rounds;
    int round;        /* of the meeting that is under way */
    uint32_t meeting; /* number of the meeting */
};

/* Bytes of shared memory that a barrier of `ranks` ranks needs. */
size_t node_barrier_bytes(int ranks);

/* `memory`: node_barrier_bytes(ranks) bytes, aligned to a cache line, zero before any rank arrives.
 * The caller keeps it until all ranks have passed. */
void node_barrier_open(struct node_barrier *node_barrier, void *memory, int rank, int ranks);

/* This rank has arrived: the next meeting begins for it. */
void node_barrier_arrive(struct node_barrier *node_barrier);

/* The index of the rank that this one waits for, while node_barrier_passed() returns false. */
int node_barrier_awaited(const struct node_barrier *node_barrier);

/* Have all ranks arrived? Never waits; to be called until it returns true. */
bool node_barrier_passed(struct node_barrier *node_barrier);

/* Does the flag that this rank waits for have a value that a rank may have written? If not,
 * node_barrier_passed() returns false for ever. Three values are such, those of the meetings before,
 * now and next. Garbage that happens to be one of them is not seen: the first of them reads as a
 * flag that is not raised yet, so that this rank waits until its caller's deadline; the other two
 * release it, whether or not the rank that it waits for has arrived. */
bool node_barrier_is_sound(const struct node_barrier *node_barrier);

#endif
