/*
 * test_statistics.c - statistics against values worked out by hand.
 * tier: check; load: cpu1
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/stats/stats.h"

#define assert_near(a, b) assert_true((a) - (b) < 1e-9 && (b) - (a) < 1e-9)

static void test_empty(void **state)
{
    (void)state;
    struct statistics s = statistics_of(NULL, 0, NULL);
    assert_true(s.min == 0 && s.p50 == 0 && s.mean == 0 && s.p90 == 0 && s.max == 0);
    assert_true(isnan(s.p99));
}

static void test_one(void **state)
{
    (void)state;
    uint64_t sample = 1500;
    struct statistics s = statistics_of(&sample, 1, NULL);
    assert_near(s.min, 1.5);
    assert_near(s.p50, 1.5);
    assert_near(s.mean, 1.5);
    assert_true(isnan(s.p99));
    assert_near(s.max, 1.5);
}

static void test_nearest_rank(void **state)
{
    (void)state;
    /* The textbook's example: 15 20 35 40 50; the median is the third, p90 the fifth. */
    uint64_t five[] = {40000, 15000, 50000, 20000, 35000};
    struct statistics s = statistics_of(five, 5, NULL);
    assert_near(s.min, 15);
    assert_near(s.p50, 35);
    assert_near(s.mean, 32);
    assert_near(s.p90, 50);
    assert_near(s.max, 50);
    assert_int_equal(five[0], 15000);

    uint64_t four[] = {4000, 3000, 2000, 1000};
    assert_near(statistics_of(four, 4, NULL).p50, 2);

    uint64_t many[1000];
    for (size_t i = 0; i < 1000; i++)
        many[i] = (i * 7919 % 1000 + 1) * 1000; /* 1 .. 1000, shuffled */
    s = statistics_of(many, 1000, NULL);
    assert_near(s.p50, 500);
    assert_near(s.p90, 900);
    assert_near(s.p99, 990);
    assert_near(s.mean, 500.5);
    s = statistics_of(many, 101, NULL);
    assert_near(s.p50, 51);
    assert_near(s.p99, 100);
    assert_near(statistics_of(many, 100, NULL).p99, 99); /* the largest is 100 */
    assert_true(isnan(statistics_of(many, 99, NULL).p99));
}

static enum tick_answer tick_count(void *argument, int peer)
{
    *(int *)argument += peer == TICK_WORKED;
    return TICK_ENDED;
}

/* A short --timeout must not pass while a rank sorts. At the end of the job the rank goes on. */
static void test_ticks(void **state)
{
    (void)state;
    enum { TIMES = 1 << 20 };
    int ticks = 0;
    const struct tick tick = {.call = tick_count, .argument = &ticks};
    uint64_t *times = malloc(TIMES * sizeof *times);
    assert_non_null(times);
    for (uint64_t i = 0; i < TIMES; i++)
        times[i] = i * 7919 % TIMES;
    struct statistics s = statistics_of(times, TIMES, &tick);
    assert_near(s.p50, (TIMES / 2 - 1) * 1e-3);
    assert_true(ticks >= 8);
    free(times);
}

static void test_bandwidth(void **state)
{
    (void)state;
    assert_near(bandwidth_algorithm(1000000, 1000), 1);
    assert_near(bandwidth_algorithm(1 << 30, 100000), 10.73741824);
    assert_near(bandwidth_algorithm(8, 0), 0);
    assert_near(bandwidth_algorithm(0, 5), 0);
}

static void test_late_rank(void **state)
{
    (void)state;
    const uint64_t late[] = {1000, 2000, 90000, 1500};
    assert_int_equal(statistics_late_rank(late, 4, 100000), 2);
    assert_int_equal(statistics_late_rank(late, 4, 900000), 2);
    assert_int_equal(statistics_late_rank(late, 4, 1000000), -1); /* less than a tenth */
    assert_int_equal(statistics_late_rank(late, 1, 100), -1);
    assert_int_equal(statistics_late_rank(late, 2, 100), -1); /* below 20 microseconds */
    const uint64_t alike[] = {50000, 99999, 1000};
    assert_int_equal(statistics_late_rank(alike, 3, 100), -1); /* not twice the others' largest */
    const uint64_t twice[] = {50000, 100000, 1000};
    assert_int_equal(statistics_late_rank(twice, 3, 100), 1);
    const uint64_t alone[] = {0, 0, 0, 20000};
    assert_int_equal(statistics_late_rank(alone, 4, 0), 3);
    const uint64_t none[] = {0, 0};
    assert_int_equal(statistics_late_rank(none, 2, 0), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_empty),        cmocka_unit_test(test_one),
        cmocka_unit_test(test_nearest_rank), cmocka_unit_test(test_bandwidth),
        cmocka_unit_test(test_ticks),        cmocka_unit_test(test_late_rank),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
