/*
 * eager.c - requirements for every transport that offers eager messages: each arrives whatever the
 * other end does with it, by every path.
 * tier: check; load: cpu1
 */
#include "dataplane/memory/datatype.h"
#include "dataplane/memory/memory.h"
#include "world.h"

/* One message each way. Each end decides by itself whether it is eager or posted, combined or only
 * received, and where its pieces lie. A posted one goes as far as its limit, which grows in small
 * steps. */
struct half {
    struct channel *channel;
    struct transfer transfer;
    struct piece pieces[2], with_pieces[2];
    bool eager, complete;
};

/* No stride is longer than three runs. */
static struct layout half_layout(struct rank *me, struct piece pieces[2], char *base, size_t length,
                                 size_t element, uint64_t seed)
{
    size_t run = element * (1 + random_below(&me->random, random_below(&me->random, 2) ? 4 : 400));
    run = run < length ? run : length;
    size_t stride = run + element * random_below(&me->random, 3), times = length / run;
    size_t rest = length % run, end = times * stride;
    struct layout layout = {.pieces = pieces, .count = rest > 0 ? 2 : 1};
    pieces[0] = (struct piece){.base = base, .run = run, .stride = stride, .times = times};
    pieces[1] = (struct piece){.base = base + end, .run = rest, .stride = rest, .times = 1};
    memset(base, '#', end + rest);
    char text[8];
    struct cursor cursor;
    cursor_start(&cursor, layout);
    for (size_t at = 0; at < length; at += element) {
        text_write(seed, at, text, element);
        cursor_scatter(&cursor, text, element);
    }
    return layout;
}

/* `room`: for two layouts. */
static void half_begin(struct rank *me, struct half *half, bool sends, char *const *room,
                       size_t length, const struct datatype *type, uint64_t seed)
{
    const struct transport *transport = me->endpoint->transport;
    bool combines = !sends && random_below(&me->random, 2);
    bool in_place = !combines || random_below(&me->random, 2);
    struct layout layout =
        half_layout(me, half->pieces, room[0], length, type->size, in_place ? seed : ~seed);
    struct layout with = layout;
    if (!in_place)
        with = half_layout(me, half->with_pieces, room[1], length, type->size, seed);
    half->channel = transport->channel(me->endpoint, !me->number, 0, sends);
    half->eager = random_below(&me->random, 2);
    half->complete = false;
    half->transfer = (struct transfer){.kind = sends      ? TRANSFER_SEND
                                               : combines ? TRANSFER_RECV_REDUCE
                                                          : TRANSFER_RECV,
                                       .from = layout,
                                       .to = layout,
                                       .with = with,
                                       .reduce = reduce_kernel(type, reduction_find("sum")),
                                       .element = type->size,
                                       .length = length,
                                       .grain = me->world->grain,
                                       .limit = half->eager ? length : 0,
                                       .moved = &me->moved};
    if (!half->eager)
        channel_post(half->channel, &half->transfer);
}

static bool half_turn(struct rank *me, struct half *half)
{
    struct transfer *transfer = &half->transfer;
    if (half->eager && !half->complete) {
        if (channel_move(half->channel, transfer, &half->complete) != STATUS_OK) {
            rank_fail(me, __FILE__, __LINE__, "eager_move() failed:");
            return false;
        }
    } else if (!half->eager) {
        size_t step = transfer->element * (1 + random_below(&me->random, 60));
        transfer->limit +=
            step < transfer->length - transfer->limit ? step : transfer->length - transfer->limit;
        half->complete = transfer->done == transfer->length;
    }
    return true;
}

/* The text that was sent, or its sums with the text of the receiver. */
static void half_check(struct rank *me, const struct half *half, uint64_t sent, uint64_t own)
{
    const struct transfer *transfer = &half->transfer;
    struct cursor cursor;
    cursor_start(&cursor, transfer->to);
    for (size_t at = 0, size = transfer->element; at < transfer->length; at += size) {
        uint64_t expected = 0, with = 0, got = 0;
        text_write(sent, at, (char *)&expected, size);
        text_write(own, at, (char *)&with, size);
        cursor_gather(&cursor, &got, size);
        expected += transfer->kind == TRANSFER_RECV_REDUCE ? with : 0;
        require(me, memcmp(&got, &expected, size) == 0);
    }
    require(me, gaps_are_intact(transfer->to.pieces, transfer->to.count));
}

static void eager(struct rank *me)
{
    static const char *const types[] = {"uint8", "uint32", "uint64"};
    const struct transport *transport = me->endpoint->transport;
    struct channel *in = transport->channel(me->endpoint, !me->number, 0, false);
    size_t most = transport->eager_most ? transport->eager_most(in) : 0;
    uint64_t total = 0, random = 11; /* the same on both sides */
    bool serves = transport->eager_most && me->world->config.copy != COPY_ZCOPY;
    require(me, !serves || most > 0);
    char *from[1] = {rank_take(me, 3 * most)},
         *to[2] = {rank_take(me, 3 * most), rank_take(me, 3 * most)};
    for (uint64_t i = 0; i < 600 && most > 0; i++) {
        size_t bound = i % 10 == 0 || most < 200 ? most : 200;
        const struct datatype *type = datatype_find(types[random_below(&random, 3)]);
        size_t length = type->size * (1 + random_below(&random, bound / type->size));
        uint64_t mine = 4 * i + (uint64_t)me->number, theirs = 4 * i + (uint64_t)!me->number;
        struct half out, back;
        half_begin(me, &out, true, from, length, type, mine);
        half_begin(me, &back, false, to, length, type, 4 * i + 2);
        while (!out.complete || !back.complete)
            if (!half_turn(me, &out) || !half_turn(me, &back) || !rank_turn(me))
                return;
        half_check(me, &back, theirs, 4 * i + 2);
        if (me->world->failed)
            return;
        total += length;
    }
    const struct traffic *traffic = &me->endpoint->traffic;
    uint64_t sent = 0, received = 0;
    for (int path = 0; path < PATHS; path++) {
        sent += traffic->sent[path];
        received += traffic->received[path];
    }
    require(me, sent == total && received == total);
    require(me, traffic->copied_sending + traffic->copied_receiving > 0 || total == 0);
}

static void test_eager(void **state)
{
    run_everywhere(state, eager, NULL, 2);
}

static void test_eager_small_slots(void **state)
{
    run_everywhere(state, eager, bend_small_slots, 2);
}

static const struct world_test tests[] = {
    {"eager and posted messages of one lane", test_eager},
    {"eager and posted messages, one small slot", test_eager_small_slots},
};

int main(void)
{
    return world_tests(tests, sizeof(tests) / sizeof(tests[0]));
}
