/*
 * situations.h - what the tests of verdicts make up: ranks, what each waits for, what each said.
 */
#ifndef CCTEST_TEST_SITUATIONS_H
#define CCTEST_TEST_SITUATIONS_H

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "collective/schedule/schedule.h"
#include "controlplane/verdict/verdict.h"

#define RANKS_MOST 65536
#define MANY       40 /* more than there are lines for */

static struct member members[RANKS_MOST];
static struct standing standings[RANKS_MOST];
static struct cause causes[MANY];
static struct verdict verdict;
static const char *const algorithm_texts[] = {"alltoall pairwise"};

static struct situation situation;

static inline void begin(int ranks)
{
    memset(standings, 0, (size_t)ranks * sizeof *standings);
    memset(causes, 0, sizeof causes);
    for (int rank = 0; rank < ranks; rank++) {
        members[rank] = (struct member){.rank = rank, .pid = 100 + rank};
        snprintf(members[rank].host, sizeof members[rank].host, "host%d", rank / 4);
        standings[rank].silent = 0.2;
        standings[rank].snapshot = (struct progress_snapshot){
            .phase = PHASE_TIME, .bytes = 65536, .iteration = 7, .operation = -1, .peer = -1};
    }
    situation = (struct situation){.ranks = ranks,
                                   .members = members,
                                   .standings = standings,
                                   .causes = causes,
                                   .stalled = 10,
                                   .heartbeat = 0.5,
                                   .algorithms = algorithm_texts,
                                   .algorithm_count = 1};
}

static inline void waits(int rank, enum operation_kind kind, int peer)
{
    struct progress_snapshot *snapshot = &standings[rank].snapshot;
    snapshot->operation = 3;
    snapshot->kind = kind;
    snapshot->peer = peer;
    snapshot->length = 16384;
    snapshot->done = 4096;
    snapshot->step = 2;
}

/* The rank has a cause of its own: no other rank is the reason. */
static inline void cause(enum cause_kind kind, int rank, enum status status, const char *message)
{
    struct cause *new = &causes[situation.cause_count++];
    *new = (struct cause){.kind = kind, .rank = rank};
    failure_set(&new->failure, status, "%s", message);
}

/* The rank fails because of `peer`. */
static inline void fails(int rank, enum failure_reason reason, int peer, const char *message)
{
    struct cause *new = &causes[situation.cause_count++];
    *new = (struct cause){.kind = CAUSE_FAILED, .rank = rank};
    failure_set_peer(&new->failure, reason, peer, "%s", message);
}

static inline void reach(enum status status, int rank)
{
    verdict_reach(&situation, &verdict);
    assert_int_equal(status, verdict.status);
    assert_true(verdict.error_count > 0);
    assert_int_equal(rank, verdict.errors[0].rank);
}

static inline void says(const char *words)
{
    if (!strstr(verdict.headline, words))
        fail_msg("'%s' does not say '%s'", verdict.headline, words);
}

#endif
