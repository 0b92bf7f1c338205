/*
 * double_ring.c - barrier: a token goes round the ring twice, from rank 0 and back to it.
 *
 *        0 ---> 1         In the first round the token visits every rank. When rank 0 has it back,
 *        ^      |         all ranks have entered. In the second round it releases them.
 *        |      v
 *        3 <--- 2         2p steps; each rank sends 2 signals. No scratch.
 *
 * A barrier is a short bor allreduce here. In both rounds a rank combines the token with what it
 * knows; contributions that arrive twice do not change a bor. So the second round can bring what the
 * first has lost: no result shows it if the signal to rank 1 or 2 is lost (of two ranks, to either).
 *
 * Used by: Open MPI (double_ring).
 */
#include "algorithms/algorithms.h"

static void double_ring_barrier(struct builder *b, const struct call *call)
{
    const struct group *g = call->group;
    int p = g->size, r = g->rank, next = (r + 1) % p, previous = (r + p - 1) % p;
    struct message token = view_all(b, &call->destination), heard = view_all(b, &call->source);
    if (p == 1)
        put_copy(b, g, token, heard);
    for (int k = 0; p > 1 && k < 2 * p; k++) {
        put_step(b, g);
        if (k % p == r)
            put_send(b, g, next, heard);
        if (k % p == previous) {
            put_recv_reduce(b, g, previous, token, heard);
            heard = token;
        }
    }
}

const struct algorithm barrier_double_ring = {
    .name = "double-ring",
    .collectives = SERVES(BARRIER),
    .summary = "a token goes round the ring twice",
    .rounds = "2p",
    .sent = "2 signals",
    .users = "Open MPI",
    .options = {OPTION_ORDER},
    .write = double_ring_barrier,
};
