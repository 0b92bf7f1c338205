/*
 * shm_ll.c - requirements for `--copy ll` alone: the order of epochs, also at their wrap; no old
 * word is taken for a new one; how far a sender gets. (conformance.c and others test it as every
 * path.)
 * tier: check; load: cpu1
 */
#include "transports/shm/internal.h"

#include "world.h"

enum {
    REGION = 64,
    TORN = 36
}; /* bytes: of a region; of a message that does not reach all of its words */

static struct shm_ring *ll_of(struct rank *me, bool sends)
{
    struct channel *channel = me->endpoint->transport->channel(me->endpoint, !me->number, 0, sends);
    return &((struct shm_channel *)channel)->rings[SHM_LL];
}

/* Meets the other rank. False: one has failed. */
static bool meet(struct rank *me)
{
    _Atomic size_t *places = me->world->shared;
    size_t place = ++places[me->number];
    while (places[!me->number] < place && !me->world->failed)
        sched_yield();
    return !me->world->failed;
}

/* Both ends of the lane continue with this epoch. */
static bool begin_at(struct rank *me, uint32_t epoch)
{
    if (!meet(me))
        return false;
    for (int sends = 0; sends < 2; sends++)
        shm_ll_reset(ll_of(me, sends), epoch);
    return meet(me);
}

/* The parity of the epoch selects the region, and no epoch is that of unwritten memory. */
static bool is_in_step(struct rank *me)
{
    for (int sends = 0; sends < 2; sends++) {
        const struct shm_ring *ring = ll_of(me, sends);
        if (ring->count != 2 || ring->payload != REGION || ring->epoch < 2 ||
            ring->index != ring->epoch % 2)
            rank_fail(me, __FILE__, __LINE__, "an epoch is in the wrong region");
    }
    return !me->world->failed;
}

struct ll_message {
    struct transfer transfer;
    struct piece piece;
    char *data;
};

/* From rank 0 to rank 1; with `back` in the other direction. */
static void message_make(struct rank *me, struct ll_message *message, bool back, size_t bytes,
                         uint64_t seed)
{
    bool sends = (me->number == 0) != back;
    me->taken = back ? me->region.bytes / 2 : 0;
    message->data = rank_take(me, bytes);
    memset(message->data, '#', bytes);
    if (sends)
        text_write(seed, 0, message->data, bytes);
    message->transfer = transfer_make(me, sends ? TRANSFER_SEND : TRANSFER_RECV, &message->piece,
                                      message->data, bytes);
}

static bool message_travels(struct rank *me, size_t bytes, uint64_t seed)
{
    struct ll_message message;
    message_make(me, &message, false, bytes, seed);
    rank_post(me, !me->number, 0, &message.transfer);
    if (!rank_complete(me, &message.transfer, 1))
        return false;
    if (!text_is(seed, message.data, bytes))
        rank_fail(me, __FILE__, __LINE__, "another text came");
    return is_in_step(me);
}

/* Tries to send or to receive it by eager_move(). */
static bool message_try(struct rank *me, const struct ll_message *message, bool *moved)
{
    const struct transport *transport = me->endpoint->transport;
    struct channel *channel =
        transport->channel(me->endpoint, !me->number, 0, message->transfer.kind == TRANSFER_SEND);
    if (channel_move(channel, &message->transfer, moved) != STATUS_OK)
        rank_fail(me, __FILE__, __LINE__, "eager_move() failed:");
    return rank_turn(me);
}

/* As message_travels(), by eager_move() of both ends. */
static bool message_goes(struct rank *me, size_t bytes, uint64_t seed)
{
    struct ll_message message;
    bool moved = false;
    message_make(me, &message, false, bytes, seed);
    while (!moved) {
        if (!message_try(me, &message, &moved))
            return false;
    }
    if (!text_is(seed, message.data, bytes))
        rank_fail(me, __FILE__, __LINE__, "another text came");
    return !me->world->failed;
}

/* The sender stops before words that have the same epoch since before the wrap. So does the
 * receiver. */
static void stops_at_old_ll(struct rank *me, bool eager, uint64_t seed)
{
    struct ll_message message;
    bool posts = me->number == 0 || !eager, moved = false;
    message_make(me, &message, false, REGION, seed);
    if (me->number == 0)
        message.transfer.limit = TORN;
    if (posts)
        rank_post(me, !me->number, 0, &message.transfer);
    while (posts && message.transfer.done < TORN) {
        if (!rank_turn(me))
            return;
    }
    if (!meet(me))
        return;
    for (int turn = 0; turn < 10; turn++) {
        if (!(posts ? rank_turn(me) : message_try(me, &message, &moved)))
            return;
        require(me, !moved && message.transfer.done == (posts ? TORN : 0));
    }
    if (!meet(me))
        return;
    message.transfer.limit = REGION;
    while (posts ? message.transfer.done < REGION : !moved) {
        if (!(posts ? rank_turn(me) : message_try(me, &message, &moved)))
            return;
    }
    require(me, text_is(seed, message.data, REGION) && is_in_step(me));
}

/* Words of epochs 2 and 3 remain beyond shorter messages until these epochs come again. Then they
 * must not be taken for new ones. */
static void nothing_old_is_new(struct rank *me, bool eager)
{
    for (uint64_t i = 0; i < 2; i++) {
        if (!message_travels(me, REGION, i))
            return;
    }
    require(me, ll_of(me, me->number == 0)->epoch == 4);
    if (!begin_at(me, UINT32_MAX - 3))
        return;
    for (uint64_t i = 0; i < 4; i++) {
        if (!message_travels(me, TORN, i))
            return;
    }
    require(me, ll_of(me, me->number == 0)->epoch == 2);
    for (uint64_t i = 0; i < 2 && !me->world->failed; i++)
        stops_at_old_ll(me, eager, 10 + i);
}

static void nothing_old_is_new_posted(struct rank *me)
{
    nothing_old_is_new(me, false);
}

static void nothing_old_is_new_eager(struct rank *me)
{
    nothing_old_is_new(me, true);
}

/* Messages of all lengths, in both directions at once, over the wrap. */
static void over_the_wrap(struct rank *me)
{
    uint64_t random = 5; /* the same on both sides */
    if (!begin_at(me, UINT32_MAX - 300))
        return;
    for (uint64_t i = 0; i < 600; i++) {
        struct ll_message messages[2];
        size_t bytes = 1 + random_below(&random, i % 20 ? REGION : 10 * REGION);
        for (int back = 0; back < 2; back++) {
            message_make(me, &messages[back], back, bytes, 2 * i + (uint64_t)back);
            rank_post(me, !me->number, 0, &messages[back].transfer);
        }
        for (int back = 0; back < 2; back++) {
            if (!rank_complete(me, &messages[back].transfer, 1) || !is_in_step(me))
                return;
            require(me, text_is(2 * i + (uint64_t)back, messages[back].data, bytes));
        }
    }
    require(me, ll_of(me, true)->epoch < UINT32_MAX / 2);
}

/* A sender fills two regions ahead of its receiver, and no more. */
static void two_regions_ahead(struct rank *me)
{
    struct ll_message message;
    message_make(me, &message, false, 10 * REGION, 1);
    if (me->number)
        message.transfer.limit = 0;
    rank_post(me, !me->number, 0, &message.transfer);
    for (size_t taken = 0; taken <= 8; taken++) {
        for (int turn = 0; turn < 20; turn++) {
            if (!rank_turn(me))
                return;
        }
        require(me, message.transfer.done == (me->number ? taken : taken + 2) * REGION);
        if (!meet(me))
            return;
        if (me->number)
            message.transfer.limit += REGION;
        while (me->number && message.transfer.done < message.transfer.limit) {
            if (!rank_turn(me))
                return;
        }
        if (!meet(me))
            return;
    }
    message.transfer.limit = message.transfer.length;
    if (rank_complete(me, &message.transfer, 1))
        require(me, text_is(1, message.data, 10 * REGION));
}

/* An eager message that is longer than the rest of the region, behind the one before it, but not
 * longer than a region, begins the next one. Each end takes it eagerly. */
static void the_rest_is_too_short(struct rank *me)
{
    enum { BEFORE = 20, LONGER = 40 }; /* bytes: less than half of a region, and more */
    for (uint64_t i = 0; i < 6; i++) {
        uint32_t epoch = ll_of(me, me->number == 0)->epoch;
        bool behind = i % 2;
        if (!message_goes(me, behind ? LONGER : BEFORE, i))
            return;
        const struct shm_ring *ring = ll_of(me, me->number == 0);
        require(me, ring->epoch == epoch + (behind ? 2 : 0));
        require(me, ring->at == (behind ? 0 : REGION / 2) && is_in_step(me));
        if (!meet(me))
            return;
    }
}

/* A limit within a word: the sender holds back that word; the receiver takes the part that its
 * limit allows. */
static void a_word_is_cut(struct rank *me)
{
    for (size_t limit = 1; limit < 12; limit++) {
        for (int who = 0; who < 2; who++) {
            struct ll_message message;
            message_make(me, &message, false, 12, limit);
            if (me->number == who)
                message.transfer.limit = limit;
            rank_post(me, !me->number, 0, &message.transfer);
            size_t least = who ? limit : limit / 4 * 4;
            while (me->number && message.transfer.done < least) {
                if (!rank_turn(me))
                    return;
            }
            for (int turn = 0; turn < 10; turn++) {
                if (!rank_turn(me))
                    return;
            }
            if (me->number || who == 0)
                require(me, message.transfer.done == least);
            if (!meet(me))
                return;
            message.transfer.limit = 12;
            if (!rank_complete(me, &message.transfer, 1))
                return;
            require(me, text_is(limit, message.data, 12));
        }
    }
}

static void ll_run(void **state, void (*body)(struct rank *))
{
    struct world *world = malloc(sizeof(*world));
    *world = world_make(*state, 0, 2);
    world->config.copy = COPY_LL;
    world->config.slot_bytes = REGION;
    world->body = body;
    assert_true(world_run(world));
    free(world);
}

static void test_old_ll(void **state)
{
    ll_run(state, nothing_old_is_new_posted);
}

static void test_old_ll_eager(void **state)
{
    ll_run(state, nothing_old_is_new_eager);
}

static void test_wrap(void **state)
{
    ll_run(state, over_the_wrap);
}

static void test_two_regions(void **state)
{
    ll_run(state, two_regions_ahead);
}

static void test_rest(void **state)
{
    ll_run(state, the_rest_is_too_short);
}

static void test_cut(void **state)
{
    ll_run(state, a_word_is_cut);
}

int main(void)
{
    const struct transport *shm = transport_find("shm");
    struct CMUnitTest list[] = {
        cmocka_unit_test(test_old_ll), cmocka_unit_test(test_old_ll_eager),
        cmocka_unit_test(test_wrap),   cmocka_unit_test(test_two_regions),
        cmocka_unit_test(test_rest),   cmocka_unit_test(test_cut),
    };
    for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++) {
        memcpy(&list[i].initial_state, &shm, sizeof(shm));
        if (shm->unavailable())
            list[i].test_func = test_unavailable;
    }
    return cmocka_run_group_tests_name("words", list, NULL, NULL);
}
