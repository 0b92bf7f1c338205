/*
 * test_grants.c - what slots cost, as the manual says: all ranks of a host stay within 192 MiB,
 * unless the user sets the slots.
 * tier: deep; load: cpu1
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "transports/verbs/internal.h"

#include <cmocka.h>

#define KIB      ((size_t)1 << 10)
#define NODE_MIB 192

static struct verbs_endpoint endpoint;

static struct verbs_grants grants_of(size_t lanes, int local_ranks, int slots, size_t slot_bytes)
{
    const struct verbs_demand demand = {.pairs = (uint32_t)lanes, .firsts = (uint32_t)lanes};
    endpoint.base.config = (struct transport_config){
        .local_ranks = local_ranks, .slots = slots, .slot_bytes = slot_bytes};
    endpoint.rail_count = 1;
    endpoint.rails[0].receives_most = 32767; /* of mlx5 */
    return verbs_grants_choose(&endpoint, lanes, &demand, SIZE_MAX);
}

static void test_node(void **state)
{
    (void)state;
    for (int local = 1; local <= 128; local *= 2)
        for (size_t lanes = 1; lanes <= 4096; lanes = lanes * 3 / 2 + 1) {
            struct verbs_grants grants = grants_of(lanes, local, 0, 0);
            size_t bytes = (size_t)local * lanes * verbs_block_bytes(&grants);
            bool least = grants.slots == 2 && grants.slot_bytes == 256;
            assert_true(bytes <= NODE_MIB * KIB * KIB || least);
            assert_true(verbs_grants_valid(&grants));
            assert_true(lanes * (grants.slots + grants.offers + grants.segments) <= 32767);
        }
}

/* All queue pairs of a lane take receives, and those of earlier lanes have taken some. */
static void test_receives(void **state)
{
    (void)state;
    const struct verbs_demand demand = {.pairs = 8 * 200, .firsts = 200};
    grants_of(1, 1, 0, 0);
    for (endpoint.rails[0].receives = 0; endpoint.rails[0].receives <= 24000;
         endpoint.rails[0].receives += 8000) {
        struct verbs_grants grants = verbs_grants_choose(&endpoint, 200, &demand, SIZE_MAX);
        assert_true(verbs_grants_valid(&grants));
        size_t receives = 8 * 200 * grants.segments + 200 * (grants.slots + grants.offers);
        assert_true(endpoint.rails[0].receives + receives <= 32767);
    }
    endpoint.rails[0].receives = 0;
}

/* Further lanes get what is left of the share. */
static void test_later_lanes(void **state)
{
    (void)state;
    struct verbs_grants grants = grants_of(200, 1, 0, 0);
    struct verbs_arena arena = {.bytes = 200 * verbs_block_bytes(&grants)};
    endpoint.arenas = &arena;
    grants = grants_of(200, 1, 0, 0);
    assert_true(arena.bytes + 200 * verbs_block_bytes(&grants) <= NODE_MIB * KIB * KIB);
    endpoint.arenas = NULL;
}

static void test_manual(void **state)
{
    (void)state;
    struct verbs_grants few = grants_of(2, 1, 0, 0), many = grants_of(4095, 1, 0, 0);
    assert_int_equal(few.slots, 32);
    assert_int_equal(few.slot_bytes, 16 * KIB);
    assert_int_equal(verbs_block_bytes(&few) / KIB, 1030);
    assert_int_equal(many.slots, 2);
    assert_int_equal(many.slot_bytes, 4 * KIB);
    assert_int_equal((verbs_block_bytes(&many) + KIB / 2) / KIB, 17);
}

static void test_given(void **state)
{
    (void)state;
    struct verbs_grants grants = grants_of(4000, 8, 16, 64 * KIB);
    assert_int_equal(grants.slots, 16);
    assert_int_equal(grants.slot_bytes, 64 * KIB);
    for (int slots = 1; slots <= 65536; slots += slots / 3 + 1) {
        grants = grants_of(1, 1, slots, 64);
        assert_true(verbs_grants_valid(&grants)); /* so it is a power of two */
        assert_in_range(grants.slots, slots / 2 + 1, slots);
    }
    grants.slots = 3;
    assert_false(verbs_grants_valid(&grants));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_node), cmocka_unit_test(test_manual), cmocka_unit_test(test_receives),
        cmocka_unit_test(test_later_lanes), cmocka_unit_test(test_given)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
