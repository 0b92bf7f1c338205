/*
 * test_profile.c - which activity time is charged to. Work is a loop until the counter has
 * advanced: an interruption makes a time longer, never shorter, and an activity that is not entered
 * has none.
 * tier: check; load: cpu1
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "dataplane/memory/profile.h"

#define WORK 20000u /* counts */

static void work(uint64_t counts)
{
    for (uint64_t begin = profile_clock(); profile_clock() - begin < counts;)
        continue;
}

static double sum(const struct profile *profile)
{
    double total = 0;
    for (int a = 0; a < ACTIVITIES; a++)
        total += profile->shares[a];
    return total;
}

static void test_nobody(void **state)
{
    (void)state;
    profile_open(NULL);
    profile_enter(NULL, PROFILE_COPY);
    profile_leave(NULL);
    profile_revert(NULL, PROFILE_PEER);
    profile_starve(NULL);
    profile_poll_end(NULL, false);
    profile_close(NULL);
}

/* An activity is charged until it is left. */
static void test_work(void **state)
{
    (void)state;
    struct profile profile = {0};
    profile_open(&profile);
    profile_enter(&profile, PROFILE_COPY);
    work(WORK);
    profile_enter(&profile, PROFILE_COPY);
    work(WORK);
    profile_enter(&profile, PROFILE_REDUCE);
    work(WORK);
    profile_leave(&profile);
    work(WORK);
    profile_poll_end(&profile, true);
    profile_close(&profile);
    assert_true(profile.cycles[PROFILE_COPY] >= 2 * WORK);
    assert_true(profile.cycles[PROFILE_REDUCE] >= WORK);
    assert_true(profile.cycles[PROFILE_BOOKKEEPING] >= WORK);
    assert_true(profile.cycles[PROFILE_PEER] == 0 && profile.cycles[PROFILE_CREDIT] == 0);
    assert_true(sum(&profile) > 1 - 1e-9 && sum(&profile) < 1 + 1e-9);
}

/* A wait lasts from a poll that moves nothing to the next byte; for credit while a message has no
 * room. */
static void test_waits(void **state)
{
    (void)state;
    struct profile profile = {0};
    profile_open(&profile);
    profile_poll_end(&profile, false);
    work(WORK);
    profile_leave(&profile); /* of a link without messages: the wait goes on */
    profile_poll_end(&profile, false);
    work(WORK);
    uint64_t peer = profile.cycles[PROFILE_PEER];
    assert_true(peer == 0); /* charged when it ends */
    profile_starve(&profile);
    profile_poll_end(&profile, false);
    assert_true(profile.cycles[PROFILE_PEER] >= 2 * WORK);
    work(WORK);
    profile_starve(&profile);
    profile_poll_end(&profile, false);
    work(WORK);
    profile_poll_end(&profile, false);
    assert_true(profile.cycles[PROFILE_CREDIT] >= 2 * WORK);
    profile_enter(&profile, PROFILE_COPY);
    uint64_t credit = profile.cycles[PROFILE_CREDIT];
    peer = profile.cycles[PROFILE_PEER];
    profile_starve(&profile); /* the ring is full again, but something has moved */
    profile_leave(&profile);
    profile_poll_end(&profile, true);
    work(WORK);
    profile_close(&profile);
    assert_true(profile.cycles[PROFILE_CREDIT] == credit);
    assert_true(profile.cycles[PROFILE_PEER] == peer);
    assert_true(profile.cycles[PROFILE_BOOKKEEPING] >= WORK);
}

/* A system call that moved nothing does not count as copying. */
static void test_in_vain(void **state)
{
    (void)state;
    struct profile profile = {0};
    profile_open(&profile);
    profile_poll_end(&profile, false);
    enum activity before = profile_enter(&profile, PROFILE_COPY);
    assert_int_equal(before, PROFILE_PEER);
    work(WORK);
    profile_revert(&profile, before);
    profile_poll_end(&profile, false);
    profile_close(&profile);
    assert_true(profile.cycles[PROFILE_COPY] == 0);
    assert_true(profile.cycles[PROFILE_PEER] >= WORK);
}

/* An iteration that took long counts no more than another. */
static void test_alike(void **state)
{
    (void)state;
    struct profile profile = {0};
    profile_open(&profile);
    profile_enter(&profile, PROFILE_COPY);
    work(100 * WORK);
    profile_close(&profile);
    profile_open(&profile);
    profile_enter(&profile, PROFILE_REDUCE);
    work(WORK);
    profile_close(&profile);
    assert_true(profile.cycles[PROFILE_COPY] == 0);
    assert_true(profile.shares[PROFILE_COPY] > 0.5 && profile.shares[PROFILE_COPY] <= 1);
    assert_true(profile.shares[PROFILE_REDUCE] > 0.5 && profile.shares[PROFILE_REDUCE] <= 1);
    assert_true(sum(&profile) > 2 - 1e-9 && sum(&profile) < 2 + 1e-9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nobody),  cmocka_unit_test(test_work),  cmocka_unit_test(test_waits),
        cmocka_unit_test(test_in_vain), cmocka_unit_test(test_alike),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
