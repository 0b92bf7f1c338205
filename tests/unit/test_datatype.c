/*
 * test_datatype.c - names, and every kernel against plain arithmetic, in place and out of place.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "datatype.h"

static void test_names(void **state)
{
    (void)state;
    assert_string_equal(datatypes[0]->name, "float");
    assert_string_equal(reductions[0]->name, "sum");
    assert_ptr_equal(datatype_find("float32"), datatype_find("float"));
    assert_ptr_equal(datatype_find("f64"), datatype_find("double"));
    assert_int_equal(datatype_find("int16")->size, 2);
    assert_int_equal(datatype_find("uint64")->kind, DATATYPE_UNSIGNED);
    assert_int_equal(datatype_find("double")->exact_bits, 53);
    assert_null(datatype_find("int128"));
    assert_null(datatype_find(""));
    assert_true(reduction_find("bor")->internal);
    assert_true(reduction_find("min")->idempotent);
    assert_null(reduction_find("avg"));
    /* No name is given twice. */
    for (const struct datatype *const *type = datatypes; *type; type++) {
        assert_ptr_equal(datatype_find((*type)->name), *type);
        for (const char *const *alias = (*type)->aliases; *alias; alias++)
            assert_ptr_equal(datatype_find(*alias), *type);
    }
}

#define COUNT 67 /* more than any vector, and not a multiple of one */

/* What the kernels must give, element by element, in the widest arithmetic. */
static int64_t plain(enum reduction_id op, int64_t a, int64_t b, bool is_unsigned)
{
    uint64_t x = (uint64_t)a, y = (uint64_t)b;
    bool less = is_unsigned ? x < y : a < b;
    switch (op) {
    case REDUCTION_SUM:
        return (int64_t)(x + y);
    case REDUCTION_PROD:
        return (int64_t)(x * y);
    case REDUCTION_MIN:
        return less ? a : b;
    case REDUCTION_MAX:
        return less ? b : a;
    case REDUCTION_BOR:
        return a | b;
    }
    return 0;
}

static int64_t load(const struct datatype *type, const char *at)
{
    uint64_t bits = 0;
    unsigned unused = 64 - 8 * (unsigned)type->size;
    memcpy(&bits, at, type->size);
    bits <<= unused;
    return type->kind == DATATYPE_SIGNED ? (int64_t)bits >> unused : (int64_t)(bits >> unused);
}

static void integers(const struct datatype *type, const struct reduction *op)
{
    _Alignas(16) char a[COUNT * 8], b[COUNT * 8], to[COUNT * 8], same[COUNT * 8];
    uint64_t random = 7;
    for (size_t i = 0; i < sizeof a; i++) {
        random = random * 6364136223846793005u + 1;
        a[i] = (char)(random >> 40);
        b[i] = (char)(random >> 50);
    }
    reduce_function *reduce = reduce_kernel(type, op);
    reduce(to, a, b, COUNT);
    for (size_t i = 0; i < COUNT; i++) {
        size_t at = i * type->size;
        int64_t want =
            plain(op->id, load(type, a + at), load(type, b + at), type->kind == DATATYPE_UNSIGNED);
        assert_memory_equal(to + at, &want, type->size);
    }
    memcpy(same, a, sizeof same);
    reduce(same, same, b, COUNT);
    assert_memory_equal(same, to, COUNT * type->size);
    memcpy(same, b, sizeof same);
    reduce(same, a, same, COUNT);
    assert_memory_equal(same, to, COUNT * type->size);
}

static void test_integers(void **state)
{
    (void)state;
    for (const struct datatype *const *type = datatypes; *type; type++) {
        for (const struct reduction *const *op = reductions; *op; op++) {
            if ((*type)->kind != DATATYPE_FLOAT)
                integers(*type, *op);
            else
                assert_int_equal(reduce_kernel(*type, *op) == NULL, (*op)->id == REDUCTION_BOR);
        }
    }
}

#define TEST_FLOATS(name, type)                                                                    \
    static void name(void **state)                                                                 \
    {                                                                                              \
        (void)state;                                                                               \
        type a[COUNT], b[COUNT], to[COUNT];                                                        \
        const struct datatype *datatype = datatype_find(#type);                                    \
        for (int i = 0; i < COUNT; i++) {                                                          \
            a[i] = (type)(i - 30) / 4;                                                             \
            b[i] = (type)(20 - i % 7 * 9);                                                         \
        }                                                                                          \
        reduce_kernel(datatype, reduction_find("sum"))(to, a, b, COUNT);                           \
        for (int i = 0; i < COUNT; i++)                                                            \
            assert_true(to[i] == a[i] + b[i]);                                                     \
        reduce_kernel(datatype, reduction_find("prod"))(to, a, b, COUNT);                          \
        for (int i = 0; i < COUNT; i++)                                                            \
            assert_true(to[i] == a[i] * b[i]);                                                     \
        reduce_kernel(datatype, reduction_find("min"))(to, a, b, COUNT);                           \
        for (int i = 0; i < COUNT; i++)                                                            \
            assert_true(to[i] == (a[i] < b[i] ? a[i] : b[i]));                                     \
        reduce_kernel(datatype, reduction_find("max"))(a, a, b, COUNT);                            \
        for (int i = 0; i < COUNT; i++)                                                            \
            assert_true(a[i] >= b[i] && (a[i] == b[i] || a[i] == (type)(i - 30) / 4));             \
    }

TEST_FLOATS(test_float, float)
TEST_FLOATS(test_double, double)

static void test_nothing(void **state)
{
    (void)state;
    int32_t untouched = 5;
    reduce_kernel(datatype_find("int32"), reduction_find("sum"))(&untouched, &untouched, &untouched,
                                                                 0);
    assert_int_equal(untouched, 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),   cmocka_unit_test(test_integers),
        cmocka_unit_test(test_float),   cmocka_unit_test(test_double),
        cmocka_unit_test(test_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
