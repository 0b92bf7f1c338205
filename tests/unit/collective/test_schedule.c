/*
 * test_schedule.c - by which message an element came, and what a rank sends to each peer, in
 * schedules that are written by hand.
 * tier: check; load: cpu1
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "collective/schedule/schedule.h"

/* Pairs of elements of destination, each second pair, and those between; scratch as a whole. */
static const struct span pairs = {BUFFER_DESTINATION, .run = 2, .stride = 4, .times = 3},
                         between = {BUFFER_DESTINATION, 2, .run = 2, .stride = 4, .times = 3},
                         scratch = {BUFFER_SCRATCH, .run = 6, .stride = 6, .times = 1};

static struct operation operation_of(enum operation_kind kind, int peer, const struct span *to,
                                     const struct span *from)
{
    return (struct operation){.kind = kind,
                              .peer = peer,
                              .length = 6,
                              .to = {to, to != NULL},
                              .from = {from, from != NULL}};
}

/* The last writer of the element counts, and a local one leads on to its input. */
static void test_provenance(void **state)
{
    (void)state;
    struct operation operations[] = {
        operation_of(OPERATION_RECV, 3, &scratch, NULL),
        operation_of(OPERATION_RECV, 1, &pairs, NULL),
        operation_of(OPERATION_RECV, 2, &between, NULL),
        operation_of(OPERATION_SEND, 2, NULL, &pairs),
        operation_of(OPERATION_COPY, -1, &between, &scratch),
    };
    struct schedule schedule = {.storage = {0, 1, 2}, .operations = operations, .count = 3};
    for (size_t e = 0; e < 12; e++)
        assert_int_equal(provenance_of(&schedule, e), e % 4 < 2 ? 1 : 2);
    assert_int_equal(provenance_of(&schedule, 12), -1);
    schedule.count = 5;
    for (size_t e = 0; e < 12; e++)
        assert_int_equal(provenance_of(&schedule, e), e % 4 < 2 ? 1 : 0);
}

static void test_peers(void **state)
{
    (void)state;
    struct operation operations[] = {
        operation_of(OPERATION_SEND, 2, NULL, &pairs),
        operation_of(OPERATION_SEND, 2, NULL, &pairs),
        operation_of(OPERATION_RECV_REDUCE, 2, &pairs, NULL),
        operation_of(OPERATION_RECV, 0, &pairs, NULL),
        operation_of(OPERATION_COPY, -1, &pairs, &scratch),
    };
    operations[1].length = 4;
    operations[1].lane = 2;
    const struct schedule schedule = {.operations = operations, .count = 5};
    struct peer_use use[3] = {{0}};
    schedule_add_peers(&schedule, 10, use);
    assert_true(use[2].sent == 100 && use[2].received == 60 && use[2].lanes == 3);
    assert_int_equal(use[2].shortest, 4);
    assert_true(use[0].sent == 0 && use[0].received == 60 && use[0].lanes == 1);
    assert_int_equal(use[0].shortest, 6);
    assert_int_equal(use[1].lanes, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_provenance),
                                       cmocka_unit_test(test_peers)};
    return cmocka_run_group_tests_name("schedule", tests, NULL, NULL);
}
