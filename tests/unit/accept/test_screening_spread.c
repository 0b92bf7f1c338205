/*
 * test_screening_spread.c - the statistics of screening against values worked out by hand.
 * tier: check; load: cpu1
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/numbers.h"
#include "base/stats/stats.h"

#define assert_near(a, b) assert_true(fabs((a) - (b)) < 1e-4)

static int compare(const void *a, const void *b)
{
    double left = *(const double *)a, right = *(const double *)b;
    return (left > right) - (left < right);
}

/* Against a sort, with many equal values and an infinite one, which a failed pair has. */
static void test_select(void **state)
{
    (void)state;
    uint64_t random = 5;
    for (int run = 0; run < 2000; run++) {
        double values[33], sorted[33];
        size_t count = 1 + random_below(&random, 33), k = random_below(&random, count);
        for (size_t i = 0; i < count; i++)
            values[i] = sorted[i] = (double)random_below(&random, 12);
        if (run % 3 == 0)
            values[0] = sorted[0] = INFINITY;
        qsort(sorted, count, sizeof *sorted, compare);
        assert_true(select_value(values, count, k) == sorted[k]);
    }
}

static void test_spread(void **state)
{
    (void)state;
    assert_near(median_of(NULL, 0), 0);
    double four[] = {4, 1, 3, 2};
    assert_near(median_of(four, 4), 2.5);
    double one[] = {7};
    struct spread spread = spread_of(one, 1);
    assert_near(spread.median, 7);
    assert_near(spread.deviation, 0);
    /* The deviations from 13 are 2 1 1 0 87, their median is 1; b of 5 values is 1.206. */
    double faulty[] = {11, 12, 14, 13, 100};
    spread = spread_of(faulty, 5);
    assert_int_equal(spread.count, 5);
    assert_near(spread.median, 13);
    assert_near(spread.deviation, 1.4826 * 1.206);
    double many[1001]; /* 0 .. 1000: the MAD is 250 */
    for (int i = 0; i <= 1000; i++)
        many[i] = (i * 5) % 1001;
    assert_near(spread_of(many, 1001).deviation, 1.4826 * 1001 / 1000.2 * 250);
}

static void test_tails(void **state)
{
    (void)state;
    assert_true(fabs(spread_factor(4, 0.01) - 5.155) < 0.001);
    assert_true(fabs(spread_factor(4096, 0.01) - 11.9) < 0.001);
    assert_near(spread_factor(2, 1), 3);
    assert_near(binomial_tail(3, 2, 0.5), 0.5);
    assert_near(binomial_tail(3, 0, 0.1), 1);
    assert_near(binomial_tail(2, 2, 0.1), 0.01);
    assert_near(binomial_tail(6, 1, 0.1), 1 - pow(0.9, 6));
    assert_near(binomial_tail(6, 7, 0.1), 0);
    assert_near(binomial_tail(5000, 0, 0.01), 1);
    assert_near(binomial_tail(5000, 1, 0.01), 1);
    assert_in_range((int)(1e3 * binomial_tail(5000, 51, 0.01)), 455, 475); /* the mean is 50 */
    assert_true(binomial_tail(5000, 200, 0.01) < 1e-50);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_select),
        cmocka_unit_test(test_spread),
        cmocka_unit_test(test_tails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
