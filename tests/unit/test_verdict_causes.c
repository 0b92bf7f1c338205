/*
 * test_verdict_causes.c - of all that ranks say went wrong, what came first or weighs most is named.
 */
#include "situations.h"

static void test_lost_before_its_victims(void **state)
{
    (void)state;
    begin(4);
    cause(CAUSE_FAILED, 0, STATUS_TIMEOUT, "its connection to rank 2 broke");
    cause(CAUSE_FAILED, 3, STATUS_TIMEOUT, "it cannot reach rank 2");
    cause(CAUSE_LOST, 2, STATUS_TIMEOUT, "");
    reach(STATUS_TIMEOUT, 2);
    says("rank 2 (host host0, pid 102) is gone");
    assert_int_equal(2, verdict.line_count);
    assert_int_equal(3, verdict.error_count);
    assert_string_equal("host0", verdict.errors[1].host);
    assert_string_equal("time", verdict.errors[1].phase);
    assert_string_equal("its connection to rank 2 broke", verdict.errors[1].message);
}

static void test_failure_before_its_victims(void **state)
{
    (void)state;
    begin(4);
    cause(CAUSE_FAILED, 0, STATUS_TIMEOUT, "its connection to rank 2 broke");
    cause(CAUSE_FAILED, 2, STATUS_ERROR, "no memory");
    reach(STATUS_ERROR, 2);
    says("rank 2 (host host0, pid 102): no memory");
}

static void test_gravest(void **state)
{
    (void)state;
    begin(4);
    cause(CAUSE_FAILED, 1, STATUS_UNAVAILABLE, "no such link here");
    cause(CAUSE_FAILED, 3, STATUS_ERROR, "no memory");
    reach(STATUS_ERROR, 3);
    situation.cause_count = 0;
    cause(CAUSE_INTERRUPTED, 1, STATUS_INTERRUPTED, "interrupted by SIGINT");
    reach(STATUS_INTERRUPTED, 1);
    says("rank 1 (host host0, pid 101) was interrupted by SIGINT in phase time");
}

static void test_many_causes(void **state)
{
    (void)state;
    begin(MANY);
    for (int rank = 0; rank < MANY; rank++) {
        char words[] = {'a' + (char)(rank / 26), 'a' + (char)(rank % 26), '\0'};
        cause(rank == 30 ? CAUSE_LOST : CAUSE_FAILED, rank, STATUS_TIMEOUT, words);
    }
    reach(STATUS_TIMEOUT, 30);
    assert_string_equal("and 24 more", verdict.lines[verdict.line_count - 1]);
}

/* What several have to say is said once, but nobody is said to have lost whom it has not. */
static void test_causes_alike(void **state)
{
    (void)state;
    begin(4);
    cause(CAUSE_FAILED, 2, STATUS_UNAVAILABLE, "nothing connects rank 2 and rank 0");
    cause(CAUSE_FAILED, 0, STATUS_UNAVAILABLE, "nothing connects rank 0 and rank 1");
    cause(CAUSE_FAILED, 1, STATUS_UNAVAILABLE, "no such device");
    cause(CAUSE_FAILED, 3, STATUS_UNAVAILABLE, "nothing connects rank 3 and rank 12");
    reach(STATUS_UNAVAILABLE, 2);
    says("rank 2 (host host0, pid 102): nothing connects rank 2 and rank 0; likewise ranks 0, 3");
    assert_int_equal(1, verdict.line_count);
    assert_string_equal("rank 1 (host host0, pid 101): no such device", verdict.lines[0]);
    assert_int_equal(4, verdict.error_count);
    causes[3].status = STATUS_ERROR; /* not the same */
    reach(STATUS_ERROR, 3);
    says("rank 3 (host host0, pid 103): nothing connects rank 3 and rank 12");
}

static void test_lost_others(void **state)
{
    (void)state;
    begin(4);
    cause(CAUSE_FAILED, 3, STATUS_TIMEOUT, "rank 2 did not connect");
    cause(CAUSE_FAILED, 1, STATUS_TIMEOUT, "rank 0 did not connect");
    cause(CAUSE_FAILED, 0, STATUS_TIMEOUT, "rank 2 did not connect");
    reach(STATUS_TIMEOUT, 3);
    says("rank 3 (host host0, pid 103): rank 2 did not connect; likewise rank 0");
    assert_int_equal(1, verdict.line_count);
    assert_string_equal("rank 1 (host host0, pid 101): rank 0 did not connect", verdict.lines[0]);
}

/* Of those that waited in vain, who waited for one another come first, and who waited for them last. */
static void test_waited_for_waiters(void **state)
{
    (void)state;
    begin(5);
    waits(0, OPERATION_RECV, 2);
    waits(2, OPERATION_RECV, 4);
    waits(3, OPERATION_RECV, 4);
    waits(4, OPERATION_SEND, 2);
    cause(CAUSE_FAILED, 0, STATUS_TIMEOUT, "rank 2 has not connected");
    cause(CAUSE_FAILED, 3, STATUS_TIMEOUT, "rank 4 has not connected");
    cause(CAUSE_FAILED, 2, STATUS_TIMEOUT, "rank 4 has not connected to rank 2");
    cause(CAUSE_FAILED, 4, STATUS_TIMEOUT, "could not connect to rank 2");
    reach(STATUS_TIMEOUT, 2);
    says("rank 2 (host host0, pid 102): rank 4 has not connected to rank 2");
    assert_int_equal(3, verdict.line_count);
    assert_non_null(strstr(verdict.lines[0], "could not connect to rank 2"));
    waits(4, OPERATION_RECV, 1); /* which has nothing to say: a chain */
    reach(STATUS_TIMEOUT, 4);
    waits(1, OPERATION_RECV, 0); /* all wait for each other */
    reach(STATUS_TIMEOUT, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lost_before_its_victims),
        cmocka_unit_test(test_failure_before_its_victims),
        cmocka_unit_test(test_gravest),
        cmocka_unit_test(test_many_causes),
        cmocka_unit_test(test_causes_alike),
        cmocka_unit_test(test_lost_others),
        cmocka_unit_test(test_waited_for_waiters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
