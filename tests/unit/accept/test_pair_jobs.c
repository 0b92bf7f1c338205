/*
 * test_pair_jobs.c - the readings that the two jobs of a pair bring: lost packets of each
 * direction, and the direction of wrong data.
 * tier: check; load: cpu1
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#undef fail /* log.h has a function of that name */

#include <math.h>

#include "accept/internal.h"

/* Packets that rank 0 and rank 1 of a job sent, and sent again: a half in a line of short
 * messages, a half, rounded up, in one of long ones. */
struct counted {
    int packets[2], resent[2];
};

static json_t *line_of(const struct counted *counted, int line)
{
    json_t *samples = json_array();
    for (int rank = 0; rank < 2; rank++) {
        int packets = counted->packets[rank] / 2, resent = counted->resent[rank] / 2;
        packets = line == 0 ? packets : counted->packets[rank] - packets;
        resent = line == 0 ? resent : counted->resent[rank] - resent;
        json_t *peers = json_pack("[{s:i, s:i, s:i}, {s:i}]", "peer", 1 - rank, "packets", packets,
                                  "resent", resent, "peer", 7); /* one that counts none */
        json_array_append_new(samples, json_pack("{s:i, s:o}", "rank", rank, "peers", peers));
    }
    return json_pack("{s:i, s:o}", "bytes", line == 0 ? 8 : 1 << 20, "samples", samples);
}

static json_t *document_of(const struct counted *counted)
{
    json_t *document = json_pack("{s:[o, o]}", "results", line_of(counted, 0), line_of(counted, 1));
    assert_non_null(document);
    return document;
}

/* The readings of one job of hosts 3 and 5. */
static struct acceptance taken(json_t *document, enum reading_outcome outcome, bool second)
{
    static struct roster roster;
    static struct fleet_job item;
    struct acceptance acceptance = {.roster = &roster, .message_bytes = 1 << 20};
    struct trial trial = {.outcome = outcome, .document = document};
    struct trials trials = {.acceptance = &acceptance,
                            .stage = STAGE_PAIRS,
                            .items = &item,
                            .count = 1,
                            .outcomes = &trial};
    struct pair_jobs jobs = {.acceptance = &acceptance};
    const struct host_pair pair = {.a = 3, .b = 5};
    pair_job_take(&jobs, &trials, 0, 0, &pair, second);
    failed_jobs_free(&jobs.failed);
    json_decref(document);
    return acceptance;
}

/* The loss from one host to the other; NAN: there is no reading. */
static double loss_from(const struct acceptance *acceptance, int from)
{
    double loss = NAN;
    for (int i = 0; i < acceptance->readings.count; i++) {
        const struct reading *reading = &acceptance->readings.items[i];
        if (reading->metric != METRIC_LOSS || reading->from != from)
            continue;
        assert_true(isnan(loss));
        assert_int_equal(reading->to, 8 - from);
        assert_int_equal(reading->outcome, READING_VALUE);
        loss = reading->value;
    }
    return loss;
}

static void losses_have_the_direction_of_their_packets(void **state)
{
    (void)state;
    static const struct {
        struct counted counted;
        bool second;
        double from_a, from_b; /* NAN: not measured */
    } cases[] = {
        {{{1000, 400}, {31, 3}}, false, 3.2, 1},
        {{{1000, 400}, {30, 2}}, false, 3, 0.5}, /* of all: of the long ones one was */
        {{{1000, 400}, {31, 1}}, false, 3.2, 0}, /* it may have been late */
        {{{1000, 400}, {0, 0}}, false, 0, 0},
        {{{1000, 0}, {7, 0}}, false, 0.8, NAN},    /* nothing was sent */
        {{{1000, 400}, {5, 399}}, true, NAN, 0.6}, /* b is rank 0, and rank 1 only receives */
        {{{0, 0}, {0, 0}}, true, NAN, NAN},
        {{{10, 10}, {25, 10}}, false, 100, 100}, /* a packet that was sent twice again */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct acceptance acceptance =
            taken(document_of(&cases[i].counted), READING_VALUE, cases[i].second);
        const double expected[] = {cases[i].from_a, cases[i].from_b};
        for (int host = 3, e = 0; e < 2; host += 2, e++) {
            double loss = loss_from(&acceptance, host);
            assert_int_equal(isnan(expected[e]), isnan(loss));
            if (!isnan(loss))
                assert_true(fabs(loss - expected[e]) < 1e-12);
        }
        free(acceptance.readings.items);
    }
}

/* The rank that found it received it. A job in which both did has two readings, in which the same
 * rank did twice has one. */
static void wrong_data_has_the_direction_in_which_it_came(void **state)
{
    (void)state;
    static const struct {
        const char *errors;
        bool second;
        int count, from[2];
    } cases[] = {
        {"[{\"rank\": 1, \"phase\": \"check\"}]", false, 1, {3}},
        {"[{\"rank\": 0, \"phase\": \"check\"}]", false, 1, {5}},
        {"[{\"rank\": 1, \"phase\": \"check\"}]", true, 1, {5}},
        {"[{\"rank\": 0, \"phase\": \"check\"}]", true, 1, {3}},
        {"[{\"rank\": 1, \"phase\": \"check\"}, {\"rank\": 1, \"phase\": \"check\"}]",
         false,
         1,
         {3}},
        {"[{\"rank\": 1, \"phase\": \"check\"}, {\"rank\": 0, \"phase\": \"check\"}]",
         false,
         2,
         {3, 5}},
        {"[{\"rank\": 1, \"phase\": \"run\"}, {\"rank\": 2, \"phase\": \"check\"}, "
         "{\"rank\": 0, \"phase\": \"check\"}]",
         false,
         1,
         {5}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        json_t *document = json_pack("{s:o}", "errors", json_loads(cases[i].errors, 0, NULL));
        struct acceptance acceptance = taken(document, READING_WRONG, cases[i].second);
        assert_int_equal(acceptance.readings.count, cases[i].count);
        for (int r = 0; r < cases[i].count; r++) {
            const struct reading *reading = &acceptance.readings.items[r];
            assert_int_equal(reading->from, cases[i].from[r]);
            assert_int_equal(reading->to, 8 - cases[i].from[r]);
            assert_int_equal(reading->outcome, READING_WRONG);
            assert_int_not_equal(reading->metric, METRIC_LATENCY); /* which has no direction */
        }
        free(acceptance.readings.items);
    }
}

/* Any other failure, and wrong data that no rank tells of, is one reading. */
static void a_job_that_fails_has_one_reading(void **state)
{
    (void)state;
    static const enum reading_outcome outcomes[] = {READING_ERROR, READING_LATE, READING_WRONG};
    static const struct counted counted = {{100, 100}, {1, 1}};
    for (size_t i = 0; i < sizeof outcomes / sizeof *outcomes; i++) {
        struct acceptance acceptance = taken(document_of(&counted), outcomes[i], false);
        assert_int_equal(acceptance.readings.count, 1);
        assert_int_equal(acceptance.readings.items[0].outcome, outcomes[i]);
        free(acceptance.readings.items);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(losses_have_the_direction_of_their_packets),
        cmocka_unit_test(wrong_data_has_the_direction_in_which_it_came),
        cmocka_unit_test(a_job_that_fails_has_one_reading),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
