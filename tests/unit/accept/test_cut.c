/*
 * test_cut.c - fleets in two parts with a slow network between them, and fleets that are whole; and
 * how long a host may stand still.
 * tier: check; load: cpu1
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/simulated_fleet.h"

#define RUNS 60
#define SMALL                                                                                      \
    13 /* hosts: each meets some of its own part; of more, a few do not, and are misplaced */

/* A fleet whose pairs meet in rounds, in two parts: those across in a round share as much as the
 * half of them need, and as one host needs at least, and have the share `least` of it. NULL: the
 * fleet is whole. */
static void fleet_measure(struct simulated *f, const int *part, double least, uint64_t seed)
{
    int count = rounds_enough(f->hosts);
    struct rounds *plan = rounds_plan(f->hosts, count, seed);
    struct host_pair *pairs = malloc(((size_t)f->hosts / 2 + 1) * sizeof *pairs);
    bool *present = malloc((size_t)f->hosts * sizeof *present);
    memset(present, true, (size_t)f->hosts * sizeof *present);
    double across[ROUNDS_MOST] = {0};
    for (int r = 0; r < count; r++) {
        int n = rounds_pairs(plan, r, present, pairs);
        for (int i = 0; part && i < n; i++)
            across[r] += part[pairs[i].a] != part[pairs[i].b];
    }
    for (int r = 0; r < count; r++)
        for (int i = 0, n = rounds_pairs(plan, r, present, pairs); i < n; i++) {
            size_t first = f->count;
            simulated_pair(f, pairs[i].a, pairs[i].b, RAILS_ALL);
            bool crosses = part && part[pairs[i].a] != part[pairs[i].b];
            double share = crosses ? fmax(least, fmax(1, across[r] / 2) / across[r]) : 1;
            for (size_t k = first; k < f->count; k++)
                if (f->readings[k].metric == METRIC_ALONE || f->readings[k].metric == METRIC_BOTH)
                    f->readings[k].value *= share;
        }
    free(present);
    free(pairs);
    rounds_free(plan);
}

static bool is_cut(struct simulated *f, int *side)
{
    const struct fleet_config config = {.hosts = f->hosts, .rails = f->rails};
    struct fleet *fleet = fleet_create(&config, f->readings, f->count);
    bool found = cut_find(fleet, f->readings, f->count, FALSE_ALARMS, 1, side);
    fleet_free(fleet);
    return found;
}

/* From a quarter of the hosts, and three, to half of them; which, is drawn. */
static void parts_draw(int hosts, uint64_t *random, int *part)
{
    int least = hosts / 4 > 3 ? hosts / 4 : 3;
    int size = least + (int)random_below(random, (uint64_t)(hosts / 2 - least + 1)), left = size;
    memset(part, 0, (size_t)hosts * sizeof *part);
    while (left > 0) {
        int *place = &part[random_below(random, (uint64_t)hosts)];
        left -= !*place;
        *place = 1;
    }
}

static void both_parts_of_a_fleet_are_found(void **state)
{
    (void)state;
    static const int sizes[] = {6, 8, 13, 32, 64, 200};
    uint64_t random = 3;
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        int found = 0, part[200], side[200], hosts = sizes[s];
        for (int run = 0; run < RUNS; run++) {
            struct simulated f;
            simulated_create(&f, hosts, 1 + run % 2, random_next(&random));
            parts_draw(hosts, &random, part);
            fleet_measure(&f, part, 0, (uint64_t)run);
            int apart = 0;
            bool right = is_cut(&f, side);
            for (int h = 0; h < hosts; h++)
                apart += side[h] != part[h];
            apart = 2 * apart > hosts ? hosts - apart : apart;
            found += right && apart <= (hosts > SMALL ? hosts / 10 : 0);
            simulated_free(&f);
        }
        print_message("%d hosts: %d of %d cuts found\n", hosts, found, RUNS);
        assert_true(found >= 0.85 * RUNS);
    }
}

/* Healthy ones, and those with faults of hosts and links. */
static void a_whole_fleet_has_no_cut(void **state)
{
    (void)state;
    static const int sizes[] = {2, 3, 4, 5, 8, 13, 64};
    static const struct {
        int count;
        enum seeded_kind kind;
    } faults[] = {{0, 0},           {1, SEEDED_HOST},    {2, SEEDED_HOST},    {3, SEEDED_HOST},
                  {2, SEEDED_SEND}, {1, SEEDED_LINK},    {2, SEEDED_LINK},    {2, SEEDED_FLAKY},
                  {1, SEEDED_LOST}, {2, SEEDED_RECEIVE}, {2, SEEDED_LATENCY}, {1, SEEDED_ONE_WAY}};
    uint64_t random = 5;
    int alarms = 0, runs = 0;
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (size_t k = 0; k < sizeof faults / sizeof *faults; k++)
            for (int run = 0; run < RUNS / 4 && 3 * faults[k].count <= sizes[s]; run++, runs++) {
                int side[64];
                struct simulated f;
                simulated_create(&f, sizes[s], 1, random_next(&random));
                for (int i = 0; i < faults[k].count; i++)
                    simulated_seed(&f, faults[k].kind, 2 * i, 2 * i + 1);
                fleet_measure(&f, NULL, 0, (uint64_t)run);
                alarms += is_cut(&f, side);
                simulated_free(&f);
            }
    print_message("%d of %d whole fleets seem to be cut\n", alarms, runs);
    assert_true(alarms <= 0.01 * runs);
}

/* A tenth less is no cut, however sure it is. */
static void a_slight_difference_is_no_cut(void **state)
{
    (void)state;
    uint64_t random = 7;
    for (int run = 0; run < RUNS / 4; run++) {
        int part[32], side[32];
        struct simulated f;
        simulated_create(&f, 32, 1, random_next(&random));
        parts_draw(32, &random, part);
        fleet_measure(&f, part, 0.9, (uint64_t)run);
        assert_false(is_cut(&f, side));
        simulated_free(&f);
    }
}

/* Noise of 5 to 25% of every pair, the same in both directions, as kernels on busy cores have it.
 */
static void noise_of_pairs_is_no_cut(void **state)
{
    (void)state;
    static const int sizes[] = {5, 6, 8, 13, 64};
    uint64_t random = 11;
    int alarms = 0, runs = 0;
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (int run = 0; run < 2 * RUNS; run++, runs++) {
            int side[64];
            struct simulated f;
            simulated_create(&f, sizes[s], 1, random_next(&random));
            fleet_measure(&f, NULL, 0, (uint64_t)run);
            double noise = 0.05 + 0.05 * (run % 5), factor = 1;
            for (size_t i = 0; i < f.count; i++) {
                if (f.readings[i].metric == METRIC_LATENCY) /* the first of a pair */
                    factor = exp(noise * simulated_normal(&random));
                f.readings[i].value *= factor;
            }
            alarms += is_cut(&f, side);
            simulated_free(&f);
        }
    print_message("%d of %d noisy fleets seem to be cut\n", alarms, runs);
    assert_true(alarms <= 0.02 * runs);
}

/* No reading at all, or none of a bandwidth. */
static void nothing_that_was_measured_is_no_cut(void **state)
{
    (void)state;
    int side[8];
    const struct fleet_config config = {.hosts = 8, .rails = 1};
    struct reading latency = {.to = 1, .metric = METRIC_LATENCY, .value = 2};
    struct fleet *fleet = fleet_create(&config, &latency, 1);
    assert_false(cut_find(fleet, NULL, 0, FALSE_ALARMS, 1, side));
    assert_false(cut_find(fleet, &latency, 1, FALSE_ALARMS, 1, side));
    fleet_free(fleet);
}

static struct reason limit_of(const double *given, size_t hosts)
{
    double seconds[16];
    for (size_t h = 0; h < hosts; h++)
        seconds[h] = given[h];
    return gaps_limit(seconds, hosts, 0.4, 2 * (double)hosts, FALSE_ALARMS);
}

#define assert_near(a, b) assert_true(fabs((a) - (b)) < 1e-9)

/* The deviation is 1.4826 * b * MAD, b = n / (n - 0.8) from 10 values on; the factor of 2 * 10
 * values is ln(20 / 0.02) / 1.0277 (base/stats/stats.h). */
static void gaps_are_compared_with_those_of_the_fleet(void **state)
{
    (void)state;
    assert_near(limit_of((double[]){0, 0, 0, 0, 6, 0, 0, 0}, 8).threshold, 0.4);
    assert_near(limit_of((double[]){2, 2, 2, 2, 2, 2, 9, 2}, 8).threshold, 4); /* all stand still */
    struct reason limit = limit_of((double[]){1, 2, 3, 4, 5, 6, 7, 8, 9, 30}, 10);
    assert_near(limit.median, 5.5);
    assert_true(fabs(limit.threshold - 5.5 - log(20 / 0.02) / 1.0277 * 1.4826 * 10 / 9.2 * 2.5) <
                0.01);
    assert_near(limit_of((double[]){3, 0.1}, 2).threshold, 0.5); /* few: the least */
    assert_near(limit_of((double[]){3, 1, 2}, 3).threshold, 2);
    assert_near(limit_of((double[]){3}, 1).threshold, 0.4);
    assert_near(limit_of(NULL, 0).threshold, 0.4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_parts_of_a_fleet_are_found),
        cmocka_unit_test(a_whole_fleet_has_no_cut),
        cmocka_unit_test(a_slight_difference_is_no_cut),
        cmocka_unit_test(noise_of_pairs_is_no_cut),
        cmocka_unit_test(nothing_that_was_measured_is_no_cut),
        cmocka_unit_test(gaps_are_compared_with_those_of_the_fleet),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
