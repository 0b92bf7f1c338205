/*
 * test_places.c - a value is altered in a place, and the place is among those that are named; and
 * no place is named that would not have left what the ranks have.
 *
 * The faults are made here by plain interpreters of the schedules, which know nothing of graphs.
 * tier: check; load: cpu1
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/numbers.h"
#include "collective/schedule/schedule.h"
#include "run/check/check.h"
#include "run/results/internal.h"
#include "tests/unit/problems.h"
#include "tests/unit/stage.h"

#define COUNT 61                                      /* elements of a block */
#define STACK ((size_t)(SANITIZED ? 1024 : 32) << 10) /* a quarter of STACK_LEAST of cli/main.c */

/* ---- A collective with an algorithm, and a search in it. ---- */

struct bench {
    struct choice choice;
    struct problem problem;
    struct inputs inputs;
    struct element_graph *graph;
    struct stage *stage;
    struct evidence_log logs[MANY];
};

/* False: the algorithm does not serve so many ranks. */
static bool bench_open(struct bench *bench, int ranks, const struct collective *collective,
                       const struct algorithm *algorithm, const char *type, const char *operator,
                       const struct tick * tick)
{
    *bench = (struct bench){
        .choice = choice_of(algorithm),
        .problem = {.collective = collective, .ranks = ranks, .count = COUNT},
        .inputs = {.datatype = datatype_find(type),
                   .reduction = collective->reduces ? reduction_find(operator) : NULL,
                   .ranks = ranks,
                   .seed = 7,
                   .iteration = 3},
    };
    bench->problem.finishes = bench->inputs.reduction && bench->inputs.reduction->finishes;
    if (!choice_serves(&bench->choice, &bench->problem))
        return false;
    bench->graph = element_graph_open(&bench->choice, &bench->problem, 1, &bench->inputs, tick);
    assert_non_null(bench->graph);
    bench->stage = calloc(1, sizeof *bench->stage);
    bench->stage->problem = &bench->problem;
    bench->stage->size = bench->inputs.datatype->size;
    for (int r = 0; r < ranks; r++)
        assert_int_equal(schedule_build(&bench->choice, &bench->problem, r, 1, true,
                                        &bench->stage->schedules[r]),
                         STATUS_OK);
    return true;
}

static void bench_open_for(struct bench *bench, int ranks, enum collective_id collective,
                           const char *algorithm, const struct tick *tick)
{
    assert_true(bench_open(bench, ranks, collective_of(collective),
                           algorithm_find(collective, algorithm), "uint32", "sum", tick));
}

static void bench_close(struct bench *bench)
{
    element_graph_close(bench->graph);
    for (int r = 0; r < bench->problem.ranks; r++)
        schedule_free(bench->stage->schedules[r]);
    free(bench->stage);
}

/* Runs an iteration with the fault. */
static void bench_run(struct bench *bench, struct blow *blow)
{
    blow->from = -1;
    stage_run(bench->stage, &bench->inputs, blow, bench->logs);
    bench->inputs.iteration++;
}

static struct place_list bench_ask(struct bench *bench, bool lost)
{
    const struct evidence_log *logs[MANY];
    int ranks[MANY];
    for (int r = 0; r < bench->problem.ranks; r++) {
        logs[r] = &bench->logs[r];
        ranks[r] = r;
    }
    return logs_places(bench->graph, logs, ranks, bench->problem.ranks, NULL, lost);
}

static bool bench_is_wrong(const struct bench *bench)
{
    bool wrong = false;
    for (int r = 0; r < bench->problem.ranks; r++)
        wrong |= bench->logs[r].iterations > 0;
    return wrong;
}

static const struct place *place_find(const struct place_list *places, int rank, int from)
{
    for (int i = 0; i < places->count && i < PLACES_MOST; i++)
        if (places->of[i].rank == rank && places->of[i].from == from)
            return &places->of[i];
    return NULL;
}

/* ---- The place is always among those that are named. ---- */

static uint64_t draws = 11;

static int draw(int bound)
{
    return (int)random_below(&draws, (uint64_t)bound);
}

static bool rank_is_named(const struct place_list *places, int rank)
{
    bool named = places->count > PLACES_MOST;
    for (int i = 0; i < places->count && i < PLACES_MOST; i++)
        named |= places->of[i].rank == rank || places->of[i].from == rank;
    return named;
}

/* One value is altered: by a flipped bit, or by several of a byte. */
static void expect_named(struct bench *bench, enum blow_kind kind, int *struck)
{
    struct blow blow = {.kind = kind,
                        .rank = draw(bench->problem.ranks),
                        .number = draw(4),
                        .position = (size_t)draw(1000),
                        .byte = draw(8),
                        .change = (unsigned char)(draw(2) ? 1 << draw(8) : 1 + draw(255))};
    bool flips = (blow.change & (blow.change - 1)) == 0;
    memset(bench->logs, 0, sizeof bench->logs);
    bench_run(bench, &blow);
    if (!bench_is_wrong(bench))
        return;
    struct place_list places = bench_ask(bench, false);
    const struct place *place = place_find(&places, blow.rank, blow.from);
    bool right = kind == BLOW_MEMORY
                     ? rank_is_named(&places, blow.rank)
                     : places.count > PLACES_MOST || (place && place->flips >= flips);
    if (!places.searched || !right)
        fail_msg("%s %s, %d ranks, %s: %s %d of rank %d from %d: not among %d places",
                 bench->problem.collective->name, bench->choice.algorithm->name,
                 bench->problem.ranks, bench->inputs.datatype->name,
                 kind == BLOW_MESSAGE ? "message"
                 : kind == BLOW_WORK  ? "work"
                                      : "memory",
                 blow.number, blow.rank, blow.from, places.count);
    ++*struck;
}

static void expect_all_named(const struct collective *collective, const struct algorithm *algorithm,
                             int ranks, int *struck)
{
    static const char *const types[] = {"uint32", "float", "int64", "bfloat16", "int8", "double"};
    static const char *const operators[] = {"sum", "sum", "max", "avg", "prod", "sum"};
    struct bench bench;
    for (int i = 0; i < 2; i++) {
        int kind = draw(6);
        if (!bench_open(&bench, ranks, collective, algorithm, types[kind], operators[kind], NULL))
            return;
        for (int k = 0; k < (SANITIZED ? 1 : 2); k++) {
            for (int blow = BLOW_MESSAGE; blow <= BLOW_MEMORY; blow++)
                expect_named(&bench, (enum blow_kind)blow, struck);
        }
        bench_close(&bench);
    }
}

static void test_named(void **state)
{
    (void)state;
    int struck = 0;
    for (int c = 0; collectives[c]; c++)
        for (int a = 0; algorithms[a]; a++) {
            if (!algorithm_serves(algorithms[a], collectives[c]->id) || algorithms[a]->vendor ||
                algorithms[a]->grouped || !collectives[c]->sized || collectives[c]->counted ||
                algorithms[a]->partner)
                continue;
            for (int ranks = 2; ranks <= 9; ranks++)
                expect_all_named(collectives[c], algorithms[a], ranks, &struck);
        }
    print_message("%d faults were traced\n", struck);
    assert_true(struck > 500);
}

/* ---- No place is named that does not explain it. ---- */

static uint32_t value_of(const struct bench *bench, int rank, uint64_t at)
{
    uint32_t value;
    inputs_make(&bench->inputs, rank, at, 1, &value);
    return value;
}

/* The share that ranks [first, last] have together. */
static uint32_t sum_of(const struct bench *bench, int first, int last, uint64_t at)
{
    uint32_t sum = 0;
    for (int rank = first; rank <= last; rank++)
        sum += value_of(bench, rank, at);
    return sum;
}

/* The evidence of one rank, as if it had found this. */
static void bench_claim(struct bench *bench, int rank, uint64_t at, uint32_t got)
{
    struct iteration_evidence evidence = {
        .iteration = bench->inputs.iteration, .complete = true, .count = 1};
    struct wrong_element *element = &evidence.of[0];
    uint32_t sum = sum_of(bench, 0, bench->problem.ranks - 1, at);
    *element = (struct wrong_element){.at = at, .source = EVERY_RANK};
    memcpy(element->expected, &sum, sizeof sum);
    memcpy(element->got, &got, sizeof got);
    evidence_log_add(&bench->logs[rank], &evidence);
}

/* Does a flip of some bit of `value` change it by this? */
static bool flips_by(uint32_t value, uint32_t change)
{
    bool flips = false;
    for (int bit = 0; bit < 32; bit++)
        flips |= (value ^ 1u << bit) - value == change;
    return flips;
}

/* In a chain rank r sends the sum of ranks r .. p - 1 to rank r - 1, which adds its own. */
static void test_chain(void **state)
{
    (void)state;
    const int ranks = 6, at = 37;
    struct bench bench;
    bench_open_for(&bench, ranks, COLLECTIVE_REDUCE, "chain", NULL);
    for (int bit = 0; bit < 32; bit++) {
        uint32_t change = 1u << bit;
        memset(bench.logs, 0, sizeof bench.logs);
        bench_claim(&bench, 0, (uint64_t)at, sum_of(&bench, 0, ranks - 1, (uint64_t)at) + change);
        struct place_list places = bench_ask(&bench, false);
        int expected = 0;
        for (int rank = 0; rank < ranks; rank++) {
            uint32_t made = sum_of(&bench, rank, ranks - 1, (uint64_t)at);
            uint32_t own = value_of(&bench, rank, (uint64_t)at);
            const struct place *message = place_find(&places, rank - 1, rank);
            const struct place *work = place_find(&places, rank, rank);
            bool sends = rank > 0 && flips_by(made, change);
            bool works = rank < ranks - 1 && (flips_by(made, change) || flips_by(own, change));
            assert_int_equal(message && message->flips, sends);
            assert_int_equal(work && work->flips, works);
            expected += sends + works;
        }
        assert_int_equal(places.flipping, expected);
        assert_true(places.count >= expected);
    }
    bench_close(&bench);
}

/* A right result is evidence: in a mesh only messages to the rank that is wrong explain it. */
static void test_right_ranks(void **state)
{
    (void)state;
    struct bench bench;
    bench_open_for(&bench, 6, COLLECTIVE_ALLREDUCE, "oneshot", NULL);
    bench_claim(&bench, 4, 9, sum_of(&bench, 0, 5, 9) + (1 << 20));
    struct place_list places = bench_ask(&bench, false);
    assert_true(places.count > 0);
    for (int i = 0; i < places.count; i++)
        assert_int_equal(places.of[i].rank, 4);
    /* No place would change two ranks. */
    bench_claim(&bench, 2, 9, sum_of(&bench, 0, 5, 9) + (1 << 20));
    places = bench_ask(&bench, false);
    assert_true(places.searched);
    assert_int_equal(places.count, 0);
    assert_int_equal(places.explained, 0);
    /* A link may alter an element twice, which is no evidence against it in another iteration. */
    bench.inputs.iteration++;
    bench_claim(&bench, 4, 9, sum_of(&bench, 0, 5, 9) + (1 << 20));
    places = bench_ask(&bench, false);
    assert_true(places.count > 0);
    assert_int_equal(places.elements, 2);
    assert_int_equal(places.explained, 1);
    bench_close(&bench);
}

/* A bad link alters other elements in each iteration: soon it alone is left, and the memory of its
 * ends. */
static void test_iterations(void **state)
{
    (void)state;
    struct bench bench;
    int before = PLACES_MOST;
    bench_open_for(&bench, 7, COLLECTIVE_ALLREDUCE, "ring", NULL);
    for (int k = 0; k < EVIDENCE_ITERATIONS; k++) {
        struct blow blow = {.rank = 3,
                            .number = 3 * k, /* of 12: both halves of the ring */
                            .position = (size_t)(5 * k + 1),
                            .byte = 2,
                            .change = 4};
        bench_run(&bench, &blow);
        assert_int_equal(blow.from, 2);
        struct place_list places = bench_ask(&bench, false);
        assert_true(places.count <= before);
        assert_non_null(place_find(&places, 3, 2));
        before = places.count;
    }
    assert_int_equal(before, 1);
    bench_close(&bench);
}

/* Two links, each in an iteration of its own: no place explains both. */
static void test_two_faults(void **state)
{
    (void)state;
    struct bench bench;
    bench_open_for(&bench, 6, COLLECTIVE_ALLGATHER, "ring", NULL);
    for (int rank = 2; rank < 6; rank += 2) {
        struct blow blow = {.rank = rank, .change = 4};
        bench_run(&bench, &blow);
        struct place_list places = bench_ask(&bench, false);
        assert_int_equal(places.explained, rank / 2);
        assert_int_equal(places.count, rank == 2);
    }
    bench_close(&bench);
}

/* One element of four fits a place by chance: that place is not the fault. */
static void test_one_element_that_fits(void **state)
{
    (void)state;
    struct bench bench;
    bench_open_for(&bench, 6, COLLECTIVE_ALLREDUCE, "ring", NULL);
    for (int fits = 1; fits <= 2; fits++) {
        memset(bench.logs, 0, sizeof bench.logs);
        for (int i = 0; i < 4; i++) {
            bench.inputs.iteration++;
            bench_claim(&bench, 4, 9, sum_of(&bench, 0, 5, 9) + (1 << 20));
            if (i >= fits) /* no place changes two ranks alone */
                bench_claim(&bench, 2, 9, sum_of(&bench, 0, 5, 9) + (1 << 20));
        }
        struct place_list places = bench_ask(&bench, false);
        assert_int_equal(places.elements, 4);
        assert_int_equal(places.explained, fits);
        assert_true(places.count > 0);
        assert_int_equal(places_hold(&places), fits == 2);
    }
    bench_close(&bench);
}

/* Memory of a rank of a tree, which changes when it has been sent to one child of three. */
static void test_memory(void **state)
{
    (void)state;
    struct bench bench;
    bench_open_for(&bench, 9, COLLECTIVE_BROADCAST, "binomial", NULL);
    int held = 0;
    for (int rank = 1; rank < 9; rank++)
        for (int number = 1; number < 4; number++) {
            struct blow blow = {.kind = BLOW_MEMORY,
                                .rank = rank,
                                .number = number,
                                .position = BUFFER_DESTINATION,
                                .change = 2};
            memset(bench.logs, 0, sizeof bench.logs);
            bench_run(&bench, &blow);
            struct place_list places = bench_ask(&bench, false);
            if (!bench_is_wrong(&bench))
                continue;
            assert_true(rank_is_named(&places, rank));
            assert_int_equal(places.count, 1);
            held += places.of[0].kind == PLACE_RANK && places.of[0].work == WORK_HOLD;
        }
    assert_true(held > 0);
    bench_close(&bench);
}

/* A place where one bit flips in one iteration, and several in another, is not one of flipped bits.
 */
static void test_several_bits(void **state)
{
    (void)state;
    struct bench bench;
    bench_open_for(&bench, 4, COLLECTIVE_BROADCAST, "chain", NULL);
    for (int k = 0; k < 2; k++) {
        struct blow blow = {.rank = 2, .change = k ? 0x41 : 0x40};
        bench_run(&bench, &blow);
        struct place_list places = bench_ask(&bench, false);
        assert_int_equal(places.count, 1);
        assert_int_equal(places.flipping, k == 0);
        assert_int_equal(places.of[0].flips, k == 0);
    }
    bench_close(&bench);
}

/* Its own links, one after the other: the rank has a part in all, and no link or work explains
 * them. */
static void test_shared_rank(void **state)
{
    (void)state;
    struct bench bench;
    bench_open_for(&bench, 5, COLLECTIVE_ALLGATHER, "mesh", NULL);
    for (int number = 0; number < 3; number++) {
        struct blow blow = {.rank = 2, .number = number, .byte = 1, .change = 0x11};
        bench_run(&bench, &blow);
    }
    struct place_list places = bench_ask(&bench, false);
    assert_int_equal(places.count, 1);
    assert_int_equal(places.of[0].kind, PLACE_RANK);
    assert_int_equal(places.of[0].work, WORK_SHARE);
    assert_int_equal(places.of[0].rank, 2);
    bench_close(&bench);
}

static void test_lost(void **state)
{
    (void)state;
    struct bench bench;
    for (int rank = 0; rank < 5; rank++) {
        bench_open_for(&bench, 6, COLLECTIVE_REDUCE, "chain", NULL);
        struct blow blow = {.rank = rank};
        bench_run(&bench, &blow);
        struct place_list places = bench_ask(&bench, true);
        assert_int_equal(places.count, 1);
        assert_int_equal(places.of[0].kind, PLACE_MESSAGE);
        assert_int_equal(places.of[0].rank, rank);
        assert_int_equal(places.of[0].from, rank + 1);
        bench_close(&bench);
    }
}

/* A source changes before its rank and the others read it. In place no source is left that could
 * tell whose. */
static void test_source(void **state)
{
    (void)state;
    struct bench bench;
    bench_open_for(&bench, 4, COLLECTIVE_ALLREDUCE, "oneshot", NULL);
    uint32_t sum = sum_of(&bench, 0, 3, 5), own = value_of(&bench, 1, 5);
    for (int rank = 0; rank < 4; rank++)
        bench_claim(&bench, rank, 5, sum - own + (own ^ 0x700));
    assert_int_equal(bench_ask(&bench, false).count, 0);
    bench.logs[1].source_changed = true;
    struct place_list places = bench_ask(&bench, false);
    assert_int_equal(places.count, 1);
    assert_int_equal(places.of[0].work, WORK_CONTRIBUTE);
    assert_int_equal(places.of[0].rank, 1);
    bench.logs[1].source_changed = false;
    bench.graph->problem.in_place = true;
    places = bench_ask(&bench, false);
    assert_int_equal(places.count, 4);
    for (int i = 0; i < 4; i++)
        assert_int_equal(places.of[i].work, WORK_CONTRIBUTE);
    bench_close(&bench);
}

/* ---- What a rank says that it has. ---- */

static void test_evidence(void **state)
{
    (void)state;
    const struct pattern pattern = {
        .problem = {.collective = collective_of(COLLECTIVE_BROADCAST), .ranks = 2, .count = 1000},
        .inputs = {.datatype = datatype_find("uint32"), .ranks = 2, .seed = 1}};
    const struct memory memory = {.kind = &memory_host};
    const struct wrong_element *element;
    for (int wrong = 1; wrong <= 600; wrong += wrong < 12 ? 1 : 98) {
        uint32_t values[1000];
        struct finding finding;
        struct evidence_log log = {.iterations = 0};
        int silent = 0, told = 0;
        pattern_expect(&pattern, 1, 0, 1000, values);
        for (int i = 0; i < wrong; i++)
            values[(7 * i + 3) % 1000] ^= 1u << i % 32;
        assert_int_equal(check_result(&memory, &pattern, 1, values, &finding), STATUS_OK);
        evidence_log_add(&log, &finding.evidence);
        for (uint64_t at = 0; at < 1000; at++) {
            bool is_wrong = false;
            for (int i = 0; i < wrong; i++)
                is_wrong |= (uint64_t)(7 * i + 3) % 1000 == at;
            enum evidence_answer answer = evidence_log_ask(&log, 0, at, &element);
            silent += answer == EVIDENCE_SILENT;
            told += answer == EVIDENCE_WRONG;
            assert_true(answer == EVIDENCE_SILENT || (answer == EVIDENCE_WRONG) == is_wrong);
            if (answer == EVIDENCE_WRONG)
                assert_memory_equal(element->got, &values[at], sizeof values[at]);
            assert_int_equal(evidence_log_ask(&log, 1, at, &element), EVIDENCE_RIGHT);
        }
        assert_int_equal(told, wrong < EVIDENCE_MOST ? wrong : EVIDENCE_MOST);
        assert_int_equal(silent > 0, wrong > EVIDENCE_MOST);
    }
}

/* Iterations behind those that are kept may be wrong, too. */
static void test_later_iterations(void **state)
{
    (void)state;
    struct evidence_log log = {.iterations = 0}, read;
    struct bytes bytes = {0};
    const struct wrong_element *element;
    for (uint64_t i = 1; i <= EVIDENCE_ITERATIONS + 1; i++)
        evidence_log_add(&log, &(struct iteration_evidence){.iteration = 2 * i, .complete = true});
    evidence_log_code(codec_to(&bytes), 4, &log);
    struct reader reader = {.at = bytes.data, .left = bytes.size};
    evidence_log_code(codec_from(&reader), 4, &read);
    assert_false(reader.bad);
    assert_int_equal(reader.left, 0);
    assert_int_equal(evidence_log_ask(&read, 3, 0, &element), EVIDENCE_RIGHT);
    assert_int_equal(evidence_log_ask(&read, 2 * EVIDENCE_ITERATIONS, 0, &element), EVIDENCE_RIGHT);
    assert_int_equal(evidence_log_ask(&read, 2 * EVIDENCE_ITERATIONS + 1, 0, &element),
                     EVIDENCE_SILENT);
    bytes_free(&bytes);
}

/* ---- Its cost is bounded. ---- */

static enum tick_answer tick_count(void *argument, int peer)
{
    assert_int_equal(peer, TICK_WORKED);
    ++*(int *)argument;
    return TICK_GO_ON;
}

/* A long search says that its rank is alive, and is not long for 64 ranks. */
static void test_tick(void **state)
{
    (void)state;
    static const char *const names[] = {"ring",         "recursive-doubling", "oneshot",
                                        "rabenseifner", "binary-tree",        "swing"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct bench bench;
        int ticks = 0, before, from = -1;
        const struct tick tick = {.call = tick_count, .argument = &ticks};
        bench_open_for(&bench, MANY, COLLECTIVE_ALLREDUCE, names[i], &tick);
        for (int k = 0; k < EVIDENCE_ITERATIONS; k++) {
            struct blow blow = {.rank = 5, .position = (size_t)k, .byte = 2, .change = 6};
            bench_run(&bench, &blow);
            from = blow.from;
        }
        assert_true(bench_is_wrong(&bench));
        before = ticks;
        struct place_list places = bench_ask(&bench, false);
        assert_true(places.searched);
        assert_true(places.count > PLACES_MOST || place_find(&places, 5, from));
        assert_in_range(ticks - before, MANY + 1, MANY + 60);
        bench_close(&bench);
    }
}

/* No change of one byte before the last combination explains these elements, which is known when
 * all have been tried: 5 million values are computed, and no more. What was found before holds. */
static void test_bound(void **state)
{
    (void)state;
    struct bench bench;
    int ticks = 0;
    const struct tick tick = {.call = tick_count, .argument = &ticks};
    assert_true(bench_open(&bench, MANY, collective_of(COLLECTIVE_ALLREDUCE),
                           algorithm_find(COLLECTIVE_ALLREDUCE, "oneshot"), "int64", "sum", &tick));
    for (int k = 0; k < 2; k++, bench.inputs.iteration++) {
        const struct pattern pattern = {.problem = bench.problem, .inputs = bench.inputs};
        struct iteration_evidence evidence = {
            .iteration = bench.inputs.iteration, .complete = true, .count = EVIDENCE_MOST};
        for (int i = 0; i < EVIDENCE_MOST; i++) {
            struct wrong_element *element = &evidence.of[i];
            *element = (struct wrong_element){.at = (uint64_t)i, .source = EVERY_RANK};
            pattern_expect(&pattern, 5, element->at, 1, element->expected);
            memcpy(element->got, element->expected, sizeof element->got);
            element->got[1] ^= 0x11;
            element->got[6] ^= 0x11;
        }
        evidence_log_add(&bench.logs[5], &evidence);
    }
    struct place_list places = bench_ask(&bench, false);
    assert_in_range(places.elements, 1, 2 * EVIDENCE_MOST - 1);
    assert_in_range(ticks - MANY, 60, 80);
    assert_int_equal(places.count, 1);
    assert_int_equal(places.of[0].kind, PLACE_RANK);
    assert_int_equal(places.of[0].rank, 5);
    bench_close(&bench);
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
    bench_open_for(&bench, MANY, COLLECTIVE_ALLREDUCE, "ring", &tick);
    for (int rank = 0; rank < MANY; rank++)
        bench_claim(&bench, rank, 5, sum_of(&bench, 0, MANY - 1, 5) + 3);
    assert_false(bench_ask(&bench, false).searched);
    assert_int_equal(ticks, MANY + 1);
    bench_close(&bench);
}

static void *search_deeply(void *argument)
{
    assert_true(bench_ask(argument, false).searched);
    return NULL;
}

/* A ring leads through all ranks twice, and a rank that is a thread may have a small stack. */
static void test_small_stack(void **state)
{
    (void)state;
    struct bench bench;
    pthread_attr_t attributes;
    pthread_t thread;
    bench_open_for(&bench, MANY, COLLECTIVE_ALLREDUCE, "ring", NULL);
    bench_claim(&bench, 0, 5, sum_of(&bench, 0, MANY - 1, 5) + 4);
    assert_int_equal(pthread_attr_init(&attributes), 0);
    assert_int_equal(pthread_attr_setstacksize(&attributes, STACK), 0);
    assert_int_equal(pthread_create(&thread, &attributes, search_deeply, &bench), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    pthread_attr_destroy(&attributes);
    bench_close(&bench);
}

/* A contiguous span may be longer than the stride that it was cut from (reduce_scatterv knomial).
 */
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_named),       cmocka_unit_test(test_chain),
        cmocka_unit_test(test_right_ranks), cmocka_unit_test(test_iterations),
        cmocka_unit_test(test_shared_rank), cmocka_unit_test(test_several_bits),
        cmocka_unit_test(test_memory),      cmocka_unit_test(test_two_faults),
        cmocka_unit_test(test_lost),        cmocka_unit_test(test_source),
        cmocka_unit_test(test_evidence),    cmocka_unit_test(test_later_iterations),
        cmocka_unit_test(test_tick),        cmocka_unit_test(test_bound),
        cmocka_unit_test(test_ended),       cmocka_unit_test(test_small_stack),
        cmocka_unit_test(test_long_run),    cmocka_unit_test(test_one_element_that_fits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
