/*
 * test_hop_search.c - the messages of a reduction in which a fault explains a wrong element are
 * found, all of them and no others.
 * tier: check; load: cpu1
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "run/check/check.h"
#include "run/results/internal.h"
#include "collective/schedule/schedule.h"
#include "dataplane/memory/memory.h"

#define RANKS 6
#define MANY  64 /* the most that a search takes */
#define AT    37 /* the element */
#define OTHER 38 /* another one */

#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
#define STACK ((size_t)1 << 20)
#else
#define STACK ((size_t)32 << 10) /* a quarter of STACK_LEAST of cli/main.c */
#endif

struct bench {
    struct choice choice;
    struct problem problem;
    struct inputs inputs;
    struct finding finding;
    enum hop_evidence evidence[MANY];
    const struct tick *tick;
};

static uint32_t value_at(const struct bench *bench, int rank, uint64_t at)
{
    uint32_t value;
    inputs_make(&bench->inputs, rank, at, 1, &value);
    return value;
}

static uint32_t value_of(const struct bench *bench, int rank)
{
    return value_at(bench, rank, AT);
}

/* What ranks [first, last] have together. */
static uint32_t sum_of(const struct bench *bench, int first, int last)
{
    uint32_t sum = 0;
    for (int rank = first; rank <= last; rank++)
        sum += value_of(bench, rank);
    return sum;
}

static void bench_open_for(struct bench *bench, int ranks, enum collective_id collective,
                           const char *algorithm)
{
    *bench = (struct bench){
        .choice = choice_of(algorithm_find(collective, algorithm)),
        .problem = {.collective = collective_of(collective), .ranks = ranks, .count = 100},
        .inputs = {.datatype = datatype_find("uint32"),
                   .reduction = reduction_find("sum"),
                   .ranks = ranks,
                   .seed = 7,
                   .iteration = 3},
        .finding = {.first = {.at = AT, .source = EVERY_RANK}},
    };
    uint32_t sum = sum_of(bench, 0, ranks - 1);
    memcpy(bench->finding.first.expected, &sum, sizeof sum);
}

static void bench_open(struct bench *bench, enum collective_id collective, const char *algorithm)
{
    bench_open_for(bench, RANKS, collective, algorithm);
}

static struct hop_answer bench_ask(struct bench *bench, enum hop_fault fault, uint32_t got)
{
    memcpy(bench->finding.first.got, &got, sizeof got);
    return hop_search(&(struct hop_question){.choice = &bench->choice,
                                             .problem = &bench->problem,
                                             .channels = 1,
                                             .inputs = &bench->inputs,
                                             .finding = &bench->finding,
                                             .fault = fault,
                                             .evidence = bench->evidence,
                                             .tick = bench->tick});
}

/* A contiguous span may be longer than the stride that it was cut from (reduce_scatterv knomial). */
static void test_long_run(void **state)
{
    (void)state;
    const struct schedule schedule = {.storage = {0}};
    struct span span = {.offset = 3, .run = 10, .stride = 4, .times = 1};
    const struct message message = {.spans = &span, .count = 1};
    assert_int_equal(message_find(&schedule, message, 0, 10), 7);
    assert_int_equal(message_find(&schedule, message, 0, 12), 9);
    assert_true(message_find(&schedule, message, 0, 13) == SIZE_MAX);
    span = (struct span){.offset = 3, .run = 2, .stride = 4, .times = 2};
    assert_int_equal(message_find(&schedule, message, 0, 8), 3);
    assert_true(message_find(&schedule, message, 0, 6) == SIZE_MAX);
}

/* In a chain rank r sends the sum of ranks r .. RANKS - 1 to rank r - 1. */
static void test_chain(void **state)
{
    (void)state;
    struct bench bench;
    bench_open(&bench, COLLECTIVE_REDUCE, "chain");
    bench.evidence[0] = EVIDENCE_WRONG;
    for (int sender = 1; sender < RANKS; sender++) {
        for (int bit = 0; bit < 32; bit++) {
            uint32_t flip = (uint32_t)1 << bit;
            uint32_t got =
                sum_of(&bench, 0, sender - 1) + (sum_of(&bench, sender, RANKS - 1) ^ flip);
            struct hop_answer answer = bench_ask(&bench, HOP_FLIPPED, got);
            int expected = 0;
            for (int other = 1; other < RANKS; other++) {
                bool explains =
                    sum_of(&bench, 0, other - 1) + (sum_of(&bench, other, RANKS - 1) ^ flip) == got;
                bool found = false;
                for (int i = 0; i < answer.count; i++)
                    found |= answer.hops[i].from == other && answer.hops[i].to == other - 1 &&
                             answer.hops[i].bit == bit;
                assert_int_equal(found, explains);
                expected += explains;
            }
            assert_int_equal(answer.count, expected);
        }
    }
    assert_int_equal(bench_ask(&bench, HOP_FLIPPED, sum_of(&bench, 0, RANKS - 1) + 5).count, 0);
}

/* In a mesh every rank gets each contribution by itself: only one message explains one rank. */
static void test_evidence(void **state)
{
    (void)state;
    struct bench bench;
    bench_open(&bench, COLLECTIVE_ALLREDUCE, "oneshot");
    for (int rank = 0; rank < RANKS; rank++)
        bench.evidence[rank] = rank == 4 ? EVIDENCE_WRONG : EVIDENCE_RIGHT;
    uint32_t others = sum_of(&bench, 0, RANKS - 1) - value_of(&bench, 1);
    struct hop_answer answer =
        bench_ask(&bench, HOP_FLIPPED, others + (value_of(&bench, 1) ^ 1u << 9));
    bool found = false;
    for (int i = 0; i < answer.count; i++) {
        assert_int_equal(answer.hops[i].to, 4);
        found |= answer.hops[i].from == 1 && answer.hops[i].bit == 9;
    }
    assert_true(found);
    /* No message of it would change two ranks. */
    bench.evidence[2] = EVIDENCE_WRONG;
    assert_int_equal(bench_ask(&bench, HOP_FLIPPED, others + (value_of(&bench, 1) ^ 1u << 9)).count,
                     0);
}

/* What a rank combines in its own memory is no message. */
static void test_memory(void **state)
{
    (void)state;
    struct bench bench;
    bench_open(&bench, COLLECTIVE_REDUCE, "linear");
    bench.evidence[0] = EVIDENCE_WRONG;
    uint32_t partial = 0, got = 0;
    struct hop_answer answer = {.count = 0};
    for (int bit = 0; bit < 32 && answer.count == 0; bit++) {
        partial = value_of(&bench, 0) + value_of(&bench, 1) + value_of(&bench, 2);
        got = (partial ^ 1u << bit) + sum_of(&bench, 3, RANKS - 1);
        bool is_message = false;
        for (int rank = 1; rank < RANKS; rank++)
            is_message |= sum_of(&bench, 0, RANKS - 1) - value_of(&bench, rank) +
                              (value_of(&bench, rank) ^ 1u << bit) ==
                          got;
        if (!is_message)
            answer = bench_ask(&bench, HOP_FLIPPED, got);
    }
    assert_true(answer.count > 0);
    assert_int_equal(answer.hops[0].from, HOP_LOCAL);
    assert_int_equal(answer.hops[0].to, 0);
}

static void expect_lost(struct bench *bench, uint32_t got, int from, int to)
{
    struct hop_answer answer = bench_ask(bench, HOP_LOST, got);
    assert_int_equal(answer.count, 1);
    assert_int_equal(answer.hops[0].from, from);
    assert_int_equal(answer.hops[0].to, to);
}

/* A message that is combined as it arrives is missing; another leaves poison. */
static void test_lost(void **state)
{
    (void)state;
    struct bench bench;
    bench_open(&bench, COLLECTIVE_REDUCE, "chain");
    bench.evidence[0] = EVIDENCE_WRONG;
    for (int sender = 1; sender < RANKS - 1; sender++)
        expect_lost(&bench, sum_of(&bench, 0, sender - 1), sender, sender - 1);
    bench_open(&bench, COLLECTIVE_ALLREDUCE, "oneshot");
    for (int rank = 0; rank < RANKS; rank++)
        bench.evidence[rank] = rank == 4 ? EVIDENCE_WRONG : EVIDENCE_RIGHT;
    uint32_t others = sum_of(&bench, 0, RANKS - 1) - value_of(&bench, 1), poison;
    memset(&poison, PATTERN_POISON, sizeof poison);
    struct hop_answer lost = bench_ask(&bench, HOP_LOST, others);
    struct hop_answer poisoned = bench_ask(&bench, HOP_LOST, others + poison);
    assert_int_equal(lost.count + poisoned.count, 1);
    assert_int_equal((lost.count ? lost : poisoned).hops[0].from, 1);
}

/* Of many messages that explain one element, those are left that explain another, too: all of them,
 * though an answer holds fewer than explain the first. */
static void test_elements(void **state)
{
    (void)state;
    struct bench bench;
    const uint32_t flip = 1u << 20;
    uint32_t sum = 0, got;
    int first = 0, both = 0;
    bench_open_for(&bench, MANY, COLLECTIVE_ALLREDUCE, "oneshot");
    bench.evidence[0] = EVIDENCE_WRONG;
    for (int rank = 0; rank < MANY; rank++) {
        bool rises = !(value_of(&bench, rank) & flip), falls = value_at(&bench, rank, OTHER) & flip;
        first += rank > 0 && rises;
        both += rank > 0 && rises && falls;
        sum += value_at(&bench, rank, OTHER);
    }
    assert_true(first > HOPS_MOST);
    assert_true(both > 0);
    got = sum - flip;
    struct wrong_element *second = &bench.finding.elements[0];
    *second = (struct wrong_element){.at = OTHER, .source = EVERY_RANK};
    memcpy(second->expected, &sum, sizeof sum);
    memcpy(second->got, &got, sizeof got);
    bench.finding.unexplained = 1;
    struct hop_answer answer = bench_ask(&bench, HOP_FLIPPED, sum_of(&bench, 0, MANY - 1) + flip);
    assert_int_equal(answer.count, both);
}

static void *search_deeply(void *argument)
{
    struct bench *bench = argument;
    uint32_t got = sum_of(bench, 0, MANY - 1);
    assert_int_equal(bench_ask(bench, HOP_FLIPPED, got ^ 1u << 30).count > 0, true);
    return NULL;
}

/* A ring leads through all ranks twice, and a rank that is a thread may have a small stack. */
static void test_small_stack(void **state)
{
    (void)state;
    struct bench bench;
    pthread_attr_t attributes;
    pthread_t thread;
    bench_open_for(&bench, MANY, COLLECTIVE_ALLREDUCE, "ring");
    bench.evidence[0] = EVIDENCE_WRONG;
    assert_int_equal(pthread_attr_init(&attributes), 0);
    assert_int_equal(pthread_attr_setstacksize(&attributes, STACK), 0);
    assert_int_equal(pthread_create(&thread, &attributes, search_deeply, &bench), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    pthread_attr_destroy(&attributes);
}

static enum tick_answer tick_count(void *argument, int peer)
{
    assert_int_equal(peer, TICK_WORKED);
    ++*(int *)argument;
    return TICK_GO_ON;
}

/* A long search says that its rank is alive. */
static void test_tick(void **state)
{
    (void)state;
    struct bench bench;
    int ticks = 0;
    const struct tick tick = {.call = tick_count, .argument = &ticks};
    bench_open_for(&bench, MANY, COLLECTIVE_ALLREDUCE, "ring");
    bench.evidence[0] = EVIDENCE_WRONG;
    bench.tick = &tick;
    bench_ask(&bench, HOP_FLIPPED, sum_of(&bench, 0, MANY - 1) + 5);
    assert_true(ticks > MANY + 5);
}

static enum tick_answer tick_end(void *argument, int peer)
{
    (void)peer;
    return ++*(int *)argument > MANY ? TICK_ENDED : TICK_GO_ON; /* the schedules are made */
}

/* With the job the search ends, and knows nothing. */
static void test_ended(void **state)
{
    (void)state;
    struct bench bench;
    int ticks = 0;
    const struct tick tick = {.call = tick_end, .argument = &ticks};
    bench_open_for(&bench, MANY, COLLECTIVE_ALLREDUCE, "ring");
    bench.evidence[0] = EVIDENCE_WRONG;
    bench.tick = &tick;
    uint32_t got = sum_of(&bench, 0, MANY - 1) ^ 1u << 30;
    assert_int_equal(bench_ask(&bench, HOP_FLIPPED, got).count, 0);
    assert_int_equal(ticks, MANY + 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_long_run),    cmocka_unit_test(test_chain),
        cmocka_unit_test(test_evidence),    cmocka_unit_test(test_memory),
        cmocka_unit_test(test_lost),        cmocka_unit_test(test_elements),
        cmocka_unit_test(test_small_stack), cmocka_unit_test(test_tick),
        cmocka_unit_test(test_ended),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
