/*
 * dissemination.c - barrier: after phase i every rank has a signal, directly or not, of the k^i
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
#include "algorithms/algorithms.h"

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
