/*
 * test_check.c - faults that are put into results by hand must be found, and named as what they
 * are.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "check.h"
#include "clock.h"

/* A rank's destination with the right result in it, to be spoiled. */
struct bench {
    struct pattern pattern;
    int rank;
    size_t size, count; /* bytes of an element; elements of the destination */
    char *destination, *right;
    struct finding finding;
};

static void bench_open(struct bench *bench, const char *collective, const char *type,
                       const char *operator, int ranks, int rank, size_t count)
{
    *bench = (struct bench){
        .pattern = {.problem = {.collective = collective_find(collective),
                                .ranks = ranks,
                                .count = count},
                    .datatype = datatype_find(type),
                    .reduction = operator? reduction_find(operator) : NULL,
                    .seed = 42,
                    .iteration = 7},
        .rank = rank,
    };
    bench->size = bench->pattern.datatype->size;
    bench->count = collective_extent(&bench->pattern.problem, rank, BUFFER_DESTINATION);
    bench->destination = malloc(bench->count * bench->size);
    bench->right = malloc(bench->count * bench->size);
    assert_non_null(bench->destination);
    assert_non_null(bench->right);
    pattern_expect(&bench->pattern, rank, 0, bench->count, bench->right);
    memcpy(bench->destination, bench->right, bench->count * bench->size);
}

static char *bench_at(struct bench *bench, size_t element)
{
    return bench->destination + element * bench->size;
}

/* Checks, and compares the number of wrong elements with a plain count. */
static const char *bench_check(struct bench *bench)
{
    size_t wrong = 0, first = 0;
    for (size_t i = bench->count; i-- > 0;) {
        if (memcmp(bench_at(bench, i), bench->right + i * bench->size, bench->size) != 0) {
            wrong++;
            first = i;
        }
    }
    check_result(&bench->pattern, bench->rank, bench->destination, &bench->finding);
    assert_int_equal(bench->finding.wrong, wrong);
    assert_int_equal(bench->finding.first, first);
    return bench->finding.story;
}

static void bench_close(struct bench *bench)
{
    free(bench->destination);
    free(bench->right);
}

/* Reductions: the contributions of the ranks in `set` (bits) enter as `how` says. */
static void spoil(struct bench *bench, size_t first, size_t count, uint64_t set,
                  enum contribution how)
{
    unsigned char entries[64];
    for (int rank = 0; rank < bench->pattern.problem.ranks; rank++)
        entries[rank] = (unsigned char)(set >> rank & 1 ? how : CONTRIBUTION_ONCE);
    struct expectation expectation;
    assert_true(pattern_expectation(&bench->pattern, bench->rank, first, &expectation));
    assert_true(pattern_combine(&bench->pattern, entries, expectation.from + first - expectation.at,
                                count, bench_at(bench, first)));
}

static void expect_story(struct bench *bench, const char *part)
{
    const char *story = bench_check(bench);
    if (!strstr(story, part) || bench->finding.ambiguous)
        fail_msg("%s %s, %d ranks: expected \"%s\", got \"%s\"", bench->pattern.datatype->name,
                 bench->pattern.reduction ? bench->pattern.reduction->name : "moved",
                 bench->pattern.problem.ranks, part, story);
}

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

static const char *kind_text(enum contribution how, bool one)
{
    if (how == CONTRIBUTION_MISSING)
        return one ? "is missing" : "are missing";
    if (how == CONTRIBUTION_DOUBLED)
        return one ? "is doubled" : "are doubled";
    return one ? "is of the iteration before (stale)" : "are of the iteration before (stale)";
}

static void reduction_story(const char *type, const char *operator, const struct set_case * set,
                            enum contribution how)
{
    struct bench bench;
    bool one = (set->set & (set->set - 1)) == 0;
    char text[120];
    bench_open(&bench, "allreduce", type, operator, set->ranks, 1, 6000);
    assert_int_equal(bench.finding.wrong, 0);
    /* Only a part of the buffer, which begins and ends at odd places. */
    spoil(&bench, 1001, 3998, set->set, how);
    bool alone = how == CONTRIBUTION_MISSING && set->set == 0xf7;
    snprintf(text, sizeof text, "of %s %s in elements 10", set->text, kind_text(how, one));
    expect_story(&bench, alone ? "the contribution of rank 3 alone" : text);
    assert_non_null(strstr(bench.finding.story, "suspect"));
    bench_close(&bench);
}

static void test_reductions(void **state)
{
    (void)state;
    for (const struct datatype *const *type = datatypes; *type; type++) {
        for (const struct reduction *const *op = reductions; *op && !(*op)->internal; op++) {
            for (size_t i = 0; i < sizeof set_cases / sizeof *set_cases; i++) {
                for (int how = CONTRIBUTION_MISSING; how <= CONTRIBUTION_STALE; how++) {
                    if (how == CONTRIBUTION_DOUBLED && (*op)->idempotent)
                        continue;
                    reduction_story((*type)->name, (*op)->name, &set_cases[i],
                                    (enum contribution)how);
                }
            }
        }
    }
}

static void test_right(void **state)
{
    (void)state;
    struct bench bench;
    static const char *const names[] = {"allreduce", "reduce_scatter", "reduce",
                                        "allgather", "alltoall",       "broadcast"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        for (int ranks = 1; ranks < 5; ranks++) {
            bench_open(&bench, names[i], "int16", i < 3 ? "max" : NULL, ranks, ranks - 1, 333);
            bench_check(&bench);
            assert_int_equal(bench.finding.wrong, 0);
            assert_string_equal(bench.finding.story, "");
            bench_close(&bench);
        }
    }
}

static void test_whole_results(void **state)
{
    (void)state;
    struct bench bench;
    bench_open(&bench, "allreduce", "float", "sum", 4, 2, 1000);
    spoil(&bench, 0, 1000, 0xf, CONTRIBUTION_STALE);
    expect_story(&bench,
                 "the whole result is that of the iteration before (stale) in elements 0..999: "
                 "suspect rank 2, or the links into it");
    spoil(&bench, 0, 1000, 0xf, CONTRIBUTION_DOUBLED);
    expect_story(&bench, "the contributions of all ranks are doubled in elements 0..999");
    memset(bench.destination, PATTERN_POISON, 4000);
    expect_story(&bench, "poison stands there: never written");
    assert_string_equal(bench.finding.got, "poison (0xd5d5d5d5)");
    bench_close(&bench);

    /* Without an iteration before, nothing is called stale. */
    bench_open(&bench, "allreduce", "float", "sum", 4, 2, 1000);
    bench.pattern.iteration = 0;
    pattern_expect(&bench.pattern, 2, 0, 1000, bench.right);
    memcpy(bench.destination, bench.right, 4000);
    spoil(&bench, 0, 1000, 0x2, CONTRIBUTION_STALE);
    expect_story(&bench, "no single fault explains it");
    spoil(&bench, 0, 1000, 0x2, CONTRIBUTION_MISSING);
    expect_story(&bench, "the contribution of rank 1 is missing");
    bench_close(&bench);
}

/* A part of a tree that did not arrive: its lowest rank is the one that sends to the others. */
static void test_reduce_to_root(void **state)
{
    (void)state;
    struct bench bench;
    bench_open(&bench, "reduce", "int32", "sum", 6, 0, 1000);
    spoil(&bench, 100, 800, 0x0c, CONTRIBUTION_MISSING);
    expect_story(&bench,
                 "the contributions of ranks 2, 3 are missing in elements 100..899: suspect "
                 "what carried their partial result (in a tree, rank 2, or the links");
    spoil(&bench, 0, 1000, 0x20, CONTRIBUTION_MISSING);
    expect_story(&bench, "suspect rank 5, or the links from it");
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
    expect_story(
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
    expect_story(&bench,
                 "the contribution of rank 2 is missing in 2 stretches of elements 1000..5999");
    assert_non_null(
        strstr(bench.finding.story, "the contributions of ranks 2, 3 are missing in elements"));
    assert_null(strstr(bench.finding.story, "no story"));
    bench_close(&bench);
}

static void test_result_elsewhere(void **state)
{
    (void)state;
    struct bench bench;
    bench_open(&bench, "reduce_scatter", "double", "prod", 4, 1, 100);
    pattern_combine(&bench.pattern, NULL, 300, 100, bench.destination);
    expect_story(&bench, "a right result in a wrong place: that of source elements +200 away");
    bench_close(&bench);
}

static void test_movement(void **state)
{
    (void)state;
    for (const struct datatype *const *type = datatypes; *type; type++) {
        struct bench bench;
        struct pattern before;
        bench_open(&bench, "alltoall", (*type)->name, NULL, 5, 2, 400);
        before = bench.pattern;
        before.iteration--;

        memset(bench_at(&bench, 1200), PATTERN_POISON, 400 * bench.size);
        expect_story(
            &bench,
            "never written, poison stands there: what rank 3 sent has not come in elements 12");
        assert_non_null(
            strstr(bench.finding.story, "suspect rank 3, or what lies between it and rank 2"));
        memset(bench_at(&bench, 0), PATTERN_POISON, 400 * bench.size);
        expect_story(&bench, "what ranks 0, 3 sent has not come");
        memcpy(bench.destination, bench.right, bench.count * bench.size);

        pattern_fill(&before, 4, 800, 400, bench_at(&bench, 1600));
        expect_story(&bench,
                     "what came from rank 4 is of the iteration before (stale) in elements 1");
        /* Of another rank; of another block; not at a block's beginning; of the past. */
        pattern_fill(&bench.pattern, 1, 800, 400, bench_at(&bench, 1600));
        expect_story(
            &bench, "elements of rank 1 stand where those of rank 4 belong, +0 away in elements 1");
        pattern_fill(&bench.pattern, 4, 1200, 400, bench_at(&bench, 1600));
        expect_story(&bench, "elements of rank 4 stand where those of rank 4 belong, +400 away");
        pattern_fill(&bench.pattern, 4, 793, 400, bench_at(&bench, 1600));
        expect_story(&bench, "elements of rank 4 stand where those of rank 4 belong, -7 away");
        pattern_fill(&before, 0, 800, 400, bench_at(&bench, 1600));
        expect_story(&bench, "elements of rank 0 (of the iteration before) stand where");
        bench_close(&bench);
    }
}

static void test_movement_of_much(void **state)
{
    (void)state;
    struct bench bench;
    bench_open(&bench, "allgather", "int32", NULL, 64, 2, 300000);
    pattern_fill(&bench.pattern, 17, 0, 300000, bench_at(&bench, 3 * 300000));
    expect_story(&bench, "elements of rank 17 stand where those of rank 3 belong, +0 away");
    bench_close(&bench);
}

static void test_corruption(void **state)
{
    (void)state;
    for (const struct datatype *const *type = datatypes; *type; type++) {
        struct bench bench;
        bench_open(&bench, "broadcast", (*type)->name, NULL, 4, 1, 5000);
        *bench_at(&bench, 77) ^= 4;
        expect_story(&bench, "corrupted on the way or in memory: element 77 from rank 0 is ");
        assert_non_null(strstr(bench.finding.story, "(flipped bit 2)"));
        *bench_at(&bench, 4000) ^= 8;
        expect_story(&bench, "element 4000");
        bench_close(&bench);

        for (const struct reduction *const *op = reductions; *op && !(*op)->internal; op++) {
            bench_open(&bench, "allreduce", (*type)->name, (*op)->name, 4, 1, 50000);
            *bench_at(&bench, 30000) ^= 4;
            expect_story(&bench, "corrupted on the way or in memory: element 30000 is ");
            bench_close(&bench);
        }
    }
}

static void test_corruption_before_combining(void **state)
{
    (void)state;
    struct bench bench;
    bench_open(&bench, "allreduce", "int32", "sum", 4, 1, 5000);
    int32_t value = 0x0ffffffc;
    memcpy(bench.right + 400, &value, 4); /* so that adding 4 carries */
    pattern_expect(&bench.pattern, 1, 0, 5000, bench.destination);
    bool carried = false;
    for (size_t i = 0; i < 5000 && !carried; i++) {
        memcpy(&value, bench_at(&bench, i), 4);
        carried = (value & 12) == 4;
        value += 4;
        if (carried)
            memcpy(bench_at(&bench, i), &value, 4);
    }
    pattern_expect(&bench.pattern, 1, 0, 5000, bench.right);
    expect_story(&bench, "off by +4: one bit flipped before it was combined");
    bench_close(&bench);
}

static void test_one_bit_everywhere(void **state)
{
    (void)state;
    struct bench bench;
    bench_open(&bench, "broadcast", "uint64", NULL, 4, 1, 50000);
    for (size_t i = 3; i < 50000; i += 512)
        *bench_at(&bench, i) ^= 32;
    expect_story(&bench, "corrupted on the way or in memory: element 3 ");
    assert_non_null(strstr(bench.finding.story, "more like it"));
    bench_close(&bench);
}

static void test_ambiguous(void **state)
{
    (void)state;
    struct bench bench;
    /* One element of one byte: too little to tell 60 sets of ranks apart. */
    bench_open(&bench, "allreduce", "uint8", "sum", 8, 1, 1);
    spoil(&bench, 0, 1, 0x4, CONTRIBUTION_MISSING);
    bench_check(&bench);
    assert_int_equal(bench.finding.wrong, 1);
    assert_true(bench.finding.ambiguous);
    assert_non_null(strstr(bench.finding.story, "ambiguous: either "));
    assert_non_null(strstr(bench.finding.story, ", or "));
    assert_null(strstr(bench.finding.story, "suspect"));
    bench_close(&bench);

    /* A factor that is -1 is missing or doubled, which is the same, as long as no other shows. */
    bench_open(&bench, "allreduce", "float", "prod", 2, 1, 1);
    float value;
    memcpy(&value, bench.destination, 4);
    value = -value;
    memcpy(bench.destination, &value, 4);
    bench_check(&bench);
    assert_true(bench.finding.ambiguous || strstr(bench.finding.story, "corrupted"));
    bench_close(&bench);
}

/* Ranks that decide none of the elements may be missing from a maximum too. */
static void test_at_least(void **state)
{
    (void)state;
    struct bench bench;
    bench_open(&bench, "allreduce", "int32", "max", 60, 1, 30);
    spoil(&bench, 0, 30, 0xfffff00000, CONTRIBUTION_MISSING);
    expect_story(&bench, " are missing (of these at least) in elements ");
    bench_close(&bench);
}

static void test_no_story(void **state)
{
    (void)state;
    struct bench bench;
    uint64_t random = 88172645463325252u;
    for (int reduces = 0; reduces < 2; reduces++) {
        bench_open(&bench, reduces ? "allreduce" : "allgather", "int32", reduces ? "sum" : NULL, 8,
                   1, 4000);
        for (size_t i = 100; i < 2000; i++) {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            memcpy(bench_at(&bench, i), &random, 4);
        }
        expect_story(&bench, "no single fault explains it");
        assert_null(strstr(bench.finding.story, "suspect"));
        bench_close(&bench);
    }
}

static void test_fault_beside_corruption(void **state)
{
    (void)state;
    struct bench bench;
    bench_open(&bench, "allreduce", "double", "sum", 8, 1, 4000);
    spoil(&bench, 500, 500, 0x10, CONTRIBUTION_DOUBLED);
    *bench_at(&bench, 3000) ^= 1;
    expect_story(&bench, "the contribution of rank 4 is doubled in elements 500..99");
    assert_non_null(strstr(bench.finding.story, "element 3000 is "));
    for (size_t i = 3001; i < 3020; i++)
        *bench_at(&bench, i) ^= 3;
    expect_story(&bench, "the contribution of rank 4 is doubled in elements 500..99");
    assert_non_null(strstr(bench.finding.story, "no story fits "));
    bench_close(&bench);
}

static void test_values_are_readable(void **state)
{
    (void)state;
    struct bench bench;
    float value = 1.5f;
    bench_open(&bench, "allreduce", "float", "sum", 2, 0, 10);
    memcpy(bench_at(&bench, 6), &value, 4);
    bench_check(&bench);
    assert_int_equal(bench.finding.first, 6);
    assert_string_equal(bench.finding.got, "1.5");
    memcpy(&value, bench.right + 24, 4);
    assert_true(strtof(bench.finding.expected, NULL) == value);
    bench_close(&bench);

    bench_open(&bench, "allreduce", "int8", "max", 2, 0, 10);
    *bench_at(&bench, 2) = -3;
    bench_check(&bench);
    assert_string_equal(bench.finding.got, "-3");
    bench_close(&bench);
}

static void test_source(void **state)
{
    (void)state;
    struct bench bench;
    bench_open(&bench, "alltoall", "int16", NULL, 3, 1, 10000);
    pattern_fill(&bench.pattern, 1, 0, 30000, bench.destination);
    assert_int_equal(check_source(&bench.pattern, 1, bench.destination, 0, 30000), 0);
    *bench_at(&bench, 5) ^= 1;
    *bench_at(&bench, 29999) ^= 1;
    assert_int_equal(check_source(&bench.pattern, 1, bench.destination, 0, 30000), 2);
    assert_int_equal(check_source(&bench.pattern, 1, bench.destination, 6, 29993), 0);
    assert_int_equal(check_source(&bench.pattern, 1, bench.destination, 29999, 1), 1);
    bench_close(&bench);
}

static void test_barrier(void **state)
{
    (void)state;
    struct bench bench;
    bench_open(&bench, "barrier", "uint8", "bor", 5, 1, 1);
    bench_check(&bench);
    assert_int_equal(bench.finding.wrong, 0);
    memset(bench.destination, PATTERN_POISON, 1);
    expect_story(&bench, "poison stands there");
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
        expect_story(&bench, "the contributions of ranks 8..15 are missing in elements ");
        print_message("64 ranks, 1 MiB wrong, %s: %.3f s\n", operators[i], clock_seconds() - start);
        bench_close(&bench);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_right),
        cmocka_unit_test(test_reductions),
        cmocka_unit_test(test_whole_results),
        cmocka_unit_test(test_reduce_to_root),
        cmocka_unit_test(test_poison_combined),
        cmocka_unit_test(test_chunks_differ),
        cmocka_unit_test(test_result_elsewhere),
        cmocka_unit_test(test_movement),
        cmocka_unit_test(test_movement_of_much),
        cmocka_unit_test(test_corruption),
        cmocka_unit_test(test_corruption_before_combining),
        cmocka_unit_test(test_one_bit_everywhere),
        cmocka_unit_test(test_ambiguous),
        cmocka_unit_test(test_at_least),
        cmocka_unit_test(test_no_story),
        cmocka_unit_test(test_fault_beside_corruption),
        cmocka_unit_test(test_values_are_readable),
        cmocka_unit_test(test_source),
        cmocka_unit_test(test_barrier),
        cmocka_unit_test(test_many_ranks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
