/*
 * test_verdict.c - the right rank, link or circle is named where ranks wait, whatever else is going
 * on.
 * tier: check; load: cpu1
 */
#include "tests/unit/situations.h"

#include <time.h>

#define SECONDS_MOST 3 /* of computing, for all ranks: with room, though a tenth is enough */

static void test_silent(void **state)
{
    (void)state;
    begin(5);
    for (int rank = 0; rank < 5; rank++)
        waits(rank, OPERATION_RECV, (rank + 4) % 5); /* a circle, but for the silent one */
    standings[3].silent = 9.8;
    reach(STATUS_TIMEOUT, 3);
    says("rank 3 (host host0, pid 103) sent no heartbeat for 9.8 s");
    says("alltoall pairwise, 64K, iteration 7");
    assert_int_equal(5, verdict.line_count);
    assert_non_null(strstr(verdict.lines[1], "rank 1 (host host0, pid 101): phase time, alltoall "
                                             "pairwise, 64K, iteration 7, step 2, waits to receive "
                                             "from rank 0, 4096 of 16384 bytes so far"));
}

/* However many wait for one that is silent since the rank is that it speaks through. */
static void test_silent_parent(void **state)
{
    (void)state;
    begin(5);
    for (int rank = 0; rank < 4; rank++)
        waits(rank, OPERATION_RECV, 4);
    standings[3].silent = standings[4].silent = 9.8;
    reach(STATUS_TIMEOUT, 4);
    standings[4].parent = 3;
    reach(STATUS_TIMEOUT, 3);
    says("rank 3 (host host0, pid 103) sent no heartbeat for 9.8 s");
    says("; also silent: rank 4");
}

/* A rank that waits at the start barrier is in no step of the algorithm. */
static void test_start_barrier(void **state)
{
    (void)state;
    begin(3);
    for (int rank = 0; rank < 2; rank++) {
        waits(rank, OPERATION_RECV, rank + 1);
        standings[rank].snapshot.stage = ITERATION_STARTING;
    }
    standings[2].silent = 9.8;
    reach(STATUS_TIMEOUT, 2);
    says("rank 2 (host host0, pid 102) sent no heartbeat for 9.8 s: the process is stopped, or its "
         "host is down or unreachable; it was last seen in phase time, alltoall pairwise, 64K, "
         "iteration 7");
    assert_string_equal("rank 1 (host host0, pid 101): phase time, alltoall pairwise, 64K, start "
                        "barrier of iteration 7, waits for rank 2",
                        verdict.lines[1]);
}

/* Between two heartbeats every rank is silent, which is no longer than the deadline by chance. */
static void test_short_deadline(void **state)
{
    (void)state;
    begin(3);
    situation.stalled = 0.3;
    for (int rank = 0; rank < 3; rank++)
        standings[rank].silent = 0.29;
    waits(0, OPERATION_RECV, 2);
    waits(1, OPERATION_RECV, 2);
    reach(STATUS_TIMEOUT, 2);
    says("keeps 2 others waiting and waits for none");
    situation.heartbeat = 0.06;
    standings[0].silent = standings[2].silent = 0.1;
    reach(STATUS_TIMEOUT, 1);
    says("sent no heartbeat for 0.3 s");
}

/* A rank is silent while the others go on: their last heartbeats are no stop of all. */
static void test_silent_among_others(void **state)
{
    (void)state;
    begin(3);
    situation.late = false;
    situation.heartbeat = 0.25;
    situation.stalled = 0.106;
    fails(1, REASON_PEER_LATE, 2, "rank 2 did not connect");
    standings[2].silent = 5.8;
    reach(STATUS_TIMEOUT, 2);
    assert_true(
        strstr(verdict.headline, "rank 2 (host host0, pid 102) sent no heartbeat for 5.8 s") ==
        verdict.headline);
    situation.stalled = 0.76;
    reach(STATUS_TIMEOUT, 2);
    says("no rank has progressed for 0.76 s: rank 2 (host host0, pid 102) sent no heartbeat");
    situation.stalled = 0.3;
    situation.late = true; /* the deadline is as short */
    reach(STATUS_TIMEOUT, 2);
    says("no rank has progressed for 0.3 s: rank 2");
}

static void test_many_silent(void **state)
{
    (void)state;
    begin(30);
    for (int rank = 1; rank < 30; rank++)
        standings[rank].silent = 9.8;
    for (int rank = 0; rank < 30; rank++)
        waits(rank, OPERATION_SEND, 17);
    reach(STATUS_TIMEOUT, 17);
    says("also silent: ranks 1..16, 18..29");
    assert_int_equal(VERDICT_LINES_MOST + 1, verdict.line_count);
    assert_string_equal("and 14 more", verdict.lines[VERDICT_LINES_MOST]);
}

/* All ranks of a host are silent. Then all are silent except those on the host of rank 0. */
static void test_silent_hosts(void **state)
{
    (void)state;
    begin(12);
    for (int rank = 0; rank < 12; rank++) {
        members[rank].node = rank / 4;
        waits(rank, OPERATION_RECV, (rank + 11) % 12);
        if (rank >= 4 && rank < 8)
            standings[rank].silent = 9.8;
    }
    reach(STATUS_TIMEOUT, 7); /* most wait for it */
    says("host host1 is silent: rank 7 (host host1, pid 107) sent no heartbeat for 9.8 s: the host "
         "is "
         "down or unreachable; ");
    says("; also silent: ranks 4..6");
    standings[5].silent = 0.2;
    reach(STATUS_TIMEOUT, 7);
    says("no rank has progressed for 10 s: rank 7 (host host1, pid 107) sent no heartbeat");
    for (int rank = 4; rank < 12; rank++)
        standings[rank].silent = 9.8;
    reach(STATUS_TIMEOUT, 0);
    says("host host0, where rank 0 runs, hears none of the 2 other hosts");
    memset(members, 0, sizeof members);
}

/* A rank that gave up waiting for a silent rank is not the cause. */
static void test_silent_before_impatient(void **state)
{
    (void)state;
    begin(4);
    fails(1, REASON_PEER_LATE, 3, "rank 3 did not connect");
    standings[3].silent = 9.8;
    reach(STATUS_TIMEOUT, 3);
    says("rank 3 (host host0, pid 103) sent no heartbeat for 9.8 s");
    assert_string_equal("rank 1 (host host0, pid 101): rank 3 did not connect", verdict.lines[1]);
    cause(CAUSE_FAILED, 2, STATUS_ERROR, "no memory");
    reach(STATUS_ERROR, 2);
}

/* Reports of unreachable ranks do not hide the busy rank that all wait for, if no rank progresses.
 * In a job that progresses a connection may break. */
static void test_busy_before_impatient(void **state)
{
    (void)state;
    begin(4);
    for (int rank = 0; rank < 3; rank++) {
        standings[rank].snapshot.phase = PHASE_CONNECT;
        waits(rank, OPERATION_RECV, rank == 2 ? 3 : 2);
        fails(rank, REASON_PEER_LATE, rank == 2 ? 3 : 2,
              rank == 2 ? "rank 3 is not here" : "2 is not");
    }
    standings[3].snapshot.phase = PHASE_SETUP;
    reach(STATUS_TIMEOUT, 2);
    situation.late = true;
    reach(STATUS_TIMEOUT, 3);
    says("rank 3 (host host0, pid 103) keeps 3 others waiting and waits for none");
    says("stuck in phase setup");
    assert_string_equal("rank 2 (host host0, pid 102): rank 3 is not here", verdict.lines[2]);
    waits(3, OPERATION_RECV, 2);
    reach(STATUS_TIMEOUT, 2); /* no rank is busy: their reports are all there is */
    says("rank 2 (host host0, pid 102): rank 3 is not here");
}

static void test_unconnected(void **state)
{
    (void)state;
    begin(4);
    for (int rank = 0; rank < 4; rank++)
        standings[rank].snapshot.phase = PHASE_CONNECT;
    waits(1, OPERATION_RECV, 3);
    waits(3, OPERATION_RECV, 1);
    reach(STATUS_TIMEOUT, 1);
    says("the link from rank 1 (host host0, pid 101) to rank 3 (host host0, pid 103) cannot be "
         "made");
    assert_string_equal("rank 3 (host host0, pid 103): phase connect, waits for rank 1",
                        verdict.lines[3]);
}

/* The sender has gone on, since its kernel has taken all; the kernel knows better. */
static void test_unheard(void **state)
{
    (void)state;
    begin(4);
    for (int rank = 0; rank < 4; rank++)
        waits(rank, OPERATION_RECV, (rank + 3) % 4); /* a circle, which is not the reason */
    waits(1, OPERATION_SEND, 2);
    standings[1].snapshot.step = STEP_UNHEARD;
    reach(STATUS_TIMEOUT, 1);
    says("the link from rank 1 (host host0, pid 101) to rank 2 (host host0, pid 102) does not "
         "deliver: "
         "the bytes sent over it are not acknowledged");
    assert_string_equal(
        "rank 1 (host host0, pid 101): phase time, alltoall pairwise, 64K, iteration 7, "
        "has sent data that rank 2 does not acknowledge",
        verdict.lines[1]);
}

/* A message waits for the GPU that copies it, so ranks that wait for the message are no circle. */
static void test_device(void **state)
{
    (void)state;
    begin(4);
    for (int rank = 0; rank < 4; rank++)
        waits(rank, OPERATION_RECV, (rank + 3) % 4);
    waits(2, OPERATION_COPY, -1);
    standings[2].snapshot.step = STEP_DEVICE;
    reach(STATUS_TIMEOUT, 2);
    says("the GPU of rank 2 (host host0, pid 102) has not ended a copy or a kernel, in phase time");
    assert_string_equal(
        "rank 2 (host host0, pid 102): phase time, alltoall pairwise, 64K, iteration 7, "
        "waits for its GPU, which has not ended a copy or a kernel",
        verdict.lines[2]);
}

/* A vendor's collective has no edges: the ranks that are not in it are the suspects. */
static void test_vendor(void **state)
{
    (void)state;
    begin(4);
    for (int rank = 0; rank < 4; rank++) {
        waits(rank, OPERATION_COPY, -1);
        standings[rank].snapshot.step = STEP_VENDOR;
    }
    reach(STATUS_TIMEOUT, 0);
    says("ranks 0..3 are in the vendor's collective, which shows none of its steps, in phase time");
    assert_null(strstr(verdict.headline, "may be the cause"));
    assert_string_equal(
        "rank 2 (host host0, pid 102): phase time, alltoall pairwise, 64K, iteration 7, "
        "in the vendor's collective, which shows no steps",
        verdict.lines[2]);
    standings[0].snapshot.operation = standings[2].snapshot.operation = -1;
    reach(STATUS_TIMEOUT, 1);
    says("ranks 1, 3 are in the vendor's collective");
    says("; ranks 0, 2 are not, and may be the cause");
}

/* The lines name the ranks near the cause, if there are many ranks. */
static void test_nearest(void **state)
{
    (void)state;
    begin(MANY);
    for (int rank = 0; rank < MANY; rank++)
        waits(rank, OPERATION_RECV, (rank + 1) % MANY);
    standings[38].silent = 9.8;
    reach(STATUS_TIMEOUT, 38);
    assert_int_equal(VERDICT_LINES_MOST + 1, verdict.line_count);
    assert_non_null(strstr(verdict.lines[0], "rank 24 "));
    assert_non_null(strstr(verdict.lines[VERDICT_LINES_MOST - 2], "rank 38 "));
    assert_non_null(strstr(verdict.lines[VERDICT_LINES_MOST - 1], "rank 23 "));
    assert_string_equal("and 24 more", verdict.lines[VERDICT_LINES_MOST]);
}

static void test_delayed(void **state)
{
    (void)state;
    begin(6);
    for (int rank = 0; rank < 6; rank++)
        if (rank != 4)
            waits(rank, OPERATION_RECV_REDUCE, (rank + 5) % 6);
    reach(STATUS_TIMEOUT, 4);
    says("rank 4 (host host1, pid 104) keeps 5 others waiting and waits for none");
}

/* The iteration may begin, and the rank has not begun it, whoever waits for it. */
static void test_not_begun(void **state)
{
    (void)state;
    begin(5);
    for (int rank = 0; rank < 5; rank++)
        if (rank != 3)
            waits(rank, OPERATION_RECV, (rank + 4) % 5);
    standings[3].snapshot.stage = ITERATION_RELEASED;
    reach(STATUS_TIMEOUT, 3);
    assert_string_equal("no rank has progressed for 10 s: rank 3 (host host0, pid 103) has not "
                        "begun its iteration and keeps 4 others waiting: it is slow or stuck in "
                        "phase time, alltoall pairwise, 64K, iteration 7",
                        verdict.headline);
    assert_string_equal("rank 3 (host host0, pid 103): phase time, alltoall pairwise, 64K, "
                        "iteration 7, has not begun it, waits for no other rank",
                        verdict.lines[3]);
    standings[1].snapshot.stage = ITERATION_RELEASED;
    standings[1].snapshot.operation = -1;
    reach(STATUS_TIMEOUT, 3); /* 4 and 0 wait for it, and 2 for 1 */
    says("has not begun its iteration and keeps 2 others waiting");
    says("iteration 7; likewise rank 1");
    standings[1].silent = 9.8; /* it cannot go on */
    reach(STATUS_TIMEOUT, 1);
    says("sent no heartbeat");
}

/* No edge leads to it: it is alone, or the others are in a vendor's collective. */
static void test_not_begun_unawaited(void **state)
{
    (void)state;
    begin(1);
    standings[0].snapshot.stage = ITERATION_RELEASED;
    reach(STATUS_TIMEOUT, 0);
    says("rank 0 (host host0, pid 100) has not begun its iteration: it is slow or stuck in phase "
         "time");
    begin(3);
    for (int rank = 0; rank < 3; rank++) {
        waits(rank, OPERATION_COPY, -1);
        standings[rank].snapshot.step = STEP_VENDOR;
    }
    standings[2].snapshot = standings[0].snapshot;
    standings[2].snapshot.operation = -1;
    standings[2].snapshot.stage = ITERATION_RELEASED;
    reach(STATUS_TIMEOUT, 2);
    says("rank 2 (host host0, pid 102) has not begun its iteration: it is slow or stuck in phase "
         "time");
    standings[2].exchange = "a barrier"; /* it has gone on */
    reach(STATUS_TIMEOUT, 0);
    says("keeps 1 other waiting and waits for none");
}

static void test_absent_from_exchange(void **state)
{
    (void)state;
    begin(4);
    for (int rank = 0; rank < 4; rank++)
        if (rank != 2)
            standings[rank].exchange = "a barrier";
    reach(STATUS_TIMEOUT, 2);
    says("keeps 3 others waiting");
}

static void test_local_operation(void **state)
{
    (void)state;
    begin(3);
    waits(0, OPERATION_RECV, 1);
    waits(1, OPERATION_REDUCE, -1);
    standings[2].finished = true;
    reach(STATUS_TIMEOUT, 1);
    says("keeps 2 others waiting");
}

static void test_link(void **state)
{
    (void)state;
    begin(4);
    waits(0, OPERATION_RECV, 3);
    waits(1, OPERATION_SEND, 2);
    waits(2, OPERATION_RECV, 1);
    waits(3, OPERATION_RECV, 2);
    reach(STATUS_TIMEOUT, 1);
    says("the link from rank 1 (host host0, pid 101) to rank 2 (host host0, pid 102)");
}

static void test_two_in_a_circle(void **state)
{
    (void)state;
    begin(2);
    waits(0, OPERATION_SEND, 1);
    waits(1, OPERATION_SEND, 0);
    reach(STATUS_TIMEOUT, 0);
    says("in a circle: 0 -> 1 -> 0");
    waits(1, OPERATION_RECV, 0);
    standings[1].snapshot.lane = 1; /* another message */
    reach(STATUS_TIMEOUT, 0);
    says("circle");
}

static void test_circle(void **state)
{
    (void)state;
    begin(6);
    waits(0, OPERATION_RECV, 2);
    waits(1, OPERATION_RECV, 3);
    waits(2, OPERATION_RECV, 4);
    waits(3, OPERATION_RECV, 2);
    waits(4, OPERATION_RECV, 3);
    waits(5, OPERATION_RECV, 0);
    verdict_reach(&situation, &verdict);
    says("in a circle: 2 -> 4 -> 3 -> 2");
}

/* A rank that waits for a circle from outside waits once for each of it, and not more often the
 * longer it is followed. */
static void test_circle_with_tails(void **state)
{
    (void)state;
    begin(9);
    for (int rank = 0; rank < 9; rank++)
        waits(rank, OPERATION_RECV, rank == 0 ? 6 : rank - 1);
    for (int rank = 4; rank < 7; rank++) /* 4 -> 5 -> 6 -> 4; 7, 8 wait for it and so do 0 to 3 */
        waits(rank, OPERATION_RECV, rank == 6 ? 4 : rank + 1);
    reach(STATUS_TIMEOUT, 4);
    says("ranks wait for each other in a circle: 4 -> 5 -> 6 -> 4, in ");
    waits(8, OPERATION_RECV, 8); /* that is nonsense, and it waits for none: it is busy */
    waits(3, OPERATION_RECV, 8);
    reach(STATUS_TIMEOUT, 8);
    says("rank 8 (host host2, pid 108) keeps 1 other waiting and waits for none");
}

/* Rank 0 reads no frames while it searches for the cause. */
static void test_very_many(void **state)
{
    (void)state;
    clock_t begun = clock();
    int last = RANKS_MOST - 1;
    begin(RANKS_MOST);
    for (int rank = 0; rank < last; rank++)
        waits(rank, OPERATION_RECV, rank + 1);
    reach(STATUS_TIMEOUT, last);
    says("rank 65535 (host host16383, pid 65635) keeps 65535 others waiting and waits");
    assert_string_equal("and 65520 more", verdict.lines[VERDICT_LINES_MOST]);
    standings[last].exchange = "a barrier";
    for (int rank = 0; rank < last; rank += 2)
        standings[rank].exchange = "a barrier";
    reach(STATUS_TIMEOUT, 2); /* all that are ahead are waited for by one */
    begin(RANKS_MOST);
    for (int rank = 0; rank <= last; rank++)
        waits(rank, OPERATION_RECV, (rank + 1) % RANKS_MOST);
    reach(STATUS_TIMEOUT, 0);
    says("ranks wait for each other in a circle: 0 -> 1 -> 2 -> 3 -> 4 -> 5 -> 6 -> 7 -> ... -> 0");
    assert_true(clock() - begun < SECONDS_MOST * CLOCKS_PER_SEC);
}

static void test_went_ahead(void **state)
{
    (void)state;
    begin(3);
    waits(0, OPERATION_RECV, 1);
    waits(2, OPERATION_RECV, 1);
    standings[1].finished = true;
    reach(STATUS_TIMEOUT, 1);
    says("has finished while ranks 0, 2 still wait for its messages");
}

static void test_no_rank_waits(void **state)
{
    (void)state;
    begin(3);
    reach(STATUS_TIMEOUT, 0);
    says("no rank waits for another");
}

/* Nothing that a broken rank may say of itself leads outside. */
static void test_nonsense(void **state)
{
    (void)state;
    begin(3);
    for (int rank = 0; rank < 3; rank++) {
        waits(rank, (enum operation_kind)77, 1000000);
        standings[rank].snapshot.phase = -5;
        standings[rank].snapshot.algorithm = 99;
    }
    reach(STATUS_TIMEOUT, 0);
    waits(1, OPERATION_SEND, 1); /* for itself */
    waits(0, OPERATION_SEND, -3);
    verdict_reach(&situation, &verdict);
    assert_int_equal(STATUS_TIMEOUT, verdict.status);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_silent),
        cmocka_unit_test(test_silent_parent),
        cmocka_unit_test(test_start_barrier),
        cmocka_unit_test(test_short_deadline),
        cmocka_unit_test(test_silent_among_others),
        cmocka_unit_test(test_many_silent),
        cmocka_unit_test(test_silent_hosts),
        cmocka_unit_test(test_silent_before_impatient),
        cmocka_unit_test(test_busy_before_impatient),
        cmocka_unit_test(test_unconnected),
        cmocka_unit_test(test_unheard),
        cmocka_unit_test(test_device),
        cmocka_unit_test(test_vendor),
        cmocka_unit_test(test_nearest),
        cmocka_unit_test(test_delayed),
        cmocka_unit_test(test_not_begun),
        cmocka_unit_test(test_not_begun_unawaited),
        cmocka_unit_test(test_absent_from_exchange),
        cmocka_unit_test(test_local_operation),
        cmocka_unit_test(test_link),
        cmocka_unit_test(test_two_in_a_circle),
        cmocka_unit_test(test_circle),
        cmocka_unit_test(test_circle_with_tails),
        cmocka_unit_test(test_very_many),
        cmocka_unit_test(test_went_ahead),
        cmocka_unit_test(test_no_rank_waits),
        cmocka_unit_test(test_nonsense),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
