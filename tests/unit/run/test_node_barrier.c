/*
 * test_node_barrier.c - the start barrier of one host: one thread that plays all ranks in random
 * order, and real threads.
 * tier: check; load: cpu1; sanitizers: address,undefined thread
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <pthread.h>
#include <sched.h>

#include "run/run.h"

#define RANKS_MOST 17

/* Some ranks and the barrier between them. */
struct ranks {
    int count;
    void *memory;
    struct node_barrier node_barrier[RANKS_MOST];
    long arrived[RANKS_MOST], passed[RANKS_MOST]; /* meetings */
    uint64_t random;
};

/* As if `before` meetings had been: the counters run over one day. */
static void ranks_open(struct ranks *ranks, int count, uint32_t before)
{
    *ranks = (struct ranks){.count = count, .random = (uint64_t)count};
    ranks->memory = aligned_alloc(128, node_barrier_bytes(count));
    assert_non_null(ranks->memory);
    for (size_t at = 0; at < node_barrier_bytes(count); at += sizeof before)
        memcpy((char *)ranks->memory + at, &before, sizeof before);
    for (int r = 0; r < count; r++) {
        node_barrier_open(&ranks->node_barrier[r], ranks->memory, r, count);
        assert_true(node_barrier_passed(&ranks->node_barrier[r])); /* no meeting is under way */
        ranks->node_barrier[r].meeting = before;
    }
}

static int ranks_random(struct ranks *ranks, int bound)
{
    ranks->random = ranks->random * 6364136223846793005u + 1442695040888963407u;
    return (int)((ranks->random >> 33) % (uint64_t)bound);
}

static void rank_arrive(struct ranks *ranks, int rank)
{
    node_barrier_arrive(&ranks->node_barrier[rank]);
    ranks->arrived[rank]++;
}

/* Asks once. A rank that passes must have met all. What ranks write is never taken for garbage. */
static void rank_ask(struct ranks *ranks, int rank)
{
    bool passed = node_barrier_passed(&ranks->node_barrier[rank]);
    assert_true(node_barrier_is_sound(&ranks->node_barrier[rank]));
    if (!passed)
        return;
    ranks->passed[rank] = ranks->arrived[rank];
    for (int r = 0; r < ranks->count; r++)
        if (ranks->arrived[r] < ranks->passed[rank])
            fail_msg("rank %d of %d passed meeting %ld, to which rank %d has not come", rank,
                     ranks->count, ranks->passed[rank], r);
}

/* All ranks that wait go as far as they can. */
static void ranks_ask_all(struct ranks *ranks)
{
    for (int round = 0; round < 2 * RANKS_MOST; round++)
        for (int r = 0; r < ranks->count; r++)
            if (ranks->passed[r] < ranks->arrived[r])
                rank_ask(ranks, r);
}

/* Each arrives and asks in its turn: some are a meeting ahead of ranks that have not asked. */
static void random_turns(uint32_t before)
{
    for (int count = 1; count <= RANKS_MOST; count++) {
        struct ranks ranks;
        int ahead = 0;
        ranks_open(&ranks, count, before);
        for (long turn = 0; turn < 5000; turn++) {
            int rank = ranks_random(&ranks, count);
            if (ranks.passed[rank] < ranks.arrived[rank])
                rank_ask(&ranks, rank);
            else
                rank_arrive(&ranks, rank);
            for (int r = 0; r < count; r++)
                ahead +=
                    ranks.passed[r] < ranks.arrived[r] && ranks.arrived[rank] > ranks.arrived[r];
        }
        ranks_ask_all(&ranks);
        for (int r = 0; r < count; r++)
            assert_true(ranks.passed[r] >= 5);
        assert_true(count == 1 || ahead > 0);
        free(ranks.memory);
    }
}

static void no_rank_passes_before_all_have_come(void **state)
{
    (void)state;
    random_turns(0);
}

static void the_counter_wraps(void **state)
{
    (void)state;
    random_turns(UINT32_MAX - 3);
    random_turns((uint32_t)INT32_MAX - 3);
}

/* A waiting rank names the missing one, or another waiting rank that leads to it: one hop for each
 * power of two in the distance. */
static void named_leads_to(const struct ranks *ranks, int rank, int missing)
{
    int distance = (rank - missing + ranks->count) % ranks->count, named = rank;
    for (int hops = __builtin_popcount((unsigned)distance); hops > 0; hops--) {
        assert_int_not_equal(named, missing);
        named = node_barrier_awaited(&ranks->node_barrier[named]);
    }
    assert_int_equal(named, missing);
}

static void the_missing_rank_is_named(void **state)
{
    (void)state;
    for (int count = 2; count <= RANKS_MOST; count++) {
        struct ranks ranks;
        ranks_open(&ranks, count, 0);
        for (int missing = 0; missing < count; missing++) {
            for (int r = 0; r < count; r++)
                if (r != missing)
                    rank_arrive(&ranks, r);
            ranks_ask_all(&ranks);
            for (int r = 0; r < count; r++) {
                assert_int_equal(ranks.passed[r], missing);
                named_leads_to(&ranks, r, missing);
            }
            rank_arrive(&ranks, missing);
            ranks_ask_all(&ranks);
            for (int r = 0; r < count; r++)
                assert_int_equal(ranks.passed[r], missing + 1);
        }
        free(ranks.memory);
    }
}

/* Threads. What a rank writes without atomics before it arrives, all ranks read after the
 * barrier. No rank writes there again before all have arrived a second time. */

#define MEETINGS 1500

struct slot {
    long value;
    char apart[120];
};

struct party {
    struct ranks ranks;
    struct slot slots[RANKS_MOST][2];
    _Atomic int wrong; /* 1 + the rank that read a wrong value */
};

struct participant {
    struct party *party;
    int rank;
    pthread_t thread;
};

static void *participant_run(void *argument)
{
    struct participant *participant = argument;
    struct party *party = participant->party;
    struct node_barrier *node_barrier = &party->ranks.node_barrier[participant->rank];
    uint64_t random = (uint64_t)participant->rank;
    for (long meeting = 1; meeting <= MEETINGS; meeting++) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        for (uint64_t naps = random >> 33 & 3; naps == 3; naps = 0)
            sched_yield();
        party->slots[participant->rank][meeting % 2].value = meeting;
        node_barrier_arrive(node_barrier);
        while (!node_barrier_passed(node_barrier))
            sched_yield();
        for (int r = 0; r < party->ranks.count; r++)
            if (party->slots[r][meeting % 2].value != meeting)
                party->wrong = 1 + participant->rank;
    }
    return NULL;
}

static void threads_meet(void **state)
{
    (void)state;
    static const int counts[] = {1, 2, 3, 5, 8};
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        struct party party = {.wrong = 0};
        struct participant participants[RANKS_MOST];
        ranks_open(&party.ranks, counts[i], UINT32_MAX - MEETINGS / 2);
        for (int r = 0; r < counts[i]; r++) {
            participants[r] = (struct participant){.party = &party, .rank = r};
            assert_int_equal(
                pthread_create(&participants[r].thread, NULL, participant_run, &participants[r]),
                0);
        }
        for (int r = 0; r < counts[i]; r++)
            pthread_join(participants[r].thread, NULL);
        assert_int_equal(party.wrong, 0);
        free(party.ranks.memory);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_rank_passes_before_all_have_come),
        cmocka_unit_test(the_counter_wraps),
        cmocka_unit_test(the_missing_rank_is_named),
        cmocka_unit_test(threads_meet),
    };
    return cmocka_run_group_tests_name("node_barrier", tests, NULL, NULL);
}
