/*
 * test_ring_order.c - short rings: the search finds the shortest where that is known, and every
 * algorithm that takes order=auto is right in any order of its ranks, and follows it.
 * tier: check; load: cpu1
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>

#include "../shake.h"
#include "base/numbers.h"
#include "collective/collective.h"
#include "collective/prove/prove.h"
#include "tests/unit/problems.h"

#define RANKS 13

/* ---- the search ---- */

struct table {
    uint32_t between[64][64];
};

static uint32_t table_between(const void *argument, int a, int b)
{
    return ((const struct table *)argument)->between[a][b];
}

static uint64_t order_length(const struct table *table, int ranks, int *order)
{
    const struct rank_distances distances = {table_between, table};
    bool seen[64] = {false};
    assert_int_equal(ring_order_find(&distances, NULL, ranks, order), STATUS_OK);
    for (int i = 0; i < ranks; i++) {
        assert_in_range(order[i], 0, ranks - 1);
        assert_false(seen[order[i]]);
        seen[order[i]] = true;
    }
    assert_int_equal(order[0], 0);
    return ring_length(&distances, order, ranks);
}

/* Tries all orders of order[at..]. */
static uint64_t shortest(const struct table *table, int ranks, int *order, int at)
{
    uint64_t best = UINT64_MAX;
    if (at == ranks)
        return ring_length(&(struct rank_distances){table_between, table}, order, ranks);
    for (int i = at; i < ranks; i++) {
        int kept = order[i];
        order[i] = order[at];
        order[at] = kept;
        uint64_t length = shortest(table, ranks, order, at + 1);
        best = length < best ? length : best;
        order[at] = order[i];
        order[i] = kept;
    }
    return best;
}

static void test_few_are_exact(void **state)
{
    (void)state;
    uint64_t random = 5;
    for (int turn = 0; turn < 120; turn++) {
        struct table table;
        int ranks = 1 + turn % 8, order[8], all[8] = {0, 1, 2, 3, 4, 5, 6, 7};
        for (int a = 0; a < ranks; a++)
            for (int b = 0; b <= a; b++)
                table.between[a][b] = table.between[b][a] = (uint32_t)random_below(&random, 20);
        assert_int_equal(order_length(&table, ranks, order), shortest(&table, ranks, all, 1));
    }
}

/* Ranks in turn on the hosts of a tree of switches: each host, and each switch, is left once. And
 * places of a line in random order: the ring goes there and back. */
static void test_many_are_short(void **state)
{
    (void)state;
    static struct table table;
    uint64_t random = 9;
    int order[64], place[64];
    for (int ranks = 13; ranks <= 64; ranks++) {
        for (int r = 0; r < ranks; r++)
            place[r] = r;
        random_shuffle(place, ranks, &random);
        for (int a = 0; a < ranks; a++)
            for (int b = 0; b < ranks; b++)
                table.between[a][b] = place[a] / 4 == place[b] / 4     ? 1
                                      : place[a] / 16 == place[b] / 16 ? 10
                                                                       : 100;
        int hosts = (ranks + 3) / 4, switches = (ranks + 15) / 16;
        int cross = switches == 1 ? 0 : switches, leave = hosts - cross;
        assert_int_equal(order_length(&table, ranks, order),
                         100 * cross + 10 * leave + (ranks - hosts));
        for (int a = 0; a < ranks; a++)
            for (int b = 0; b < ranks; b++)
                table.between[a][b] = (uint32_t)abs(place[a] - place[b]);
        assert_in_range(order_length(&table, ranks, order), 2 * (ranks - 1), 3 * (ranks - 1));
    }
}

/* No shorter ring: the ranks keep their order. A given one is taken where it is shorter. */
static void test_order_is_kept(void **state)
{
    (void)state;
    static struct table table;
    int order[64], given[6] = {0, 2, 4, 5, 3, 1};
    for (int ranks = 1; ranks <= 64; ranks++) {
        for (int a = 0; a < ranks; a++)
            for (int b = 0; b < ranks; b++)
                table.between[a][b] = 7;
        order_length(&table, ranks, order);
        for (int r = 0; r < ranks; r++)
            assert_int_equal(order[r], r);
    }
    for (int i = 0; i < 6; i++)
        table.between[given[i]][given[(i + 1) % 6]] = table.between[given[(i + 1) % 6]][given[i]] =
            1;
    assert_int_equal(order_length(&table, 6, order), 6);
    assert_int_equal(order[1], 1);
    assert_int_equal(order[5], 2);
}

/* ---- schedules ---- */

static void prove(const struct choice *choice, const struct problem *problem, int channels)
{
    struct schedule *schedules[RANKS];
    struct verification verification;
    char error[512];
    for (int r = 0; r < problem->ranks; r++)
        assert_int_equal(schedule_build(choice, problem, r, channels, true, &schedules[r]),
                         STATUS_OK);
    const struct schedule *const *all = (const struct schedule *const *)schedules;
    bool idempotent = problem->collective->id == COLLECTIVE_BARRIER;
    verify(all, problem->ranks, idempotent, &verification);
    if (!verification.right)
        fail_msg("%s %s, %d ranks: %s", problem->collective->name, choice->algorithm->name,
                 problem->ranks, verification.error);
    verification_free(&verification);
    if (!shake(all, problem->ranks, 1, error, sizeof error))
        fail_msg("%s: %s", choice->algorithm->name, error);
    for (int r = 0; r < problem->ranks; r++)
        schedule_free(schedules[r]);
}

/* Tries the collectives of one algorithm, each with this ring. */
static int algorithm_try(const struct algorithm *algorithm, struct problem problem, int channels)
{
    static const struct counts_spec spread = {.distribution = DISTRIBUTION_SPREAD};
    struct choice choice = choice_of(algorithm);
    int proved = 0;
    for (int o = 0; o < ALGORITHM_OPTIONS_MOST && algorithm->options[o].name; o++)
        if (algorithm->options[o].words == order_words)
            choice.options[o] = 1;
    if (choice_option(&choice, "order") != 1)
        return 0;
    for (int c = 0; collectives[c]; c++) {
        problem.collective = collectives[c];
        problem.root = collectives[c]->rooted ? problem.ranks / 2 : 0;
        if (!algorithm_serves(algorithm, collectives[c]->id) || !choice_serves(&choice, &problem))
            continue;
        struct counts *counts = problem_counts(&problem, &choice, &spread);
        prove(&choice, &problem, channels);
        problem.counts = NULL;
        counts_free(counts);
        proved++;
    }
    return proved;
}

static void test_every_algorithm(void **state)
{
    (void)state;
    uint64_t random = 3;
    int proved = 0;
    for (int ranks = 1; ranks <= RANKS; ranks++) {
        int place[RANKS];
        for (int r = 0; r < ranks; r++)
            place[r] = 10 * r;
        random_shuffle(place, ranks, &random);
        for (int a = 0; algorithms[a]; a++)
            for (int variant = 0; variant < 4; variant++)
                proved += algorithm_try(
                    algorithms[a],
                    (struct problem){
                        .ranks = ranks, .count = 17, .in_place = variant & 1, .ring_place = place},
                    variant & 2 ? 3 : 1);
    }
    assert_true(proved > 500);
}

/* Each rank sends to the one with the next place; those of a group likewise among themselves. */
static void test_rings_follow(void **state)
{
    (void)state;
    static const int place[] = {3, 0, 4, 1, 2, 5}, next[] = {2, 3, 5, 4, 0, 1};
    static const int members[] = {0, 3, 5}, next_member[] = {5, -1, -1, 0, -1, 3};
    struct choice choice = choice_of(algorithm_find(COLLECTIVE_ALLREDUCE, "ring"));
    choice.options[0] = 1;
    for (int grouped = 0; grouped < 2; grouped++) {
        struct problem problem = {.collective = collective_of(COLLECTIVE_ALLREDUCE),
                                  .ranks = grouped ? 3 : 6,
                                  .count = 12,
                                  .members = grouped ? members : NULL,
                                  .ring_place = place};
        for (int r = 0; r < problem.ranks; r++) {
            struct schedule *schedule;
            int rank = problem_member(&problem, r), sends = 0;
            assert_int_equal(schedule_build(&choice, &problem, r, 1, false, &schedule), STATUS_OK);
            for (size_t i = 0; i < schedule->count; i++)
                if (schedule->operations[i].kind == OPERATION_SEND) {
                    assert_int_equal(schedule->operations[i].peer,
                                     (grouped ? next_member : next)[rank]);
                    sends++;
                }
            assert_int_equal(sends, 2 * (problem.ranks - 1));
            schedule_free(schedule);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_few_are_exact), cmocka_unit_test(test_many_are_short),
        cmocka_unit_test(test_order_is_kept), cmocka_unit_test(test_every_algorithm),
        cmocka_unit_test(test_rings_follow),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
