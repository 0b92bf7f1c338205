/*
 * test_eager.c - the executor of short messages, over a transport with few cells that often refuses
 * (executor_world.h), called through dataplane/execute/execute.h.
 * tier: check; load: cpu1; program: own
 */
#include "tests/unit/executor_world.h"

static const struct world_config easy = {.step = 8, .eager_most = CELL_BYTES, .cells = 1};

static long refusals; /* of messages that found no room, over all worlds */

static size_t messages_of(const struct schedule *schedule)
{
    size_t count = 0;
    for (size_t i = 0; i < schedule->count; i++)
        count += operation_travels(schedule->operations[i].kind);
    return count;
}

/* All of three runs were eager, and no cell is left full. */
static void all_was_eager(const struct world *world)
{
    for (int r = 0; r < world->ranks; r++) {
        const struct links *links = &world->links[r];
        assert_int_equal(links->posted, 0);
        assert_int_equal(links->moved, 3 * messages_of(world->schedule[r]));
        for (int peer = 0; peer < world->ranks; peer++)
            for (int lane = 0; lane < LANES_MOST; lane++)
                assert_int_equal(links->sends[peer][lane].wire.count, 0);
        refusals += links->refused;
    }
}

static void every_algorithm_runs(void **state)
{
    (void)state;
    for (int variant = 0; variant < 24; variant++) {
        struct world_config config = easy;
        config.channels = 1 + variant % 3;
        config.cells = variant & 4 ? 3 : 1;
        config.turn = (unsigned)(variant + variant / 8);
        config.random = (uint64_t)(variant / 8); /* 0: not at random */
        long before = refusals;
        world_runs_all(&config, variant & 1, all_was_eager);
        if (TURNS <= 3) /* fewer worlds may have none that is full */
            assert_true(refusals > before);
    }
    assert_true(refusals > 0);
}

/* Slices so small that some are empty: their messages vanish. */
static void messages_of_nothing_vanish(void **state)
{
    (void)state;
    struct world_config config = easy;
    config.channels = 3;
    config.random = 5;
    for (size_t count = 0; count < 3; count++) {
        struct problem problem = {
            .collective = collective_find("allreduce"), .ranks = 7, .count = count};
        struct choice choice = choice_of(algorithm_find(COLLECTIVE_ALLREDUCE, "ring"));
        world_runs(&choice, &problem, &config, all_was_eager);
    }
}

/* No operation at all: complete at the first step, which moves nothing. */
static void empty_schedule_is_complete(void **state)
{
    (void)state;
    struct problem problem = {.collective = collective_find("allgather"), .ranks = 3};
    struct choice choice = choice_of(algorithm_find(COLLECTIVE_ALLGATHER, "ring"));
    struct world world;
    struct position position;
    bool moved = true, complete = false;
    world_open(&world, &choice, &problem, &easy);
    assert_int_equal(world.schedule[0]->count, 0);
    world_start(&world, 0);
    executor_position(world.executor[0], &position);
    assert_int_equal(position.operation, -1);
    assert_int_equal(executor_progress(world.executor[0], &moved, &complete), STATUS_OK);
    assert_true(complete && !moved);
    assert_int_equal(executor_check(world.executor[0]), STATUS_OK);
    world_close(&world);
}

/* The executor that serves a schedule. */

static void all_was_posted(const struct world *world)
{
    for (int r = 0; r < world->ranks; r++) {
        assert_int_equal(world->links[r].moved, 0);
        assert_int_equal(world->links[r].posted, 3 * messages_of(world->schedule[r]));
    }
}

/* A chain of messages of 40 bytes. */
static void chain_runs(const struct world_config *config, void (*look)(const struct world *))
{
    struct problem problem = {.collective = collective_find("broadcast"), .ranks = 3, .count = 10};
    struct choice choice = choice_of(algorithm_find(COLLECTIVE_BROADCAST, "chain"));
    world_runs(&choice, &problem, config, look);
}

static void short_messages_are_eager(void **state)
{
    (void)state;
    struct world_config config = {.step = 8, .eager_most = 40, .cells = 1};
    chain_runs(&config, all_was_eager);
    config.chunk = 40;
    chain_runs(&config, all_was_eager);
}

static void long_messages_are_posted(void **state)
{
    (void)state;
    chain_runs(&(struct world_config){.step = 8, .eager_most = 36, .cells = 1}, all_was_posted);
}

/* Only the rank in the middle waits for a part of a message. */
static void the_middle_was_posted(const struct world *world)
{
    for (int r = 0; r < world->ranks; r++) {
        long messages = 3 * (long)messages_of(world->schedule[r]);
        assert_int_equal(world->links[r].moved, r == 1 ? 0 : messages);
        assert_int_equal(world->links[r].posted, r == 1 ? messages : 0);
    }
}

static void what_the_grain_cuts_is_posted(void **state)
{
    (void)state;
    chain_runs(&(struct world_config){.step = 8, .eager_most = 40, .cells = 1, .chunk = 36},
               the_middle_was_posted);
}

/* Memory whose engine is asynchronous has no eager executor. */
static void memory_without_now_is_posted(void **state)
{
    (void)state;
    struct memory_kind elsewhere = *memory_kinds[0];
    elsewhere.engine_now = NULL;
    chain_runs(
        &(struct world_config){.step = 8, .eager_most = 40, .cells = 1, .memory = &elsewhere},
        all_was_posted);
}

/* A rank with an injected fault streams in that run. Its peers do not know, and still exchange
 * messages with it. */
static void faults_are_inflicted_the_other_way(void **state)
{
    (void)state;
    struct world world;
    struct world_config config = easy;
    config.random = 3;
    drop_open(&world, &config);
    long messages = (long)messages_of(world.schedule[2]);
    for (uint64_t run = 0; run < 5; run++) {
        long posted = world.links[2].posted, moved = world.links[2].moved;
        bool dropped = run % 2 == 0;
        drop_run(&world, run, dropped);
        assert_int_equal(world.links[2].posted - posted, dropped ? messages : 0);
        assert_int_equal(world.links[2].moved - moved, dropped ? 0 : messages);
        for (int r = 0; r < 4; r++)
            assert_true(r == 2 || world.links[r].posted == 0);
    }
    struct position position; /* must not be that of the run with the fault */
    world_start(&world, 5);
    executor_position(world.executor[2], &position);
    assert_int_equal(position.operation, 0);
    assert_int_equal(position.done, 0);
    world_finish(&world);
    world_close(&world);
}

static long mixed; /* messages that odd ranks posted, over all worlds */

static void even_ranks_were_eager(const struct world *world)
{
    for (int r = 0; r < world->ranks; r++) {
        const struct links *links = &world->links[r];
        assert_int_equal(links->posted + links->moved, 3 * messages_of(world->schedule[r]));
        assert_true(r % 2 || links->posted == 0);
        mixed += links->posted;
    }
}

/* Ranks need not agree: half of them stream, element by element, to and from the others. */
static void ranks_need_not_agree(void **state)
{
    (void)state;
    for (int variant = 0; variant < 4; variant++) {
        struct world_config config = easy;
        config.channels = 1 + (variant >> 1);
        config.odd_chunk = 4;
        config.random = 9;
        config.turn = (unsigned)variant;
        world_runs_all(&config, variant & 1, even_ranks_were_eager);
    }
    assert_true(mixed > 0);
}

/* Schedules written by hand: that of rank 0, and what its peers need. */

static void world_open_for(struct world *world, struct algorithm *algorithm, int ranks)
{
    struct problem problem = {
        .collective = collective_find("alltoall"), .ranks = ranks, .count = 2};
    algorithm->name = "of this test";
    algorithm->collectives = SERVES(ALLTOALL);
    world_open(world, &(struct choice){.algorithm = algorithm}, &problem, &easy);
    world_start(world, 0);
}

static void rank_step(struct world *world, int rank, bool expected)
{
    bool moved, complete;
    assert_int_equal(executor_progress(world->executor[rank], &moved, &complete), STATUS_OK);
    assert_int_equal(moved, expected);
}

/* To and from rank 1, behind a fence to rank 2, and behind another to rank 3; to rank 3 on a lane
 * of its own. */
static void fenced(struct builder *b, const struct call *call)
{
    const struct group *g = call->group;
    struct group aside = group_on_lane(b, g);
    if (g->rank > 0) {
        put_recv(b, g, 0, view_block(&call->destination, 0));
        if (g->rank == 1)
            put_send(b, g, 0, view_block(&call->source, 0));
        if (g->rank == 3)
            put_recv(b, &aside, 0, view_block(&call->destination, 1));
        return;
    }
    put_send(b, g, 1, view_block(&call->source, 1));
    put_recv(b, g, 1, view_block(&call->destination, 1));
    put_fence(b, g);
    put_send(b, g, 2, view_block(&call->source, 2));
    put_fence(b, g);
    put_send(b, g, 3, view_block(&call->source, 3));
    put_send(b, &aside, 3, view_block(&call->source, 3));
}

static void fences_run(struct world *world)
{
    struct links *links = &world->links[0];
    long before = links->sends[2][0].eager;
    links->sends[1][0].stuck = true;
    rank_step(world, 0, true);
    assert_int_equal(links->sends[3][1].wire.count, 1); /* another scope */
    rank_step(world, 0, false);
    links->sends[1][0].stuck = false;
    rank_step(world, 0, true);
    assert_int_equal(links->sends[1][0].wire.count, 1);
    assert_int_equal(links->sends[2][0].eager, before); /* one of two is complete */
    rank_step(world, 1, true);
    links->sends[2][0].stuck = true;
    before = links->sends[3][0].eager;
    rank_step(world, 0, true);
    rank_step(world, 0, false);
    assert_int_equal(links->sends[3][0].eager, before);
    links->sends[2][0].stuck = false;
    world_finish(world);
}

static void fences_hold_their_own_scope(void **state)
{
    (void)state;
    struct world world;
    world_open_for(&world, &(struct algorithm){.write = fenced}, 4);
    for (uint64_t run = 0; run < 2; run++) {
        world_start(&world, run);
        fences_run(&world);
    }
    assert_int_equal(world.links[0].posted, 0);
    world_close(&world);
}

/* The message from rank 1 goes back to it; rank 2 sends another one. */
static void echo(struct builder *b, const struct call *call)
{
    const struct group *g = call->group;
    if (g->rank == 0) {
        put_recv(b, g, 1, view_block(&call->destination, 1));
        put_send(b, g, 1, view_block(&call->destination, 1));
        put_recv(b, g, 2, view_block(&call->destination, 2));
    } else {
        put_send(b, g, 0, view_block(&call->source, 0));
        if (g->rank == 1)
            put_recv(b, g, 0, view_block(&call->destination, 0));
    }
}

static void where_expect(const struct world *world, int operation, enum operation_kind kind,
                         int peer)
{
    struct position position;
    executor_position(world->executor[0], &position);
    assert_int_equal(position.operation, operation);
    if (operation < 0)
        return;
    assert_int_equal(position.kind, kind);
    assert_int_equal(position.peer, peer);
    assert_int_equal(position.done, 0);
    assert_int_equal(position.length, 2 * sizeof(int32_t));
}

/* The first incomplete operation is not the one that has been ready longest. */
static void position_name_the_earliest(void **state)
{
    (void)state;
    struct world world;
    world_open_for(&world, &(struct algorithm){.write = echo}, 3);
    struct links *links = &world.links[0];
    rank_step(&world, 0, false);
    where_expect(&world, 0, OPERATION_RECV, 1);
    links->sends[1][0].stuck = true;
    rank_step(&world, 1, true);
    rank_step(&world, 0, true);
    where_expect(&world, 1, OPERATION_SEND, 1);
    links->sends[1][0].stuck = false;
    rank_step(&world, 0, true);
    where_expect(&world, 2, OPERATION_RECV, 2);
    world_finish(&world);
    where_expect(&world, -1, OPERATION_RECV, -1);
    world_close(&world);
}

/* Before check(), eager_await() is called for the channels that the run waits for, and no
 * others. */
static void awaited_channels_are_checked(void **state)
{
    (void)state;
    struct world world;
    world_open_for(&world, &(struct algorithm){.write = echo}, 3);
    struct links *links = &world.links[0];
    links->sends[1][0].stuck = true;
    rank_step(&world, 0, false);
    assert_int_equal(links->receives[1][0].awaited, 0);
    assert_int_equal(executor_check(world.executor[0]), STATUS_OK);
    assert_int_equal(links->receives[1][0].awaited, 1);
    assert_int_equal(links->receives[2][0].awaited, 1);
    assert_int_equal(links->sends[1][0].awaited, 0); /* no message has arrived to be sent back */
    rank_step(&world, 1, true);
    rank_step(&world, 0, true);
    assert_int_equal(executor_check(world.executor[0]), STATUS_OK);
    assert_int_equal(links->receives[1][0].awaited, 1);
    assert_int_equal(links->receives[2][0].awaited, 2);
    assert_int_equal(links->sends[1][0].awaited, 1);
    world_close(&world);
}

/* An error of eager_move() is returned, and nothing begins after it. */
static void errors_come_out(void **state)
{
    (void)state;
    struct world world;
    bool moved, complete;
    world_open_for(&world, &(struct algorithm){.write = echo}, 3);
    struct links *links = &world.links[0];
    links->receives[1][0].fails = true;
    rank_step(&world, 2, true);
    assert_int_equal(executor_progress(world.executor[0], &moved, &complete), STATUS_TIMEOUT);
    assert_false(complete);
    assert_int_equal(links->receives[2][0].eager, 0);
    where_expect(&world, 0, OPERATION_RECV, 1);
    world_close(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_algorithm_runs),
        cmocka_unit_test(messages_of_nothing_vanish),
        cmocka_unit_test(empty_schedule_is_complete),
        cmocka_unit_test(short_messages_are_eager),
        cmocka_unit_test(long_messages_are_posted),
        cmocka_unit_test(what_the_grain_cuts_is_posted),
        cmocka_unit_test(memory_without_now_is_posted),
        cmocka_unit_test(faults_are_inflicted_the_other_way),
        cmocka_unit_test(ranks_need_not_agree),
        cmocka_unit_test(fences_hold_their_own_scope),
        cmocka_unit_test(position_name_the_earliest),
        cmocka_unit_test(awaited_channels_are_checked),
        cmocka_unit_test(errors_come_out),
    };
    return cmocka_run_group_tests_name("eager", tests, NULL, NULL);
}
