/*
 * sendrecv.c - patterns with one partner each: the plain performance of the links.
 *
 *   ring-shift   0 -> 1 -> 2 -> 3 -> 0      every rank sends to r+K and receives from r-K
 *   uni          0 ==> 1                    one direction
 *   bidir        0 <=> 1                    both directions at once
 *   pairs        0 <=> 2, 1 <=> 3           r < p/2 exchanges with r + p/2; with odd p the last
 *                                           rank is idle: every link across the middle at once
 *   pingpong     0 --> 1, then 0 <-- 1      one after the other: half of the time is reported
 *
 *   name         rounds   sent   scratch (in place)
 *   pingpong     2        n      0  (n on rank 1)
 *   the others   1        n      0  (n on ranks that also receive)
 *
 * Here the pattern is the contract: `partner` returns the rank that a rank sends to, and the
 * expected data follows from it. window=W cuts the vector into W messages that are in flight
 * together.
 *
 * Used by: nccl-tests (sendrecv is ring-shift), OSU (latency, bw, bibw), perftest.
 */
#include "algorithms/algorithms.h"

#include "collective/collective.h"

#include <stdio.h>

static int shift_partner(const struct choice *choice, int rank, int ranks)
{
    return (int)((rank + choice_option(choice, "stride")) % ranks);
}

/* 0 and 1 send to each other. */
static int mutual_partner(const struct choice *choice, int rank, int ranks)
{
    (void)choice, (void)ranks;
    return rank < 2 ? 1 - rank : -1;
}

static int uni_partner(const struct choice *choice, int rank, int ranks)
{
    (void)choice, (void)ranks;
    return rank == 0 ? 1 : -1;
}

static int pairs_partner(const struct choice *choice, int rank, int ranks)
{
    int half = ranks / 2;
    (void)choice;
    if (rank == 2 * half)
        return -1;
    return rank < half ? rank + half : rank - half;
}

/* The ranks that this rank sends to and receives from; -1: none. */
struct partners {
    int to, from;
};

static struct partners partners_of(const struct call *call)
{
    const struct counts *counts = call->problem->counts;
    return (struct partners){counts->to[call->group->rank], counts->from[call->group->rank]};
}

static void exchange_write(struct builder *b, const struct call *call)
{
    const struct group *g = call->group;
    struct partners with = partners_of(call);
    int window = (int)call_option(call, "window");
    window = window > 0 ? window : 1;
    put_step(b, g);
    if (with.to == g->rank) {
        put_copy(b, g, view_all(b, &call->destination), view_all(b, &call->source));
        return;
    }
    struct view source = with.to >= 0 && with.from >= 0 ? view_source_apart(b, call) : call->source;
    struct view going = view_cut(b, &source, window);
    struct view coming = view_cut(b, &call->destination, window);
    for (int i = 0; i < window; i++) {
        if (with.to >= 0)
            put_send(b, g, with.to, view_block(&going, i));
        if (with.from >= 0)
            put_recv(b, g, with.from, view_block(&coming, i));
    }
}

static void pingpong_write(struct builder *b, const struct call *call)
{
    const struct group *g = call->group;
    bool first = g->rank == 0, second = g->rank == 1;
    struct view source = second ? view_source_apart(b, call) : call->source;
    put_step(b, g);
    if (first)
        put_send(b, g, 1, view_all(b, &source));
    if (second) {
        put_recv(b, g, 0, view_all(b, &call->destination));
        put_fence(b, g); /* the answer starts after the last byte has arrived */
    }
    put_step(b, g);
    if (first)
        put_recv(b, g, 1, view_all(b, &call->destination));
    if (second)
        put_send(b, g, 0, view_all(b, &source));
}

static const char *shift_refuses(const struct problem *problem, const struct choice *choice,
                                 char *why, size_t size)
{
    long stride = choice_option(choice, "stride");
    if (problem->ranks == 1 || stride % problem->ranks != 0)
        return NULL;
    snprintf(why, size, "with stride=%ld each of the %d ranks would send to itself", stride,
             problem->ranks);
    return why;
}

static const char *alone_refuses(const struct problem *problem, const struct choice *choice,
                                 char *why, size_t size)
{
    (void)choice, (void)why, (void)size;
    return problem->ranks > 1 ? NULL : "it needs two ranks, and there is one";
}

#define WINDOW "messages in flight; the vector is cut into as many"

const struct algorithm sendrecv_ring_shift = {
    .name = "ring-shift",
    .collectives = SERVES(SENDRECV),
    .summary = "rank r sends to r+K and receives from r-K; a single rank sends to itself",
    .rounds = "1",
    .sent = "n",
    .users = "nccl-tests",
    .options = {{"stride", 1, 65536, 1, "K: the distance to the receiver"}},
    .refuses = shift_refuses,
    .write = exchange_write,
    .partner = shift_partner,
};

const struct algorithm sendrecv_pingpong = {
    .name = "pingpong",
    .collectives = SERVES(SENDRECV),
    .summary = "from 0 to 1 and back; half of the time is reported",
    .rounds = "2",
    .sent = "n",
    .users = "OSU (latency), perftest",
    .refuses = alone_refuses,
    .write = pingpong_write,
    .partner = mutual_partner,
    .round_trip = true,
};

const struct algorithm sendrecv_uni = {
    .name = "uni",
    .aliases = {"unidir"},
    .collectives = SERVES(SENDRECV),
    .summary = "from 0 to 1",
    .rounds = "1",
    .sent = "n",
    .users = "OSU (bw), perftest",
    .options = {{"window", 1, 1024, 1, WINDOW}},
    .refuses = alone_refuses,
    .write = exchange_write,
    .partner = uni_partner,
};

const struct algorithm sendrecv_bidir = {
    .name = "bidir",
    .collectives = SERVES(SENDRECV),
    .summary = "0 and 1 send to each other at once; busbw is that of one direction",
    .rounds = "1",
    .sent = "n",
    .users = "OSU (bibw), perftest",
    .options = {{"window", 1, 1024, 1, WINDOW}},
    .refuses = alone_refuses,
    .write = exchange_write,
    .partner = mutual_partner,
};

const struct algorithm sendrecv_pairs = {
    .name = "pairs",
    .collectives = SERVES(SENDRECV),
    .summary = "r and r + p/2 send to each other at once; with odd p the last rank is idle",
    .rounds = "1",
    .sent = "n",
    .users = "bisection tests",
    .options = {{"window", 1, 1024, 1, WINDOW}},
    .refuses = alone_refuses,
    .write = exchange_write,
    .partner = pairs_partner,
};
