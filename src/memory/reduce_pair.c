/*
 * reduce_pair.c - the kernels of pairs: the greatest or least value, and the index that came with
 * it; of equal values, the smaller index.
 *
 * Pairs are read as two words each, so that the loops become vector code, which loops over
 * structures of two types do not.
 */
#include "memory/reduce_kernels.h"
#include "memory/small_float.h"

/* VALUE: what a word says; index: the signed type of its size. */
#define LOOP_PAIRS(name, target, word, index, VALUE, better)                                       \
    target static void name(void *to, const void *a, const void *b, size_t elements)               \
    {                                                                                              \
        word *out = to;                                                                            \
        const word *left = a, *right = b;                                                          \
        VECTORIZE UNROLLED for (size_t i = 0; i < 2 * elements; i += 2)                            \
        {                                                                                          \
            const word x = left[i], y = right[i], at = left[i + 1], other = right[i + 1];          \
            /* Numbers, not conditions: of conditions compilers make branches, or warn. */         \
            const int wins = VALUE(x) better VALUE(y), equal = VALUE(x) == VALUE(y);               \
            const int first = (index)at <= (index)other, take = wins | (equal & first);            \
            out[i] = take ? x : y;                                                                 \
            out[i + 1] = take ? at : other;                                                        \
        }                                                                                          \
    }

#define KERNEL_PAIRS(name, word, index, VALUE, better)                                             \
    LOOP_PAIRS(name##_baseline, , word, index, VALUE, better)                                      \
    LOOP_PAIRS(name##_avx2, FOR_AVX2, word, index, VALUE, better)                                  \
    KERNEL_TABLE(name)

#define PAIR(type, word, index, VALUE)                                                             \
    KERNEL_PAIRS(maxloc_##type, word, index, VALUE, >)                                             \
    KERNEL_PAIRS(minloc_##type, word, index, VALUE, <)                                             \
    const struct kernels kernels_##type = {                                                        \
        .reduce = {[REDUCTION_MAXLOC] = maxloc_##type, [REDUCTION_MINLOC] = minloc_##type},        \
    };

PAIR(float_int32, uint32_t, int32_t, float_of)
PAIR(int32_int32, uint32_t, int32_t, (int32_t))
PAIR(double_int64, uint64_t, int64_t, double_of)
PAIR(int64_int64, uint64_t, int64_t, (int64_t))
