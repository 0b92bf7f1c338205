/*
 * test_channel_count.c - how many channels a line of the table has, by what runs it and its size.
 * tier: check; load: cpu1
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "run/run.h"

#define KIB ((size_t)1 << 10)

static void the_host_has_one(void **state)
{
    const struct job job = {.channels = CHANNELS_AUTO};
    (void)state;
    assert_int_equal(channel_count_host(&job), 1);
}

static void a_device_has_one_for_each_32_kib(void **state)
{
    static const struct {
        size_t bytes;
        int channels;
    } lines[] = {
        {0, 1},
        {8, 1},
        {64 * KIB - 1, 1},
        {64 * KIB, 2},
        {128 * KIB - 1, 2},
        {128 * KIB, 4},
        {200 * KIB, 4},
        {256 * KIB, 8},
        {1024 * KIB, 32},
        {2048 * KIB - 1, 32},
        {2048 * KIB, 64},
        {4096 * KIB, 64},
        {(size_t)1 << 40, 64},
        {SIZE_MAX, 64},
    };
    const struct job job = {.channels = CHANNELS_AUTO};
    (void)state;
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        assert_int_equal(channel_count_device(&job, lines[i].bytes, CHANNELS_MOST),
                         lines[i].channels);
}

/* A size never gets fewer channels than a smaller one, nor more than devices hold. */
static void a_device_has_no_more_than_fit(void **state)
{
    const struct job job = {.channels = CHANNELS_AUTO};
    (void)state;
    for (int most = 1; most <= CHANNELS_MOST; most *= 2) {
        int last = 1;
        for (size_t bytes = 1; bytes < (size_t)1 << 30; bytes += bytes / 3 + 1) {
            int count = channel_count_device(&job, bytes, most);
            assert_true(count >= last && count <= most && (count & (count - 1)) == 0);
            last = count;
        }
        assert_int_equal(last, most);
    }
}

static void a_given_number_stays(void **state)
{
    (void)state;
    for (int given = 1; given <= CHANNELS_MOST; given++) {
        const struct job job = {.channels = given};
        assert_int_equal(channel_count_host(&job), given);
        assert_int_equal(channel_count_device(&job, 8, CHANNELS_MOST), given);
        assert_int_equal(channel_count_device(&job, SIZE_MAX, 1), given);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_host_has_one),
        cmocka_unit_test(a_device_has_one_for_each_32_kib),
        cmocka_unit_test(a_device_has_no_more_than_fit),
        cmocka_unit_test(a_given_number_stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
