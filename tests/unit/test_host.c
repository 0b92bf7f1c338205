/*
 * test_host.c - hosts are told apart by name and by boot id; a boot id that is unknown equals any.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "base/host.h"

#include <cmocka.h>

static void test_same(void **state)
{
    (void)state;
    const struct host_id node = {"node", "1234"}, clone = {"node", "5678"},
                         other = {"host", "1234"}, unknown = {"node", ""};
    assert_true(host_same(&node, &node));
    assert_false(host_same(&node, &clone));
    assert_false(host_same(&node, &other));
    assert_false(host_same(&unknown, &other));
    assert_true(host_same(&unknown, &node) && host_same(&clone, &unknown));
    assert_true(host_same(&unknown, &unknown));
}

static void test_order(void **state)
{
    (void)state;
    const struct host_id node = {"node", "1234"}, clone = {"node", "5678"}, other = {"host", "9"};
    assert_int_equal(0, host_compare(&node, &node));
    assert_true(host_compare(&node, &clone) < 0 && host_compare(&clone, &node) > 0);
    assert_true(host_compare(&other, &node) < 0);
}

static void test_own(void **state)
{
    (void)state;
    struct host_id one, other;
    host_identify(&one);
    host_identify(&other);
    assert_true(host_id_is_valid(&one) && one.name[0]);
    assert_true(host_same(&one, &other));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_same), cmocka_unit_test(test_order),
                                       cmocka_unit_test(test_own)};
    return cmocka_run_group_tests_name("host", tests, NULL, NULL);
}
