/*
 * test_findings.c - what was found: once or again in the rotations of a soak, in the order of its
 * severity; and how far a stage is.
 * tier: check; load: cpu1
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#undef fail /* log.h has a function of that name */

#include <math.h>
#include <string.h>

#include "accept/internal.h"
#include "base/clock.h"
#include "base/parse.h"

static const struct found slow_host = {.stage = STAGE_PAIRS,
                                       .health = HEALTH_BAD,
                                       .host = 3,
                                       .peer = -1,
                                       .status = STATUS_SLOW,
                                       .what = "latency"};

/* Only the same of one host or link, in one stage and of one severity, is found again. */
static void what_differs_is_not_found_again(void **state)
{
    (void)state;
    struct found others[6];
    for (int i = 0; i < LENGTH(others); i++)
        others[i] = slow_host;
    others[0].stage = STAGE_ALL;
    others[1].host = 4;
    others[2].peer = 5;
    others[3].health = HEALTH_SUSPECT;
    others[4].status = STATUS_TIMEOUT;
    strcpy(others[5].what, "bandwidth");
    for (int i = 0; i < LENGTH(others); i++) {
        struct findings findings = {.rotation = 1};
        findings_add(&findings, &slow_host);
        findings_add(&findings, &others[i]);
        assert_int_equal(findings.count, 2);
        findings.rotation = 2;
        findings_add(&findings, &others[i]);
        findings_add(&findings, &slow_host);
        assert_int_equal(findings.count, 2);
        for (int f = 0; f < 2; f++) {
            assert_int_equal(findings.items[f].rotation, 1);
            assert_int_equal(findings.items[f].rotations, 1);
            assert_int_equal(findings.items[f].last, 2);
        }
        findings_free(&findings);
    }
}

/* A host that one rotation alone found slow is a suspect, however often. Wrong data are no noise.
 * Without rotations each finding stands for itself. */
static void a_host_that_two_rotations_find_slow_is_bad(void **state)
{
    (void)state;
    for (int wrong = 0; wrong < 2; wrong++) {
        struct findings findings = {.rotation = 0};
        struct found found = slow_host;
        found.status = wrong ? STATUS_WRONG_DATA : STATUS_SLOW;
        for (int again = 1; again <= 2; again++) {
            findings_add(&findings, &found);
            assert_int_equal(findings.count, again);
            assert_int_equal(findings.items[again - 1].health, HEALTH_BAD);
        }
        findings_free(&findings);
        for (int rotation = 1; rotation <= 3; rotation++)
            for (int again = 0; again < 2; again++) {
                findings.rotation = rotation;
                findings_add(&findings, &found);
                assert_int_equal(findings.count, 1);
                assert_int_equal(findings.items[0].rotations, rotation - 1);
                assert_int_equal(findings.items[0].health,
                                 wrong || rotation > 1 ? HEALTH_BAD : HEALTH_SUSPECT);
            }
        findings_free(&findings);
    }
}

/* Findings that make a host bad come before those that make it suspect, whatever they ask for. */
static void the_worst_finding_comes_first(void **state)
{
    (void)state;
    static const struct found order[] = {{.health = HEALTH_BAD, .status = STATUS_WRONG_DATA},
                                         {.health = HEALTH_BAD, .status = STATUS_SLOW},
                                         {.health = HEALTH_SUSPECT, .status = STATUS_WRONG_DATA},
                                         {.health = HEALTH_SUSPECT, .status = STATUS_SLOW},
                                         {.health = HEALTH_SUSPECT, .status = STATUS_OK},
                                         {.health = HEALTH_UNKNOWN, .status = STATUS_SLOW},
                                         {.health = HEALTH_GOOD, .status = STATUS_SLOW},
                                         {.health = HEALTH_GOOD, .status = STATUS_OK}};
    for (int a = 0; a < LENGTH(order); a++)
        for (int b = 0; b < LENGTH(order); b++) {
            int compared = findings_compare(&order[a], &order[b]);
            assert_int_equal(compared < 0, a < b);
            assert_int_equal(compared > 0, a > b);
        }
}

/* A round takes the time since the stage began, by the rounds that are over. The first one has none
 * before it. */
static void the_rounds_so_far_tell_how_long_one_takes(void **state)
{
    (void)state;
    struct acceptance acceptance = {.progress = {.began = clock_seconds() - 60}};
    const struct stage_progress *progress = &acceptance.progress;
    for (int round = 1; round <= 5; round++) {
        stage_round(&acceptance, round, 7);
        assert_int_equal(progress->round, round);
        assert_int_equal(progress->rounds, 7);
        if (round == 1)
            assert_true(progress->round_seconds == 0);
        else
            assert_true(fabs(progress->round_seconds - 60.0 / (round - 1)) < 15.0 / (round - 1));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_differs_is_not_found_again),
        cmocka_unit_test(a_host_that_two_rotations_find_slow_is_bad),
        cmocka_unit_test(the_worst_finding_comes_first),
        cmocka_unit_test(the_rounds_so_far_tell_how_long_one_takes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
