/*
 * test_screening_drift.c - hosts over the rotations of a soak: simulated ones, healthy and faulty.
 * tier: check; load: cpu1
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "accept/judge/judge.h"
#include "base/numbers.h"

enum { HOSTS = 8, ROTATIONS = 24, RUNS = 400 };

struct soak {
    double values[ROTATIONS * HOSTS];
    struct drift drifts[HOSTS];
};

static double noise(uint64_t *random)
{
    double sum = 0;
    for (int i = 0; i < 12; i++)
        sum += (double)random_below(random, 1000001) / 1e6;
    return 0.02 * (sum - 6);
}

/* 10 GB/s with a noise of 2%; hosts differ by up to 4%, and all of them slow down by 30%. */
static void simulate(struct soak *soak, uint64_t *random)
{
    for (int r = 0; r < ROTATIONS; r++)
        for (int h = 0; h < HOSTS; h++)
            soak->values[r * HOSTS + h] =
                10 * (1 + 0.005 * h) * (1 - 0.3 * r / ROTATIONS) * exp(noise(random));
}

static void find(struct soak *soak, int hosts, int rotations)
{
    const struct drift_series series = {.alarms = FALSE_ALARMS,
                                        .judged = 10 * hosts,
                                        .rotations = rotations,
                                        .hosts = hosts,
                                        .values = soak->values};
    drifts_find(&series, soak->drifts);
}

/* How many runs name a host other than this one. */
static int alarms(const struct soak *soak, int but)
{
    for (int h = 0; h < HOSTS; h++)
        if (h != but && (soak->drifts[h].drifts || soak->drifts[h].dips_often))
            return 1;
    return 0;
}

static void test_healthy(void **state)
{
    (void)state;
    static struct soak soak;
    uint64_t random = 3;
    int alarms_found = 0;
    for (int run = 0; run < RUNS; run++) {
        simulate(&soak, &random);
        find(&soak, HOSTS, ROTATIONS);
        alarms_found += alarms(&soak, -1);
    }
    assert_in_range(alarms_found, 0, RUNS / 100);
}

/* Host 3 loses 30% from the first rotation to the last, beside the fleet. */
static void test_drift(void **state)
{
    (void)state;
    static struct soak soak;
    uint64_t random = 4;
    int named = 0, alarms_found = 0;
    for (int run = 0; run < RUNS; run++) {
        simulate(&soak, &random);
        for (int r = 0; r < ROTATIONS; r++)
            soak.values[r * HOSTS + 3] *= 1 - 0.3 * r / ROTATIONS;
        find(&soak, HOSTS, ROTATIONS);
        named += soak.drifts[3].drifts;
        alarms_found += alarms(&soak, 3);
        assert_true(soak.drifts[3].worse > 0.1 && soak.drifts[3].worse < 0.3);
        assert_true(soak.drifts[3].last < soak.drifts[3].first);
    }
    assert_in_range(named, RUNS * 95 / 100, RUNS);
    assert_in_range(alarms_found, 0, RUNS / 100);
}

/* The share of the other hosts' rotations that dip, with one more of each kind (the rule of
 * succession of Laplace): nothing of the host's own counts. */
static double others_share(const struct soak *soak, int host)
{
    double dips = 1, measured = 2;
    for (int h = 0; h < HOSTS; h++)
        if (h != host) {
            dips += soak->drifts[h].dips;
            measured += soak->drifts[h].measured;
        }
    return dips / measured;
}

/* Host 5 has half of its bandwidth in every fourth rotation; all hosts dip in one. */
static void test_dips(void **state)
{
    (void)state;
    static struct soak soak;
    uint64_t random = 5;
    int named = 0, alarms_found = 0;
    for (int run = 0; run < RUNS; run++) {
        simulate(&soak, &random);
        for (int r = 1; r < ROTATIONS; r += 4)
            soak.values[r * HOSTS + 5] /= 2;
        for (int h = 0; h < HOSTS; h++)
            soak.values[12 * HOSTS + h] /= 3;
        find(&soak, HOSTS, ROTATIONS);
        named += soak.drifts[5].dips_often && soak.drifts[5].dips == 6;
        assert_int_equal(1, soak.drifts[5].worst % 4);
        for (int h = 0; h < HOSTS; h++)
            assert_true(fabs(soak.drifts[h].dips_share - others_share(&soak, h)) < 1e-12);
        alarms_found += alarms(&soak, 5);
    }
    assert_in_range(named, RUNS * 95 / 100, RUNS);
    assert_in_range(alarms_found, 0, RUNS / 100);
}

/* Host 3 loses a half from the first rotation to the last, and its last third dips below: a drift
 * is told, and no dips. */
static void test_drift_that_dips(void **state)
{
    (void)state;
    static struct soak soak;
    uint64_t random = 8;
    simulate(&soak, &random);
    for (int r = 0; r < ROTATIONS; r++)
        soak.values[r * HOSTS + 3] *= 1 - 0.5 * r / ROTATIONS;
    find(&soak, HOSTS, ROTATIONS);
    assert_true(soak.drifts[3].drifts && soak.drifts[3].dips > 2);
    assert_false(soak.drifts[3].dips_often);
}

/* One host alone is compared with itself; a host that is lost after a while has fewer rotations. */
static void test_few(void **state)
{
    (void)state;
    static struct soak soak;
    uint64_t random = 6;
    for (int r = 0; r < ROTATIONS; r++)
        soak.values[r] = 10 * (1 - 0.3 * r / ROTATIONS) * exp(noise(&random));
    find(&soak, 1, ROTATIONS);
    assert_true(soak.drifts[0].drifts && !soak.drifts[0].dips_often);
    find(&soak, 1, 2); /* too few to tell anything */
    assert_false(soak.drifts[0].drifts || soak.drifts[0].dips_often);
    simulate(&soak, &random);
    for (int r = 2; r < ROTATIONS; r++)
        soak.values[r * HOSTS + 1] = 0;
    for (int r = 0; r < ROTATIONS; r++)
        soak.values[r * HOSTS + 2] = 0;
    find(&soak, HOSTS, ROTATIONS);
    assert_int_equal(2, soak.drifts[1].measured);
    assert_int_equal(0, soak.drifts[2].measured);
    assert_false(alarms(&soak, -1));
}

static struct drift drift_of(bool less_is_better, double first, double step)
{
    enum { EXACT = 9 };
    struct drift_series series = {.alarms = FALSE_ALARMS,
                                  .less_is_better = less_is_better,
                                  .judged = 1,
                                  .rotations = EXACT,
                                  .hosts = 1};
    double values[EXACT];
    struct drift drift;
    for (int r = 0; r < EXACT; r++)
        values[r] = first + step * r;
    series.values = values;
    drifts_find(&series, &drift);
    return drift;
}

/* Without noise: a third of the rotations has the medians 11 and 17, and a rise of a latency is
 * worse by 6/11, a fall of a bandwidth by 6/17. */
static void test_exact(void **state)
{
    (void)state;
    struct drift latency = drift_of(true, 10, 1), bandwidth = drift_of(false, 18, -1);
    assert_true(latency.drifts && bandwidth.drifts);
    assert_true(latency.first == 11 && latency.last == 17);
    assert_true(bandwidth.first == 17 && bandwidth.last == 11);
    assert_true(fabs(latency.worse - 6.0 / 11) < 1e-12);
    assert_true(fabs(bandwidth.worse - 6.0 / 17) < 1e-12);
    assert_false(drift_of(true, 18, -1).drifts || drift_of(false, 10, 1).drifts);
}

/* A bandwidth that loses less than 10%, or a latency that grows by less than 30%, is none. */
static void test_floors(void **state)
{
    (void)state;
    assert_false(drift_of(false, 101, -1.5).drifts); /* from 99.5 to 90.5 */
    assert_true(drift_of(false, 102, -2).drifts);    /* from 100 to 88 */
    assert_false(drift_of(true, 96, 4).drifts);      /* from 100 to 124 */
    assert_true(drift_of(true, 94, 6).drifts);       /* from 100 to 136 */
}

/* Nine values that rise each time have 36 pairs that do. By the test of Mann and Kendall these have
 * the variance 9 * 8 * 23 / 18 = 92, and 35 / sqrt(92) deviations or more are seen by chance in
 * 0.0263%. The alarms of all that is judged are above it, or are not. */
static void test_chance(void **state)
{
    (void)state;
    static const double alarms[] = {0.0262e-2, 0.0264e-2};
    for (int a = 0; a < 2; a++)
        for (int judged = 1; judged <= 10; judged += 9) {
            double values[9];
            for (int r = 0; r < 9; r++)
                values[r] = 10 + r;
            const struct drift_series series = {.less_is_better = true,
                                                .judged = judged,
                                                .alarms = alarms[a] * judged,
                                                .rotations = 9,
                                                .hosts = 1,
                                                .values = values};
            struct drift drift;
            drifts_find(&series, &drift);
            assert_int_equal(drift.drifts, a);
        }
}

/* The words about a host are these; "": it neither drifts nor dips often. */
static void check_words(const struct drift_series *series, int host, const char *expected)
{
    struct drift drifts[HOSTS];
    char words[200] = "";
    struct text text = text_in(words, sizeof words);
    drifts_find(series, drifts);
    if (drifts[host].drifts || drifts[host].dips_often)
        drift_put(series, "latency", "us", host, &drifts[host], &text);
    assert_string_equal(words, expected);
}

/* Host 1 falls behind the others, whose values do not move. Of two hosts none is the fleet. */
static void test_words_of_drift(void **state)
{
    (void)state;
    for (int hosts = 2; hosts <= HOSTS; hosts++) {
        double values[9 * HOSTS];
        for (int i = 0; i < 9 * hosts; i++)
            values[i] = i % hosts == 1 ? 10 + i / hosts : 10;
        const struct drift_series series = {.less_is_better = true,
                                            .judged = 1,
                                            .alarms = FALSE_ALARMS,
                                            .rotations = 9,
                                            .hosts = hosts,
                                            .values = values};
        check_words(&series, 0, "");
        check_words(
            &series, 1,
            hosts < HOSTS_COMPARED
                ? "latency goes from 11.0 to 17.0 us over 9 rotations: 55% worse"
                : "latency goes from 11.0 to 17.0 us over 9 rotations: 55% worse beside the "
                  "fleet");
    }
}

/* Host 2 dips in five rotations, in one of them deepest: the first that is so. It is counted from
 * 1. Host 0 dips once, so that of 7 * 24 rotations of the others one is a dip: 2 of 170. */
static void test_words_of_dips(void **state)
{
    (void)state;
    static const int deepest[] = {0, 5, 23};
    for (int d = 0; d < 3; d++) {
        char words[100];
        double values[ROTATIONS * HOSTS];
        for (int i = 0; i < ROTATIONS * HOSTS; i++)
            values[i] = 10;
        for (int dip = 0; dip < 4; dip++)
            values[(7 + 3 * dip) * HOSTS + 2] = dip % 2 ? 20 : 30;
        values[deepest[d] * HOSTS + 2] = d == 1 ? 30 : 37.5; /* as deep as one after it, or more */
        values[9 * HOSTS] = 40;
        const struct drift_series series = {.less_is_better = true,
                                            .judged = 1,
                                            .alarms = FALSE_ALARMS,
                                            .rotations = ROTATIONS,
                                            .hosts = HOSTS,
                                            .values = values};
        snprintf(words, sizeof words,
                 "latency dips in 5 of 24 rotations, to %s us in rotation %d; other hosts in 1.2%%",
                 d == 1 ? "30.0" : "37.5", deepest[d] + 1);
        check_words(&series, 2, words);
        check_words(&series, 0, "");
    }
}

/* A host that is measured in five of all rotations dips once, and no other does: by chance that is
 * rarer than the alarms, but once is not often. */
static void test_one_dip(void **state)
{
    (void)state;
    for (int dips = 1; dips <= 2; dips++) {
        static struct soak soak;
        for (int i = 0; i < ROTATIONS * HOSTS; i++)
            soak.values[i] = i % HOSTS == 6 ? 0 : 10;
        for (int r = 0; r < 5; r++)
            soak.values[r * HOSTS + 6] = r > 0 && r <= dips ? 5 : 10;
        const struct drift_series series = {.alarms = 0.1,
                                            .judged = 1,
                                            .rotations = ROTATIONS,
                                            .hosts = HOSTS,
                                            .values = soak.values};
        drifts_find(&series, soak.drifts);
        assert_int_equal(soak.drifts[6].measured, 5);
        assert_int_equal(soak.drifts[6].dips, dips);
        assert_true(binomial_tail(5, dips, 1.0 / 170) < series.alarms);
        assert_int_equal(soak.drifts[6].dips_often, dips > 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_healthy),       cmocka_unit_test(test_drift),
        cmocka_unit_test(test_dips),          cmocka_unit_test(test_drift_that_dips),
        cmocka_unit_test(test_few),           cmocka_unit_test(test_exact),
        cmocka_unit_test(test_floors),        cmocka_unit_test(test_words_of_drift),
        cmocka_unit_test(test_words_of_dips), cmocka_unit_test(test_one_dip),
        cmocka_unit_test(test_chance),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
