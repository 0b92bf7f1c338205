/*
 * bruck.c - alltoall and allgather in a logarithmic number of phases.
 *
 * Alltoall. Slot i holds the block of rank r for rank r+i, which has to travel i ranks ahead. Write
 * i in base k. In the phase of weight w, all slots whose digit of that weight is j travel j*w ranks
 * ahead, as one message. After the last phase every block is at its destination, and slot i holds
 * the block of rank r-i.
 *
 *   p = 6, radix 2      phase 1 (+1): slots 1 3 5    phase 2 (+2): slots 2 3    phase 4 (+4): 4 5
 *
 * Allgather. Before the phase of weight w a rank holds w blocks, from its own on. It sends them, or
 * as many as the receiver lacks, to r-j*w.
 *
 *   p = 6, radix 2      rank 0:  <-1 {1}  |  <-2 {2,3}  |  <-4 {4,5}
 *
 *   collective  name          phases          sent
 *   alltoall    bruck         ceil(log_k p)   b * (non-zero base-k digits of 1 .. p-1), radix 2:
 *                                             about p/2 log2 p blocks
 *   alltoall    bruck-zero    ceil(log2 p)    the same, radix 2
 *   alltoallv   padded-bruck  ceil(log_k p)   the same, with b the longest block of all
 *   allgather   bruck         ceil(log_k p)   (p-1)b
 *
 * A phase has up to k-1 messages. Few messages, and in alltoall more bytes: for small blocks.
 *
 * Allgather with radix 2 is the mirror image of that of nb (nonuniform.c); here the radix is an
 * option.
 *
 * No block is rotated or copied. A slot starts in the source, and its last hop ends in the
 * destination; allgather receives each block at its destination, without scratch. Between them a
 * slot of alltoall lies in scratch. There each message has its own area: so no message overwrites
 * unsent data, and slots that travel together are contiguous. Radix 2: about (log2(p) / 2 - 1) p b
 * of scratch.
 *
 * bruck-zero travels the other way: slot i holds the block for rank r-i and travels down. At the
 * end slot i holds the block of rank r+i, and on its way it may use the memory of block r+i in the
 * destination: no rotation is needed. Slots alternate between that memory and scratch, of which
 * p - 1 - ceil(log2 p) blocks are used: a slot with a single hop needs none.
 *
 * padded-bruck pads all blocks to the length of the longest, so that message lengths depend on that
 * length only. Other implementations first agree on it; here all ranks know all counts. The padding
 * repeats the rank's first elements; a rank without any elements sends empty blocks. Scratch: about
 * as for bruck, and up to p blocks for the padding that arrives.
 *
 * Used by: MPICH (brucks, k_brucks), Open MPI (modified_bruck; allgather), UCC. Sources: Bruck, Ho,
 * Kipnis, Upfal, Weathersby, "Efficient algorithms for all-to-all communications in multiport
 * message-passing systems", IEEE TPDS 1997; Fan, Gilray, Pascucci, Huang, Micinski, Kumar,
 * "Optimizing the Bruck algorithm for non-uniform all-to-all communication", HPDC 2022.
 */
#include "algorithms/algorithms.h"

/* The blocks on their way through one rank. */
struct slots {
    struct message *now;        /* where the block of each slot lies */
    const struct message *home; /* the destination of the block that each slot ends with */
    size_t block;               /* elements of a block on its way, */
    const int *filled;          /* or none, if this is 0 for its origin; NULL: all have some */
};

/* The slots whose digit of weight w is j, ascending. The slots without a higher digit come first:
 * this is their last hop. Returns how many. */
static int slots_of_digit(int p, long w, long j, long radix, int *which)
{
    int count = 0;
    for (long turn = j * w; turn < p; turn += radix * w)
        for (long i = turn; i < turn + w && i < p; i++)
            which[count++] = (int)i;
    return count;
}

/* The message of the phase of weight w for digit j. */
static void digit_write(struct builder *b, const struct group *g, const struct slots *slots, long w,
                        long j, long radix)
{
    int p = g->size, r = g->rank;
    struct message *from = message_array(b, p), *to = message_array(b, p);
    int *which = index_array(b, p);
    if (!from || !to || !which)
        return;
    int count = slots_of_digit(p, w, j, radix, which);
    struct view area = view_scratch_block(b, (size_t)count * slots->block);
    size_t used = 0;
    for (int i = 0; i < count; i++) {
        long gone = which[i] % (radix * w); /* with this hop */
        long origin = (r + p - gone) % p;
        size_t length = slots->filled && !slots->filled[origin] ? 0 : slots->block;
        from[i] = slots->now[which[i]];
        to[i] = slots->home[which[i]];
        if (gone < which[i]) {
            to[i] = message_part(b, view_block(&area, 0), used, length);
            used += length;
        }
        slots->now[which[i]] = to[i];
    }
    put_send(b, g, (int)((r + j * w) % p), message_join(b, from, count));
    put_recv(b, g, (int)((r - j * w + p) % p), message_join(b, to, count));
}

static void phases_write(struct builder *b, const struct call *call, const struct slots *slots)
{
    const struct group *g = call->group;
    long radix = call_option(call, "radix");
    for (long w = 1; w < g->size; w *= radix) {
        put_step(b, g);
        for (long j = 1; j < radix && j * w < g->size; j++)
            digit_write(b, g, slots, w, j, radix);
    }
}

static void bruck_alltoall(struct builder *b, const struct call *call)
{
    const struct group *g = call->group;
    int p = g->size, r = g->rank;
    struct view source = view_source_apart(b, call);
    struct message *now = message_array(b, p), *home = message_array(b, p);
    if (!now || !home)
        return;
    for (int i = 0; i < p; i++) {
        now[i] = view_block(&source, r + i);
        home[i] = view_block(&call->destination, r - i);
    }
    put_copy(b, g, home[0], now[0]);
    phases_write(b, call, &(struct slots){now, home, message_length(now[0]), NULL});
}

/* A slot lies in the destination or in scratch; the parity of its remaining hops says in which. */
static void zero_alltoall(struct builder *b, const struct call *call)
{
    const struct group *g = call->group;
    int p = g->size, r = g->rank;
    struct view source = view_source_apart(b, call), spare = view_scratch(b, &call->destination);
    struct message *now = message_array(b, p);
    struct message *from = message_array(b, p), *to = message_array(b, p);
    int *which = index_array(b, p);
    if (!now || !from || !to || !which)
        return;
    for (int i = 0; i < p; i++)
        now[i] = view_block(&source, r - i);
    put_copy(b, g, view_block(&call->destination, r), now[0]);
    for (int w = 1; w < p; w *= 2) {
        int count = slots_of_digit(p, w, 1, 2, which);
        for (int i = 0; i < count; i++) {
            bool waits = __builtin_parity((unsigned)(which[i] / (2 * w)));
            from[i] = now[which[i]];
            to[i] = view_block(waits ? &spare : &call->destination, r + which[i]);
            now[which[i]] = to[i];
        }
        put_step(b, g);
        put_send(b, g, (r + p - w) % p, message_join(b, from, count));
        put_recv(b, g, (r + w) % p, message_join(b, to, count));
    }
}

/* `most` elements in scratch: the first ones of `own`, repeated. */
static struct message filling_write(struct builder *b, const struct group *g, struct message own,
                                    size_t most)
{
    struct view scratch = view_scratch_block(b, most);
    struct message filling = view_block(&scratch, 0);
    size_t have = message_length(own) < most ? message_length(own) : most;
    put_copy(b, g, message_part(b, filling, 0, have), message_part(b, own, 0, have));
    while (have > 0 && have < most) {
        size_t more = have < most - have ? have : most - have;
        put_copy(b, g, message_part(b, filling, have, more), message_part(b, filling, 0, more));
        have += more;
    }
    return filling;
}

/* A block, padded to a length with the first elements of `rest`. */
static struct message message_pad(struct builder *b, struct message block, size_t length,
                                  struct message rest)
{
    struct message both[2] = {block, message_part(b, rest, 0, length - message_length(block))};
    return message_join(b, both, 2);
}

static void padded_alltoall(struct builder *b, const struct call *call)
{
    const struct group *g = call->group;
    int p = g->size, r = g->rank;
    struct message *now = message_array(b, p), *home = message_array(b, p);
    int *filled = index_array(b, p);
    struct view source = view_source_apart(b, call);
    size_t most = 0;
    if (!now || !home || !filled)
        return;
    for (int from = 0; from < p; from++) {
        filled[from] = 0;
        for (int to = 0; to < p; to++) {
            size_t length = call_length(call, from, to);
            filled[from] |= length > 0;
            most = length > most ? length : most;
        }
    }
    struct message filling = filling_write(b, g, view_all(b, &source), most);
    put_copy(b, g, view_block(&call->destination, r), view_block(&source, r));
    for (int i = 0; i < p; i++) {
        int origin = (r + p - i) % p;
        struct view ends = view_scratch_block(b, most);
        now[i] = message_pad(b, view_block(&source, r + i), filled[r] ? most : 0, filling);
        home[i] = message_pad(b, view_block(&call->destination, origin), filled[origin] ? most : 0,
                              view_block(&ends, 0));
    }
    phases_write(b, call, &(struct slots){now, home, most, filled});
}

static void bruck_allgather(struct builder *b, const struct call *call)
{
    const struct group *g = call->group;
    int p = g->size, r = g->rank;
    long radix = call_option(call, "radix");
    put_copy(b, g, view_block(&call->destination, r), view_all(b, &call->source));
    for (long w = 1; w < p; w *= radix) {
        put_step(b, g);
        for (long far = w; far < p && far < radix * w; far += w) {
            int blocks = (int)(w < p - far ? w : p - far), above = (int)((r + far) % p);
            put_send(b, g, (int)((r + p - far) % p),
                     view_blocks(b, &call->destination, r, 1, blocks));
            put_recv(b, g, above, view_blocks(b, &call->destination, above, 1, blocks));
        }
    }
}

#define RADIX "base k: k-1 messages in each phase"

const struct algorithm alltoall_bruck = {
    .name = "bruck",
    .aliases = {"brucks", "k-brucks", "modified-bruck"},
    .collectives = SERVES(ALLTOALL),
    .summary = "blocks travel by the digits of their distance, aggregated",
    .rounds = "ceil(log_k p)",
    .sent = "b * (non-zero base-k digits of 1 .. p-1)",
    .users = "MPICH, Open MPI, UCC",
    .options = {{"radix", 2, 65536, 2, RADIX}},
    .alike = true,
    .write = bruck_alltoall,
};

const struct algorithm alltoall_bruck_zero = {
    .name = "bruck-zero",
    .collectives = SERVES(ALLTOALL),
    .summary = "bruck downwards: slots are in the order of the destination from the start",
    .rounds = "ceil(log2 p)",
    .sent = "b * (non-zero bits of 1 .. p-1)",
    .users = "Fan et al.",
    .alike = true,
    .write = zero_alltoall,
};

const struct algorithm alltoallv_padded_bruck = {
    .name = "padded-bruck",
    .collectives = SERVES(ALLTOALLV),
    .summary = "bruck with all blocks padded to the longest; no counts are exchanged",
    .rounds = "ceil(log_k p)",
    .sent = "(longest block) * (non-zero base-k digits of 1 .. p-1)",
    .users = "Fan et al.",
    .options = {{"radix", 2, 65536, 2, RADIX}},
    .write = padded_alltoall,
};

const struct algorithm allgather_bruck = {
    .name = "bruck",
    .aliases = {"bruck-rot", "brucks", "k-brucks"},
    .collectives = SERVES(ALLGATHER) | SERVES(ALLGATHERV),
    .summary = "the blocks of a rank grow k-fold in each phase; views replace the rotation",
    .rounds = "ceil(log_k p)",
    .sent = "(p-1)b",
    .users = "MPICH, Open MPI",
    .options = {{"radix", 2, 65536, 2, RADIX}},
    .write = bruck_allgather,
};
