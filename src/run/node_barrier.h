/*
 * node_barrier.h - where the ranks of one host meet in shared memory before an iteration begins.
 *
 * A dissemination barrier (Hensgen, Finkel, Manber 1988) on flags, each in a cache line of its own:
 * in round k a rank raises the flag of the rank 2^k places on, and waits for its own. Nobody is
 * released much earlier than another, which a counter with one writer at the end could not promise:
 * what is timed after it begins with equal chances. It needs memory that all its ranks map, and
 * nothing else, so that the programs that cctest is compared with can begin with the same one.
 */
#ifndef CCTEST_RUN_NODE_BARRIER_H
#define CCTEST_RUN_NODE_BARRIER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct node_barrier_flag;

/* One rank's view of a gate. */
struct node_barrier {
    struct node_barrier_flag *flags; /* in the shared memory, zero at first: one a round and rank */
    int rank, ranks;                 /* place among those who meet, and how many they are */
    int rounds;
    int round;        /* of the meeting that is under way */
    uint32_t meeting; /* number of the meeting */
};

/* Bytes of shared memory that a gate for `ranks` ranks needs. */
size_t node_barrier_bytes(int ranks);

/* `memory`: node_barrier_bytes(ranks) bytes, aligned to a cache line, zero before anyone arrives. The
 * caller keeps it until all ranks are through. */
void node_barrier_open(struct node_barrier *node_barrier, void *memory, int rank, int ranks);

/* This rank has come: the next meeting begins for it. */
void node_barrier_arrive(struct node_barrier *node_barrier);

/* Whose flag this rank waits for, as its place: while node_barrier_passed() says no. */
int node_barrier_awaited(const struct node_barrier *node_barrier);

/* Has everybody come? Never waits; to be asked again until it says so. */
bool node_barrier_passed(struct node_barrier *node_barrier);

#endif
