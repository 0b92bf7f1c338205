/*
 * test_screening_rounds.c - each plan of pairs: disjoint in a round, none twice, each host with as
 * many partners as promised; and what becomes of it when hosts leave.
 * tier: check; load: cpu1
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "accept/judge/judge.h"

#define HOSTS_MOST 70

struct meetings {
    int hosts;
    int met[HOSTS_MOST][HOSTS_MOST]; /* how often */
};

/* Runs one round; no host may be in two pairs. Returns how many pairs there were. */
static int meet(struct meetings *meetings, const struct rounds *rounds, int round,
                const bool *present)
{
    struct host_pair pairs[HOSTS_MOST / 2];
    bool busy[HOSTS_MOST] = {0};
    int count = rounds_pairs(rounds, round, present, pairs);
    for (int i = 0; i < count; i++) {
        int a = pairs[i].a, b = pairs[i].b;
        assert_in_range(a, 0, meetings->hosts - 1);
        assert_in_range(b, 0, meetings->hosts - 1);
        assert_true(present[a] && present[b] && a != b && !busy[a] && !busy[b]);
        busy[a] = busy[b] = true;
        meetings->met[a][b]++;
        meetings->met[b][a]++;
    }
    return count;
}

/* With each it has met `times` times. */
static int partners_of(const struct meetings *meetings, int host, int times)
{
    int partners = 0;
    for (int other = 0; other < meetings->hosts; other++) {
        assert_true(meetings->met[host][other] == 0 || meetings->met[host][other] == times);
        partners += meetings->met[host][other] > 0;
    }
    return partners;
}

static void all_present(bool *present)
{
    for (int h = 0; h < HOSTS_MOST; h++)
        present[h] = true;
}

static void test_all_pairs(void **state)
{
    (void)state;
    bool present[HOSTS_MOST];
    all_present(present);
    for (int hosts = 1; hosts <= 33; hosts++) {
        struct meetings meetings = {.hosts = hosts};
        struct rounds *rounds = rounds_plan(hosts, rounds_all(hosts), 7);
        assert_non_null(rounds);
        for (int r = 0; r < rounds_all(hosts); r++)
            assert_int_equal(meet(&meetings, rounds, r, present), hosts / 2);
        for (int h = 0; h < hosts; h++)
            assert_int_equal(partners_of(&meetings, h, 1), hosts - 1);
        rounds_free(rounds);
    }
    assert_int_equal(rounds_all(1), 0);
    assert_int_equal(rounds_all(8), 7);
    assert_int_equal(rounds_all(9), 9);
}

static void test_enough_pairs(void **state)
{
    (void)state;
    bool present[HOSTS_MOST];
    all_present(present);
    for (int hosts = 2; hosts <= HOSTS_MOST; hosts++) {
        struct meetings meetings = {.hosts = hosts};
        int count = rounds_enough(hosts), least = hosts - 1 < 7 ? hosts - 1 : 7;
        int times = count > rounds_all(hosts) ? count / rounds_all(hosts) : 1;
        struct rounds *rounds = rounds_plan(hosts, count, (uint64_t)hosts);
        for (int r = 0; r < count; r++)
            meet(&meetings, rounds, r, present);
        for (int h = 0; h < hosts; h++)
            assert_in_range(partners_of(&meetings, h, times), least, count);
        assert_true(least * times >= 6 && least * (times - 1) < 6);
        rounds_free(rounds);
    }
    assert_int_equal(rounds_enough(1), 0);
    assert_int_equal(rounds_enough(2), 6);
    assert_int_equal(rounds_enough(3), 9);
    assert_int_equal(rounds_enough(4), 6);
    assert_int_equal(rounds_enough(7), 7);
    assert_int_equal(rounds_enough(64), 7);
    assert_int_equal(rounds_enough(9), 8);
    assert_int_equal(rounds_enough(4096), 12);
}

/* The last two hosts meet in the only round, whichever they are. */
static void test_last_hosts(void **state)
{
    (void)state;
    for (int hosts = 2; hosts <= 9; hosts++)
        for (int a = 0; a < hosts; a++)
            for (int b = a + 1; b < hosts; b++) {
                struct meetings meetings = {.hosts = hosts};
                bool present[HOSTS_MOST] = {false};
                struct rounds *rounds = rounds_plan(hosts, 1, 5);
                present[a] = present[b] = true;
                assert_int_equal(meet(&meetings, rounds, 0, present), 1);
                assert_int_equal(meetings.met[a][b], 1);
                rounds_free(rounds);
            }
}

/* The partners of hosts that have gone meet each other, but no pair of the plan. */
static void test_hosts_leave(void **state)
{
    (void)state;
    const int hosts = 64, count = rounds_enough(hosts);
    bool present[HOSTS_MOST];
    all_present(present);
    struct meetings meetings = {.hosts = hosts};
    struct rounds *rounds = rounds_plan(hosts, count, 3);
    for (int r = 0; r < count; r++) {
        present[r * 5] = present[r * 7 + 1] = false;
        int pairs = meet(&meetings, rounds, r, present), here = 0;
        for (int h = 0; h < hosts; h++)
            here += present[h];
        assert_in_range(pairs, here / 2 - 1, here / 2);
    }
    for (int h = 0; h < hosts; h++)
        partners_of(&meetings, h, 1);
    rounds_free(rounds);
    /* All pairs of the hosts that stay, none twice. */
    struct meetings all = {.hosts = 8};
    rounds = rounds_plan(8, 7, 1);
    for (int h = 0; h < 8; h++)
        present[h] = h >= 2;
    for (int r = 0; r < 7; r++)
        meet(&all, rounds, r, present);
    for (int h = 2; h < 8; h++)
        assert_int_equal(partners_of(&all, h, 1), 5);
    memset(present, 0, sizeof present);
    assert_int_equal(meet(&meetings, rounds, 0, present), 0);
    rounds_free(rounds);
}

static void test_seed(void **state)
{
    (void)state;
    bool present[HOSTS_MOST];
    all_present(present);
    struct host_pair pairs[3][HOSTS_MOST / 2];
    const uint64_t seeds[] = {1, 1, 2};
    for (int i = 0; i < 3; i++) {
        struct rounds *rounds = rounds_plan(HOSTS_MOST, 1, seeds[i]);
        assert_int_equal(rounds_pairs(rounds, 0, present, pairs[i]), HOSTS_MOST / 2);
        rounds_free(rounds);
    }
    assert_memory_equal(pairs[0], pairs[1], sizeof pairs[0]);
    assert_memory_not_equal(pairs[0], pairs[2], sizeof pairs[0]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_pairs),   cmocka_unit_test(test_enough_pairs),
        cmocka_unit_test(test_hosts_leave), cmocka_unit_test(test_last_hosts),
        cmocka_unit_test(test_seed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
