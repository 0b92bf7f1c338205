/*
 * test_executor.c - the executor, over a transport that moves a few bytes in each step
 * (executor_world.h). test_eager.c: its short messages.
 * tier: check; load: cpu1; program: own
 */
#include "tests/unit/executor_world.h"

static struct choice chain_choice(void)
{
    return choice_of(algorithm_find(COLLECTIVE_BROADCAST, "chain"));
}

/* On rank 1 of a chain, has the send to rank 2 begun while the receive from rank 0 is under way? */
static bool forward_begins_early(size_t chunk)
{
    struct problem problem = {.collective = collective_find("broadcast"), .ranks = 3, .count = 100};
    struct choice choice = chain_choice();
    struct world world;
    world_open(&world, &choice, &problem, &(struct world_config){.chunk = chunk, .step = 16});
    world_start(&world, 0);
    bool early = false;
    for (bool more = true; more;) {
        const struct transfer *in = world.links[1].receives[0][0].channel.first;
        const struct transfer *out = world.links[1].sends[2][0].channel.first;
        early |= in && out && out->done > 0 && in->done < in->length;
        if (in && out)
            assert_true(out->done <= in->done);
        more = world_step(&world);
    }
    world_expect(&world, 0, "chain");
    world_close(&world);
    return early;
}

static void forward_begins_before_its_receive_ends(void **state)
{
    (void)state;
    assert_true(forward_begins_early(16));
}

static void whole_messages_do_not_stream(void **state)
{
    (void)state;
    assert_false(forward_begins_early(0));
}

/* Other operations see progress in steps of the grain: a rank forwards whole grains only. */
static void forward_advances_by_the_grain(void **state)
{
    (void)state;
    struct problem problem = {.collective = collective_find("broadcast"), .ranks = 3, .count = 100};
    struct choice choice = chain_choice();
    struct world world;
    world_open(&world, &choice, &problem, &(struct world_config){.chunk = 64, .step = 16});
    world_start(&world, 0);
    for (bool more = true; more;) {
        const struct transfer *out = world.links[1].sends[2][0].channel.first;
        if (out && out->limit < out->length)
            assert_int_equal(out->limit % 64, 0);
        more = world_step(&world);
    }
    world_close(&world);
}

/* The user's grain; else a quarter of the message, within bounds. */
static void grain_follows_the_message(void **state)
{
    (void)state;
    static const struct {
        size_t chunk, length, grain;
    } cases[] = {
        {64, 1000, 64},
        {1000, 1000, 1000},
        {1001, 1000, 1000},
        {1, 0, 0},
        {0, 0, 0},
        {0, 1000, 1000},
        {0, 64 << 20, 64 << 20},
        {GRAIN_AUTO - 1, 1000, 1000},
        {GRAIN_AUTO, 0, 128 << 10},
        {GRAIN_AUTO, 4096, 128 << 10},
        {GRAIN_AUTO, 512 << 10, 128 << 10},
        {GRAIN_AUTO, (512 << 10) + 4, (128 << 10) + 1},
        {GRAIN_AUTO, 2 << 20, 512 << 10},
        {GRAIN_AUTO, (4 << 20) - 4, (1 << 20) - 1},
        {GRAIN_AUTO, 4 << 20, 1 << 20},
        {GRAIN_AUTO, (4 << 20) + 4, 1 << 20},
        {GRAIN_AUTO, SIZE_MAX, 1 << 20},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(grain_of(cases[i].chunk, cases[i].length, 128 << 10, 1 << 20),
                         cases[i].grain);
}

/* How much of a message of `bytes` bytes rank 1 of a chain has when it begins to forward. */
static size_t forwarded_first(size_t chunk, size_t bytes)
{
    struct problem problem = {
        .collective = collective_find("broadcast"), .ranks = 3, .count = bytes / 4};
    struct choice choice = chain_choice();
    struct world world;
    size_t first = 0;
    world_open(&world, &choice, &problem, &(struct world_config){.chunk = chunk, .step = 64});
    world_start(&world, 0);
    for (bool more = true; more; more = world_step(&world)) {
        const struct transfer *in = world.links[1].receives[0][0].channel.first;
        const struct transfer *out = world.links[1].sends[2][0].channel.first;
        if (first == 0 && out)
            first = out->limit;
        if (in && in->done < in->grain)
            assert_int_equal(first, 0);
    }
    world_expect(&world, 0, "chain");
    world_close(&world);
    return first;
}

static void forward_begins_after_the_first_grain(void **state)
{
    (void)state;
    assert_int_equal(forwarded_first(GRAIN_AUTO, 1 << 20), 256 << 10);
    assert_int_equal(forwarded_first(GRAIN_AUTO, 256 << 10), 128 << 10);
    assert_int_equal(forwarded_first(GRAIN_AUTO, 64 << 10), 64 << 10);
    assert_int_equal(forwarded_first(96 << 10, 1 << 20), 96 << 10);
    assert_int_equal(forwarded_first(0, 256 << 10), 256 << 10);
}

static void every_algorithm_runs(void **state)
{
    (void)state;
    static const size_t chunks[] = {0, 4, 12, 4096};
    for (int variant = 0; variant < 8; variant++)
        world_runs_all(&(struct world_config){.channels = 1 + (variant >> 2),
                                              .chunk = chunks[variant & 3],
                                              .step = 8,
                                              .turn = (unsigned)variant},
                       variant & 1, NULL);
}

static const struct memory_kind card = {.name = "card", CARD_HOOKS};

/* In memory that neither a CPU nor the links reach, through rings of any length. */
static void every_algorithm_is_staged(void **state)
{
    (void)state;
    static const size_t rings[] = {4, 12, 40, 4096};
    for (int variant = 0; variant < 8; variant++)
        world_runs_all(&(struct world_config){.channels = 1 + (variant >> 2),
                                              .chunk = variant & 1 ? 12 : 0,
                                              .step = 8,
                                              .turn = (unsigned)variant,
                                              .random = variant < 4 ? 0 : 5,
                                              .memory = &card,
                                              .ring = rings[variant & 3]},
                       variant >> 1 & 1, NULL);
}

/* The position of a run is its first incomplete operation. */
static void position_name_the_wait(void **state)
{
    (void)state;
    struct problem problem = {.collective = collective_find("broadcast"), .ranks = 3, .count = 100};
    struct choice choice = chain_choice();
    struct world world;
    struct position position;
    world_open(&world, &choice, &problem, &(struct world_config){.chunk = 16, .step = 16});
    world_start(&world, 0);
    bool moved, complete;
    for (int i = 0; i < 10; i++) /* rank 0 makes no step, but its send is posted */
        executor_progress(world.executor[2], &moved, &complete);
    executor_position(world.executor[2], &position);
    assert_int_equal(position.kind, OPERATION_RECV);
    assert_int_equal(position.peer, 1);
    assert_int_equal(position.done, 0);
    assert_int_equal(position.length, 400);
    while (world_step(&world))
        ;
    executor_position(world.executor[2], &position);
    assert_int_equal(position.operation, -1);
    world_close(&world);
}

static void injected_drop_is_felt_once(void **state)
{
    (void)state;
    struct world world;
    drop_open(&world, &(struct world_config){.chunk = 16, .step = 16});
    for (uint64_t run = 0; run < 2; run++)
        drop_run(&world, run, run == 0);
    world_close(&world);

    drop_open(&world, &(struct world_config){.chunk = 16, .step = 16, .memory = &card, .ring = 24});
    for (uint64_t run = 0; run < 2; run++)
        drop_run(&world, run, run == 0);
    world_close(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(forward_begins_before_its_receive_ends),
        cmocka_unit_test(whole_messages_do_not_stream),
        cmocka_unit_test(forward_advances_by_the_grain),
        cmocka_unit_test(grain_follows_the_message),
        cmocka_unit_test(forward_begins_after_the_first_grain),
        cmocka_unit_test(every_algorithm_runs),
        cmocka_unit_test(every_algorithm_is_staged),
        cmocka_unit_test(position_name_the_wait),
        cmocka_unit_test(injected_drop_is_felt_once),
    };
    return cmocka_run_group_tests_name("plan", tests, NULL, NULL);
}
