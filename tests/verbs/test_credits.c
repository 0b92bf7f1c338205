/*
 * test_credits.c - a receiver that falls idle returns the credits that it owes, so that its sender
 * finds all slots free.
 * tier: deep; load: cpu1
 */
#include "../transport/world.h"

#include "provider.h"
#include "transports/transports.h"
#include "transports/verbs/internal.h"

enum { SLOTS = 8, BYTES = 100 };

/* Posts messages of BYTES bytes on the lane to the other rank. */
static void messages_post(struct rank *me, struct transfer *transfers, struct piece *pieces,
                          int count)
{
    enum transfer_kind kind = me->number == 0 ? TRANSFER_SEND : TRANSFER_RECV;
    for (int i = 0; i < count; i++) {
        transfers[i] = transfer_make(me, kind, &pieces[i], rank_take(me, BYTES), BYTES);
        rank_post(me, !me->number, 0, &transfers[i]);
    }
}

/* Rank 1 takes so few messages that it owes their credits. Then rank 0 fills all slots while rank 1
 * does nothing. */
static void idle_receiver(struct rank *me)
{
    struct transfer transfers[SLOTS];
    struct piece pieces[SLOTS];
    _Atomic size_t *idle = &me->world->shared[0], *filled = &me->world->shared[1];
    int few = SLOTS / 2 - 1;
    messages_post(me, transfers, pieces, few);
    if (!rank_complete(me, transfers, (size_t)few))
        return;
    if (me->number == 1) {
        require(me, me->endpoint->transport->check(me->endpoint) == STATUS_OK);
        *idle = 1;
        while (!*filled && !me->world->failed)
            sched_yield();
        messages_post(me, transfers, pieces, SLOTS);
        rank_complete(me, transfers, SLOTS);
        return;
    }
    while (!*idle)
        if (!rank_turn(me))
            return;
    messages_post(me, transfers, pieces, SLOTS);
    if (rank_complete(me, transfers, SLOTS))
        *filled = 1;
}

static void run(int poll)
{
    static struct transport_setting settings[TRANSPORT_OPTIONS_MOST];
    struct world *world = malloc(sizeof *world);
    assert_non_null(world);
    provider_configure("delay=200");
    settings[VERBS_POLL] = (struct transport_setting){.given = true, .number = poll};
    *world = world_make(&transport_verbs, 0, 2);
    world->config.settings = settings;
    world->config.copy = COPY_BCOPY;
    world->config.slots = SLOTS;
    world->body = idle_receiver;
    assert_true(world_run(world));
    free(world);
}

static void test_polled_in_memory(void **state)
{
    (void)state;
    run(VERBS_POLL_MEMORY);
}

static void test_polled_by_completions(void **state)
{
    (void)state;
    run(VERBS_POLL_CQ);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_polled_in_memory),
        cmocka_unit_test(test_polled_by_completions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
