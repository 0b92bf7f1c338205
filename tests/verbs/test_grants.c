/*
 * test_grants.c - what slots cost, as the manual says: all ranks of a host stay within 192 MiB,
 * unless the user sets the slots.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "transports/verbs/block.h"
#include "transports/verbs/grants.h"

#include <cmocka.h>

#define KIB      ((size_t)1 << 10)
#define NODE_MIB 192

static struct verbs_grants grants_of(size_t lanes, int local_ranks, int slots, size_t slot_bytes)
{
    static struct verbs_endpoint endpoint;
    endpoint.base.config = (struct transport_config){
        .local_ranks = local_ranks, .slots = slots, .slot_bytes = slot_bytes};
    endpoint.rail_count = 1;
    endpoint.rails[0].device.max_srq_wr = 32767; /* of mlx5 */
    return verbs_grants_choose(&endpoint, lanes);
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
            assert_true(lanes * verbs_grants_receives(&grants, 0) <= 32767);
        }
}

static void test_manual(void **state)
{
    (void)state;
    struct verbs_grants few = grants_of(2, 1, 0, 0), many = grants_of(4095, 1, 0, 0);
    assert_int_equal(few.slots, 8);
    assert_int_equal(few.slot_bytes, 32 * KIB);
    assert_int_equal(verbs_block_bytes(&few) / KIB, 515);
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
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_node), cmocka_unit_test(test_manual),
                                       cmocka_unit_test(test_given)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
