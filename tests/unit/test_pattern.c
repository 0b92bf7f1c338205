/*
 * test_pattern.c - the inputs keep what pattern.c promises: every order of reduction gives the same
 * bits, and over a page of elements no fault of any rank stays hidden.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "pattern.h"

#define ELEMENTS_MOST 4096

static const int rank_counts[] = {1, 2, 3, 8, 33, 1024};
#define RANK_COUNTS (sizeof rank_counts / sizeof *rank_counts)

static struct pattern pattern_make(const char *collective, const struct datatype *type,
                                   const struct reduction *reduction, int ranks, size_t count)
{
    return (struct pattern){
        .problem = {.collective = collective_find(collective), .ranks = ranks, .count = count},
        .datatype = type,
        .reduction = reduction,
        .seed = 1234,
        .iteration = 3,
    };
}

static uint32_t random_below(uint64_t *state, uint32_t bound)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((*state >> 32) * bound >> 32);
}

/* Calls `test` for every type and operator that go together. */
static void for_each_pair(void (*test)(const struct datatype *, const struct reduction *, int),
                          int ranks)
{
    for (const struct datatype *const *type = datatypes; *type; type++) {
        for (const struct reduction *const *op = reductions; *op; op++) {
            if (reduce_kernel(*type, *op))
                test(*type, *op, ranks);
        }
    }
}

/* Combines two random partial results after another, until one is left: a random tree. */
static void orders_agree(const struct datatype *type, const struct reduction *op, int ranks)
{
    enum { COUNT = 48 };
    struct pattern pattern = pattern_make("allreduce", type, op, ranks, 10000);
    reduce_function *reduce = reduce_kernel(type, op);
    size_t first = 4090, bytes = COUNT * type->size; /* over the border of a page */
    char *parts = malloc((size_t)ranks * bytes), *expected = malloc(bytes);
    uint64_t random = 99;
    assert_true(pattern_combine(&pattern, NULL, first, COUNT, expected));
    for (int order = 0; order < 4; order++) {
        for (int rank = 0; rank < ranks; rank++)
            pattern_fill(&pattern, rank, first, COUNT, parts + (size_t)rank * bytes);
        for (int left = ranks; left > 1; left--) {
            /* The first order is a chain backwards, the others are trees. */
            uint32_t a = order ? random_below(&random, (uint32_t)left) : (uint32_t)left - 2;
            uint32_t b = order ? random_below(&random, (uint32_t)left - 1) : (uint32_t)left - 1;
            b += order && b >= a;
            reduce(parts + a * bytes, parts + b * bytes, parts + a * bytes, COUNT);
            memcpy(parts + b * bytes, parts + ((size_t)left - 1) * bytes, bytes);
        }
        assert_memory_equal(parts, expected, bytes);
    }
    free(parts);
    free(expected);
}

static void test_every_order_gives_the_same(void **state)
{
    (void)state;
    for (size_t i = 0; i < RANK_COUNTS; i++)
        for_each_pair(orders_agree, rank_counts[i]);
}

/* Elements that show each fault of one rank, of `count` from `first` on. */
static size_t fault_shows(const struct pattern *pattern, int rank, enum contribution how,
                          size_t first, size_t count)
{
    static char right[ELEMENTS_MOST * 8], wrong[ELEMENTS_MOST * 8];
    unsigned char *entries = calloc((size_t)pattern->problem.ranks, 1);
    size_t size = pattern->datatype->size, shown = 0;
    entries[rank] = (unsigned char)how;
    pattern_combine(pattern, NULL, first, count, right);
    if (!pattern_combine(pattern, entries, first, count, wrong))
        shown = count; /* nothing enters at all */
    for (size_t i = 0; i < count && shown < count; i++)
        shown += memcmp(right + i * size, wrong + i * size, size) != 0;
    free(entries);
    return shown;
}

#define STRIP 128 /* elements at a time */

/* Elements of a strip that show each fault of each rank: all ranks' faults at once, from what the
 * ranks before and those behind a rank give together. */
static void strip_shows(const struct pattern *pattern, size_t first, size_t (*shown)[4])
{
    int ranks = pattern->problem.ranks;
    size_t size = pattern->datatype->size, bytes = STRIP * size;
    reduce_function *reduce = reduce_kernel(pattern->datatype, pattern->reduction);
    struct pattern before = *pattern;
    before.iteration--;
    char *values = malloc((size_t)ranks * bytes), *behind = malloc((size_t)ranks * bytes);
    char *ahead = malloc(bytes), *rest = malloc(bytes), *stale = malloc(bytes),
         *right = malloc(bytes);
    for (int rank = ranks - 1; rank >= 0; rank--) {
        char *value = values + (size_t)rank * bytes, *all = behind + (size_t)rank * bytes;
        pattern_fill(pattern, rank, first, STRIP, value);
        if (rank == ranks - 1)
            memcpy(all, value, bytes);
        else
            reduce(all, value, all + bytes, STRIP);
    }
    pattern_combine(pattern, NULL, first, STRIP, right);
    assert_memory_equal(right, behind, bytes);
    for (int rank = 0; rank < ranks; rank++) {
        const char *value = values + (size_t)rank * bytes,
                   *next = behind + (size_t)(rank + 1) * bytes;
        _Alignas(16) char doubled[STRIP * 8];
        const char *faulty[4] = {[CONTRIBUTION_MISSING] = rest,
                                 [CONTRIBUTION_DOUBLED] = doubled,
                                 [CONTRIBUTION_STALE] = stale};
        pattern_fill(&before, rank, first, STRIP, stale);
        if (ranks == 1)
            memset(rest, PATTERN_POISON, bytes); /* nothing enters at all */
        else if (rank == 0)
            memcpy(rest, next, bytes);
        else if (rank == ranks - 1)
            memcpy(rest, ahead, bytes);
        else
            reduce(rest, ahead, next, STRIP);
        if (ranks > 1)
            reduce(stale, rest, stale, STRIP);
        reduce(doubled, right, value, STRIP);
        for (int how = CONTRIBUTION_MISSING; how <= CONTRIBUTION_STALE; how++) {
            for (size_t i = 0; i < STRIP; i++)
                shown[rank][how] += memcmp(faulty[how] + i * size, right + i * size, size) != 0;
        }
        if (rank == 0)
            memcpy(ahead, value, bytes);
        else
            reduce(ahead, ahead, value, STRIP);
    }
    free(values);
    free(behind);
    free(ahead);
    free(rest);
    free(stale);
    free(right);
}

static void no_fault_hides(const struct datatype *type, const struct reduction *op, int ranks)
{
    static size_t shown[1024][4];
    struct pattern pattern = pattern_make("allreduce", type, op, ranks, 1 << 20);
    /* Every rank decides one of any `ranks` elements; a stale decider often loses. */
    size_t count = op->idempotent ? (size_t)ranks * 4 : 1;
    count = (count + STRIP - 1) / STRIP * STRIP;
    memset(shown, 0, sizeof shown);
    for (size_t at = 0; at < count; at += STRIP)
        strip_shows(&pattern, 8192 + at, shown);
    for (int rank = 0; rank < ranks; rank++) {
        for (int how = CONTRIBUTION_MISSING; how <= CONTRIBUTION_STALE; how++) {
            if (how == CONTRIBUTION_DOUBLED && op->idempotent)
                assert_int_equal(shown[rank][how], 0);
            else if (shown[rank][how] == 0)
                fail_msg("%s %s: fault %d of rank %d of %d does not show in %zu elements",
                         type->name, op->name, how, rank, ranks, count);
        }
    }
}

static void test_no_fault_hides(void **state)
{
    (void)state;
    for (size_t i = 0; i < RANK_COUNTS; i++)
        for_each_pair(no_fault_hides, rank_counts[i]);
}

/* The fractions that the head of pattern.c names, over many elements. */
static void test_fractions(void **state)
{
    (void)state;
    struct pattern pattern =
        pattern_make("allreduce", datatype_find("float"), reduction_find("sum"), 33, 1 << 20);
    assert_int_equal(fault_shows(&pattern, 5, CONTRIBUTION_MISSING, 0, 4096), 4096);
    assert_int_equal(fault_shows(&pattern, 5, CONTRIBUTION_DOUBLED, 0, 4096), 4096);
    pattern.datatype = datatype_find("int8");
    assert_in_range(fault_shows(&pattern, 5, CONTRIBUTION_MISSING, 0, 4096), 4050, 4096);
    pattern.reduction = reduction_find("min");
    assert_in_range(fault_shows(&pattern, 5, CONTRIBUTION_MISSING, 0, 4096), 4096 / 33,
                    4096 / 33 + 1);
    assert_in_range(fault_shows(&pattern, 5, CONTRIBUTION_STALE, 0, 4096), 4096 / 66, 4096);
    pattern.reduction = reduction_find("prod");
    pattern.datatype = datatype_find("double");
    assert_in_range(fault_shows(&pattern, 5, CONTRIBUTION_MISSING, 0, 4096), 2048, 4096);
}

/* Large sums and products of floats stay finite and exact, all contributions doubled included. */
static void test_doubling_all_is_exact(void **state)
{
    (void)state;
    static unsigned char twice[1024];
    memset(twice, CONTRIBUTION_DOUBLED, sizeof twice);
    struct pattern pattern =
        pattern_make("allreduce", datatype_find("float"), reduction_find("prod"), 1024, 4096);
    static float single[4096], doubled[4096];
    pattern_combine(&pattern, NULL, 0, 4096, single);
    pattern_combine(&pattern, twice, 0, 4096, doubled);
    for (int i = 0; i < 4096; i++)
        assert_true(doubled[i] == single[i] * single[i] && doubled[i] > 0 && doubled[i] < 1e37f);
    pattern.reduction = reduction_find("sum");
    pattern_combine(&pattern, NULL, 0, 4096, single);
    pattern_combine(&pattern, twice, 0, 4096, doubled);
    for (int i = 0; i < 4096; i++)
        assert_true(doubled[i] == 2 * single[i]);
}

/* Two ranks, iterations, seeds or places give different values, also of one byte. */
static void test_moved_values_differ(void **state)
{
    (void)state;
    for (const struct datatype *const *type = datatypes; *type; type++) {
        static char one[1024 * 8], other[1024 * 8];
        struct pattern pattern = pattern_make("alltoall", *type, NULL, 8, 100000),
                       changed = pattern;
        size_t size = (*type)->size;
        pattern_fill(&pattern, 3, 5000, 1024, one);
        for (int what = 0; what < 5; what++) {
            changed = pattern;
            changed.iteration += what == 0;
            changed.seed += what == 1;
            pattern_fill(&changed, what == 2 ? 4 : 3,
                         what == 3   ? 5001
                         : what == 4 ? 105000
                                     : 5000,
                         1024, other);
            size_t same = 0;
            for (size_t i = 0; i < 1024; i++)
                same += memcmp(one + i * size, other + i * size, size) == 0;
            assert_in_range(same, 0, 16);
            for (size_t i = 0; i + 4 <= 1024; i += 4)
                assert_memory_not_equal(one + i * size, other + i * size, 4 * size);
        }
    }
}

static void test_floats_are_ordinary(void **state)
{
    (void)state;
    static double values[4096];
    struct pattern pattern = pattern_make("broadcast", datatype_find("double"), NULL, 8, 100000);
    pattern_fill(&pattern, 0, 0, 4096, values);
    int negative = 0;
    for (int i = 0; i < 4096; i++) {
        assert_true(__builtin_isnormal(values[i]));
        negative += values[i] < 0;
    }
    assert_in_range(negative, 1900, 2200);
}

/* Any cut into pieces gives the same values. */
static void test_pieces(void **state)
{
    (void)state;
    for (const struct reduction *const *op = reductions; *op; op++) {
        static uint16_t whole[9000], pieces[9000];
        struct pattern pattern =
            pattern_make("allreduce", datatype_find("uint16"), *op, 7, 1 << 20);
        uint64_t random = 5;
        pattern_fill(&pattern, 2, 4000, 9000, whole);
        for (size_t at = 0, count; at < 9000; at += count) {
            count = 1 + random_below(&random, 700);
            count = count < 9000 - at ? count : 9000 - at;
            pattern_fill(&pattern, 2, 4000 + at, count, pieces + at);
        }
        assert_memory_equal(whole, pieces, sizeof whole);
        pattern_combine(&pattern, NULL, 4000, 9000, whole);
        for (size_t at = 0, count; at < 9000; at += count) {
            count = 1 + random_below(&random, 700);
            count = count < 9000 - at ? count : 9000 - at;
            pattern_expect(&pattern, 4, 4000 + at, count, pieces + at);
        }
        assert_memory_equal(whole, pieces, sizeof whole);
    }
}

/* Stale is the iteration before; missing all is nothing. */
static void test_entries(void **state)
{
    (void)state;
    struct pattern pattern =
        pattern_make("allreduce", datatype_find("int32"), reduction_find("sum"), 3, 5000);
    struct pattern before = pattern;
    before.iteration--;
    static int32_t got[5000], want[5000];
    unsigned char how[3] = {CONTRIBUTION_MISSING, CONTRIBUTION_STALE, CONTRIBUTION_MISSING};
    assert_true(pattern_combine(&pattern, how, 0, 5000, got));
    pattern_fill(&before, 1, 0, 5000, want);
    assert_memory_equal(got, want, sizeof got);
    how[1] = CONTRIBUTION_MISSING;
    assert_false(pattern_combine(&pattern, how, 0, 5000, got));
}

static void test_expectations(void **state)
{
    (void)state;
    struct expectation expectation;
    for (int ranks = 1; ranks < 20; ranks++) {
        struct pattern pattern = pattern_make("alltoall", datatype_find("int8"), NULL, ranks, 3);
        for (size_t at = 0; at < 3 * (size_t)ranks; at++) {
            assert_true(pattern_expectation(&pattern, 0, at, &expectation));
            assert_int_equal(expectation.rank, at / 3);
            assert_int_equal(expectation.at, at / 3 * 3);
        }
        assert_false(pattern_expectation(&pattern, 0, 3 * (size_t)ranks, &expectation));
        pattern.problem.count = 0;
        assert_false(pattern_expectation(&pattern, 0, 0, &expectation));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_order_gives_the_same),
        cmocka_unit_test(test_no_fault_hides),
        cmocka_unit_test(test_fractions),
        cmocka_unit_test(test_doubling_all_is_exact),
        cmocka_unit_test(test_moved_values_differ),
        cmocka_unit_test(test_floats_are_ordinary),
        cmocka_unit_test(test_pieces),
        cmocka_unit_test(test_entries),
        cmocka_unit_test(test_expectations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
