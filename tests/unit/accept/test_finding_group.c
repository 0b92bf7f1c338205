/*
 * test_finding_group.c - the findings of many ranks that show one fault become one group, whatever
 * elements and values they show; and a finding that is none is not decoded.
 * tier: check; load: cpu1
 */
#include "tests/unit/spoiled.h"

#define RANKS 8

/* The findings of all ranks of a job, whose results are spoiled in turn. */
struct world {
    struct bench benches[RANKS];
    const struct finding *findings[RANKS];
    struct finding_groups groups;
    bool joined; /* what is not explained is one fault */
};

static void world_open(struct world *world, const char *collective, const char *operator)
{
    memset(world, 0, sizeof *world);
    for (int rank = 0; rank < RANKS; rank++)
        bench_open(&world->benches[rank], collective, "int32", operator, RANKS, rank, 400);
}

static void world_group(struct world *world)
{
    finding_groups_free(&world->groups);
    for (int rank = 0; rank < RANKS; rank++) {
        bench_check(&world->benches[rank]);
        world->findings[rank] = &world->benches[rank].finding;
    }
    finding_groups_make(world->findings, RANKS, world->joined, &world->groups);
}

static void world_close(struct world *world)
{
    finding_groups_free(&world->groups);
    for (int rank = 0; rank < RANKS; rank++)
        bench_close(&world->benches[rank]);
}

static void expect_group(const struct world *world, int index, int first, int count)
{
    assert_true(index < world->groups.count);
    assert_int_equal(world->groups.list[index].rank, first);
    assert_int_equal(world->groups.list[index].count, count);
}

static void block_lose(struct world *world, int sender, int receiver)
{
    struct bench *bench = &world->benches[receiver];
    memset(bench_at(bench, 400 * (size_t)sender), PATTERN_POISON, 400 * bench->size);
}

/* Every receiver lacks another block of one sender. */
static void test_one_sender(void **state)
{
    (void)state;
    struct world world;
    world_open(&world, "alltoall", NULL);
    for (int rank = 0; rank < RANKS; rank++)
        if (rank != 3)
            block_lose(&world, 3, rank);
    world_group(&world);
    assert_int_equal(world.groups.count, 1);
    expect_group(&world, 0, 0, RANKS - 1);
    assert_int_equal(world.groups.list[0].wrong, 400 * (RANKS - 1));
    assert_false(world.groups.list[0].alike);
    assert_int_equal(world.groups.list[0].ranks[3], 4);
    world_close(&world);
}

/* Receivers that lack blocks of several senders have these in common. Another sender is another
 * fault. */
static void test_senders_in_common(void **state)
{
    (void)state;
    struct world world;
    world_open(&world, "alltoall", NULL);
    block_lose(&world, 1, 2);
    block_lose(&world, 0, 2);
    block_lose(&world, 1, 4);
    block_lose(&world, 0, 5);
    block_lose(&world, 7, 6);
    world_group(&world);
    assert_int_equal(world.groups.count, 2);
    expect_group(&world, 0, 2, 3);
    assert_false(world.groups.list[0].same_senders);
    expect_group(&world, 1, 6, 1);
    world_close(&world);
}

/* One sender's memory flips bits of all that it sends. */
static void test_corruption(void **state)
{
    (void)state;
    struct world world;
    world_open(&world, "alltoall", NULL);
    for (size_t rank = 0; rank < RANKS; rank++)
        *bench_at(&world.benches[rank], 800 + rank) ^= 4;
    world_group(&world);
    assert_int_equal(world.groups.count, 1);
    expect_group(&world, 0, 0, RANKS);
    world_close(&world);
}

/* Flips of several senders' elements are one fault where that is known; what is explained stays
 * apart. */
static void test_joined(void **state)
{
    (void)state;
    struct world world;
    world_open(&world, "alltoall", NULL);
    *bench_at(&world.benches[1], 805) ^= 4;
    *bench_at(&world.benches[2], 1205) ^= 4;
    block_lose(&world, 7, 6);
    world_group(&world);
    assert_int_equal(world.groups.count, 3);
    world.joined = true;
    world_group(&world);
    assert_int_equal(world.groups.count, 2);
    expect_group(&world, 0, 1, 2);
    assert_true(world.groups.list[0].together);
    expect_group(&world, 1, 6, 1);
    world_close(&world);
}

static void test_contributions(void **state)
{
    (void)state;
    struct world world;
    world_open(&world, "reduce_scatter", "sum");
    for (int rank = 0; rank < RANKS; rank++)
        spoil(&world.benches[rank], 10, 300 + (size_t)rank, rank < 5 ? 0x4 : 0x20,
              CONTRIBUTION_MISSING);
    world_group(&world);
    assert_int_equal(world.groups.count, 2);
    expect_group(&world, 0, 0, 5);
    expect_group(&world, 1, 5, 3);
    world_close(&world);
}

/* Whatever one byte of a finding becomes: it is refused, or can be grouped and put into words. */
static void test_decoding(void **state)
{
    (void)state;
    struct world world;
    struct bytes bytes = {0};
    int refused = 0;
    world_open(&world, "allreduce", "sum");
    spoil(&world.benches[0], 10, 300, 0x4, CONTRIBUTION_MISSING);
    bench_check(&world.benches[0]);
    finding_code(codec_to(&bytes), RANKS, &world.benches[0].finding);
    for (size_t at = 0; at < bytes.size; at++) {
        for (int bit = 0; bit < 8; bit++) {
            bytes.data[at] ^= (unsigned char)(1 << bit);
            struct reader reader = {.at = bytes.data, .left = bytes.size};
            struct bench *bench = &world.benches[0];
            finding_code(codec_from(&reader), RANKS, &bench->finding);
            refused += reader.bad;
            if (!reader.bad)
                bench_say(bench);
            bytes.data[at] ^= (unsigned char)(1 << bit);
        }
        struct reader reader = {.at = bytes.data, .left = at};
        finding_code(codec_from(&reader), RANKS, &world.benches[0].finding);
        assert_true(reader.bad);
    }
    assert_true(refused > 0);
    bytes_free(&bytes);
    world_close(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_sender),    cmocka_unit_test(test_senders_in_common),
        cmocka_unit_test(test_corruption),    cmocka_unit_test(test_joined),
        cmocka_unit_test(test_contributions), cmocka_unit_test(test_decoding),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
