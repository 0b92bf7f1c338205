/*
 * test_staging_area.c - how much memory the rings of a rank take.
 * tier: check; load: cpu1
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "run/run.h"

#include <cmocka.h>

#define MIB ((size_t)1 << 20)

static void test_bytes(void **state)
{
    (void)state;
    assert_int_equal(staging_area_bytes(0), 0);
    assert_int_equal(staging_area_bytes(2), 8 * MIB);
    assert_int_equal(staging_area_bytes(64), 256 * MIB);
    assert_true(staging_area_bytes(65) < 256 * MIB);
    assert_int_equal(staging_area_bytes(4096), 512 * MIB); /* a ring has two parts at least */
}

/* The bytes that transports are told before it is known how many channels need rings. */
static void test_most(void **state)
{
    (void)state;
    size_t most = 0;
    for (int channels = 0; channels <= 5000; channels++) {
        size_t bytes = staging_area_bytes(channels);
        most = bytes > most ? bytes : most;
        assert_true(staging_area_most(channels) >= most);
        assert_true(channels > 64 || staging_area_most(channels) == most);
    }
    assert_int_equal(staging_area_most(65), 256 * MIB);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bytes),
        cmocka_unit_test(test_most),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
