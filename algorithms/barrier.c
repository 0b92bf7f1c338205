/*
 * barrier.c - barriers: dissemination and the double ring.
 */
#include "algorithms/algorithms.h"

/*
 * Barrier: after phase i every rank has a signal, directly or not, of the k^i
 * ranks before it.
 *
 *   p = 5, radix 2      phase 1: r -> r+1     phase 2: r -> r+2     phase 4: r -> r+4
 *
 * ceil(log_k p) phases of k-1 messages, any p. A barrier is a short bor allreduce here: the
 * result of each rank combines the inputs of all ranks, so the data proves that no rank leaves too
 * early. Contributions arrive more than once, which does not change a bor.
 *
 * A phase combines into a different byte from the one that it sends; else all ranks would wait for
 * each other in a circle.
 *
 * Used by: MPICH, Open MPI. Source: Hensgen, Finkel, Manber, "Two algorithms for barrier
 * synchronization", IJPP 1988.
 */
static void dissemination_barrier(struct builder *b, const struct call *call)
{
    const struct group *g = call->group;
    int p = g->size, r = g->rank;
    long radix = call_option(call, "radix");
    struct view source = view_source_apart(b, call);
    struct view areas[2] = {view_scratch(b, &source), view_scratch(b, &source)};
    struct message heard = view_all(b, &source);
    int phase = 0;
    for (long w = 1; w < p; w *= radix, phase++) {
        struct message sum =
            w * radix < p ? view_all(b, &areas[phase % 2]) : view_all(b, &call->destination);
        struct message before = heard;
        put_step(b, g);
        for (long j = 1; j < radix && j * w < p; j++)
            put_send(b, g, (int)((r + j * w) % p), before);
        for (long j = 1; j < radix && j * w < p; j++) {
            put_recv_reduce(b, g, (int)((r - j * w % p + p) % p), sum, heard);
            heard = sum;
        }
    }
    if (p == 1)
        put_copy(b, g, view_all(b, &call->destination), heard);
}

const struct algorithm barrier_dissemination = {
    .name = "dissemination",
    .aliases = {"bruck"},
    .collectives = SERVES(BARRIER),
    .summary = "signals to r+1, r+k, r+k^2, ... ranks ahead",
    .rounds = "ceil(log_k p)",
    .sent = "at most (k-1) ceil(log_k p) signals",
    .users = "MPICH, Open MPI",
    .options = {{"radix", 2, 65536, 2, "base k: k-1 signals in each phase"}},
    .alike = true,
    .write = dissemination_barrier,
};

/*
 * Barrier: a token goes round the ring twice, from rank 0 and back to it.
 *
 *        0 ---> 1         In the first round the token visits every rank. When rank 0 has it back,
 *        ^      |         all ranks have entered. In the second round it releases them.
 *        |      v
 *        3 <--- 2         2p steps; each rank sends 2 signals. No scratch.
 *
 * A barrier is a short bor allreduce here. In both rounds a rank combines the token with what it
 * knows; contributions that arrive twice do not change a bor. So the second round can bring what
 * the first has lost: no result shows it if the signal to rank 1 or 2 is lost (of two ranks, to
 * either).
 *
 * Used by: Open MPI (double_ring).
 */
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
