/*
 * reduce_pair.c - the kernels of pairs: the greatest or least value, and the index that came with
 * it.
 *
 * Pairs are read as two words each, so that the loops become vector code, which loops over
 * structures of two types do not.
 */
#include "dataplane/memory/internal.h"

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
    KERNEL_TABLE(wins)

#define PAIR(name, word)                                                                           \
    PAIR_OPERATORS(KERNEL_PAIRS, name, word)                                                       \
    const struct kernels kernels_##name = {.reduce = {PAIR_OPERATORS(KERNEL_ENTRY, name, word)}};

PAIR(float_int32, uint32_t)
PAIR(int32_int32, uint32_t)
PAIR(double_int64, uint64_t)
PAIR(int64_int64, uint64_t)
