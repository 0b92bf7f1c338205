/*
 * test_race.c - which algorithms are measured again, and which is the winner, on times that are
 * made.
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

#include "base/numbers.h"
#include "tune/tune.h"

static void time_add(struct race *race, const char *name, double time, double least)
{
    struct racer *racer = race_racer(race, name);
    assert_non_null(racer);
    racer_round_add(racer, time, least);
}

/* One round with these times, of "a", "b", ...; 0: it was not measured. */
static void round_add(struct race *race, const double *times, int count)
{
    for (int i = 0; i < count; i++) {
        const char name[] = {(char)('a' + i), '\0'};
        if (times[i] > 0)
            time_add(race, name, times[i], times[i]);
    }
    race->rounds++;
    race_prune(race, NULL);
}

static bool is_in(const struct race *race, const char *name)
{
    for (int i = 0; i < race->count; i++)
        if (strcmp(race->racers[i].text, name) == 0)
            return !race->racers[i].out;
    return false;
}

static void test_halving(void **state)
{
    (void)state;
    struct race race = {.ranks = 4};
    const double first[] = {10, 10.5, 11, 12, 13, 30};
    round_add(&race, first, 6);
    assert_int_equal(race_left(&race), 3); /* the half */
    assert_true(is_in(&race, "a") && is_in(&race, "b") && is_in(&race, "c"));
    const double second[] = {10, 10.5, 11};
    round_add(&race, second, 3);
    assert_int_equal(race_left(&race), 2);
    assert_false(is_in(&race, "c"));
    assert_false(race_is_settled(&race));
    const double later[] = {10, 9};
    while (race.rounds < ROUNDS_MOST) {
        assert_int_equal(race_left(&race), 2); /* so that the margin is known */
        round_add(&race, later, 2);
    }
    assert_true(race_is_settled(&race));
    race_sort(&race);
    assert_string_equal(race.racers[0].text, "b");
    assert_true(race_margin(&race) == 10.0 / 9.0);
    double low, high;
    racer_interval(&race.racers[0], &low, &high);
    assert_true(low == 9 && high == 10.5);
    race_free(&race);
}

/* Equal times are noise; one slow round is, too, if the best iteration was fast. */
static void test_ties(void **state)
{
    (void)state;
    struct race race = {.ranks = 4};
    const double equal[] = {100, 101, 102, 102.5, 150, 170};
    round_add(&race, equal, 6);
    assert_int_equal(race_left(&race), 4);
    race_free(&race);
    struct race modes = {.ranks = 4};
    time_add(&modes, "a", 10, 10);
    time_add(&modes, "b", 11, 10);
    time_add(&modes, "c", 90, 9);
    time_add(&modes, "d", 95, 50);
    time_add(&modes, "e", 96, 50);
    time_add(&modes, "f", 97, 50);
    modes.rounds = 1;
    race_prune(&modes, NULL);
    assert_true(
        is_in(&modes, "c")); /* of the faster half, and its best iteration is among the best */
    assert_int_equal(race_left(&modes), 3);
    race_free(&modes);
}

/* The least is that of all rounds; a round that does not know it changes nothing. */
static void test_least(void **state)
{
    (void)state;
    static const double leasts[] = {NAN, 9, 8, 0, 8.5}, known[] = {0, 9, 8, 8, 8};
    struct racer racer = {.rounds = 0};
    for (int r = 0; r < 5; r++) {
        racer_round_add(&racer, 10 + r, leasts[r]);
        assert_true(racer.rounds == r + 1 && racer.times[r] == 10 + r);
        assert_true(racer.least == known[r]);
    }
}

/* One slow job does not put out what was near the best at the next smaller size. */
static void test_disturbed(void **state)
{
    (void)state;
    struct race last = {.ranks = 4}, race = {.ranks = 4};
    const double small[] = {10, 12, 20, 21, 22}, disturbed[] = {20, 200, 40, 41, 42};
    const double second[] = {20, 19, 40}, third[] = {20, 19};
    round_add(&last, small, 5);
    for (int i = 0; i < 5; i++) {
        const char name[] = {(char)('a' + i), '\0'};
        time_add(&race, name, disturbed[i], disturbed[i]);
    }
    race.rounds = 1;
    race_prune(&race, &last);
    assert_true(is_in(&race, "a") && is_in(&race, "b"));
    assert_false(is_in(&race, "d") || is_in(&race, "e"));
    assert_true(racer_is_hopeful("b", &last, &race));
    for (int i = 0; i < 3; i++) {
        const char name[] = {(char)('a' + i), '\0'};
        if (is_in(&race, name))
            time_add(&race, name, second[i], second[i] + 2);
    }
    race.rounds = 2;
    race_prune(&race, &last);
    assert_true(is_in(&race, "b"));
    round_add(&race, third, 2);
    race_sort(&race);
    assert_string_equal(race.racers[0].text, "b");
    race_free(&race);
    race_free(&last);
}

/* The first round was 4 times as slow as the others: a racer that is out since has the time that it
 * would have had in them. */
static void test_levels(void **state)
{
    (void)state;
    struct race race = {.ranks = 4};
    const double slow[] = {40, 44, 60, 80}, later[] = {10, 11};
    double low, high;
    round_add(&race, slow, 4);
    assert_int_equal(race_left(&race), 2);
    for (int r = 0; r < 4; r++)
        round_add(&race, later, 2);
    race_sort(&race);
    assert_string_equal(race.racers[2].text, "c");
    assert_true(race.racers[0].time == 10 && race.racers[2].time == 15 &&
                race.racers[3].time == 20);
    racer_interval(&race.racers[2], &low, &high);
    assert_true(low == 15 && high == 15);
    /* In the round that put it out, the others were unlucky. */
    race_racer(&race, "c")->times[0] = 30;
    race_times(&race);
    assert_true(race_racer(&race, "c")->time == 11);
    race_free(&race);
}

/* One that a round did not measure has failed, and wrong data never wins. */
static void test_failures(void **state)
{
    (void)state;
    struct race race = {.ranks = 4};
    const double first[] = {10, 10.1, 9.9}, second[] = {10, 0};
    round_add(&race, first, 3);
    assert_int_equal(race_left(&race), 3);
    race_racer(&race, "c")->wrong = race_racer(&race, "c")->out = true;
    round_add(&race, second, 2);
    race_sort(&race);
    assert_string_equal(race.racers[0].text, "a");
    assert_string_equal(race.racers[1].text, "b");
    assert_true(race.racers[1].out);
    assert_string_equal(race.racers[2].text, "c");
    assert_int_equal(race_left(&race), 1);
    assert_false(race_is_settled(&race)); /* its time is worth knowing */
    race.rounds = 3;
    assert_true(race_is_settled(&race));
    race_free(&race);
    struct race none = {.ranks = 4, .rounds = 1};
    race_prune(&none, NULL);
    race_sort(&none);
    assert_true(race_is_settled(&none));
    assert_true(race_margin(&none) == 0);
    for (int i = 0; i < RACERS_MOST; i++) {
        char name[16];
        snprintf(name, sizeof name, "r%d", i);
        assert_non_null(race_racer(&none, name));
    }
    assert_null(race_racer(&none, "one too many"));
    race_free(&none);
}

static void test_hope(void **state)
{
    (void)state;
    struct race before = {.ranks = 4}, last = {.ranks = 4};
    const double small[] = {10, 100, 100, 15, 20, 12}, larger[] = {20, 180, 100, 50, 120, 400};
    round_add(&before, small, 6);
    round_add(&last, larger, 6);
    assert_true(racer_is_hopeful("a", &before, &last));
    assert_false(
        racer_is_hopeful("b", &before, &last)); /* 10 times, 9 times as slow: 8.1 comes next */
    assert_true(racer_is_hopeful("c", &before, &last));  /* 10 times, 5 times: 2.5 comes next */
    assert_true(racer_is_hopeful("d", &before, &last));  /* not far behind yet */
    assert_false(racer_is_hopeful("e", &before, &last)); /* twice, 6 times */
    assert_true(racer_is_hopeful("f", &before, &last));  /* near the best, then one slow job */
    assert_true(racer_is_hopeful("g", &before, &last));  /* not known */
    assert_true(racer_is_hopeful("b", NULL, &last));
    race_free(&before);
    race_free(&last);
}

static void test_iterations(void **state)
{
    (void)state;
    assert_int_equal(round_iterations(0), 200);
    assert_int_equal(round_iterations(1), 200);
    assert_int_equal(round_iterations(1000), 20);
    assert_int_equal(round_iterations(1e9), 5);
}

/* With noise of 10% and one slow round in ten, the best of 24 that are 10% apart wins nearly
 * always, and never one that is far behind. */
static void test_noise(void **state)
{
    (void)state;
    uint64_t random = 3;
    int won = 0;
    for (int run = 0; run < 200; run++) {
        struct race race = {.ranks = 4};
        while (!race_is_settled(&race) || race.rounds == 0) {
            for (int i = 0; i < 24; i++) {
                char name[16];
                snprintf(name, sizeof name, "%d", i);
                double true_time = 10 + i,
                       noise = 1 + 0.1 * (double)random_below(&random, 100) / 100;
                double slow = random_below(&random, 10) == 0 ? 5 : 1;
                struct racer *racer = race_racer(&race, name);
                if (!racer->out)
                    time_add(&race, name, true_time * noise * slow, true_time);
            }
            race.rounds++;
            race_prune(&race, NULL);
        }
        race_sort(&race);
        won += strcmp(race.racers[0].text, "0") == 0;
        assert_true(atoi(race.racers[0].text) < 4);
        race_free(&race);
    }
    assert_true(won >= 140);
}

static void test_predictions(void **state)
{
    (void)state;
    struct entrant entrants[] = {{.text = "a", .predicted = 31}, {.text = "b", .predicted = 10},
                                 {.text = "c", .predicted = 0},  {.text = "d", .predicted = 30},
                                 {.text = "e", .predicted = 12}, {.text = "f", .predicted = 31}};
    entrants_prune(entrants, 6);
    assert_true(entrants[0].far && entrants[5].far);
    assert_false(entrants[1].far || entrants[2].far || entrants[3].far || entrants[4].far);
    entrants[4].predicted = 0; /* then a and f are among the three fastest */
    entrants_prune(entrants, 5);
    assert_false(entrants[0].far || entrants[1].far || entrants[4].far);
    entrants_prune(entrants, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_halving),     cmocka_unit_test(test_ties),
        cmocka_unit_test(test_failures),    cmocka_unit_test(test_hope),
        cmocka_unit_test(test_iterations),  cmocka_unit_test(test_noise),
        cmocka_unit_test(test_predictions), cmocka_unit_test(test_disturbed),
        cmocka_unit_test(test_levels),      cmocka_unit_test(test_least),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
