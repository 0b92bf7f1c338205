/*
 * processes.c - requirements for every transport between processes: the death of a peer is reported
 * to the ranks that wait for it, and to no others.
 * tier: check; load: cpu1
 */
#include "pair.h"

/* A peer is killed in the middle of a message. Within a second progress() or check() of the
 * survivor reports it, whether the survivor sends or receives, and whether its limit blocks it or
 * not. */
struct death {
    bool sends;   /* the survivor */
    bool blocked; /* ... by its own limit */
};

/* The failure of the survivor, and how long after the death of its peer. */
static enum status survivor_wait(struct rank *me, double *took)
{
    double begin = clock_seconds();
    enum status status = STATUS_OK;
    do {
        status = me->endpoint->transport->progress(me->endpoint);
        if (status == STATUS_OK && me->endpoint->transport->check)
            status = me->endpoint->transport->check(me->endpoint);
        while (moved_take(&me->moved))
            continue;
        usleep(1000);
        *took = clock_seconds() - begin;
    } while (status == STATUS_OK && *took < 20);
    return status;
}

/* Half of the message arrives: the transfer has reached its limit on both sides. */
static void death(struct rank *me)
{
    const struct death *death = pair_of(me)->argument;
    struct transfer *transfer = &pair_of(me)->transfer;
    double took = 0;
    bool sends = death->sends == (me->number == 0);
    *transfer = transfer_make(me, sends ? TRANSFER_SEND : TRANSFER_RECV, &pair_of(me)->piece,
                              me->region.base, me->region.bytes);
    transfer->limit /= 2;
    rank_post(me, !me->number, 0, transfer);
    while (transfer->done < transfer->limit && rank_turn(me))
        continue;
    require(me, pair_meet(me));
    if (me->number == 1) {
        while (true) /* alive, but idle */
            pause();
    }
    if (!death->blocked)
        transfer->limit = transfer->length;
    pair_kill(pair_of(me));
    require(me, survivor_wait(me, &took) == STATUS_TIMEOUT);
    require(me, took < 10);
    require(me, strstr(me->log.failure.text, "rank 1"));
}

static void test_death(void **state)
{
    static const struct death deaths[] = {
        {false, false}, {false, true}, {true, false}, {true, true}};
    struct pair *pair = malloc(sizeof(*pair));
    int served = 0;
    for (int i = 0; i < 4 * world_combinations(*state); i++) {
        *pair = (struct pair){.world = world_make(*state, i / 4, 2), .argument = &deaths[i % 4]};
        pair->world.body = death;
        served += pair_run(pair);
    }
    free(pair);
    assert_true(served > 0);
}

/* An eager message is awaited from eager_await() until the next check(). Later checks do not report
 * the death of its peer, until the message is awaited again. */
static void wait_once(struct rank *me, enum status expected)
{
    const struct transport *transport = me->endpoint->transport;
    for (int lane = 0; lane < me->world->lanes; lane++) {
        for (int sends = 0; sends < 2; sends++)
            transport->eager_await(transport->channel(me->endpoint, !me->number, lane, sends));
    }
    require(me, transport->check(me->endpoint) == expected);
}

static void eager_wait(struct rank *me)
{
    const struct transport *transport = me->endpoint->transport;
    if (!transport->eager_move)
        return;
    require(me, pair_meet(me));
    if (me->number == 1)
        return;
    wait_once(me, STATUS_OK);
    wait_once(me, STATUS_OK);
    pair_kill(pair_of(me));
    for (int i = 0; i < 3; i++)
        require(me, transport->check(me->endpoint) == STATUS_OK);
    wait_once(me, STATUS_TIMEOUT);
    require(me, strstr(me->log.failure.text, "rank 1"));
    require(me, transport->check(me->endpoint) == STATUS_OK);
    wait_once(me, STATUS_TIMEOUT);
}

/* The end of the wait for one message does not end that for another one, which is posted. */
static void eager_wait_and_posted(struct rank *me)
{
    const struct transport *transport = me->endpoint->transport;
    struct transfer *transfer = &pair_of(me)->transfer;
    if (!transport->eager_move)
        return;
    require(me, pair_meet(me));
    if (me->number == 1)
        return;
    *transfer = transfer_make(me, TRANSFER_RECV, &pair_of(me)->piece, rank_take(me, 100), 100);
    rank_post(me, 1, 1, transfer);
    wait_once(me, STATUS_OK);
    require(me, transport->check(me->endpoint) == STATUS_OK);
    pair_kill(pair_of(me));
    for (int i = 0; i < 3; i++)
        require(me, transport->check(me->endpoint) == STATUS_TIMEOUT);
}

static void run_pairs(void **state, void (*body)(struct rank *))
{
    struct pair *pair = malloc(sizeof(*pair));
    int served = 0;
    for (int i = 0; i < world_combinations(*state); i++) {
        *pair = (struct pair){.world = world_make(*state, i, 2)};
        pair->world.body = body;
        pair->world.lanes = 3;
        served += pair_run(pair);
    }
    free(pair);
    assert_true(served > 0);
}

static void test_eager_wait(void **state)
{
    run_pairs(state, eager_wait);
}

static void test_eager_wait_and_posted(void **state)
{
    run_pairs(state, eager_wait_and_posted);
}

static const struct world_test tests[] = {
    {"a peer that dies", test_death},
    {"an eager wait ends", test_eager_wait},
    {"an eager wait ends, a posted one does not", test_eager_wait_and_posted},
};

int main(void)
{
    return world_tests(tests, sizeof(tests) / sizeof(tests[0]));
}
