/*
 * test_finish.c - operators that touch a result once more at the end: every algorithm that reduces
 * gets an operation for that, on every rank that has a result, behind all others that touch it, and
 * the verifier and the shaker find its schedules right. That the executor runs them:
 * test_executor.c.
 * tier: check; load: cpu1
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "collective/prove/prove.h"
#include "tests/unit/problems.h"
#include "../shake.h"

#define RANKS 7

static const struct counts_spec spread = {.distribution = DISTRIBUTION_SPREAD};

/* Every destination element is finished once, and not touched after that. */
static void finished_last(const struct schedule *schedule)
{
    size_t finished = 0;
    for (size_t i = 0; i < schedule->count; i++) {
        const struct operation *operation = &schedule->operations[i];
        if (operation->kind == OPERATION_FINISH) {
            finished += operation->length;
            assert_int_equal(message_length(operation->to), operation->length);
            for (size_t s = 0; s < operation->to.count; s++)
                assert_int_equal(operation->to.spans[s].buffer, BUFFER_DESTINATION);
        }
        for (size_t w = 0; w < operation->wait_count; w++)
            assert_true(schedule->operations[operation->waits[w].operation].kind !=
                        OPERATION_FINISH);
    }
    assert_int_equal(finished,
                     schedule->problem.finishes ? schedule->extent[BUFFER_DESTINATION] : 0);
}

static void prove(const struct choice *choice, const struct problem *problem, int channels)
{
    struct schedule *schedules[RANKS];
    struct verification verification;
    char error[512];
    for (int r = 0; r < problem->ranks; r++) {
        assert_int_equal(schedule_build(choice, problem, r, channels, true, &schedules[r]),
                         STATUS_OK);
        finished_last(schedules[r]);
    }
    const struct schedule *const *all = (const struct schedule *const *)schedules;
    verify(all, problem->ranks, false, &verification);
    if (!verification.right)
        fail_msg("%s: %s", choice->algorithm->name, verification.error);
    verification_free(&verification);
    for (uint64_t seed = 0; seed < 3; seed++)
        if (!shake(all, problem->ranks, seed, error, sizeof error))
            fail_msg("%s: %s", choice->algorithm->name, error);
    for (int r = 0; r < problem->ranks; r++)
        schedule_free(schedules[r]);
}

static void test_every_algorithm(void **state)
{
    (void)state;
    int proved = 0;
    for (int variant = 0; variant < 8 * RANKS; variant++) {
        struct problem problem = {.ranks = 1 + variant / 8,
                                  .count = 23,
                                  .in_place = variant & 1,
                                  .finishes = variant & 2};
        char why[160];
        struct shape *shape =
            shape_of_sizes(&(int){problem.ranks % 2 ? problem.ranks : problem.ranks / 2}, 1,
                           problem.ranks, why, sizeof why);
        problem.shape = shape;
        for (int c = 0; collectives[c]; c++) {
            problem.collective = collectives[c];
            problem.root = collectives[c]->rooted ? problem.ranks - 1 : 0;
            for (int a = 0; algorithms[a] && collectives[c]->reduces && collectives[c]->sized;
                 a++) {
                if (!algorithm_serves(algorithms[a], collectives[c]->id) || algorithms[a]->vendor)
                    continue;
                struct choice choice = choice_of(algorithms[a]);
                if (!choice_serves(&choice, &problem))
                    continue;
                struct counts *counts = problem_counts(&problem, &choice, &spread);
                prove(&choice, &problem, variant & 4 ? 3 : 1);
                problem.counts = NULL;
                counts_free(counts);
                proved++;
            }
        }
        shape_free(shape);
    }
    assert_true(proved > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_every_algorithm)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
