/*
 * test_tuned.c - what is picked by measurements, at sizes and ranks that were measured, between
 * them, and beyond.
 * tier: check; load: cpu1
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "collective/schedule/schedule.h"

/* The cells of a test: times of some algorithms; those of 0 were not measured. */
#define NAMES 4
static const char *const names[NAMES] = {"ring", "recursive-doubling", "recexch", "hier"};
struct made {
    int ranks;
    size_t bytes;
    double times[NAMES];
};

static int time_compare(const void *a, const void *b)
{
    const struct tuned_algorithm *x = a, *y = b;
    return (x->time > y->time) - (x->time < y->time);
}

static struct tuned *tuned_make(const struct made *made, size_t count)
{
    struct tuned *tuned = calloc(1, sizeof *tuned);
    assert_non_null(tuned);
    tuned->arena = arena_create();
    tuned->path = "t.json";
    tuned->cells = arena_take(tuned->arena, count * sizeof *tuned->cells);
    tuned->count = count;
    for (size_t c = 0; c < count; c++) {
        struct tuned_cell *cell = &tuned->cells[c];
        *cell = (struct tuned_cell){.collective = collective_of(COLLECTIVE_ALLREDUCE),
                                    .ranks = made[c].ranks,
                                    .nodes = 1,
                                    .bytes = made[c].bytes};
        cell->algorithms = arena_take(tuned->arena, NAMES * sizeof *cell->algorithms);
        for (int i = 0; i < NAMES; i++)
            if (made[c].times[i] > 0)
                cell->algorithms[cell->count++] = (struct tuned_algorithm){
                    .text = names[i],
                    .choice = choice_of(algorithm_find(COLLECTIVE_ALLREDUCE, names[i])),
                    .time = made[c].times[i]};
        qsort(cell->algorithms, (size_t)cell->count, sizeof *cell->algorithms, time_compare);
    }
    tuned_seal(tuned);
    return tuned;
}

static void assert_picks(const struct tuned *tuned, int ranks, size_t bytes, const char *name,
                         const char *why)
{
    const struct problem problem = {
        .collective = collective_of(COLLECTIVE_ALLREDUCE), .ranks = ranks, .count = bytes / 4};
    struct tuned_pick pick;
    assert_true(tuned_choose(tuned, &problem, bytes, &pick));
    assert_string_equal(pick.algorithm->text, name);
    if (why)
        assert_string_equal(pick.why, why);
}

static void test_sizes(void **state)
{
    (void)state;
    static const struct made made[] = {{4, 1024, {40, 10, 20}}, {4, 16384, {10, 40, 20}}};
    struct tuned *tuned = tuned_make(made, 2);
    assert_picks(tuned, 4, 1024, names[1], "the fastest on 4 ranks in t.json");
    assert_picks(tuned, 4, 16384, names[0], NULL);
    assert_picks(tuned, 4, 8, names[1], NULL); /* beyond */
    assert_picks(tuned, 4, 0, names[1], NULL);
    assert_picks(tuned, 4, 1 << 20, names[0], NULL); /* beyond */
    assert_picks(tuned, 4, 1500, names[1], NULL);    /* near the smaller size */
    assert_picks(tuned, 4, 12000, names[0], NULL);   /* near the larger */
    assert_picks(tuned, 2, 1024, names[1], "the fastest on 4 ranks, the nearest to 2 in t.json");
    tuned_free(tuned);
    static const struct made better[] = {{4, 1024, {40, 10, 19}}, {4, 16384, {10, 40, 19}}};
    tuned = tuned_make(better, 2);
    assert_picks(tuned, 4, 4096, names[2], NULL); /* never the best where it was measured */
    tuned_free(tuned);
    static const struct made slow[] = {{4, 1024, {10, 20}}, {4, 16384, {1000, 900}}};
    tuned = tuned_make(slow, 2);
    /* Half the time outweighs a tenth, of however many us. */
    assert_picks(tuned, 4, 4096, names[0], NULL);
    tuned_free(tuned);
}

static void test_ranks(void **state)
{
    (void)state;
    static const struct made made[] = {{2, 1024, {10, 90}}, {8, 1024, {50, 10}}};
    struct tuned *tuned = tuned_make(made, 2);
    assert_picks(tuned, 2, 1024, names[0], NULL);
    assert_picks(tuned, 8, 1024, names[1], NULL);
    assert_picks(tuned, 3, 1024, names[0], "the fastest between 2 and 8 ranks in t.json");
    assert_picks(tuned, 7, 1024, names[1], NULL);
    assert_picks(tuned, 100, 1024, names[1],
                 "the fastest on 8 ranks, the nearest to 100 in t.json");
    tuned_free(tuned);
}

/* A power of two is compared with powers; another number with the powers next to it, and as much
 * with other numbers. */
static void test_powers(void **state)
{
    (void)state;
    static const struct made made[] = {
        {4, 1024, {20, 10}}, {6, 1024, {10, 30}}, {8, 1024, {20, 10}}, {12, 1024, {10, 30}}};
    struct tuned *tuned = tuned_make(made, 4);
    assert_picks(tuned, 7, 1024, names[0], "the fastest between 4 and 12 ranks in t.json");
    assert_picks(tuned, 5, 1024, names[0], "the fastest between 4 and 8 ranks in t.json");
    assert_picks(tuned, 16, 1024, names[1], "the fastest on 8 ranks, the nearest to 16 in t.json");
    assert_picks(tuned, 6, 1024, names[0], "the fastest on 6 ranks in t.json");
    assert_picks(tuned, 100, 1024, names[0],
                 "the fastest on 8 and 12 ranks, the nearest to 100 in t.json");
    assert_picks(tuned, 3, 1024, names[0],
                 "the fastest on 4 and 6 ranks, the nearest to 3 in t.json");
    tuned_free(tuned);
    static const struct made strong[] = {
        {4, 1024, {20, 10}}, {6, 1024, {10, 15}}, {8, 1024, {20, 10}}, {12, 1024, {10, 15}}};
    tuned = tuned_make(strong, 4);
    assert_picks(tuned, 7, 1024, names[1], NULL); /* what powers lose weighs more */
    assert_picks(tuned, 12, 1024, names[0], NULL);
    tuned_free(tuned);
    tuned = tuned_make(strong + 1, 1);
    assert_picks(tuned, 4, 1024, names[0], "the fastest on 6 ranks, the nearest to 4 in t.json");
    tuned_free(tuned);
}

/* The next takes the place of one that refuses; one that a cell lacks counts for three times its
 * best. */
static void test_refusals(void **state)
{
    (void)state;
    static const struct made made[] = {{4, 1024, {20, 30, 40, 10}}, {8, 1024, {20, 30, 40, 10}}};
    struct tuned *tuned = tuned_make(made, 2);
    assert_picks(tuned, 6, 1024, names[0],
                 "no. 2 between 4 and 8 ranks in t.json, and hier refuses"); /* without nodes */
    tuned_free(tuned);
    static const struct made lacking[] = {{4, 1024, {30, 20, 0, 0}}, {4, 4096, {11, 0, 10, 0}}};
    tuned = tuned_make(lacking, 2);
    assert_picks(tuned, 4, 2048, names[0], NULL); /* known at both sizes */
    assert_picks(tuned, 4, 4096, names[2], NULL);
    tuned_free(tuned);
}

static void test_nothing(void **state)
{
    (void)state;
    static const struct made made[] = {{4, 1024, {20, 30}}};
    struct tuned *tuned = tuned_make(made, 1), *other;
    const struct problem problem = {.collective = collective_of(COLLECTIVE_BROADCAST), .ranks = 4};
    struct tuned_pick pick;
    assert_false(tuned_choose(tuned, &problem, 1024, &pick));
    static const struct made slower[] = {{4, 1024, {20, 31}}};
    other = tuned_make(slower, 1);
    assert_true(tuned->fingerprint != other->fingerprint);
    tuned_free(tuned);
    tuned_free(other);
    tuned_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sizes),   cmocka_unit_test(test_ranks),
        cmocka_unit_test(test_powers),  cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
