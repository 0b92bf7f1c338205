/*
 * test_datatype.c - names, and every kernel of every set of instructions that this machine has
 * against plain arithmetic: at every length around those of vectors, wherever elements may lie, in
 * place and out of place.
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

/* What a kernel must give for one element of integers, in the widest arithmetic. */
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

static double plain_float(enum reduction_id op, double a, double b)
{
    switch (op) {
    case REDUCTION_SUM:
        return a + b;
    case REDUCTION_PROD:
        return a * b;
    case REDUCTION_MIN:
        return a < b ? a : b;
    case REDUCTION_MAX:
        return a > b ? a : b;
    default:
        return 0;
    }
}

/* One element. What two floats give is rounded once: their sum and product are exact in double. */
static void combine(const struct datatype *type, enum reduction_id op, char *to, const char *a,
                    const char *b)
{
    if (type->kind != DATATYPE_FLOAT) {
        int64_t value = plain(op, load(type, a), load(type, b), type->kind == DATATYPE_UNSIGNED);
        memcpy(to, &value, type->size);
    } else if (type->size == sizeof(double)) {
        double x, y, value;
        memcpy(&x, a, sizeof x);
        memcpy(&y, b, sizeof y);
        value = plain_float(op, x, y);
        memcpy(to, &value, sizeof value);
    } else {
        float x, y, value;
        memcpy(&x, a, sizeof x);
        memcpy(&y, b, sizeof y);
        value = (float)plain_float(op, x, y);
        memcpy(to, &value, sizeof value);
    }
}

/* Any bits for integers; for floats finite numbers that round when combined, and zeroes of both
 * signs, which min and max must tell apart. */
static void draw(const struct datatype *type, uint64_t *random, char *to)
{
    *random = *random * 6364136223846793005u + 1;
    int64_t bits = (int64_t)*random >> 16;
    double value = bits % 5 == 0 ? (bits % 2 ? 0.0 : -0.0) : (double)bits / 3e9;
    float narrow = (float)value;
    const void *from = type->kind != DATATYPE_FLOAT   ? (const void *)&bits
                       : type->size == sizeof(double) ? (const void *)&value
                                                      : (const void *)&narrow;
    memcpy(to, from, type->size);
}

#define MOST   300 /* elements: some of the largest vectors of the smallest type */
#define SHIFTS 5   /* elements by which arrays are off the alignment of vectors */
#define SPACE  ((MOST + SHIFTS + 2) * 8)

/* Each array stands `shift` + 1 elements behind an address that is aligned to 64. */
struct arrays {
    _Alignas(64) char to[SPACE];
    _Alignas(64) char a[SPACE];
    _Alignas(64) char b[SPACE];
};

/* A kernel on `elements` elements, and what lies before and behind the target. */
static void run(const struct datatype *type, reduce_function *reduce, const struct arrays *pattern,
                const size_t shift[3], int in_place, size_t elements)
{
    static struct arrays set;
    size_t size = type->size, bytes = elements * size;
    char *a = set.a + (shift[1] + 1) * size, *b = set.b + (shift[2] + 1) * size;
    char *to = in_place == 1 ? a : in_place == 2 ? b : set.to + (shift[0] + 1) * size;
    char edge[8];
    memset(edge, 0x5a, sizeof edge);
    memset(to - size, 0x5a, bytes + 2 * size);
    memcpy(a, pattern->a, bytes);
    memcpy(b, pattern->b, bytes);
    reduce(to, a, b, elements);
    assert_memory_equal(to, pattern->to, bytes);
    assert_memory_equal(to - size, edge, size);
    assert_memory_equal(to + bytes, edge, size);
    if (to != a)
        assert_memory_equal(a, pattern->a, bytes);
    if (to != b)
        assert_memory_equal(b, pattern->b, bytes);
}

static void kernel(const struct datatype *type, const struct reduction *op, enum kernel_set set)
{
    static struct arrays pattern;
    uint64_t random = 7;
    for (size_t i = 0; i < MOST; i++) {
        size_t at = i * type->size;
        draw(type, &random, pattern.a + at);
        draw(type, &random, pattern.b + at);
        combine(type, op->id, pattern.to + at, pattern.a + at, pattern.b + at);
    }
    reduce_function *reduce = reduce_kernel_from(set, type, op);
    for (size_t elements = 0; elements <= MOST; elements += elements < 140 ? 1 : 16) {
        for (size_t s = 0; s < SHIFTS * SHIFTS; s++) {
            const size_t shift[] = {s % SHIFTS, s / SHIFTS, (s + s / SHIFTS) % SHIFTS};
            run(type, reduce, &pattern, shift, (int)(s + elements) % 3, elements);
        }
    }
}

static void test_kernels(void **state)
{
    (void)state;
    for (const struct datatype *const *type = datatypes; *type; type++) {
        for (const struct reduction *const *op = reductions; *op; op++) {
            bool none = (*type)->kind == DATATYPE_FLOAT && (*op)->id == REDUCTION_BOR;
            assert_int_equal(reduce_kernel(*type, *op) == NULL, none);
            for (int set = KERNELS_BASELINE; !none && set <= (int)kernel_set_best(); set++)
                kernel(*type, *op, (enum kernel_set)set);
        }
    }
}

/* The best set is what is given, and the sets differ where there are several. */
static void test_sets(void **state)
{
    (void)state;
    const struct datatype *type = datatypes[0];
    const struct reduction *op = reductions[0];
    assert_ptr_equal(reduce_kernel(type, op), reduce_kernel_from(kernel_set_best(), type, op));
    if (kernel_set_best() != KERNELS_BASELINE)
        assert_ptr_not_equal(reduce_kernel(type, op),
                             reduce_kernel_from(KERNELS_BASELINE, type, op));
}

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
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_kernels),
        cmocka_unit_test(test_sets),
        cmocka_unit_test(test_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
