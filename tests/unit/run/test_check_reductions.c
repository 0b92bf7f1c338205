/*
 * test_check_reductions.c - contributions to a reduction that are missing, doubled or stale must be
 * found, and the ranks named whose they are.
 * tier: check; load: cpu1
 */
#include "tests/unit/problems.h"
#include "tests/unit/spoiled.h"

#include "base/clock.h"
#include "dataplane/memory/memory.h"

struct set_case {
    int ranks;
    uint64_t set;
    const char *text; /* of the set */
};

static const struct set_case set_cases[] = {
    {2, 0x1, "rank 0"},
    {3, 0x4, "rank 2"},
    {8, 0x4, "rank 2"},
    {8, 0x38, "ranks 3..5"},
    {8, 0xc3, "ranks 0, 1, 6, 7"},
    {8, 0xaa, "ranks 1, 3, 5, 7"},
    {8, 0xee, "ranks 1..3, 5..7"},
    {6, 0x13, "ranks 0, 1, 4"},
    {33, 1ull << 32, "rank 32"},
    {33, 0x1fffe, "ranks 1..16"},
    {8, 0xf7, "ranks 0..2, 4..7"},
};

/* `cancels`: the operator cannot tell twice from never. */
static const char *kind_text(enum contribution how, bool one, bool cancels)
{
    if (cancels && how != CONTRIBUTION_STALE)
        return one ? "is missing or doubled" : "are missing or doubled";
    if (how == CONTRIBUTION_MISSING)
        return one ? "is missing" : "are missing";
    if (how == CONTRIBUTION_DOUBLED)
        return one ? "is doubled" : "are doubled";
    return one ? "is of the iteration before (stale)" : "are of the iteration before (stale)";
}

static void reduction_hypothesis(const char *type, const char *operator,
                                 const struct set_case * set, enum contribution how)
{
    struct bench bench;
    bool one = (set->set & (set->set - 1)) == 0;
    char text[120];
    bench_open(&bench, "allreduce", type, operator, set->ranks, 1, 6000);
    assert_int_equal(bench.finding.wrong, 0);
    /* Only a part of the buffer, which begins and ends at odd places. */
    spoil(&bench, 1001, 3998, set->set, how);
    bool cancels = reduction_find(operator)->cancels;
    bool alone = (how == CONTRIBUTION_MISSING || (cancels && how == CONTRIBUTION_DOUBLED)) &&
                 set->set == 0xf7;
    snprintf(text, sizeof text, "of %s %s in elements 10", set->text, kind_text(how, one, cancels));
    expect_hypothesis(&bench, alone ? "the contribution of rank 3 alone" : text);
    assert_non_null(strstr(bench.sentence, "suspect"));
    bench_close(&bench);
}

/* A sanitizer sees a fifth of the cases, others for each type and operator. */
#define CASES_STRIDE (SANITIZED ? 5 : 1)

static void test_reductions(void **state)
{
    (void)state;
    size_t turn = 0;
    for (const struct datatype *const *type = datatypes; *type; type++) {
        for (const struct reduction *const *op = reductions; *op; op++) {
            if (!reduce_kernel(*type, *op))
                continue;
            for (size_t i = turn++ % CASES_STRIDE; i < sizeof set_cases / sizeof *set_cases;
                 i += CASES_STRIDE) {
                for (int how = CONTRIBUTION_MISSING; how <= CONTRIBUTION_STALE; how++) {
                    if (how == CONTRIBUTION_DOUBLED && (*op)->idempotent)
                        continue;
                    reduction_hypothesis((*type)->name, (*op)->name, &set_cases[i],
                                         (enum contribution)how);
                }
            }
        }
    }
}

static void test_whole_results(void **state)
{
    (void)state;
    struct bench bench;
    bench_open(&bench, "allreduce", "float", "sum", 4, 2, 1000);
    spoil(&bench, 0, 1000, 0xf, CONTRIBUTION_STALE);
    expect_hypothesis(
        &bench, "the whole result is that of the iteration before (stale) in elements 0..999: "
                "suspect rank 2, or the links into it");
    spoil(&bench, 0, 1000, 0xf, CONTRIBUTION_DOUBLED);
    expect_hypothesis(&bench, "the contributions of all ranks are doubled in elements 0..999");
    memset(bench.destination, PATTERN_POISON, 4000);
    expect_hypothesis(&bench, "poison stands there: never written");
    assert_non_null(strstr(bench.sentence, ", got poison (0xd5d5d5d5); "));
    bench_close(&bench);

    /* Without an iteration before, nothing is called stale. */
    bench_open(&bench, "allreduce", "float", "sum", 4, 2, 1000);
    bench.pattern.inputs.iteration = 0;
    pattern_expect(&bench.pattern, 2, 0, 1000, bench.right);
    memcpy(bench.destination, bench.right, 4000);
    spoil(&bench, 0, 1000, 0x2, CONTRIBUTION_STALE);
    expect_hypothesis(&bench, "no single fault explains it");
    spoil(&bench, 0, 1000, 0x2, CONTRIBUTION_MISSING);
    expect_hypothesis(&bench, "the contribution of rank 1 is missing");
    bench_close(&bench);
}

/* Elements that were never written are divided all the same. */
static void test_unwritten_average(void **state)
{
    (void)state;
    struct bench bench;
    bench_open(&bench, "allreduce", "int32", "avg", 4, 2, 1000);
    memset(bench.destination, PATTERN_POISON, 4000);
    finish_kernel(bench.pattern.inputs.datatype,
                  bench.pattern.inputs.reduction)(bench.destination, bench.destination, 1000, 4);
    expect_hypothesis(&bench, "poison stands there: never written");
    bench_close(&bench);
}

/* A part of a tree that did not arrive: its lowest rank is the one that sends to the others. */
static void test_reduce_to_root(void **state)
{
    (void)state;
    struct bench bench;
    bench_open(&bench, "reduce", "int32", "sum", 6, 0, 1000);
    spoil(&bench, 100, 800, 0x0c, CONTRIBUTION_MISSING);
    expect_hypothesis(
        &bench, "the contributions of ranks 2, 3 are missing in elements 100..899: suspect "
                "the links that carried their partial result (in a tree, rank 2, or the links");
    spoil(&bench, 0, 1000, 0x20, CONTRIBUTION_MISSING);
    expect_hypothesis(&bench, "suspect rank 5, or the links from it");
    bench_close(&bench);
    bench_open(&bench, "reduce", "int32", "sum", 6, 2, 1000);
    assert_int_equal(bench.count, 0);
    bench_check(&bench);
    bench_close(&bench);
}

static void test_poison_combined(void **state)
{
    (void)state;
    struct bench bench;
    bench_open(&bench, "reduce_scatter", "int32", "sum", 8, 3, 500);
    spoil(&bench, 0, 500, 0x30, CONTRIBUTION_MISSING);
    for (size_t i = 0; i < 500; i++) {
        uint32_t value;
        memcpy(&value, bench_at(&bench, i), 4);
        value += 0xd5d5d5d5u;
        memcpy(bench_at(&bench, i), &value, 4);
    }
    expect_hypothesis(
        &bench, "unwritten memory (poison) was combined instead of the contributions of ranks 4, 5 "
                "in elements 0..499");
    bench_close(&bench);
}

/* A ring that lost a message in each chunk: every chunk lacks other ranks. */
static void test_chunks_differ(void **state)
{
    (void)state;
    struct bench bench;
    bench_open(&bench, "allreduce", "float", "sum", 8, 3, 8000);
    spoil(&bench, 1000, 1000, 0x04, CONTRIBUTION_MISSING);
    spoil(&bench, 2000, 1000, 0x0c, CONTRIBUTION_MISSING);
    spoil(&bench, 5000, 1000, 0x04, CONTRIBUTION_MISSING);
    expect_hypothesis(
        &bench, "the contribution of rank 2 is missing in 2 stretches of elements 1000..5999");
    assert_non_null(
        strstr(bench.sentence, "the contributions of ranks 2, 3 are missing in elements"));
    assert_null(strstr(bench.sentence, "no explanation fits"));
    bench_close(&bench);
}

static void test_result_elsewhere(void **state)
{
    (void)state;
    struct bench bench;
    bench_open(&bench, "reduce_scatter", "double", "prod", 4, 1, 100);
    inputs_combine(&bench.pattern.inputs, NULL, 300, 100, bench.destination);
    expect_hypothesis(&bench, "a right result in a wrong place: that of source elements +200 away");
    bench_close(&bench);
}

/* Ranks that decide none of the elements may be missing from a maximum too. */
static void test_at_least(void **state)
{
    (void)state;
    struct bench bench;
    bench_open(&bench, "allreduce", "int32", "max", 60, 1, 30);
    spoil(&bench, 0, 30, 0xfffff00000, CONTRIBUTION_MISSING);
    expect_hypothesis(&bench, " are missing (of these at least) in elements ");
    bench_close(&bench);
}

static void test_many_ranks(void **state)
{
    (void)state;
    struct bench bench;
    static const char *const operators[] = {"sum", "max"};
    for (int i = 0; i < 2; i++) {
        bench_open(&bench, "allreduce", "float", operators[i], 64, 1, 1 << 18);
        spoil(&bench, 0, 1 << 18, 0xff00, CONTRIBUTION_MISSING);
        double start = clock_seconds();
        expect_hypothesis(&bench, "the contributions of ranks 8..15 are missing in elements ");
        print_message("64 ranks, 1 MiB wrong, %s: %.3f s\n", operators[i], clock_seconds() - start);
        bench_close(&bench);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reductions),        cmocka_unit_test(test_whole_results),
        cmocka_unit_test(test_reduce_to_root),    cmocka_unit_test(test_poison_combined),
        cmocka_unit_test(test_chunks_differ),     cmocka_unit_test(test_result_elsewhere),
        cmocka_unit_test(test_at_least),          cmocka_unit_test(test_many_ranks),
        cmocka_unit_test(test_unwritten_average),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
