/*
 * reduce.c - the kernels that combine elements, and which of them a type and an operator have.
 *
 * The loops have neither `restrict` nor run-time overlap checks: `to` is often `a` or `b` itself
 * (an accumulation in place), and the checks would select the slow loop in that case. No element
 * depends on another one, which the pragma says. -O2 leaves loops of unknown length scalar; -O3
 * (internal.h) makes them three to ten times faster.
 *
 * Each kernel exists twice: one binary serves every machine, so instructions beyond the baseline
 * are selected at run time. (Resolvers of the linker run before ThreadSanitizer is ready, and crash
 * in it.) Measured on a Zen 4: in the cache AVX2 makes sums of floats 1.7 times as fast, products
 * and minima of integers up to 6 times; from L3 it gains 15 % in place; from memory nothing.
 * AVX-512 is nowhere faster than AVX2, and 10 to 15 % slower where results go to memory, so it is
 * left out.
 */
#include "dataplane/memory/internal.h"

#include <limits.h>

/* The kernels of a type. */
struct kernels {
    reduce_function *const *reduce[REDUCTIONS]; /* each indexed by enum kernel_set; NULL: none */
    finish_function *const *finish;             /* indexed likewise; NULL: none */
};

#ifdef __clang__
#define UNROLLED /* it does so by itself */
#else
#define UNROLLED _Pragma("GCC unroll 4")
#endif

#ifdef __x86_64__
#define FOR_AVX2 __attribute__((target("avx2,f16c")))
#else
#define FOR_AVX2
#endif

/* A loop over a function of reduce_element.h. */
#define LOOP(name, target, type, function)                                                         \
    target static void name(void *to, const void *a, const void *b, size_t elements)               \
    {                                                                                              \
        type *out = to;                                                                            \
        const type *left = a, *right = b;                                                          \
        VECTORIZE UNROLLED for (size_t i = 0; i < elements; i++) out[i] =                          \
            function(left[i], right[i]);                                                           \
    }

/* The kernel of each set, as a table has them. */
#define KERNEL_TABLE(kind, function, best)                                                         \
    static kind##_function *const function##_kernels[KERNEL_SETS] = {                              \
        [KERNELS_BASELINE] = function##_baseline, [KERNELS_AVX2] = best};

/* As reduce_element.h's lists of operators name them. */
#define KERNEL(OPERATOR, function, type)                                                           \
    LOOP(function##_baseline, , type, function)                                                    \
    LOOP(function##_avx2, FOR_AVX2, type, function)                                                \
    KERNEL_TABLE(reduce, function, function##_avx2)
#define KERNEL_ENTRY(OPERATOR, function, type) [REDUCTION_##OPERATOR] = function##_kernels,

#define FINISH_LOOP(name, target, type, divisor, function)                                         \
    target static void name(void *to, const void *from, size_t elements, int ranks)                \
    {                                                                                              \
        type *out = to;                                                                            \
        const type *in = from;                                                                     \
        const divisor n = (divisor)ranks;                                                          \
        VECTORIZE for (size_t i = 0; i < elements; i++) out[i] = function(in[i], n);               \
    }

#define FINISH_KERNEL(function, type, divisor)                                                     \
    FINISH_LOOP(function##_baseline, , type, divisor, function)                                    \
    FINISH_LOOP(function##_avx2, FOR_AVX2, type, divisor, function)                                \
    KERNEL_TABLE(finish, function, function##_avx2)

/*
 * The kernels of the types that the machine computes with: integers, float and
 * double.
 */
WRAPPING_OPERATORS(KERNEL, 8)
WRAPPING_OPERATORS(KERNEL, 16)
WRAPPING_OPERATORS(KERNEL, 32)
WRAPPING_OPERATORS(KERNEL, 64)
NATIVE_FINISHES(FINISH_KERNEL)

#define INTEGER(name, bits)                                                                        \
    ORDERED_OPERATORS(KERNEL, name, name##_t)                                                      \
    static const struct kernels kernels_##name = {                                                 \
        .reduce = {INTEGER_OPERATORS(KERNEL_ENTRY, name, bits)},                                   \
        .finish = finish_##name##_kernels,                                                         \
    };

INTEGER(int8, 8)
INTEGER(int16, 16)
INTEGER(int32, 32)
INTEGER(int64, 64)
INTEGER(uint8, 8)
INTEGER(uint16, 16)
INTEGER(uint32, 32)
INTEGER(uint64, 64)

#define FLOATING(type)                                                                             \
    FLOAT_OPERATORS(KERNEL, type, type)                                                            \
    static const struct kernels kernels_##type = {                                                 \
        .reduce = {FLOATING_OPERATORS(KERNEL_ENTRY, type, type)},                                  \
        .finish = finish_##type##_kernels,                                                         \
    };

FLOATING(float)
FLOATING(double)

/*
 * The kernels of pairs: the greatest or least value, and the index that came with
 * it.
 *
 * Pairs are read as two words each, so that the loops become vector code, which loops over
 * structures of two types do not.
 */
#define LOOP_PAIRS(name, target, word, wins)                                                       \
    target static void name(void *to, const void *a, const void *b, size_t elements)               \
    {                                                                                              \
        word *out = to;                                                                            \
        const word *left = a, *right = b;                                                          \
        VECTORIZE UNROLLED for (size_t i = 0; i < 2 * elements; i += 2)                            \
        {                                                                                          \
            const word x = left[i], y = right[i], at = left[i + 1], other = right[i + 1];          \
            const int take = wins(x, at, y, other);                                                \
            out[i] = take ? x : y;                                                                 \
            out[i + 1] = take ? at : other;                                                        \
        }                                                                                          \
    }

#define KERNEL_PAIRS(OPERATOR, wins, word)                                                         \
    LOOP_PAIRS(wins##_baseline, , word, wins)                                                      \
    LOOP_PAIRS(wins##_avx2, FOR_AVX2, word, wins)                                                  \
    KERNEL_TABLE(reduce, wins, wins##_avx2)

#define PAIR(name, word)                                                                           \
    PAIR_OPERATORS(KERNEL_PAIRS, name, word)                                                       \
    static const struct kernels kernels_##name = {                                                 \
        .reduce = {PAIR_OPERATORS(KERNEL_ENTRY, name, word)}};

PAIR(float_int32, uint32_t)
PAIR(int32_int32, uint32_t)
PAIR(double_int64, uint64_t)
PAIR(int64_int64, uint64_t)

/*
 * The kernels of floats of 8 and 16 bits.
 *
 * Measured on a Zen 4, sums of float8_e4m3 in the cache: 3.4 GB/s by AVX2 and float16; 1.4 by AVX2
 * with a table of 256 floats to load from (gather); in the baseline 0.6 by integer arithmetic, 0.3
 * with the table.
 */
#ifdef __x86_64__
#include <immintrin.h>
#endif

#define LOOPS_BASELINE(format, type)                                                               \
    LOOP(sum_##format##_baseline, , type, sum_##format)                                            \
    LOOP(prod_##format##_baseline, , type, prod_##format)
#define FINISH_BASELINE(function, type, divisor)                                                   \
    FINISH_LOOP(function##_baseline, , type, divisor, function)

LOOPS_BASELINE(float16, uint16_t)
LOOPS_BASELINE(bfloat16, uint16_t)
LOOPS_BASELINE(e4m3, uint8_t)
LOOPS_BASELINE(e5m2, uint8_t)
SMALL_FINISHES(FINISH_BASELINE)

#ifdef __x86_64__
/* With AVX2 and F16C, which compilers do not make of the loops above. Bytes are converted by way of
 * float16: e5m2 is its upper half; e4m3, shifted, is too, except for a power of two. To round twice
 * is correct, since float16 has more than twice the bits of both. */

FOR_AVX2 static inline __m256 float16_load(const uint16_t *from)
{
    return _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)from));
}

FOR_AVX2 static inline void float16_store(uint16_t *to, __m256 value)
{
    _mm_storeu_si128((__m128i *)to, _mm256_cvtps_ph(value, _MM_FROUND_TO_NEAREST_INT));
}

FOR_AVX2 static inline __m256 bfloat16_load(const uint16_t *from)
{
    __m256i wide = _mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)from));
    return _mm256_castsi256_ps(_mm256_slli_epi32(wide, 16));
}

FOR_AVX2 static inline void bfloat16_store(uint16_t *to, __m256 value)
{
    __m256i bits = _mm256_castps_si256(value);
    __m256i odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
    __m256i up = _mm256_add_epi32(odd, _mm256_set1_epi32(0x7fff));
    __m256i nan = _mm256_castps_si256(_mm256_cmp_ps(value, value, _CMP_UNORD_Q));
    __m256i quiet = _mm256_or_si256(bits, _mm256_set1_epi32(0x400000));
    bits = _mm256_blendv_epi8(_mm256_add_epi32(bits, up), quiet, nan);
    bits = _mm256_srli_epi32(bits, 16);
    _mm_storeu_si128((__m128i *)to, _mm_packus_epi32(_mm256_castsi256_si128(bits),
                                                     _mm256_extracti128_si256(bits, 1)));
}

/* Half of 16 float16 codes. */
FOR_AVX2 static inline __m256 halves_low(__m256i halves)
{
    return _mm256_cvtph_ps(_mm256_castsi256_si128(halves));
}

FOR_AVX2 static inline __m256 halves_high(__m256i halves)
{
    return _mm256_cvtph_ps(_mm256_extracti128_si256(halves, 1));
}

/* The upper bits of float16 codes, from bit `shift` on, rounded; at most 0x7f without the sign. */
FOR_AVX2 static inline void upper_store(uint8_t *to, __m256 low, __m256 high, int shift)
{
    __m128i first = _mm256_cvtps_ph(low, _MM_FROUND_TO_NEAREST_INT);
    __m128i second = _mm256_cvtps_ph(high, _MM_FROUND_TO_NEAREST_INT);
    __m256i half = _mm256_set_m128i(second, first);
    __m256i magnitude = _mm256_and_si256(half, _mm256_set1_epi16(0x7fff));
    __m256i odd = _mm256_and_si256(_mm256_srli_epi16(half, shift), _mm256_set1_epi16(1));
    __m256i up = _mm256_add_epi16(odd, _mm256_set1_epi16((short)((1 << (shift - 1)) - 1)));
    magnitude = _mm256_srli_epi16(_mm256_add_epi16(magnitude, up), shift);
    magnitude = _mm256_min_epi16(magnitude, _mm256_set1_epi16(0x7f));
    __m256i sign = _mm256_and_si256(_mm256_srli_epi16(half, 8), _mm256_set1_epi16(0x80));
    __m256i code = _mm256_or_si256(magnitude, sign);
    _mm_storeu_si128((__m128i *)to, _mm_packus_epi16(_mm256_castsi256_si128(code),
                                                     _mm256_extracti128_si256(code, 1)));
}

FOR_AVX2 static inline __m256i e5m2_load(const uint8_t *from)
{
    return _mm256_slli_epi16(_mm256_cvtepu8_epi16(_mm_loadu_si128((const __m128i *)from)), 8);
}

FOR_AVX2 static inline void e5m2_store(uint8_t *to, __m256 low, __m256 high)
{
    upper_store(to, low, high, 8);
}

/* The sign goes to bit 15, the rest to bits 7 to 13, which makes 2^-8 of the value, as
 * upper_store() expects. */
FOR_AVX2 static inline __m256i e4m3_load(const uint8_t *from)
{
    __m256i wide = _mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i *)from));
    __m256i magnitude = _mm256_and_si256(_mm256_slli_epi16(wide, 7), _mm256_set1_epi16(0x3f80));
    __m256i nan = _mm256_cmpeq_epi16(magnitude, _mm256_set1_epi16(0x3f80));
    __m256i sign = _mm256_and_si256(wide, _mm256_set1_epi16((short)0x8000));
    nan = _mm256_and_si256(nan, _mm256_set1_epi16(0x7e00));
    return _mm256_or_si256(_mm256_or_si256(magnitude, sign), nan);
}

FOR_AVX2 static inline void e4m3_store(uint8_t *to, __m256 low, __m256 high)
{
    upper_store(to, low, high, 7);
}

FOR_AVX2 static inline __m256 e4m3_product(__m256 x, __m256 y)
{
    return _mm256_mul_ps(_mm256_mul_ps(x, y), _mm256_set1_ps(0x1p8f));
}

/* 8 elements at a time. */
#define LOOP_AVX2(op, format, combine)                                                             \
    FOR_AVX2 static void op##_##format##_avx2(void *to, const void *a, const void *b,              \
                                              size_t elements)                                     \
    {                                                                                              \
        uint16_t *out = to;                                                                        \
        const uint16_t *left = a, *right = b;                                                      \
        size_t whole = elements - elements % 8;                                                    \
        UNROLLED for (size_t i = 0; i < whole; i += 8)                                             \
            format##_store(out + i, combine(format##_load(left + i), format##_load(right + i)));   \
        op##_##format##_baseline(out + whole, left + whole, right + whole, elements - whole);      \
    }

#define LOOPS_AVX2(format)                                                                         \
    LOOP_AVX2(sum, format, _mm256_add_ps)                                                          \
    LOOP_AVX2(prod, format, _mm256_mul_ps)                                                         \
    FOR_AVX2 static void finish_##format##_avx2(void *to, const void *from, size_t elements,       \
                                                int ranks)                                         \
    {                                                                                              \
        uint16_t *out = to;                                                                        \
        const uint16_t *in = from;                                                                 \
        const __m256 divisor = _mm256_set1_ps((float)ranks);                                       \
        size_t whole = elements - elements % 8;                                                    \
        for (size_t i = 0; i < whole; i += 8)                                                      \
            format##_store(out + i, _mm256_div_ps(format##_load(in + i), divisor));                \
        finish_##format##_baseline(out + whole, in + whole, elements - whole, ranks);              \
    }

/* The same of bytes, 16 at a time. */
#define LOOP_BYTES_AVX2(op, format, combine)                                                       \
    FOR_AVX2 static void op##_##format##_avx2(void *to, const void *a, const void *b,              \
                                              size_t elements)                                     \
    {                                                                                              \
        uint8_t *out = to;                                                                         \
        const uint8_t *left = a, *right = b;                                                       \
        size_t whole = elements - elements % 16;                                                   \
        for (size_t i = 0; i < whole; i += 16) {                                                   \
            __m256i x = format##_load(left + i), y = format##_load(right + i);                     \
            format##_store(out + i, combine(halves_low(x), halves_low(y)),                         \
                           combine(halves_high(x), halves_high(y)));                               \
        }                                                                                          \
        op##_##format##_baseline(out + whole, left + whole, right + whole, elements - whole);      \
    }

#define LOOPS_BYTES_AVX2(format, product)                                                          \
    LOOP_BYTES_AVX2(sum, format, _mm256_add_ps)                                                    \
    LOOP_BYTES_AVX2(prod, format, product)                                                         \
    FOR_AVX2 static void finish_##format##_avx2(void *to, const void *from, size_t elements,       \
                                                int ranks)                                         \
    {                                                                                              \
        uint8_t *out = to;                                                                         \
        const uint8_t *in = from;                                                                  \
        const __m256 divisor = _mm256_set1_ps((float)ranks);                                       \
        size_t whole = elements - elements % 16;                                                   \
        for (size_t i = 0; i < whole; i += 16) {                                                   \
            __m256i x = format##_load(in + i);                                                     \
            format##_store(out + i, _mm256_div_ps(halves_low(x), divisor),                         \
                           _mm256_div_ps(halves_high(x), divisor));                                \
        }                                                                                          \
        finish_##format##_baseline(out + whole, in + whole, elements - whole, ranks);              \
    }

LOOPS_AVX2(float16)
LOOPS_AVX2(bfloat16)
LOOPS_BYTES_AVX2(e4m3, e4m3_product)
LOOPS_BYTES_AVX2(e5m2, _mm256_mul_ps)
#define SMALL_AVX2(function) function##_avx2
#else
#define SMALL_AVX2(function) function##_baseline
#endif

#define KERNELS_SMALL(format, type)                                                                \
    KERNEL_TABLE(reduce, sum_##format, SMALL_AVX2(sum_##format))                                   \
    KERNEL_TABLE(reduce, prod_##format, SMALL_AVX2(prod_##format))                                 \
    KERNEL_TABLE(finish, finish_##format, SMALL_AVX2(finish_##format))                             \
    ORDERED_OPERATORS(KERNEL, format, type)                                                        \
    static const struct kernels kernels_##format = {                                               \
        .reduce = {FLOATING_OPERATORS(KERNEL_ENTRY, format, type)},                                \
        .finish = finish_##format##_kernels,                                                       \
    };

KERNELS_SMALL(float16, uint16_t)
KERNELS_SMALL(bfloat16, uint16_t)
KERNELS_SMALL(e4m3, uint8_t)
KERNELS_SMALL(e5m2, uint8_t)

/*
 * The table of kernels, by type and operator.
 */
static const struct kernels *const kernels[DATATYPES] = {
    [TYPE_FLOAT] = &kernels_float,
    [TYPE_DOUBLE] = &kernels_double,
    [TYPE_FLOAT16] = &kernels_float16,
    [TYPE_BFLOAT16] = &kernels_bfloat16,
    [TYPE_E4M3] = &kernels_e4m3,
    [TYPE_E5M2] = &kernels_e5m2,
    [TYPE_INT8] = &kernels_int8,
    [TYPE_INT16] = &kernels_int16,
    [TYPE_INT32] = &kernels_int32,
    [TYPE_INT64] = &kernels_int64,
    [TYPE_UINT8] = &kernels_uint8,
    [TYPE_UINT16] = &kernels_uint16,
    [TYPE_UINT32] = &kernels_uint32,
    [TYPE_UINT64] = &kernels_uint64,
    [TYPE_FLOAT_INT32] = &kernels_float_int32,
    [TYPE_INT32_INT32] = &kernels_int32_int32,
    [TYPE_DOUBLE_INT64] = &kernels_double_int64,
    [TYPE_INT64_INT64] = &kernels_int64_int64,
};

#ifdef __clang__ /* does not know the name F16C; every processor with AVX2 has it */
#define HAS_F16C true
#else
#define HAS_F16C __builtin_cpu_supports("f16c")
#endif

enum kernel_set kernel_set_best(void)
{
#ifdef __x86_64__
    if (__builtin_cpu_supports("avx2") && HAS_F16C)
        return KERNELS_AVX2;
#endif
    return KERNELS_BASELINE;
}

reduce_function *reduce_kernel_from(enum kernel_set set, const struct datatype *type,
                                    const struct reduction *reduction)
{
    reduce_function *const *reduce = kernels[type->id]->reduce[reduction->id];
    return reduce ? reduce[set] : NULL;
}

reduce_function *reduce_kernel(const struct datatype *type, const struct reduction *reduction)
{
    return reduce_kernel_from(kernel_set_best(), type, reduction);
}

finish_function *finish_kernel_from(enum kernel_set set, const struct datatype *type,
                                    const struct reduction *reduction)
{
    finish_function *const *finish = reduction->finishes ? kernels[type->id]->finish : NULL;
    return finish ? finish[set] : NULL;
}

finish_function *finish_kernel(const struct datatype *type, const struct reduction *reduction)
{
    return finish_kernel_from(kernel_set_best(), type, reduction);
}

const char *reduce_refusal(const struct datatype *type, const struct reduction *reduction)
{
    if (kernels[type->id]->reduce[reduction->id])
        return NULL;
    if (type->kind == DATATYPE_PAIR)
        return "pairs of a value and an index have only a greatest and a least: choose "
               "--op maxloc or minloc";
    switch (reduction->id) {
    case REDUCTION_MAXLOC:
    case REDUCTION_MINLOC:
        return "it needs pairs of a value and an index: choose --datatype float_int32, "
               "int32_int32, double_int64 or int64_int64, or --op max or min";
    case REDUCTION_LAND:
    case REDUCTION_LOR:
    case REDUCTION_LXOR:
        return "logical operators need integers: choose one of int8 to uint64, or --op min or max";
    default:
        return "bitwise operators need integers: choose one of int8 to uint64, or --op sum, "
               "min or max";
    }
}

int reduce_ranks_most(const struct datatype *type, const struct reduction *reduction)
{
    bool is_signed = type->kind == DATATYPE_SIGNED;
    if (!reduction->finishes || type->kind == DATATYPE_FLOAT || type->size >= sizeof(int))
        return INT_MAX;
    return (1 << (8 * type->size - is_signed)) - 1;
}
