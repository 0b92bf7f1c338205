/*
 * test_pattern.c - the inputs are what inputs.h says, however they are cut into pieces, and so are
 * the expectations. test_exact.c: what is promised of reductions.
 * tier: check; load: cpu1
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "run/check/check.h"
#include "dataplane/memory/memory.h"

static struct pattern pattern_make(const char *collective, const struct datatype *type,
                                   const struct reduction *reduction, int ranks, size_t count)
{
    return (struct pattern){
        .problem = {.collective = collective_find(collective), .ranks = ranks, .count = count},
        .inputs = {.datatype = type,
                   .reduction = reduction,
                   .ranks = ranks,
                   .seed = 1234,
                   .iteration = 3},
    };
}

static uint32_t random_below(uint64_t *state, uint32_t bound)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((*state >> 32) * bound >> 32);
}

/* Two ranks, iterations, seeds or places give different values, also of one byte. */
static void test_moved_values_differ(void **state)
{
    (void)state;
    for (const struct datatype *const *type = datatypes; *type; type++) {
        static char one[1024 * DATATYPE_SIZE_MOST], other[1024 * DATATYPE_SIZE_MOST];
        struct pattern pattern = pattern_make("alltoall", *type, NULL, 8, 100000),
                       changed = pattern;
        size_t size = (*type)->size;
        inputs_make(&pattern.inputs, 3, 5000, 1024, one);
        for (int what = 0; what < 5; what++) {
            changed = pattern;
            changed.inputs.iteration += what == 0;
            changed.inputs.seed += what == 1;
            inputs_make(&changed.inputs, what == 2 ? 4 : 3,
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

/* Values that are moved are neither infinite nor NaN, have either sign, and are not much less than
 * random. */
static void test_floats_are_ordinary(void **state)
{
    (void)state;
    for (const struct datatype *const *type = datatypes; *type; type++) {
        static char values[4096 * DATATYPE_SIZE_MOST], text[64];
        struct pattern pattern = pattern_make("broadcast", *type, NULL, 8, 100000);
        int negative = 0;
        if ((*type)->kind != DATATYPE_FLOAT)
            continue;
        inputs_make(&pattern.inputs, 0, 0, 4096, values);
        for (size_t i = 0; i < 4096; i++) {
            datatype_print(*type, values + i * (*type)->size, text, sizeof text);
            assert_true(isfinite(strtod(text, NULL)));
            negative += text[0] == '-';
        }
        assert_in_range(negative, 1900, 2200);
    }
}

/* Bits that an element of this type has, but that do not vary where data is only moved: the upper
 * two of an exponent, so that the value is finite. */
static uint64_t bits_fixed(const struct datatype *type)
{
    bool is_pair = type->kind == DATATYPE_PAIR;
    const char *name = is_pair ? type->name : NULL;
    bool is_float = type->kind == DATATYPE_FLOAT || (name && strncmp(name, "int", 3) != 0);
    size_t first = is_pair ? type->size / 2 : type->size;
    return !is_float || first < 4 ? 0 : (uint64_t)3 << (8 * first - 3);
}

/* Every other bit of what is moved does: one that did not would hide that it is stuck. */
static void test_moved_bits_vary(void **state)
{
    (void)state;
    for (const struct datatype *const *type = datatypes; *type; type++) {
        static unsigned char values[4096 * DATATYPE_SIZE_MOST];
        size_t size = (*type)->size, ones[8 * DATATYPE_SIZE_MOST] = {0};
        struct pattern pattern = pattern_make("broadcast", *type, NULL, 8, 100000);
        inputs_make(&pattern.inputs, 0, 0, 4096, values);
        for (size_t i = 0; i < 4096; i++)
            for (size_t bit = 0; bit < 8 * size; bit++)
                ones[bit] += values[i * size + bit / 8] >> bit % 8 & 1;
        for (size_t bit = 0; bit < 8 * size; bit++)
            if (bit >= 64 || !(bits_fixed(*type) >> bit & 1))
                assert_in_range(ones[bit], 1024, 3072);
    }
}

/* The magnitudes of sums and extremes of floats are whole numbers. All that fit occur, as far as
 * so many draws can show it: each bit of them varies. */
static void expect_magnitudes_vary(const struct datatype *type, const char *operator)
{
    static char values[4096 * DATATYPE_SIZE_MOST], text[64];
    struct pattern pattern = pattern_make("allreduce", type, reduction_find(operator), 4, 100000);
    bool is_sum = strcmp(operator, "sum") == 0;
    int most = type->exact_bits - 3 < 30 ? type->exact_bits - 3 : 30;
    int bits = is_sum ? most : 23, ones[64] = {0};
    inputs_make(&pattern.inputs, 0, 0, 4096, values);
    for (size_t i = 0; i < 4096; i++) {
        datatype_print(type, values + i * type->size, text, sizeof text);
        uint64_t magnitude = (uint64_t)fabs(strtod(text, NULL)) - 1;
        for (int bit = 0; bit < bits; bit++)
            ones[bit] += magnitude >> bit & 1;
        assert_int_equal(magnitude >> bits, 0);
    }
    for (int bit = 0; bit < bits; bit++)
        assert_in_range(ones[bit], 1024, 3072);
}

static void test_magnitudes_vary(void **state)
{
    (void)state;
    for (const struct datatype *const *type = datatypes; *type; type++)
        if ((*type)->kind == DATATYPE_FLOAT)
            expect_magnitudes_vary(*type, "sum");
    expect_magnitudes_vary(datatype_find("float"), "max");
    expect_magnitudes_vary(datatype_find("double"), "min");
}

/* Any cut into pieces gives the same values. */
static void test_pieces(void **state)
{
    (void)state;
    for (const struct reduction *const *op = reductions; *op; op++) {
        if (!reduce_kernel(datatype_find("uint16"), *op))
            continue;
        static uint16_t whole[9000], pieces[9000];
        struct pattern pattern =
            pattern_make("allreduce", datatype_find("uint16"), *op, 7, 1 << 20);
        uint64_t random = 5;
        inputs_make(&pattern.inputs, 2, 4000, 9000, whole);
        for (size_t at = 0, count; at < 9000; at += count) {
            count = 1 + random_below(&random, 700);
            count = count < 9000 - at ? count : 9000 - at;
            inputs_make(&pattern.inputs, 2, 4000 + at, count, pieces + at);
        }
        assert_memory_equal(whole, pieces, sizeof whole);
        inputs_combine(&pattern.inputs, NULL, 4000, 9000, whole);
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
    before.inputs.iteration--;
    static int32_t got[5000], want[5000];
    unsigned char how[3] = {CONTRIBUTION_MISSING, CONTRIBUTION_STALE, CONTRIBUTION_MISSING};
    assert_true(inputs_combine(&pattern.inputs, how, 0, 5000, got));
    inputs_make(&before.inputs, 1, 0, 5000, want);
    assert_memory_equal(got, want, sizeof got);
    how[1] = CONTRIBUTION_MISSING;
    assert_false(inputs_combine(&pattern.inputs, how, 0, 5000, got));
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
        cmocka_unit_test(test_moved_values_differ),
        cmocka_unit_test(test_moved_bits_vary),
        cmocka_unit_test(test_magnitudes_vary),
        cmocka_unit_test(test_floats_are_ordinary),
        cmocka_unit_test(test_pieces),
        cmocka_unit_test(test_entries),
        cmocka_unit_test(test_expectations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
