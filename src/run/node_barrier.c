/*
 * node_barrier.c - the start barrier of one host: flags in shared memory.
 */
#include "run/node_barrier.h"

/* Two lines each: cores fetch lines in pairs. */
struct gate_flag {
    _Atomic uint32_t meeting; /* the last one in which somebody raised it */
} __attribute__((aligned(128)));

static int gate_rounds(int ranks)
{
    int rounds = 0;
    while (rounds < 31 && 1 << rounds < ranks)
        rounds++;
    return rounds;
}

size_t gate_bytes(int ranks)
{
    return ((size_t)gate_rounds(ranks) * (size_t)ranks + 1) * sizeof(struct gate_flag);
}

void gate_open(struct gate *gate, void *memory, int rank, int ranks)
{
    *gate =
        (struct gate){.flags = memory, .rank = rank, .ranks = ranks, .rounds = gate_rounds(ranks)};
    gate->round = gate->rounds;
}

static struct gate_flag *gate_flag(const struct gate *gate, int rank)
{
    return &gate->flags[(size_t)gate->round * (size_t)gate->ranks + (size_t)rank];
}

/* Raises the flag of this round at the rank that waits for it. */
static void gate_raise(const struct gate *gate)
{
    int other = (int)(((int64_t)gate->rank + ((int64_t)1 << gate->round)) % gate->ranks);
    atomic_store_explicit(&gate_flag(gate, other)->meeting, gate->meeting, memory_order_release);
}

void gate_arrive(struct gate *gate)
{
    gate->meeting++;
    gate->round = 0;
    if (gate->rounds > 0)
        gate_raise(gate);
}

bool gate_passed(struct gate *gate)
{
    while (gate->round < gate->rounds) {
        uint32_t raised =
            atomic_load_explicit(&gate_flag(gate, gate->rank)->meeting, memory_order_acquire);
        if ((int32_t)(raised - gate->meeting) < 0)
            return false;
        if (++gate->round < gate->rounds)
            gate_raise(gate);
    }
    return true;
}

int gate_awaited(const struct gate *gate)
{
    int64_t distance = ((int64_t)1 << gate->round) % gate->ranks;
    return (int)((gate->rank - distance + gate->ranks) % gate->ranks);
}
