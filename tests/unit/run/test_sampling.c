/*
 * test_sampling.c - how well the median is known, when -n auto ends, and which samples are told to
 * have two modes or a trend: against values worked out by hand, and against simulated samples.
 * tier: check; load: cpu1
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/stats/stats.h"
#include "run/results/results.h"

#define assert_near(a, b) assert_true(fabs((a) - (b)) < 1e-9)

enum { SAMPLES_MOST = 20000 };

/* Sums of C(n, k) by hand, and the tables of W. J. Conover, Practical Nonparametric Statistics. */
static void test_coverage_is_exact(void **state)
{
    (void)state;
    static const struct {
        size_t count, lower; /* from 1 */
        double coverage;
    } known[] = {
        {5, 0, 0},
        {6, 1, 1 - 2.0 / 64},
        {7, 1, 1 - 2.0 / 128},
        {8, 1, 1 - 2.0 / 256},
        {9, 2, 1 - 20.0 / 512},
        {10, 2, 1 - 22.0 / 1024},
        {15, 4, 1 - 2.0 * (1 + 15 + 105 + 455) / 32768},
        {20, 6, 1 - 2.0 * (1 + 20 + 190 + 1140 + 4845 + 15504) / 1048576},
        {25, 8, 1 - 2.0 * (1 + 25 + 300 + 2300 + 12650 + 53130 + 177100 + 480700) / 33554432},
    };
    uint64_t sorted[64];
    for (size_t i = 0; i < 64; i++)
        sorted[i] = (i + 1) * 1000;
    assert_true(median_interval_of(sorted, 0).coverage == 0);
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        struct median_interval interval = median_interval_of(sorted, known[i].count);
        assert_near(interval.coverage, known[i].coverage);
        assert_near(interval.low, (double)known[i].lower);
        if (known[i].lower > 0)
            assert_near(interval.high, (double)(known[i].count + 1 - known[i].lower));
    }
}

/* By the normal approximation d is near n/2 - 0.98 sqrt(n), and its coverage a little above the
 * level. */
static void test_many_samples(void **state)
{
    (void)state;
    static const size_t counts[] = {1000, 1001, 100000, 4000000};
    uint64_t *sorted = malloc(4000000 * sizeof *sorted);
    assert_non_null(sorted);
    for (size_t i = 0; i < 4000000; i++)
        sorted[i] = (i + 1) * 1000;
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        double n = (double)counts[i];
        struct median_interval interval = median_interval_of(sorted, counts[i]);
        assert_true(fabs(interval.low - (n / 2 - 0.98 * sqrt(n))) < 2);
        assert_near(interval.low + interval.high, n + 1);
        assert_true(interval.coverage >= 0.95 && interval.coverage < 0.95 + 0.24 / sqrt(n));
    }
    free(sorted);
}

static void test_margin(void **state)
{
    (void)state;
    struct median_interval interval = {.median = 100, .low = 99, .high = 102, .coverage = 0.96};
    assert_near(median_interval_margin(&interval), 0.02);
    assert_true(median_interval_is_narrow(&interval));
    interval.high = 102.1;
    assert_false(median_interval_is_narrow(&interval));
    interval = (struct median_interval){.median = 100, .low = 97, .high = 101, .coverage = 0.96};
    assert_near(median_interval_margin(&interval), 0.03);
    assert_false(median_interval_is_narrow(&interval));
    assert_false(median_interval_is_narrow(&(struct median_interval){0}));
    interval = (struct median_interval){.coverage = 0.96}; /* shorter than the clock sees */
    assert_true(median_interval_is_narrow(&interval));
}

static void test_batches(void **state)
{
    (void)state;
    const struct median_interval wide = {.median = 100, .low = 90, .high = 110, .coverage = 0.96},
                                 narrow = {.median = 1, .low = 1, .high = 1, .coverage = 0.96};
    const struct job job = {.iterations_auto = true, .iterations = 1000, .budget = 10};
    const struct job fixed = {.iterations = 5};
    enum sampling_end end;
    assert_int_equal(sampling_first(&fixed, 3), 5);
    assert_int_equal(sampling_first(&job, 1), 6);
    assert_int_equal(sampling_first(&job, 4), 8);
    assert_int_equal(sampling_first(&job, 7), 7);
    assert_int_equal(sampling_first(&job, 2000), 1000);
    /* It doubles while there is time. */
    assert_int_equal(sampling_next(&job, 1, 6, 0.1, &wide, &end), 6);
    assert_int_equal(end, SAMPLING_COUNT);
    assert_int_equal(sampling_next(&job, 1, 384, 0, &wide, &end), 384);
    assert_int_equal(sampling_next(&job, 1, 6, 100, &narrow, &end), 0);
    assert_int_equal(end, SAMPLING_INTERVAL);
    /* 100 in 6 s: 66 more in the other 4 s, and each root 22 times. */
    assert_int_equal(sampling_next(&job, 1, 100, 6, &wide, &end), 66);
    assert_int_equal(sampling_next(&job, 4, 100, 6, &wide, &end), 64);
    /* 100 in 9 s: 11 more would tell nothing new. */
    assert_int_equal(sampling_next(&job, 1, 100, 9, &wide, &end), 0);
    assert_int_equal(end, SAMPLING_BUDGET);
    assert_int_equal(sampling_next(&job, 1, 6, 12, &wide, &end), 0);
    assert_int_equal(end, SAMPLING_BUDGET);
    assert_int_equal(sampling_next(&job, 7, 7, 6, &wide, &end), 0); /* not all roots */
    assert_int_equal(end, SAMPLING_BUDGET);
    assert_int_equal(sampling_next(&job, 1, 768, 1, &wide, &end), 232);
    assert_int_equal(sampling_next(&job, 1, 1000, 1, &wide, &end), 0);
    assert_int_equal(end, SAMPLING_MOST);
}

/* Simulated samples. */

struct noise {
    uint64_t state;
    double spread;                   /* of the logarithm */
    double outliers, outliers_times; /* how many, and how much slower the slowest of them is */
};

/* xorshift64*; within (0, 1). */
static double noise_uniform(struct noise *noise)
{
    noise->state ^= noise->state >> 12;
    noise->state ^= noise->state << 25;
    noise->state ^= noise->state >> 27;
    return ((double)(noise->state * 0x2545F4914F6CDD1Du >> 11) + 0.5) / 9007199254740992.0;
}

/* Lognormal (Box and Muller), with outliers; ns. */
static uint64_t noise_draw(struct noise *noise, double median)
{
    double radius = sqrt(-2 * log(noise_uniform(noise)));
    double normal = radius * cos(6.283185307179586 * noise_uniform(noise));
    double time = median * exp(noise->spread * normal);
    if (noise_uniform(noise) < noise->outliers)
        time *= 1 + (noise->outliers_times - 1) * noise_uniform(noise);
    return (uint64_t)time;
}

/* The numbers of 1000 lines that have a trend, and that have two modes. */
struct told {
    int trends, modes;
};

/* median(i / count) is that of sample i. */
static struct told lines_tell(struct noise noise, size_t count,
                              double (*median)(struct noise *noise, double when))
{
    struct told told = {0};
    uint64_t samples[SAMPLES_MOST];
    for (int line = 0; line < 1000; line++) {
        for (size_t i = 0; i < count; i++)
            samples[i] = noise_draw(&noise, median(&noise, (double)i / (double)count));
        told.trends += trend_of(samples, count, NULL).change != 0;
        times_sort(samples, count, NULL);
        told.modes += modes_of(samples, count).median[0] > 0;
    }
    return told;
}

static double median_steady(struct noise *noise, double when)
{
    (void)noise;
    (void)when;
    return 10000;
}

static double median_rising(struct noise *noise, double when)
{
    (void)noise;
    return 10000 * (1 + 0.2 * when);
}

static double median_bimodal(struct noise *noise, double when)
{
    (void)when;
    return noise_uniform(noise) < 0.7 ? 10000 : 15000;
}

static void test_plain_noise_raises_no_alarm(void **state)
{
    (void)state;
    static const struct noise noises[] = {
        {1, 0.02, 0, 0}, {2, 0.05, 0.02, 10}, {3, 0.2, 0.05, 10}, {4, 1, 0.01, 100}};
    static const size_t counts[] = {6, 18, 20, 100, 1000};
    for (size_t i = 0; i < sizeof noises / sizeof *noises; i++)
        for (size_t k = 0; k < sizeof counts / sizeof *counts; k++) {
            struct told told = lines_tell(noises[i], counts[k], median_steady);
            assert_in_range(told.trends, 0, 9);
            assert_in_range(told.modes, 0, 9);
        }
}

static void test_trends_are_found(void **state)
{
    (void)state;
    const struct noise noise = {5, 0.03, 0.02, 10};
    assert_in_range(lines_tell(noise, 20, median_rising).trends, 700, 1000);
    assert_in_range(lines_tell(noise, 100, median_rising).trends, 990, 1000);
    uint64_t samples[360];
    for (uint64_t i = 0; i < 360; i++)
        samples[i] = 20000 - i * 20; /* medians of the thirds: 18800, 14000 */
    struct trend trend = trend_of(samples, 360, NULL);
    assert_true(fabs(trend.change - (14000.0 / 18800 - 1)) < 0.01);
    assert_near(trend.z, (153 - 1) / sqrt(18 * 17 * 41 / 18.0)); /* all 153 pairs fall */
    for (uint64_t i = 0; i < 360; i++)
        samples[i] = 20000 - i * 2; /* clear, and too small to be told */
    assert_true(trend_of(samples, 360, NULL).change == 0);
    for (uint64_t i = 0; i < 17; i++)
        samples[i] = 20000 - i * 1000;
    assert_true(trend_of(samples, 17, NULL).change == 0);
}

static void test_modes_are_found(void **state)
{
    (void)state;
    const struct noise noise = {6, 0.05, 0.02, 10};
    assert_in_range(lines_tell(noise, 100, median_bimodal).modes, 850, 1000);
    assert_in_range(lines_tell(noise, 1000, median_bimodal).modes, 1000, 1000);
    uint64_t sorted[100];
    for (uint64_t i = 0; i < 100; i++)
        sorted[i] = i < 75 ? 10000 + i : 20000 + i;
    struct modes modes = modes_of(sorted, 100);
    assert_near(modes.share[0], 0.75);
    assert_near(modes.share[1], 0.25);
    assert_near(modes.median[0], 10.037);
    assert_near(modes.median[1], 20.087);
    for (uint64_t i = 75; i < 100; i++)
        sorted[i] = 10400 + i; /* apart, by less than is told */
    assert_true(modes_of(sorted, 100).median[0] == 0);
    uint64_t many[1000];
    for (uint64_t i = 0; i < 1000; i++)
        many[i] = i < 920 ? 10000 + i : 20000 + i; /* outliers */
    assert_true(modes_of(many, 1000).median[0] == 0);
    memset(sorted, 0, sizeof sorted);
    assert_true(modes_of(sorted, 100).median[0] == 0);
}

/* Nearly all of 1000 lines of -n auto have the true median in their interval. */
static void test_looking_again_keeps_the_level(void **state)
{
    (void)state;
    static const double spreads[] = {0.01, 0.03, 0.1};
    const struct job job = {.iterations_auto = true, .iterations = SAMPLES_MOST, .budget = 1};
    for (size_t s = 0; s < sizeof spreads / sizeof *spreads; s++) {
        struct noise noise = {7 + s, spreads[s], 0, 0};
        int within = 0;
        for (int line = 0; line < 1000; line++) {
            uint64_t samples[SAMPLES_MOST];
            struct median_interval interval;
            enum sampling_end end;
            long count = 0, more = sampling_first(&job, 1);
            while (more > 0) {
                for (; more > 0; more--)
                    samples[count++] = noise_draw(&noise, 1e6);
                times_sort(samples, (size_t)count, NULL);
                interval = median_interval_of(samples, (size_t)count);
                more = sampling_next(&job, 1, count, 0, &interval, &end);
            }
            assert_int_equal(end, SAMPLING_INTERVAL);
            within += interval.low <= 1000 && 1000 <= interval.high;
        }
        assert_in_range(within, 925, 1000);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_coverage_is_exact),
        cmocka_unit_test(test_many_samples),
        cmocka_unit_test(test_margin),
        cmocka_unit_test(test_batches),
        cmocka_unit_test(test_plain_noise_raises_no_alarm),
        cmocka_unit_test(test_trends_are_found),
        cmocka_unit_test(test_modes_are_found),
        cmocka_unit_test(test_looking_again_keeps_the_level),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
