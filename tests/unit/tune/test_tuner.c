/*
 * test_tuner.c - which numbers of ranks are measured, how a run of tune ends, and what is read of
 * its document.
 * tier: check; load: cpu1
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#undef fail /* log.h has a function of that name */

#include <jansson.h>

#include "base/log.h"
#include "collective/collective.h"
#include "tune/internal.h"

static bool is_power_of_two(int number)
{
    return number > 1 && (number & (number - 1)) == 0;
}

static void ranks_are(int all)
{
    int ranks[TUNE_RANKS_MOST], next = 0, count = tuner_ranks_default(all, ranks);
    for (int r = 2; r < all; r++)
        if (is_power_of_two(r) || (r % 3 == 0 && is_power_of_two(r / 3 * 2)))
            assert_int_equal(ranks[next++], r);
    assert_int_equal(ranks[next++], all);
    assert_int_equal(count, next);
}

static void ranks_are_powers_of_two_and_halfway_between(void **state)
{
    (void)state;
    static const int of_13[] = {2, 3, 4, 6, 8, 12, 13};
    int ranks[TUNE_RANKS_MOST];
    assert_int_equal(tuner_ranks_default(13, ranks), 7);
    assert_memory_equal(ranks, of_13, sizeof of_13);
    for (int all = 2; all <= 200; all++)
        ranks_are(all);
    ranks_are(JOB_RANKS_MOST);
}

/* `words`: of the failure; NULL: there is none. */
static void ends(const struct tuner *tuner, enum status status, const char *words)
{
    struct log log;
    struct failure failure = {.text = ""};
    log_init(&log, -1, 0);
    log_attach(&log);
    assert_int_equal(tuner_judge(tuner), status);
    assert_int_equal(log_failure(&log, &failure), words != NULL);
    log_attach(NULL);
    if (words && !strstr(failure.text, words))
        print_error("not '%s': %s\n", words, failure.text);
    assert_true(!words || strstr(failure.text, words));
}

static void wrong_data_and_failed_jobs_show_in_the_status(void **state)
{
    (void)state;
    struct race races[2] = {{.ranks = 2}, {.ranks = 3}};
    struct tuner tuner = {.races = races, .race_count = 2, .jobs = 7, .why = "no route"};
    ends(&tuner, STATUS_ERROR, "nothing was measured: --budget is too short");
    tuner.wrong = 1; /* all that was measured */
    races[1].bytes = 8;
    ends(&tuner, STATUS_WRONG_DATA, NULL);
    tuner.wrong = 0;
    ends(&tuner, STATUS_OK, NULL);
    races[1].bytes = 0;
    races[0].count = 1;
    ends(&tuner, STATUS_OK, NULL);
    tuner.wrong = 2;
    ends(&tuner, STATUS_WRONG_DATA, NULL);
    tuner.failed = 3;
    ends(&tuner, STATUS_ERROR, "3 of 7 small jobs failed");
    races[0].count = 0;
    ends(&tuner, STATUS_ERROR, "nothing was measured: no route");
}

/* A cell on 6 ranks. */
static json_t *document_of(json_t *nodes)
{
    return json_pack("{s:s, s:[{s:s, s:i, s:o*, s:i, s:[{s:s, s:f}, {s:s, s:f}]}]}", "command",
                     "tune", "cells", "collective", "allreduce", "ranks", 6, "nodes", nodes,
                     "bytes", 4096, "algorithms", "algorithm", "ring", "time_us", 7.5, "algorithm",
                     "linear", "time_us", 2.5);
}

static void nodes_are(json_t *nodes, int expected)
{
    struct tuned *tuned;
    json_t *document = document_of(nodes);
    assert_non_null(document);
    assert_int_equal(tuning_document_read("t.json", document, &tuned), STATUS_OK);
    assert_int_equal(tuned->count, 1);
    const struct tuned_cell *cell = &tuned->cells[0];
    assert_int_equal(cell->nodes, expected);
    assert_int_equal(cell->ranks, 6);
    assert_int_equal(cell->bytes, 4096);
    assert_int_equal(cell->count, 2);
    assert_string_equal(cell->algorithms[0].text, "linear"); /* the fastest */
    assert_true(cell->algorithms[1].time == 7.5);
    tuned_free(tuned);
    json_decref(document);
}

/* A number that cannot be, or none, counts as one node. */
static void ranks_have_no_more_nodes_than_there_are_ranks(void **state)
{
    (void)state;
    nodes_are(json_integer(1), 1);
    nodes_are(json_integer(5), 5);
    nodes_are(json_integer(6), 6);
    nodes_are(json_integer(7), 1);
    nodes_are(json_integer(0), 1);
    nodes_are(json_integer(-2), 1);
    nodes_are(json_real(1e99), 1);
    nodes_are(json_string("3"), 1);
    nodes_are(NULL, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranks_are_powers_of_two_and_halfway_between),
        cmocka_unit_test(wrong_data_and_failed_jobs_show_in_the_status),
        cmocka_unit_test(ranks_have_no_more_nodes_than_there_are_ranks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
