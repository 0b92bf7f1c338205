/*
 * test_ranking.c - the order of the algorithms below the table, and their places.
 * tier: check; load: cpu1
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#undef fail /* log.h has a function of that name */

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/run/run.h"

#define ALGORITHMS 4
#define SIZES_MOST 3
#define REFUSED    0.0
#define WRONG      -1.0
#define UNTIMED    -2.0

/* The names of the algorithms in the order of the ranking: "b c a ". The caller frees it. */
static char *order_of(const double times[ALGORITHMS][SIZES_MOST], int rows, int sizes)
{
    static const char *const names[ALGORITHMS] = {"a", "b", "c", "d"};
    struct candidate candidates[ALGORITHMS];
    struct ranked cells[ALGORITHMS * SIZES_MOST];
    struct job job = {.candidates = candidates, .candidate_count = rows, .iterations = 20};
    size_t count = 0, size, at = 0;
    char *text = NULL, *order = calloc(2 * ALGORITHMS + 1, 1);
    job.collectives[0] = collective_find("broadcast");
    for (int a = 0; a < rows; a++) {
        candidates[a] = (struct candidate){.collective = job.collectives[0]};
        strcpy(candidates[a].text, names[a]);
    }
    for (int s = 0; s < sizes; s++)
        for (int a = 0; a < rows; a++)
            if (times[a][s] != REFUSED)
                cells[count++] =
                    (struct ranked){.choice = a,
                                    .asked = (size_t)1024 << s,
                                    .bytes = (size_t)1024 << s,
                                    .ranks = 4,
                                    .time = times[a][s] == UNTIMED ? 0 : fabs(times[a][s]),
                                    .busbw = 1,
                                    .wrong = times[a][s] == WRONG};
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    assert_non_null(order);
    ranking_print(out, &job, cells, count);
    fclose(out);
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
        if (line[0] == '#' && line[1] == ' ' && line[2] >= 'a' && line[2] <= 'd' &&
            line[3] == ' ') {
            order[at++] = line[2];
            order[at++] = ' ';
        }
    free(text);
    return order;
}

static void order_is(const double times[ALGORITHMS][SIZES_MOST], int rows, int sizes,
                     const char *expected)
{
    char *order = order_of(times, rows, sizes);
    assert_string_equal(order, expected);
    free(order);
}

/* a: place 2 at one size; b: 1 and 3; c: 2 and 1. A size that an algorithm refuses is none of its
 * places. */
static void the_best_in_the_mean_of_its_places_comes_first(void **state)
{
    (void)state;
    static const double times[ALGORITHMS][SIZES_MOST] = {{REFUSED, 20}, {10, 30}, {20, 10}};
    order_is(times, 3, 2, "c b a ");
}

/* a has wrong data at one size and is the fastest at the others, d is timed at none. */
static void wrong_data_anywhere_and_no_places_come_last(void **state)
{
    (void)state;
    static const double times[ALGORITHMS][SIZES_MOST] = {
        {10, WRONG, 10}, {30, 30, 30}, {20, 20, 20}, {UNTIMED, UNTIMED, UNTIMED}};
    order_is(times, 4, 3, "c b a d ");
}

static void equal_means_keep_the_order_of_the_run(void **state)
{
    (void)state;
    static const double times[ALGORITHMS][SIZES_MOST] = {{20, 10}, {10, 20}, {5, 30}, {40, 40}};
    order_is(times, 4, 2, "a b c d ");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_best_in_the_mean_of_its_places_comes_first),
        cmocka_unit_test(wrong_data_anywhere_and_no_places_come_last),
        cmocka_unit_test(equal_means_keep_the_order_of_the_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
