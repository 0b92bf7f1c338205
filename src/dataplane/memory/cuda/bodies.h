/*
 * bodies.h - what the threads of a GPU do with a contiguous run of elements: copy, combine, finish.
 *
 * They expand the lists of reduce_element.h, as the host's kernels do, so results are the same to
 * the bit. Thread `at` of `step` threads does its part; none waits for another. C++17.
 */
#ifndef CCTEST_DATAPLANE_MEMORY_CUDA_BODIES_H
#define CCTEST_DATAPLANE_MEMORY_CUDA_BODIES_H

#include <stddef.h>

#include "dataplane/memory/reduce_element.h"

#define VECTOR 16u /* bytes that a thread moves at once, where all addresses are aligned alike */

template <typename T> struct alignas(VECTOR) vector {
    T element[VECTOR / sizeof(T)];
};

/* Elements in front of the first aligned address; all of them, if the addresses are not aligned
 * alike. */
template <typename T>
static __device__ inline size_t elements_before(const void *a, const void *b, const void *c,
                                                size_t count)
{
    const uintptr_t x = (uintptr_t)a % VECTOR, y = (uintptr_t)b % VECTOR, z = (uintptr_t)c % VECTOR;
    const size_t before = (VECTOR - x) % VECTOR / sizeof(T);
    return x != y || x != z || before > count ? count : before;
}

/* For loops that seldom run: the code stays small. */
#ifdef __CUDA_ARCH__
#define ROLLED _Pragma("unroll 1")
#else
#define ROLLED
#endif

/* Vectors of a thread that it has read before it writes the first: GPUs need many loads under way.
 * Code for elements of 1 and 2 bytes would be long. */
#define VECTORS_AHEAD 4

template <typename T> struct vectors_ahead {
    static const int count = sizeof(T) >= 4 ? VECTORS_AHEAD : (int)sizeof(T);
};

template <typename T, T (*combine)(T, T)>
static __device__ inline void combine_vector(vector<T> &left, const vector<T> &right)
{
    for (size_t e = 0; e < VECTOR / sizeof(T); e++)
        left.element[e] = combine(left.element[e], right.element[e]);
}

template <typename T, T (*combine)(T, T)>
static __device__ inline void reduce_part(void *to, const void *from, const void *with,
                                          size_t elements, size_t at, size_t step)
{
    T *out = (T *)to;
    const T *a = (const T *)from, *b = (const T *)with;
    const size_t before = elements_before<T>(to, from, with, elements);
    const size_t per = VECTOR / sizeof(T), vectors = (elements - before) / per;
    const size_t behind = before + vectors * per;
    vector<T> *wide = (vector<T> *)(out + before);
    const vector<T> *x = (const vector<T> *)(a + before), *y = (const vector<T> *)(b + before);
    const int ahead = vectors_ahead<T>::count;
    size_t i = at;
    for (; i + (size_t)(ahead - 1) * step < vectors; i += (size_t)ahead * step) {
        vector<T> left[ahead], right[ahead];
        for (int n = 0; n < ahead; n++) {
            left[n] = x[i + n * step];
            right[n] = y[i + n * step];
        }
        for (int n = 0; n < ahead; n++) {
            combine_vector<T, combine>(left[n], right[n]);
            wide[i + n * step] = left[n];
        }
    }
    ROLLED
    for (; i < vectors; i += step) {
        vector<T> left = x[i];
        combine_vector<T, combine>(left, y[i]);
        wide[i] = left;
    }
    ROLLED
    for (i = at; i < before; i += step)
        out[i] = combine(a[i], b[i]);
    ROLLED
    for (i = behind + at; i < elements; i += step)
        out[i] = combine(a[i], b[i]);
}

template <typename W> struct alignas(2 * sizeof(W)) pair {
    W value, index;
};

template <typename W, int (*wins)(W, W, W, W)>
static __device__ inline void reduce_pair_part(void *to, const void *from, const void *with,
                                               size_t elements, size_t at, size_t step)
{
    pair<W> *out = (pair<W> *)to;
    const pair<W> *a = (const pair<W> *)from, *b = (const pair<W> *)with;
    for (size_t i = at; i < elements; i += step) {
        const pair<W> x = a[i], y = b[i];
        out[i] = wins(x.value, x.index, y.value, y.index) ? x : y;
    }
}

template <typename T, typename D, T (*divide)(T, D)>
static __device__ inline void finish_part(void *to, const void *from, size_t elements, int ranks,
                                          size_t at, size_t step)
{
    T *out = (T *)to;
    const T *in = (const T *)from;
    for (size_t i = at; i < elements; i += step)
        out[i] = divide(in[i], (D)ranks);
}

static __device__ inline void copy_part(char *to, const char *from, size_t bytes, size_t at,
                                        size_t step)
{
    const size_t before = elements_before<char>(to, from, to, bytes);
    const size_t vectors = (bytes - before) / VECTOR, behind = before + vectors * VECTOR;
    vector<char> *wide = (vector<char> *)(to + before);
    const vector<char> *in = (const vector<char> *)(from + before);
    size_t i = at;
    for (; i + (VECTORS_AHEAD - 1) * step < vectors; i += VECTORS_AHEAD * step) {
        vector<char> ahead[VECTORS_AHEAD];
        for (int n = 0; n < VECTORS_AHEAD; n++)
            ahead[n] = in[i + n * step];
        for (int n = 0; n < VECTORS_AHEAD; n++)
            wide[i + n * step] = ahead[n];
    }
    ROLLED
    for (; i < vectors; i += step)
        wide[i] = in[i];
    ROLLED
    for (i = at; i < before; i += step)
        to[i] = from[i];
    ROLLED
    for (i = behind + at; i < bytes; i += step)
        to[i] = from[i];
}

/* All types. X(type, list of operators, name and argument of that list, element as it is made, its
 * value, element as it is finished, divisor). */

#define NUMBERS(X)                                                                                 \
    X(FLOAT, FLOATING_OPERATORS, float, float, float, float, float, float)                         \
    X(DOUBLE, FLOATING_OPERATORS, double, double, double, double, double, double)                  \
    X(FLOAT16, FLOATING_OPERATORS, float16, uint16_t, uint16_t, float16, uint16_t, float)          \
    X(BFLOAT16, FLOATING_OPERATORS, bfloat16, uint16_t, uint16_t, bfloat16, uint16_t, float)       \
    X(E4M3, FLOATING_OPERATORS, e4m3, uint8_t, uint8_t, e4m3, uint8_t, float)                      \
    X(E5M2, FLOATING_OPERATORS, e5m2, uint8_t, uint8_t, e5m2, uint8_t, float)                      \
    X(INT8, INTEGER_OPERATORS, int8, 8, uint8_t, integer_8, int8_t, float)                         \
    X(INT16, INTEGER_OPERATORS, int16, 16, uint16_t, integer_16, int16_t, float)                   \
    X(INT32, INTEGER_OPERATORS, int32, 32, uint32_t, integer_32, int32_t, double)                  \
    X(INT64, INTEGER_OPERATORS, int64, 64, uint64_t, integer_64, int64_t, int64_t)                 \
    X(UINT8, INTEGER_OPERATORS, uint8, 8, uint8_t, integer_8, uint8_t, float)                      \
    X(UINT16, INTEGER_OPERATORS, uint16, 16, uint16_t, integer_16, uint16_t, float)                \
    X(UINT32, INTEGER_OPERATORS, uint32, 32, uint32_t, integer_32, uint32_t, double)               \
    X(UINT64, INTEGER_OPERATORS, uint64, 64, uint64_t, integer_64, uint64_t, uint64_t)
#define PAIRS(X)                                                                                   \
    X(FLOAT_INT32, float_int32, uint32_t)                                                          \
    X(INT32_INT32, int32_int32, uint32_t)                                                          \
    X(DOUBLE_INT64, double_int64, uint64_t)                                                        \
    X(INT64_INT64, int64_int64, uint64_t)

#endif
