/*
 * datatype.c - the tables of types and operators, and the loops that combine elements.
 *
 * Why the loops look as they do: `to` is often `a` or `b` itself (an accumulation in place), so
 * `restrict` would be a lie and run-time overlap checks would send just that case to the slow loop.
 * What is true is that no element depends on another one, and the pragma says exactly this. -O2
 * leaves loops of unknown length scalar, hence the -O3 for this file: it makes them three to ten
 * times faster. Integers are combined in unsigned arithmetic, in which wrapping is defined.
 *
 * Why there are two of each: one binary serves every machine, so what is more than the baseline is
 * chosen when a kernel is asked for. (Clones that the linker resolves would do the same, but their
 * resolvers run before ThreadSanitizer is there, and crash in it.) Measured on a Zen 4: in the
 * cache AVX2 makes sums of floats 1.7 times as fast, products and minima of integers up to 6 times;
 * what comes from L3 is 15 % faster in place; memory sets the pace of both alike. AVX-512 was tried
 * and left out: it is nowhere faster than AVX2, and 10 to 15 % slower where results go to memory.
 */
#include "datatype.h"

#include <stdint.h>
#include <string.h>

#include "independent.h"

#ifdef __clang__
#define UNROLLED /* it does so by itself */
#else
#define UNROLLED _Pragma("GCC unroll 4")
#endif

#ifdef __x86_64__
#define FOR_AVX2 __attribute__((target("avx2")))
#else
#define FOR_AVX2
#endif

#define LOOP(name, target, type, expression)                                                       \
    target static void name(void *to, const void *a, const void *b, size_t elements)               \
    {                                                                                              \
        type *out = to;                                                                            \
        const type *left = a, *right = b;                                                          \
        INDEPENDENT UNROLLED for (size_t i = 0; i < elements; i++)                                 \
        {                                                                                          \
            const type x = left[i], y = right[i];                                                  \
            out[i] = (type)(expression);                                                           \
        }                                                                                          \
    }

/* What a table has of a type and an operator: the kernel of each set. */
#define KERNEL(name, type, expression)                                                             \
    LOOP(name##_baseline, , type, expression)                                                      \
    LOOP(name##_avx2, FOR_AVX2, type, expression)                                                  \
    static reduce_function *const name[] = {                                                       \
        [KERNELS_BASELINE] = name##_baseline, [KERNELS_AVX2] = name##_avx2};

/* `wide`: an unsigned type that is no narrower than unsigned int, so that nothing is promoted to a
 * signed type, whose products may overflow. */
#define KERNELS_WRAPPING(suffix, type, wide)                                                       \
    KERNEL(sum_##suffix, type, (wide)x + (wide)y)                                                  \
    KERNEL(prod_##suffix, type, (wide)x *(wide)y)                                                  \
    KERNEL(bor_##suffix, type, x | y)

#define KERNELS_ORDERED(suffix, type)                                                              \
    KERNEL(min_##suffix, type, x < y ? x : y)                                                      \
    KERNEL(max_##suffix, type, x > y ? x : y)

KERNELS_WRAPPING(8, uint8_t, uint32_t)
KERNELS_WRAPPING(16, uint16_t, uint32_t)
KERNELS_WRAPPING(32, uint32_t, uint32_t)
KERNELS_WRAPPING(64, uint64_t, uint64_t)
KERNELS_ORDERED(i8, int8_t)
KERNELS_ORDERED(i16, int16_t)
KERNELS_ORDERED(i32, int32_t)
KERNELS_ORDERED(i64, int64_t)
KERNELS_ORDERED(u8, uint8_t)
KERNELS_ORDERED(u16, uint16_t)
KERNELS_ORDERED(u32, uint32_t)
KERNELS_ORDERED(u64, uint64_t)
KERNEL(sum_float, float, x + y)
KERNEL(prod_float, float, x *y)
KERNELS_ORDERED(float, float)
KERNEL(sum_double, double, x + y)
KERNEL(prod_double, double, x *y)
KERNELS_ORDERED(double, double)

#define REDUCTIONS (REDUCTION_BOR + 1)

/* A type and what combines its elements. */
struct arithmetic {
    struct datatype type; /* first: a datatype of this file is one of these */
    reduce_function *const *kernels[REDUCTIONS]; /* each indexed by enum kernel_set */
};

#define INTEGER(bits, sign, kind_, ...)                                                            \
    {                                                                                              \
        .type = {__VA_ARGS__, .size = (bits) / 8, .kind = kind_, .exact_bits = bits},              \
        .kernels = {[REDUCTION_SUM] = sum_##bits,                                                  \
                    [REDUCTION_PROD] = prod_##bits,                                                \
                    [REDUCTION_MIN] = min_##sign##bits,                                            \
                    [REDUCTION_MAX] = max_##sign##bits,                                            \
                    [REDUCTION_BOR] = bor_##bits},                                                 \
    }

#define FLOATING(ctype, exact, ...)                                                                \
    {                                                                                              \
        .type = {__VA_ARGS__, .size = sizeof(ctype), .kind = DATATYPE_FLOAT, .exact_bits = exact}, \
        .kernels = {[REDUCTION_SUM] = sum_##ctype,                                                 \
                    [REDUCTION_PROD] = prod_##ctype,                                               \
                    [REDUCTION_MIN] = min_##ctype,                                                 \
                    [REDUCTION_MAX] = max_##ctype},                                                \
    }

static const struct arithmetic arithmetics[] = {
    FLOATING(float, 24, .name = "float", .aliases = {"float32", "f32", "fp32"}),
    FLOATING(double, 53, .name = "double", .aliases = {"float64", "f64", "fp64"}),
    INTEGER(8, i, DATATYPE_SIGNED, .name = "int8", .aliases = {"i8", "s8", "char"}),
    INTEGER(16, i, DATATYPE_SIGNED, .name = "int16", .aliases = {"i16", "s16", "short"}),
    INTEGER(32, i, DATATYPE_SIGNED, .name = "int32", .aliases = {"i32", "s32", "int"}),
    INTEGER(64, i, DATATYPE_SIGNED, .name = "int64", .aliases = {"i64", "s64", "long"}),
    INTEGER(8, u, DATATYPE_UNSIGNED, .name = "uint8", .aliases = {"u8", "byte"}),
    INTEGER(16, u, DATATYPE_UNSIGNED, .name = "uint16", .aliases = {"u16"}),
    INTEGER(32, u, DATATYPE_UNSIGNED, .name = "uint32", .aliases = {"u32"}),
    INTEGER(64, u, DATATYPE_UNSIGNED, .name = "uint64", .aliases = {"u64"}),
};

const struct datatype *const datatypes[] = {
    &arithmetics[0].type,
    &arithmetics[1].type,
    &arithmetics[2].type,
    &arithmetics[3].type,
    &arithmetics[4].type,
    &arithmetics[5].type,
    &arithmetics[6].type,
    &arithmetics[7].type,
    &arithmetics[8].type,
    &arithmetics[9].type,
    NULL,
};

static const struct reduction sum = {.name = "sum", .id = REDUCTION_SUM};
static const struct reduction prod = {.name = "prod", .id = REDUCTION_PROD};
static const struct reduction min = {.name = "min", .id = REDUCTION_MIN, .idempotent = true};
static const struct reduction max = {.name = "max", .id = REDUCTION_MAX, .idempotent = true};
static const struct reduction bor = {
    .name = "bor", .id = REDUCTION_BOR, .idempotent = true, .internal = true};

const struct reduction *const reductions[] = {&sum, &prod, &min, &max, &bor, NULL};

const struct datatype *datatype_find(const char *name)
{
    for (const struct datatype *const *type = datatypes; *type; type++) {
        if (strcmp((*type)->name, name) == 0)
            return *type;
        for (const char *const *alias = (*type)->aliases; *alias; alias++) {
            if (strcmp(*alias, name) == 0)
                return *type;
        }
    }
    return NULL;
}

const struct reduction *reduction_find(const char *name)
{
    for (const struct reduction *const *reduction = reductions; *reduction; reduction++) {
        if (strcmp((*reduction)->name, name) == 0)
            return *reduction;
    }
    return NULL;
}

enum kernel_set kernel_set_best(void)
{
#ifdef __x86_64__
    if (__builtin_cpu_supports("avx2"))
        return KERNELS_AVX2;
#endif
    return KERNELS_BASELINE;
}

reduce_function *reduce_kernel_from(enum kernel_set set, const struct datatype *type,
                                    const struct reduction *reduction)
{
    const struct arithmetic *arithmetic = (const struct arithmetic *)type;
    reduce_function *const *kernels = arithmetic->kernels[reduction->id];
    return kernels ? kernels[set] : NULL;
}

reduce_function *reduce_kernel(const struct datatype *type, const struct reduction *reduction)
{
    return reduce_kernel_from(kernel_set_best(), type, reduction);
}
