/*
 * test_datatype.c - names, and every kernel of every set of instructions that this machine has
 * against plain arithmetic: at every length around those of vectors, wherever elements may lie, in
 * place and out of place. test_small_float.c: the conversions of small floats.
 * tier: check; load: cpu1
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "dataplane/memory/datatype.h"
#include "dataplane/memory/memory.h"
#include "tests/unit/oracle.h"

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
    assert_true(reduction_find("min")->idempotent);
    assert_true(reduction_find("avg")->finishes);
    assert_ptr_equal(datatype_find("half"), datatype_find("float16"));
    assert_ptr_equal(datatype_find("e4m3fn"), datatype_find("float8_e4m3"));
    assert_int_equal(datatype_find("2int")->size, 8);
    /* No name is given twice. */
    for (const struct datatype *const *type = datatypes; *type; type++) {
        assert_ptr_equal(datatype_find((*type)->name), *type);
        assert_ptr_equal(datatypes[(*type)->id], *type);
        for (const char *const *alias = (*type)->aliases; *alias; alias++)
            assert_ptr_equal(datatype_find(*alias), *type);
    }
}

/* Every pair of a type and an operator has a kernel, or a reason why not. */
static void test_refusals(void **state)
{
    (void)state;
    int kernels = 0;
    for (const struct datatype *const *type = datatypes; *type; type++) {
        for (const struct reduction *const *op = reductions; *op; op++) {
            const char *why = reduce_refusal(*type, *op);
            kernels += !why;
            assert_int_equal(reduce_kernel(*type, *op) == NULL, why != NULL);
            assert_true(!why || strstr(why, ": choose "));
            assert_int_equal(finish_kernel(*type, *op) != NULL, !why && (*op)->finishes);
        }
    }
    /* 8 integers and all but maxloc, minloc; 6 floats: sum, prod, max, min, avg; 4 pairs. */
    assert_int_equal(kernels, 8 * 11 + 6 * 5 + 4 * 2);
    assert_int_equal(reduce_ranks_most(datatype_find("int8"), reduction_find("avg")), 127);
    assert_int_equal(reduce_ranks_most(datatype_find("uint16"), reduction_find("avg")), 65535);
    assert_true(reduce_ranks_most(datatype_find("int8"), reduction_find("sum")) > 1 << 30);
    assert_true(reduce_ranks_most(datatype_find("e5m2"), reduction_find("avg")) > 1 << 30);
}

static void test_printing(void **state)
{
    (void)state;
    static const struct {
        const char *type;
        unsigned char bytes[16];
        const char *text;
    } cases[] = {
        {"int8", {0xfd}, "-3"},
        {"uint64", {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, "18446744073709551615"},
        {"half", {0x00, 0x3e}, "1.5"},
        {"bf16", {0xc0, 0xbf}, "-1.5"},
        {"e4m3", {0x7e}, "448"},
        {"e4m3", {0xff}, "-nan"},
        {"e5m2", {0xfc}, "-inf"},
        {"float_int32", {0, 0, 0xc0, 0x3f, 7}, "(1.5, 7)"},
        {"int32_int32", {0xff, 0xff, 0xff, 0xff, 0xfe, 0xff, 0xff, 0xff}, "(-1, -2)"},
        {"double_int64", {0, 0, 0, 0, 0, 0, 0xf8, 0x3f, 9}, "(1.5, 9)"},
    };
    char text[64];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        datatype_print(datatype_find(cases[i].type), cases[i].bytes, text, sizeof text);
        assert_string_equal(text, cases[i].text);
    }
}

/* The expected result for one element of integers, in the widest arithmetic. */
static int64_t plain(enum reduction_id op, int64_t a, int64_t b, bool is_unsigned)
{
    uint64_t x = (uint64_t)a, y = (uint64_t)b;
    bool less = is_unsigned ? x < y : a < b;
    switch (op) {
    case REDUCTION_SUM:
    case REDUCTION_AVG:
        return (int64_t)(x + y);
    case REDUCTION_PROD:
        return (int64_t)(x * y);
    case REDUCTION_MIN:
        return less ? a : b;
    case REDUCTION_MAX:
        return less ? b : a;
    case REDUCTION_LAND:
        return a && b;
    case REDUCTION_LOR:
        return a || b;
    case REDUCTION_LXOR:
        return !a != !b;
    case REDUCTION_BAND:
        return a & b;
    case REDUCTION_BOR:
        return a | b;
    case REDUCTION_BXOR:
        return a ^ b;
    default:
        fail();
        return 0;
    }
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
    case REDUCTION_AVG:
        return a + b;
    case REDUCTION_PROD:
        return a * b;
    case REDUCTION_MIN:
        return a < b ? a : b;
    case REDUCTION_MAX:
        return a > b ? a : b;
    default:
        fail();
        return 0;
    }
}

/* The order of small floats is that of sign and magnitude. */
static uint32_t plain_small(const struct format *format, enum reduction_id op, uint32_t a,
                            uint32_t b)
{
    double x = format_value(format, a), y = format_value(format, b);
    if (op != REDUCTION_MIN && op != REDUCTION_MAX)
        return format_round(format, plain_float(op, x, y));
    bool less = x < y || (x == y && signbit(x) && !signbit(y));
    return less == (op == REDUCTION_MIN) ? a : b;
}

/* Pairs: of the better value, or else the smaller index. */
static bool left_wins(const struct datatype *type, enum reduction_id op, const char *a,
                      const char *b)
{
    size_t half = type->size / 2;
    double x, y;
    int64_t i = 0, j = 0;
    bool narrow = half == sizeof(float);
    if (type->id == TYPE_FLOAT_INT32) {
        float v, w;
        memcpy(&v, a, sizeof v);
        memcpy(&w, b, sizeof w);
        x = (double)v;
        y = (double)w;
    } else if (type->id == TYPE_DOUBLE_INT64) {
        memcpy(&x, a, sizeof x);
        memcpy(&y, b, sizeof y);
    } else {
        memcpy(&i, a, half);
        memcpy(&j, b, half);
        x = narrow ? (double)(int32_t)i : (double)i; /* drawn small enough */
        y = narrow ? (double)(int32_t)j : (double)j;
    }
    i = j = 0;
    memcpy(&i, a + half, half);
    memcpy(&j, b + half, half);
    if (narrow) {
        i = (int32_t)i;
        j = (int32_t)j;
    }
    return x == y ? i <= j : (x > y) == (op == REDUCTION_MAXLOC);
}

/* One element. The result of two floats is rounded once: their sum and product are exact in
 * double. */
static void combine(const struct datatype *type, enum reduction_id op, char *to, const char *a,
                    const char *b)
{
    const struct format *format = format_of(type->id);
    if (type->kind == DATATYPE_PAIR) {
        memcpy(to, left_wins(type, op, a, b) ? a : b, type->size);
    } else if (type->kind != DATATYPE_FLOAT) {
        int64_t value = plain(op, load(type, a), load(type, b), type->kind == DATATYPE_UNSIGNED);
        memcpy(to, &value, type->size);
    } else if (format) {
        uint32_t x = 0, y = 0;
        memcpy(&x, a, type->size);
        memcpy(&y, b, type->size);
        x = plain_small(format, op, x, y);
        memcpy(to, &x, type->size);
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

/* Any bits for integers, often 0; for floats finite numbers that round when combined, and zeroes of
 * both signs, which min and max must tell apart; pairs often have the same value. */
static void draw(const struct datatype *type, uint64_t *random, char *to)
{
    *random = *random * 6364136223846793005u + 1;
    int64_t bits = (int64_t)*random >> 16;
    const struct format *format = format_of(type->id);
    double value = bits % 5 == 0 ? (bits % 2 ? 0.0 : -0.0) : (double)bits / 3e9;
    float narrow = (float)value;
    uint32_t small = 0;
    if (format) {
        small = (uint32_t)bits & (2 * format_sign(format) - 1);
        small &= isfinite(format_value(format, small)) ? ~0u : format_sign(format);
    }
    if (type->kind != DATATYPE_FLOAT && bits % 5 == 0)
        bits = 0;
    if (type->kind == DATATYPE_PAIR) {
        int64_t first = bits % 3;
        value = (double)first;
        narrow = (float)first;
        memcpy(to + type->size / 2, &bits, type->size / 2);
        memcpy(to,
               type->id == TYPE_FLOAT_INT32    ? (const void *)&narrow
               : type->id == TYPE_DOUBLE_INT64 ? (const void *)&value
                                               : (const void *)&first,
               type->size / 2);
        return;
    }
    const void *from = type->kind != DATATYPE_FLOAT   ? (const void *)&bits
                       : format                       ? (const void *)&small
                       : type->size == sizeof(double) ? (const void *)&value
                                                      : (const void *)&narrow;
    memcpy(to, from, type->size);
}

#define MOST   300 /* elements: some of the largest vectors of the smallest type */
#define SHIFTS 5   /* elements by which arrays are off the alignment of vectors */
#define SPACE  ((MOST + SHIFTS + 2) * DATATYPE_SIZE_MOST)

/* Each array stands `shift` + 1 elements behind an address that is aligned to 64. */
struct arrays {
    _Alignas(64) char to[SPACE];
    _Alignas(64) char a[SPACE];
    _Alignas(64) char b[SPACE];
};

/* A kernel on `elements` elements, and the bytes before and behind the target. */
static void run(const struct datatype *type, reduce_function *reduce, const struct arrays *pattern,
                const size_t shift[3], int in_place, size_t elements)
{
    static struct arrays set;
    size_t size = type->size, bytes = elements * size;
    char *a = set.a + (shift[1] + 1) * size, *b = set.b + (shift[2] + 1) * size;
    char *to = in_place == 1 ? a : in_place == 2 ? b : set.to + (shift[0] + 1) * size;
    char edge[DATATYPE_SIZE_MOST];
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
            bool none = reduce_refusal(*type, *op) != NULL;
            for (int set = KERNELS_BASELINE; !none && set <= (int)kernel_set_best(); set++)
                kernel(*type, *op, (enum kernel_set)set);
        }
    }
}

/* All pairs of floats of 8 bits, NaN and infinities among them. */
static void test_all_of_8_bits(void **state)
{
    (void)state;
    for (int set = KERNELS_BASELINE; set <= (int)kernel_set_best(); set++) {
        for (const struct reduction *const *op = reductions; *op; op++) {
            for (size_t f = 0; f < FORMATS; f++) {
                const struct format *format = &formats[f];
                const struct datatype *type = datatypes[format->type];
                if (type->size > 1 || !reduce_kernel(type, *op))
                    continue;
                bool orders = (*op)->id == REDUCTION_MIN || (*op)->id == REDUCTION_MAX;
                for (int x = 0; x < 256; x++) {
                    unsigned char a[256], b[256], got[256];
                    memset(a, x, sizeof a);
                    for (int y = 0; y < 256; y++)
                        b[y] = (unsigned char)y;
                    reduce_kernel_from((enum kernel_set)set, type, *op)(got, a, b, 256);
                    for (int y = 0; y < 256; y++) {
                        uint32_t want = plain_small(format, (*op)->id, (uint32_t)x, (uint32_t)y);
                        bool nan = isnan(format_value(format, (uint32_t)x)) ||
                                   isnan(format_value(format, (uint32_t)y));
                        if (orders && nan)
                            assert_true(got[y] == x || got[y] == y);
                        else if (isnan(format_value(format, want)))
                            assert_true(isnan(format_value(format, got[y])));
                        else
                            assert_int_equal(got[y], want);
                    }
                }
            }
        }
    }
}

/* The expected average for one element. */
static void divide(const struct datatype *type, char *to, const char *from, int ranks)
{
    const struct format *format = format_of(type->id);
    int64_t integer = load(type, from);
    if (type->kind != DATATYPE_FLOAT) {
        integer = type->kind == DATATYPE_SIGNED ? integer / ranks
                                                : (int64_t)((uint64_t)integer / (uint64_t)ranks);
        memcpy(to, &integer, type->size);
    } else if (format) {
        double value = format_value(format, (uint32_t)integer);
        uint32_t code = format_round(format, (double)((float)value / (float)ranks));
        memcpy(to, &code, type->size);
    } else if (type->size == sizeof(double)) {
        double value;
        memcpy(&value, from, sizeof value);
        value /= ranks;
        memcpy(to, &value, sizeof value);
    } else {
        float value;
        memcpy(&value, from, sizeof value);
        value = (float)((double)value / ranks); /* to round twice is correct if p >= 2q + 2 */
        memcpy(to, &value, sizeof value);
    }
}

static void finish(const struct datatype *type, enum kernel_set set, int ranks)
{
    static char from[MOST * 8], want[MOST * 8], got[(MOST + 1) * 8];
    finish_function *function = finish_kernel_from(set, type, reduction_find("avg"));
    size_t size = type->size;
    uint64_t random = 11;
    for (size_t i = 0; i < MOST; i++) {
        draw(type, &random, from + i * size);
        /* Integers beside the multiples of the divisor, and the ends of the range. */
        int64_t edge = i == 0   ? (int64_t)((uint64_t)1 << (8 * size - 1))
                       : i == 1 ? (int64_t)(((uint64_t)1 << (8 * size - 1)) - 1)
                       : i == 2 ? -1
                                : (int64_t)(i / 3 * (size_t)ranks + i % 3) - 1;
        if (type->kind != DATATYPE_FLOAT && i < MOST / 2)
            memcpy(from + i * size, &edge, size);
        divide(type, want + i * size, from + i * size, ranks);
    }
    for (size_t count = 0; count <= MOST; count += count < 40 ? 1 : 26) {
        memset(got, 0x5a, sizeof got);
        function(got, from, count, ranks);
        assert_memory_equal(got, want, count * size);
        assert_int_equal(got[count * size], 0x5a);
        memcpy(got, from, count * size);
        function(got, got, count, ranks);
        assert_memory_equal(got, want, count * size);
    }
}

static void test_finish(void **state)
{
    (void)state;
    static const int ranks[] = {1, 2, 3, 7, 10, 127, 1000, 65536};
    for (const struct datatype *const *type = datatypes; *type; type++)
        for (int set = KERNELS_BASELINE; set <= (int)kernel_set_best(); set++)
            for (size_t r = 0; r < sizeof ranks / sizeof *ranks; r++)
                if (finish_kernel(*type, reduction_find("avg")))
                    finish(*type, (enum kernel_set)set, ranks[r]);
}

/* The best set is used, and the sets differ if there are several. */
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
        cmocka_unit_test(test_names),         cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_printing),      cmocka_unit_test(test_kernels),
        cmocka_unit_test(test_all_of_8_bits), cmocka_unit_test(test_finish),
        cmocka_unit_test(test_sets),          cmocka_unit_test(test_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
