/*
 * node_barrier.c - the start barrier of one host: flags in shared memory.
 */
#include "run/run.h"

/* Two lines each: cores fetch lines in pairs. */
struct node_barrier_flag {
    _Atomic uint32_t meeting; /* the last one in which it was raised */
} __attribute__((aligned(128)));

static int node_barrier_rounds(int ranks)
{
    int rounds = 0;
    while (rounds < 31 && 1 << rounds < ranks)
        rounds++;
    return rounds;
}

size_t node_barrier_bytes(int ranks)
{
    return ((size_t)node_barrier_rounds(ranks) * (size_t)ranks + 1) *
           sizeof(struct node_barrier_flag);
}

void node_barrier_open(struct node_barrier *node_barrier, void *memory, int rank, int ranks)
{
    *node_barrier = (struct node_barrier){
        .flags = memory, .rank = rank, .ranks = ranks, .rounds = node_barrier_rounds(ranks)};
    node_barrier->round = node_barrier->rounds;
}

static struct node_barrier_flag *node_barrier_flag(const struct node_barrier *node_barrier,
                                                   int rank)
{
    return &node_barrier
                ->flags[(size_t)node_barrier->round * (size_t)node_barrier->ranks + (size_t)rank];
}

/* Raises the flag of this round at the rank that waits for it. */
static void node_barrier_raise(const struct node_barrier *node_barrier)
{
    int other = (int)(((int64_t)node_barrier->rank + ((int64_t)1 << node_barrier->round)) %
                      node_barrier->ranks);
    atomic_store_explicit(&node_barrier_flag(node_barrier, other)->meeting, node_barrier->meeting,
                          memory_order_release);
}

void node_barrier_arrive(struct node_barrier *node_barrier)
{
    node_barrier->meeting++;
    node_barrier->round = 0;
    if (node_barrier->rounds > 0)
        node_barrier_raise(node_barrier);
}

/* By how many meetings this rank's flag is ahead of it: 0 or 1, since a rank can raise it for the
 * next meeting, and for no later one, before this rank has looked; UINT32_MAX: it is not
 * raised yet; others: garbage. */
static uint32_t node_barrier_ahead(const struct node_barrier *node_barrier)
{
    return atomic_load_explicit(&node_barrier_flag(node_barrier, node_barrier->rank)->meeting,
                                memory_order_acquire) -
           node_barrier->meeting;
}

bool node_barrier_is_sound(const struct node_barrier *node_barrier)
{
    return node_barrier->round == node_barrier->rounds || node_barrier_ahead(node_barrier) + 1 <= 2;
}

bool node_barrier_passed(struct node_barrier *node_barrier)
{
    while (node_barrier->round < node_barrier->rounds) {
        if (node_barrier_ahead(node_barrier) > 1)
            return false;
        if (++node_barrier->round < node_barrier->rounds)
            node_barrier_raise(node_barrier);
    }
    return true;
}

int node_barrier_awaited(const struct node_barrier *node_barrier)
{
    int64_t distance = ((int64_t)1 << node_barrier->round) % node_barrier->ranks;
    return (int)((node_barrier->rank - distance + node_barrier->ranks) % node_barrier->ranks);
}
