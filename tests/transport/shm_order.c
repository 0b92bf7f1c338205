/*
 * shm_order.c - what shared memory orders between ranks that are threads: a sender's bytes are done
 * only behind those before them, a second connect() finds what the peer has written for it, no rank
 * frees what another one reads, and a slot is written again after it was read. ThreadSanitizer sees
 * the last three (thread:transport/shm_order in make check-deep), so the bodies order nothing by
 * themselves where it matters.
 * tier: check; load: cpu1
 */
#include "transports/shm/internal.h"

#include "world.h"

/* Bytes that are copied into a slot wait for the reference before them, whose bytes the receiver
 * has not read: `done` says up to where the memory may be written again. */
enum { REFERRED = 64 << 10, COPIED = 1000 };

static void copies_wait(struct rank *me)
{
    struct transfer transfer;
    struct piece pieces[2];
    bool sends = me->number == 0;
    size_t early = 0;
    char *place = rank_take(me, REFERRED), *rest = rank_take(me, 2 * COPIED) + COPIED;
    transfer = transfer_make(me, sends ? TRANSFER_SEND : TRANSFER_RECV, pieces, place, REFERRED);
    pieces[1] = (struct piece){.base = rest, .run = COPIED, .stride = COPIED, .times = 1};
    transfer.from.count = transfer.to.count = 2;
    transfer.length = transfer.limit = REFERRED + COPIED;
    if (sends) {
        rank_write(me, 1, place, REFERRED);
        rank_write(me, 2, rest, COPIED);
        rank_post(me, 1, 0, &transfer);
        while (transfer.issued < transfer.length && rank_turn(me))
            continue;
        early = transfer.done;
    }
    pthread_barrier_wait(&me->world->barrier);
    if (!sends)
        rank_post(me, 0, 0, &transfer);
    require(me, rank_complete(me, &transfer, 1));
    require(me, early == 0);
    require(me, !sends || me->endpoint->traffic.sent[PATH_ZCOPY] == REFERRED);
    require(me, !sends || me->endpoint->traffic.sent[PATH_BCOPY] == COPIED);
    require(me, rank_has(me, 1, place, REFERRED) && rank_has(me, 2, rest, COPIED));
}

static void test_copies_wait(void **state)
{
    struct world world = world_make(*state, 0, 2);
    world.memory = memory_find("shared");
    world.grain = SIZE_MAX;
    world.body = copies_wait;
    assert_true(world_run(&world));
}

/* Each round writes the same slot again, which the peer read in the round before. The pings that
 * measure a link would order it, too: ranks without a core of their own send none. */
static void connected_again(struct rank *me)
{
    int peer = !me->number;
    for (int lanes = 1; lanes <= 8; lanes++)
        require(me, rank_connect(me, &peer, 1, lanes) == STATUS_OK);
    rank_try(me, peer);
}

static void test_connected_again(void **state)
{
    struct world world = world_make(*state, 0, 2);
    world.coreless = 3;
    world.unconnected = true;
    world.body = connected_again;
    assert_true(world_run(&world));
}

/* Rank 0 reads half of a message in the memory of rank 1, which then leaves. */
static void reader_is_awaited(struct rank *me)
{
    _Atomic size_t *has_read = &me->world->shared[0];
    struct transfer transfer;
    struct piece piece;
    char *place = rank_take(me, REFERRED);
    transfer =
        transfer_make(me, me->number ? TRANSFER_SEND : TRANSFER_RECV, &piece, place, REFERRED);
    if (me->number == 0)
        transfer.limit = REFERRED / 2;
    rank_post(me, !me->number, 0, &transfer);
    if (me->number == 0) {
        while (transfer.done < transfer.limit && rank_turn(me))
            continue;
        atomic_store_explicit(has_read, 1, memory_order_relaxed);
        return;
    }
    while (atomic_load_explicit(has_read, memory_order_relaxed) == 0 && rank_turn(me))
        continue;
    me->world->transport->close(me->endpoint);
    me->endpoint = NULL;
    memset(place, '#', REFERRED);
}

static void test_reader_is_awaited(void **state)
{
    struct world world = world_make(*state, 0, 2);
    world.config.copy = COPY_ZCOPY;
    world.grain = SIZE_MAX;
    world.body = reader_is_awaited;
    assert_true(world_run(&world));
}

/* More messages than slots, all one way: each slot is written again after it was read. */
enum { MESSAGES = 12 };

static void slots_come_back(struct rank *me)
{
    struct transfer transfers[MESSAGES];
    struct piece pieces[MESSAGES];
    bool sends = me->number == 0;
    char *place = rank_take(me, MESSAGES * COPIED);
    for (size_t i = 0; i < MESSAGES; i++) {
        transfers[i] = transfer_make(me, sends ? TRANSFER_SEND : TRANSFER_RECV, &pieces[i],
                                     place + i * COPIED, COPIED);
        if (sends)
            rank_write(me, i, place + i * COPIED, COPIED);
        rank_post(me, !me->number, 0, &transfers[i]);
    }
    require(me, rank_complete(me, transfers, MESSAGES));
    for (size_t i = 0; i < MESSAGES; i++)
        require(me, rank_has(me, i, place + i * COPIED, COPIED));
}

static void test_slots_come_back(void **state)
{
    struct world world = world_make(*state, 0, 2);
    world.config.copy = COPY_BCOPY;
    world.config.slots = 2;
    world.grain = SIZE_MAX;
    world.body = slots_come_back;
    assert_true(world_run(&world));
}

int main(void)
{
    const struct transport *shm = transport_find("shm");
    struct CMUnitTest list[] = {
        cmocka_unit_test(test_copies_wait),
        cmocka_unit_test(test_connected_again),
        cmocka_unit_test(test_reader_is_awaited),
        cmocka_unit_test(test_slots_come_back),
    };
    for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++) {
        memcpy(&list[i].initial_state, &shm, sizeof(shm));
        if (shm->unavailable())
            list[i].test_func = test_unavailable;
    }
    return cmocka_run_group_tests_name("shm", list, NULL, NULL);
}
