/*
 * reduce_small.c - the kernels of floats of 8 and 16 bits.
 *
 * Each pair of elements is combined in float and rounded back at once (small_float.h), as a machine
 * that can do it by itself would. The sum, the product and the quotient of two of them in float are
 * exact, or so near that rounding twice gives what rounding once would.
 *
 * The greater of two is found without a float: the bits of a float without its sign, read as an
 * integer, grow as it does. So -0 is below 0, and NaN beyond the infinities; no order of combining
 * matters.
 */
#include "reduce.h"
#include "small_float.h"

#ifdef __x86_64__
#include <immintrin.h>
#endif

/* Integers that are ordered as the floats are; x ^ its magnitude's bits where the sign is set. */
#define KEY_8(x)  ((int8_t)((x) ^ ((uint8_t)((int8_t)(x) >> 7) & 0x7f)))
#define KEY_16(x) ((int16_t)((x) ^ ((uint16_t)((int16_t)(x) >> 15) & 0x7fff)))

#define KERNELS_SMALL(format, type, KEY)                                                           \
    KERNEL(min_##format, type, KEY(x) < KEY(y) ? x : y)                                            \
    KERNEL(max_##format, type, KEY(x) > KEY(y) ? x : y)                                            \
    FINISH(finish_##format, type, float, format##_narrow(format##_widen(x) / n))                   \
    const struct kernels kernels_##format = {                                                      \
        .reduce = {[REDUCTION_SUM] = sum_##format,                                                 \
                   [REDUCTION_PROD] = prod_##format,                                               \
                   [REDUCTION_MAX] = max_##format,                                                 \
                   [REDUCTION_MIN] = min_##format,                                                 \
                   [REDUCTION_AVG] = sum_##format},                                                \
        .finish = finish_##format,                                                                 \
    };

#define SUM(format)  format##_narrow(format##_widen(x) + format##_widen(y))
#define PROD(format) format##_narrow(format##_widen(x) * format##_widen(y))

LOOP(sum_float16_baseline, , uint16_t, SUM(float16))
LOOP(prod_float16_baseline, , uint16_t, PROD(float16))

#ifdef __x86_64__
#define HALVES 8 /* in a vector */

FOR_AVX2 static inline __m256 halves_load(const uint16_t *from)
{
    return _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)from));
}

/* The machine's own conversion, which compilers do not make loops of by themselves. */
#define LOOP_FLOAT16(name, combine)                                                                \
    FOR_AVX2 static void name##_avx2(void *to, const void *a, const void *b, size_t elements)      \
    {                                                                                              \
        uint16_t *out = to;                                                                        \
        const uint16_t *left = a, *right = b;                                                      \
        size_t whole = elements - elements % HALVES;                                               \
        for (size_t i = 0; i < whole; i += HALVES) {                                               \
            __m256 value = combine(halves_load(left + i), halves_load(right + i));                 \
            _mm_storeu_si128((__m128i *)(out + i),                                                 \
                             _mm256_cvtps_ph(value, _MM_FROUND_TO_NEAREST_INT));                   \
        }                                                                                          \
        name##_baseline(out + whole, left + whole, right + whole, elements - whole);               \
    }                                                                                              \
    KERNEL_TABLE(name)

LOOP_FLOAT16(sum_float16, _mm256_add_ps)
LOOP_FLOAT16(prod_float16, _mm256_mul_ps)
#else
#define sum_float16_avx2  sum_float16_baseline
#define prod_float16_avx2 prod_float16_baseline
KERNEL_TABLE(sum_float16)
KERNEL_TABLE(prod_float16)
#endif

KERNEL(sum_bfloat16, uint16_t, SUM(bfloat16))
KERNEL(prod_bfloat16, uint16_t, PROD(bfloat16))
KERNEL(sum_e4m3, uint8_t, SUM(e4m3))
KERNEL(prod_e4m3, uint8_t, PROD(e4m3))
KERNEL(sum_e5m2, uint8_t, SUM(e5m2))
KERNEL(prod_e5m2, uint8_t, PROD(e5m2))

KERNELS_SMALL(float16, uint16_t, KEY_16)
KERNELS_SMALL(bfloat16, uint16_t, KEY_16)
KERNELS_SMALL(e4m3, uint8_t, KEY_8)
KERNELS_SMALL(e5m2, uint8_t, KEY_8)
