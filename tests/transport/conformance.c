/*
 * conformance.c - requirements for every listed transport: the streams of bytes. (eager.c: short
 * messages without posting. peers.c: paths, combining, many peers, connections from outside.
 * processes.c: death of a peer.)
 * tier: check; load: cpu1
 */
#include "run/results/results.h"
#include "world.h"

static void bend_lanes(struct world *world)
{
    world->lanes = 3;
}

/* Messages of all small lengths and of none, in both directions at once, arrive in order. */
enum { ORDERED = 300 };
static void ordering(struct rank *me)
{
    static const size_t special[] = {0, 1, 8, 56, 63, 64, 65, 4096, 16384, 16385};
    struct transfer transfers[2 * ORDERED];
    struct piece pieces[2 * ORDERED];
    char *got[ORDERED];
    size_t length[ORDERED];
    int peer = !me->number;
    uint64_t random = 7; /* the same on both sides */
    for (int i = 0; i < ORDERED; i++) {
        length[i] = i % 3 ? random_below(&random, i % 30 ? 300 : 40000) : special[i / 3 % 10];
        char *from = rank_take(me, length[i]);
        rank_write(me, (uint64_t)(1000 * me->number + i), from, length[i]);
        got[i] = rank_take(me, length[i]);
        transfers[2 * i] = transfer_make(me, TRANSFER_SEND, &pieces[2 * i], from, length[i]);
        transfers[2 * i + 1] =
            transfer_make(me, TRANSFER_RECV, &pieces[2 * i + 1], got[i], length[i]);
        rank_post(me, peer, 0, &transfers[2 * i]);
        rank_post(me, peer, 0, &transfers[2 * i + 1]);
        if (i % 16 == 15 && !rank_turn(me))
            return;
    }
    if (!rank_complete(me, transfers, 2 * ORDERED))
        return;
    for (int i = 0; i < ORDERED; i++)
        require(me, rank_has(me, (uint64_t)(1000 * peer + i), got[i], length[i]));
}

static void test_ordering(void **state)
{
    run_everywhere(state, ordering, NULL, 2);
}

static void test_ordering_small_slots(void **state)
{
    run_everywhere(state, ordering, bend_small_slots, 2);
}

/* A transfer of no bytes is complete at once, whatever is posted before it. */
static void zero_length(struct rank *me)
{
    struct transfer none[2], one;
    struct piece pieces[3];
    char *byte = rank_take(me, 1);
    *rank_view(me, byte) = (char)(me->number ? 0 : 'x');
    rank_show(me, byte, 1);
    enum transfer_kind kind = me->number ? TRANSFER_RECV : TRANSFER_SEND;
    none[0] = transfer_make(me, kind, &pieces[0], byte, 0);
    one = transfer_make(me, kind, &pieces[1], byte, 1);
    none[1] = transfer_make(me, kind, &pieces[2], byte, 0);
    rank_post(me, !me->number, 0, &none[0]);
    rank_post(me, !me->number, 0, &one);
    rank_post(me, !me->number, 0, &none[1]);
    require(me, none[0].done == none[0].length && none[1].done == none[1].length);
    if (rank_complete(me, &one, 1))
        require(me, *rank_look(me, byte, 1) == 'x');
}

static void test_zero_length(void **state)
{
    run_everywhere(state, zero_length, NULL, 2);
}

/* A lane whose receiver does not move blocks no other lane, however many bytes are queued in it. */
static void lanes_are_independent(struct rank *me)
{
    size_t bytes = me->region.bytes / 4;
    struct transfer transfers[3];
    struct piece pieces[3];
    char *data[3];
    for (int lane = 0; lane < 3; lane++) {
        data[lane] = rank_take(me, bytes);
        if (me->number == 0)
            rank_write(me, (uint64_t)lane, data[lane], bytes);
        transfers[lane] = transfer_make(me, me->number ? TRANSFER_RECV : TRANSFER_SEND,
                                        &pieces[lane], data[lane], bytes);
        if (me->number && lane == 0)
            transfers[lane].limit = 0;
        rank_post(me, !me->number, lane, &transfers[lane]);
    }
    if (!rank_complete(me, transfers + 1, 2))
        return;
    if (me->number) {
        require(me, transfers[0].done == 0);
        transfers[0].limit = bytes;
    }
    if (!rank_complete(me, transfers, 1))
        return;
    for (int lane = 0; lane < 3; lane++)
        require(me, rank_has(me, (uint64_t)lane, data[lane], bytes));
}

static void test_lanes(void **state)
{
    run_everywhere(state, lanes_are_independent, bend_lanes, 2);
}

static void bend_lanes_small_slots(struct world *world)
{
    bend_lanes(world);
    bend_small_slots(world);
    world->grain = 1000;
    world->bytes = MIB; /* each of many slots waits for a credit, which is slow on a busy machine */
}

static void test_lanes_small_slots(void **state)
{
    run_everywhere(state, lanes_are_independent, bend_lanes_small_slots, 2);
}

/* Limits grow by odd numbers of elements, of one transfer and then of another, on both sides. No
 * transfer goes past its limit. */
enum { CREEPERS = 6 };
static void limits_creep(struct rank *me)
{
    enum { ELEMENTS = 20011, BYTES = 4 * ELEMENTS };
    struct transfer transfers[CREEPERS];
    struct piece pieces[CREEPERS];
    char *data[CREEPERS];
    for (int i = 0; i < CREEPERS; i++) {
        bool sends = (i + me->number) % 2;
        data[i] = rank_take(me, BYTES);
        if (sends)
            text_write((uint64_t)i, 0, rank_view(me, data[i]), BYTES);
        else
            memset(rank_view(me, data[i]), 0, BYTES);
        rank_show(me, data[i], BYTES);
        transfers[i] =
            transfer_make(me, sends ? TRANSFER_SEND : TRANSFER_RECV, &pieces[i], data[i], BYTES);
        transfers[i].element = 4;
        transfers[i].limit = 0;
        rank_post(me, !me->number, i % 3, &transfers[i]);
    }
    for (size_t complete = 0; complete < CREEPERS;) {
        struct transfer *one = &transfers[random_below(&me->random, CREEPERS)];
        size_t more = 4 * (1 + 2 * random_below(&me->random, 400));
        one->limit = one->length - one->limit < more ? one->length : one->limit + more;
        if (!rank_turn(me))
            return;
        complete = 0;
        for (int i = 0; i < CREEPERS; i++) {
            require(me, transfers[i].done <= transfers[i].limit);
            complete += transfers[i].done == BYTES;
            if (transfers[i].kind == TRANSFER_RECV && transfers[i].limit < BYTES)
                require(me, *rank_look(me, data[i] + transfers[i].limit, 1) == 0 &&
                                *rank_look(me, data[i] + BYTES - 1, 1) == 0);
        }
    }
    for (int i = 0; i < CREEPERS; i++)
        require(me, rank_has(me, (uint64_t)i, data[i], BYTES));
}

static void test_limits(void **state)
{
    run_everywhere(state, limits_creep, bend_lanes, 2);
}

static void test_limits_small_slots(void **state)
{
    run_everywhere(state, limits_creep, bend_lanes_small_slots, 2);
}

/* All that both limits allow arrives, even a single element. The limit of the sender is ahead, then
 * that of the receiver. */
static void every_element_arrives(struct rank *me)
{
    enum { BYTES = 80000 };
    struct transfer transfer;
    struct piece piece;
    _Atomic size_t *arrived = &me->world->shared[0];
    uint64_t random = 3;
    char *data = rank_take(me, BYTES);
    if (me->number == 0)
        rank_write(me, 5, data, BYTES);
    transfer = transfer_make(me, me->number ? TRANSFER_RECV : TRANSFER_SEND, &piece, data, BYTES);
    transfer.element = 8;
    transfer.limit = 0;
    rank_post(me, !me->number, 0, &transfer);
    for (size_t least = 0; least < BYTES;) {
        size_t step = 8 * (1 + random_below(&random, random_below(&random, 4) ? 9 : 900));
        int ahead = (int)random_below(&random, 3); /* 2: neither */
        least = BYTES - least < step ? BYTES : least + step;
        size_t most = BYTES - least < 160 ? BYTES : least + 160;
        size_t limit = ahead == me->number ? most : least;
        if (limit > transfer.limit)
            transfer.limit = limit;
        while (me->number ? transfer.done < least : *arrived < least) {
            if (!rank_turn(me))
                return;
            require(me, transfer.done <= transfer.limit);
        }
        if (me->number)
            *arrived = least;
    }
    if (rank_complete(me, &transfer, 1))
        require(me, rank_has(me, 5, data, BYTES));
}

static void test_every_element(void **state)
{
    run_everywhere(state, every_element_arrives, NULL, 2);
}

static void test_every_element_small_slots(void **state)
{
    run_everywhere(state, every_element_arrives, bend_small_slots, 2);
}

/* A sender that is done makes no further progress(), and its bytes arrive all the same. Its
 * receiver is slow, so that every queue between them is full. */
static void the_rest_arrives(struct rank *me)
{
    struct transfer transfer;
    struct piece piece;
    _Atomic size_t *sent = &me->world->shared[0];
    size_t bytes = me->region.bytes;
    char *data = me->region.base;
    if (me->number == 0)
        rank_write(me, 9, data, bytes);
    transfer = transfer_make(me, me->number ? TRANSFER_RECV : TRANSFER_SEND, &piece, data, bytes);
    transfer.limit = me->number ? 0 : bytes;
    rank_post(me, !me->number, 0, &transfer);
    while (me->number && !*sent) {
        if (transfer.done == transfer.limit && transfer.limit < bytes)
            transfer.limit += 64 << 10;
        for (int i = 0; i < 10; i++) {
            if (!rank_turn(me))
                return;
        }
    }
    transfer.limit = bytes;
    if (!rank_complete(me, &transfer, 1))
        return;
    *sent = 1;
    require(me, rank_has(me, 9, data, bytes));
}

static void bend_large(struct world *world)
{
    world->bytes = 16 * MIB;
}

static void test_the_rest(void **state)
{
    run_everywhere(state, the_rest_arrives, bend_large, 2);
}

/* close() in the middle of a message, the transfer of which is gone. */
static void ends_in_the_middle(struct rank *me)
{
    struct piece piece;
    struct transfer *transfer = malloc(sizeof(*transfer));
    require(me, transfer != NULL);
    size_t bytes = me->region.bytes;
    _Atomic size_t *begun = &me->world->shared[0];
    *transfer = transfer_make(me, me->number ? TRANSFER_RECV : TRANSFER_SEND, &piece,
                              me->region.base, bytes);
    rank_post(me, !me->number, 0, transfer);
    while (*begun == 0 && rank_turn(me))
        if (me->number && transfer->issued > 0)
            *begun = 1;
    free(transfer);
}

static void test_middle(void **state)
{
    run_everywhere(state, ends_in_the_middle, bend_large, 2);
}

/* `bytes` bytes in pieces of random shapes, whole elements of 8 bytes; the gaps are filled with
 * '#'. Both sides draw their own. */
enum { PIECES = 4000 };
static size_t shape_make(struct rank *me, struct piece *pieces, size_t bytes)
{
    size_t count = 0;
    while (bytes > 0) {
        size_t run = 8 * (1 + random_below(&me->random, count % 5 ? 6 : 300));
        run = run < bytes ? run : bytes;
        size_t times = 1 + random_below(&me->random, 20);
        times = times * run < bytes ? times : bytes / run;
        size_t stride = run + 8 * random_below(&me->random, 3);
        char *base = rank_take(me, times * stride);
        memset(rank_view(me, base), '#', times * stride);
        pieces[count++] =
            (struct piece){.base = base, .run = run, .stride = stride, .times = times};
        bytes -= times * run;
    }
    return count;
}

static void strided(struct rank *me)
{
    enum { BYTES = 160000, ROUNDS = 4 };
    static struct piece room[2][ROUNDS][PIECES], view_room[2][ROUNDS][PIECES];
    struct piece(*pieces)[PIECES] = room[me->number];
    struct layout layout[ROUNDS], view[ROUNDS];
    struct transfer transfers[ROUNDS];
    char *flat = rank_view(me, rank_take(me, BYTES));
    for (int i = 0; i < ROUNDS; i++) {
        size_t bytes = BYTES >> (2 * i) & ~(size_t)7, begin = me->taken;
        layout[i] = (struct layout){.pieces = pieces[i], .count = shape_make(me, pieces[i], bytes)};
        require(me, layout[i].count < PIECES);
        transfers[i] = (struct transfer){.kind = me->number ? TRANSFER_RECV : TRANSFER_SEND,
                                         .from = layout[i],
                                         .to = layout[i],
                                         .element = 8,
                                         .length = bytes,
                                         .grain = me->world->grain,
                                         .limit = bytes,
                                         .moved = &me->moved};
        struct cursor cursor;
        view[i] = rank_view_layout(me, layout[i], view_room[me->number][i]);
        cursor_start(&cursor, view[i]);
        text_write((uint64_t)i, 0, flat, bytes);
        if (me->number == 0)
            cursor_scatter(&cursor, flat, bytes);
        rank_show(me, me->region.base + begin, me->taken - begin);
        rank_post(me, !me->number, 0, &transfers[i]);
    }
    if (!rank_complete(me, transfers, ROUNDS))
        return;
    rank_look(me, me->region.base, me->taken);
    for (int i = 0; i < ROUNDS; i++) {
        struct cursor cursor;
        cursor_start(&cursor, view[i]);
        cursor_gather(&cursor, flat, transfers[i].length);
        require(me, text_is((uint64_t)i, flat, transfers[i].length));
        require(me, gaps_are_intact(view[i].pieces, view[i].count));
    }
}

static void test_strided(void **state)
{
    run_everywhere(state, strided, NULL, 2);
}

static void test_strided_small_slots(void **state)
{
    run_everywhere(state, strided, bend_small_slots, 2);
}

/* The description of a link fits into a line, and is not measured again. */
enum { DESCRIBED = 3 };
static void described(struct rank *me)
{
    const struct transport *transport = me->world->transport;
    for (int peer = 0; peer < DESCRIBED && transport->describe; peer++) {
        uint64_t ns = UINT64_MAX;
        if (peer == me->number)
            continue;
        const char *words = transport->describe(me->endpoint, peer, &ns);
        require(me, words && words[0] && strlen(words) < sizeof((struct link_class *)0)->words);
        require(me, ns < 1000000000);
        require(me, words == transport->describe(me->endpoint, peer, &ns));
    }
}

static void test_described(void **state)
{
    run_everywhere(state, described, NULL, DESCRIBED);
}

static const struct world_test tests[] = {
    {"ordering", test_ordering},
    {"ordering, small slots", test_ordering_small_slots},
    {"zero length", test_zero_length},
    {"independent lanes", test_lanes},
    {"independent lanes, small slots", test_lanes_small_slots},
    {"limits that move", test_limits},
    {"limits that move, small slots", test_limits_small_slots},
    {"every element arrives", test_every_element},
    {"every element arrives, small slots", test_every_element_small_slots},
    {"the rest arrives", test_the_rest},
    {"the end in the middle", test_middle},
    {"links are described", test_described},
    {"strided pieces", test_strided},
    {"strided pieces, small slots", test_strided_small_slots},
};

int main(void)
{
    return world_tests(tests, sizeof(tests) / sizeof(tests[0]));
}
