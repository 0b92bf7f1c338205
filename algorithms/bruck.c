/*
 * bruck.c - alltoall in a logarithmic number of phases.
 *
 * The block that rank r has for rank r+i sits in slot i: it has i hops to go. Write i in base k. In
 * the phase of weight w, all slots whose digit of that weight is j travel j*w ranks ahead, as one
 * message. After the last phase every block is where it belongs, and slot i holds the block of rank
 * r-i.
 *
 *   p = 6, radix 2      phase 1 (+1): slots 1 3 5    phase 2 (+2): slots 2 3    phase 4 (+4): 4 5
 *
 * ceil(log_k p) phases of k-1 messages; radix 2: every rank sends b * (sum of popcount(i), i < p),
 * about half of the vector times log2 p. Few messages, more bytes: for small blocks.
 *
 * Nothing is rotated or copied: a slot starts in the source, and its last hop goes straight to the
 * destination. In between it stands in scratch, where each message has an area of its own, so that
 * nothing is received where something still waits to be sent, and slots that travel together stand
 * together. Radix 2: about (log2(p) / 2 - 1) p b of scratch.
 *
 * Used by: MPICH (brucks, k_brucks), Open MPI (modified_bruck), UCC. Source: Bruck, Ho, Kipnis,
 * Upfal, Weathersby, "Efficient algorithms for all-to-all communications in multiport message-
 * passing systems", IEEE TPDS 1997.
 */
#include "algorithms.h"

/* The phase of weight w: `at` says where the block of each slot lies, before and after. Slots come
 * in ascending order, so those without a higher digit, which go to their destination, are the first
 * of a message. */
static void phase_write(struct builder *b, const struct call *call, struct message *at, long w,
                        long radix)
{
    const struct group *g = call->group;
    int p = g->size, r = g->rank;
    struct message *from = message_array(b, p), *to = message_array(b, p);
    for (long j = 1; to && j < radix && j * w < p; j++) {
        int count = 0, arrived = 0;
        for (long turn = j * w; turn < p; turn += radix * w)
            for (long i = turn; i < turn + w && i < p; i++)
                from[count++] = at[i];
        for (; arrived < w && j * w + arrived < p; arrived++)
            to[arrived] = view_block(&call->destination, (int)(r - j * w - arrived));
        size_t run = message_length(from[0]);
        struct view area = view_scratch_block(b, (size_t)(count - arrived) * run);
        for (int i = arrived; i < count; i++)
            to[i] = message_part(b, view_all(b, &area), (size_t)(i - arrived) * run, run);
        put_send(b, g, (int)((r + j * w) % p), message_join(b, from, count));
        put_recv(b, g, (int)((r - j * w + p) % p), message_join(b, to, count));
        count = 0;
        for (long turn = j * w; turn < p; turn += radix * w)
            for (long i = turn; i < turn + w && i < p; i++)
                at[i] = to[count++];
    }
}

static void bruck_alltoall(struct builder *b, const struct call *call)
{
    const struct group *g = call->group;
    int p = g->size, r = g->rank;
    long radix = call_option(call, "radix");
    struct view source = view_source_apart(b, call);
    struct message *at = message_array(b, p);
    if (!at)
        return;
    for (int i = 0; i < p; i++)
        at[i] = view_block(&source, r + i);

    put_copy(b, g, view_block(&call->destination, r), view_block(&source, r));
    for (long w = 1; w < p; w *= radix) {
        put_step(b, g);
        phase_write(b, call, at, w, radix);
    }
}

const struct algorithm alltoall_bruck = {
    .name = "bruck",
    .aliases = {"brucks", "modified-bruck"},
    .collectives = SERVES(ALLTOALL),
    .summary = "blocks travel by the digits of their distance, aggregated",
    .rounds = "ceil(log_k p)",
    .sent = "b * (non-zero base-k digits of 1 .. p-1)",
    .users = "MPICH, Open MPI, UCC",
    .options = {{"radix", 2, 65536, 2, "base k: k-1 messages in each phase"}},
    .write = bruck_alltoall,
};
