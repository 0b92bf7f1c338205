/*
 * test_verdict_causes.c - of all failures of a job, the verdict names the first, or the worst.
 * tier: check; load: cpu1
 */
#include "tests/unit/situations.h"

static void test_lost_before_its_victims(void **state)
{
    (void)state;
    begin(4);
    fails(0, REASON_PEER_LOST, 2, "its connection to rank 2 broke");
    fails(3, REASON_PEER_LATE, 2, "it cannot reach rank 2");
    cause(CAUSE_LOST, 2, STATUS_TIMEOUT, "");
    reach(STATUS_TIMEOUT, 2);
    says("rank 2 (host host0, pid 102) is gone");
    assert_int_equal(2, verdict.line_count);
    assert_int_equal(3, verdict.error_count);
    assert_string_equal("host0", verdict.errors[1].host);
    assert_string_equal("time", verdict.errors[1].phase);
    assert_string_equal("its connection to rank 2 broke", verdict.errors[1].message);
}

/* A rank whose connection was spoiled may live: the sentence says what was seen. */
static void test_lost_by_forgery(void **state)
{
    (void)state;
    begin(2);
    cause(CAUSE_LOST, 1, STATUS_TIMEOUT, "its control connection carried noise");
    reach(STATUS_TIMEOUT, 1);
    says("rank 1 (host host0, pid 101) is lost: its control connection carried noise; it was last "
         "seen in phase time");
}

static void test_failure_before_its_victims(void **state)
{
    (void)state;
    begin(4);
    fails(0, REASON_PEER_LOST, 2, "its connection to rank 2 broke");
    cause(CAUSE_FAILED, 2, STATUS_ERROR, "no memory");
    reach(STATUS_ERROR, 2);
    says("rank 2 (host host0, pid 102): no memory");
}

/* A failure is a consequence by its reason, whatever its status. */
static void test_reason_not_status(void **state)
{
    (void)state;
    begin(4);
    fails(0, REASON_PEER_LOST, 2, "its connection to rank 2 broke");
    cause(CAUSE_FAILED, 2, STATUS_TIMEOUT, "its disk did not answer");
    reach(STATUS_TIMEOUT, 2);
    says("rank 2 (host host0, pid 102): its disk did not answer");
    begin(4);
    fails(0, REASON_PEER_LOST, 2, "its connection to rank 2 broke");
    fails(3, REASON_PEER_INVALID, 1, "rank 1 sent invalid data");
    reach(STATUS_ERROR, 3);
}

static void test_worst(void **state)
{
    (void)state;
    begin(4);
    fails(1, REASON_PEER_UNREACHABLE, 2, "no such link here");
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
    for (int rank = 0; rank < MANY; rank++)
        if (rank == 30)
            cause(CAUSE_LOST, rank, STATUS_TIMEOUT, "");
        else
            fails(rank, REASON_PEER_LOST, (rank + 1) % MANY, "the same words about another rank");
    reach(STATUS_TIMEOUT, 30);
    assert_int_equal(VERDICT_LINES_MOST, verdict.line_count);
    assert_string_equal("and 24 more", verdict.lines[verdict.line_count - 1]);
}

/* Failures because of one peer, and pairs that no transport connects, are named once, whatever
 * their sentences. */
static void test_peers_alike(void **state)
{
    (void)state;
    begin(5);
    fails(2, REASON_PEER_UNREACHABLE, 0, "nothing connects rank 2 and rank 0");
    fails(3, REASON_PEER_INVALID, 1, "rank 1 sent invalid data");
    fails(0, REASON_PEER_UNREACHABLE, 3, "nothing connects rank 0 and rank 3");
    fails(4, REASON_PEER_INVALID, 1, "rank 1 asks for other lanes than this rank");
    reach(STATUS_ERROR, 3);
    says("rank 3 (host host0, pid 103): rank 1 sent invalid data; likewise rank 4");
    assert_int_equal(1, verdict.line_count);
    assert_string_equal("rank 2 (host host0, pid 102): nothing connects rank 2 and rank 0; "
                        "likewise rank 0",
                        verdict.lines[0]);
    assert_int_equal(4, verdict.error_count);
}

/* Failures of ranks themselves are named once if nothing in their sentences differs. */
static void test_own_alike(void **state)
{
    (void)state;
    begin(5);
    cause(CAUSE_FAILED, 1, STATUS_ERROR, "cannot map the memory of rank 2: no memory");
    cause(CAUSE_FAILED, 3, STATUS_ERROR, "cannot map the memory of rank 2: no memory");
    cause(CAUSE_FAILED, 0, STATUS_USAGE, "cannot map the memory of rank 2: no memory");
    cause(CAUSE_FAILED, 4, STATUS_ERROR, "cannot map the memory of rank 0: not permitted");
    reach(STATUS_ERROR, 1);
    says("rank 1 (host host0, pid 101): cannot map the memory of rank 2: no memory; likewise rank "
         "3");
    assert_int_equal(2, verdict.line_count);
    assert_string_equal("rank 4 (host host1, pid 104): cannot map the memory of rank 0: not "
                        "permitted",
                        verdict.lines[1]);
}

/* A failure that names another peer is another one, though its sentence be the same. */
static void test_other_peer(void **state)
{
    (void)state;
    begin(6);
    fails(3, REASON_PEER_INVALID, 2, "a peer sent invalid data");
    fails(1, REASON_PEER_INVALID, 0, "a peer sent invalid data");
    fails(4, REASON_PEER_INVALID, 2, "a peer sent invalid data");
    reach(STATUS_ERROR, 3);
    says("rank 3 (host host0, pid 103): a peer sent invalid data; likewise rank 4");
    assert_int_equal(1, verdict.line_count);
    assert_string_equal("rank 1 (host host0, pid 101): a peer sent invalid data", verdict.lines[0]);
}

/* Several ranks have lost a rank that reports nothing itself: it is named, though no two
 * sentences are equal, and though the ranks were waiting for others. */
static void test_blamed(void **state)
{
    (void)state;
    begin(6);
    for (int rank = 0; rank < 6; rank++)
        waits(rank, OPERATION_RECV, (rank + 1) % 6);
    fails(5, REASON_PEER_LOST, 4, "the connection broke");
    fails(0, REASON_PEER_LOST, 3, "it died");
    fails(4, REASON_PEER_LATE, 3, "it did not connect");
    fails(2, REASON_PEER_LOST, 3, "reset by peer");
    reach(STATUS_TIMEOUT, 3);
    says("rank 3 (host host0, pid 103) is no longer reachable from ranks 0, 2, 4; it was last seen "
         "in phase time");
    assert_int_equal(3, verdict.line_count);
    assert_string_equal("rank 0 (host host0, pid 100): it died; likewise rank 2", verdict.lines[0]);
    /* Rank 5 has lost one that has failed itself. */
    assert_string_equal("rank 5 (host host1, pid 105): the connection broke", verdict.lines[2]);
    assert_int_equal(5, verdict.error_count);
    assert_int_equal(0, verdict.errors[1].rank);

    situation.cause_count = 1; /* one failure alone may as well be the link's */
    reach(STATUS_TIMEOUT, 5);
    situation.cause_count = 4;
    cause(CAUSE_FAILED, 3, STATUS_ERROR, "no memory"); /* it reports something */
    reach(STATUS_ERROR, 3);
    says("rank 3 (host host0, pid 103): no memory");
}

static void test_blamed_for_delay(void **state)
{
    (void)state;
    begin(4);
    fails(3, REASON_PEER_LATE, 2, "rank 2 did not connect");
    fails(1, REASON_PEER_LATE, 0, "rank 0 did not connect");
    fails(0, REASON_PEER_LATE, 2, "rank 2 did not connect");
    reach(STATUS_TIMEOUT, 2);
    says("rank 2 (host host0, pid 102) did not answer ranks 0, 3 in time; it was last seen in");
    assert_int_equal(2, verdict.line_count);
    assert_string_equal("rank 3 (host host0, pid 103): rank 2 did not connect; likewise rank 0",
                        verdict.lines[0]);
    assert_string_equal("rank 1 (host host0, pid 101): rank 0 did not connect", verdict.lines[1]);
    situation.late = true; /* the graph says it better */
    reach(STATUS_TIMEOUT, 2);
    says("rank 2 (host host0, pid 102) keeps 3 others waiting and waits for none");
}

/* The peer of a failure counts more than the operation that the rank was in. */
static void test_edge_of_failure(void **state)
{
    (void)state;
    begin(4);
    waits(0, OPERATION_RECV, 1);
    waits(1, OPERATION_RECV, 0);
    fails(0, REASON_PEER_LOST, 2, "lost it");
    fails(2, REASON_PEER_LATE, 3, "it did not connect");
    reach(STATUS_TIMEOUT, 2); /* rank 0 follows from it */
    says("rank 2 (host host0, pid 102): it did not connect");
    standings[3].silent = 9.8;
    reach(STATUS_TIMEOUT, 3);
    says("rank 3 (host host0, pid 103) sent no heartbeat");
}

/* Failures because of one another: those in the circle come first, the others last. */
static void test_waited_for_waiters(void **state)
{
    (void)state;
    begin(5);
    fails(0, REASON_PEER_LATE, 2, "rank 2 has not connected");
    fails(3, REASON_PEER_LATE, 4, "rank 4 has not connected");
    fails(2, REASON_PEER_LATE, 4, "rank 4 has not connected to rank 2");
    fails(4, REASON_PEER_LATE, 2, "could not connect to rank 2");
    reach(STATUS_TIMEOUT, 2);
    says("rank 2 (host host0, pid 102): rank 4 has not connected to rank 2");
    assert_int_equal(1, verdict.line_count);
    assert_non_null(strstr(verdict.lines[0], "could not connect to rank 2; likewise rank 0"));
    causes[3].failure.peer = 1; /* which reports nothing: a chain */
    reach(STATUS_TIMEOUT, 4);
    fails(1, REASON_PEER_LATE, 0, "rank 0 has not connected"); /* a circle, and rank 3 */
    reach(STATUS_TIMEOUT, 0);
}

/* A rank that cannot be reached by another is no reason for being late: both failures count. */
static void test_late_and_unreachable(void **state)
{
    (void)state;
    begin(4);
    fails(1, REASON_PEER_LATE, 2, "rank 2 has not connected");
    fails(2, REASON_PEER_UNREACHABLE, 3, "nothing connects rank 2 and rank 3");
    reach(status_worse(STATUS_TIMEOUT, STATUS_UNAVAILABLE), 1);
    assert_int_equal(STATUS_TIMEOUT, verdict.status);
    assert_int_equal(1, verdict.line_count);
    causes[1].failure.reason = REASON_PEER_LATE;
    causes[1].failure.status = STATUS_ERROR; /* a mark: only this one counts */
    reach(STATUS_ERROR, 2);
    causes[0].failure.status = STATUS_INTERRUPTED;
    reach(STATUS_ERROR, 2);
}

/* Nothing that a broken rank may report leads outside, or to no verdict. */
static void test_nonsense(void **state)
{
    (void)state;
    begin(3);
    fails(1, REASON_PEER_LOST, 1, "lost itself");
    reach(STATUS_TIMEOUT, 1);
    fails(2, REASON_PEER_LATE, 1, "it did not connect");
    reach(STATUS_TIMEOUT, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lost_before_its_victims),
        cmocka_unit_test(test_lost_by_forgery),
        cmocka_unit_test(test_failure_before_its_victims),
        cmocka_unit_test(test_reason_not_status),
        cmocka_unit_test(test_worst),
        cmocka_unit_test(test_many_causes),
        cmocka_unit_test(test_peers_alike),
        cmocka_unit_test(test_own_alike),
        cmocka_unit_test(test_other_peer),
        cmocka_unit_test(test_blamed),
        cmocka_unit_test(test_blamed_for_delay),
        cmocka_unit_test(test_edge_of_failure),
        cmocka_unit_test(test_waited_for_waiters),
        cmocka_unit_test(test_late_and_unreachable),
        cmocka_unit_test(test_nonsense),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
