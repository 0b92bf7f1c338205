/*
 * internal.h - for the files of dataplane/memory/ alone.
 */
#ifndef CCTEST_DATAPLANE_MEMORY_INTERNAL_H
#define CCTEST_DATAPLANE_MEMORY_INTERNAL_H

#include <stdint.h>

#include "dataplane/memory/memory.h"
#include "dataplane/memory/input_element.h"
#include "dataplane/memory/reduce_element.h"

/* Its hooks are those of all memory that a CPU reads and writes. */
extern const struct memory_kind memory_host;

/* ---- input_values.c ---- */

#define VALUES_MOST 256u /* elements made at a time: all that they need stays in the first cache */

/* `reduction` NULL: values are only moved. */
struct recipe recipe_of(const struct datatype *type, const struct reduction *reduction, int ranks);

/* What one rank's values are made of. */
struct material {
    struct input_rule by;
    size_t count;
    uint32_t rank;
    const uint32_t *deciders; /* of each element; unless the rule has none */
    const uint32_t *shared;   /* words that all ranks share; unless the rule has none */
    uint32_t words[VALUES_MOST];
};

/* Writes m->count elements. */
void values_make(const struct datatype *type, const struct material *m, void *to);

/* ---- A pragma for loops that are to become vector code.
 *
 * VECTORIZE before a loop tells the compiler that no element depends on another one. gcc vectorizes
 * such loops from -O3 on, hence -O3 for the whole of a file that includes this; clang does from
 * -O2.
 * ---- */

#ifdef __clang__
#pragma clang diagnostic ignored "-Wpass-failed" /* of loops that AddressSanitizer keeps scalar */
#define VECTORIZE _Pragma("clang loop vectorize(assume_safety)")
#else
#pragma GCC optimize("O3")
#define VECTORIZE _Pragma("GCC ivdep")
#endif

/* ---- Shared by the files of kernels (reduce_*.c): how a loop over elements is
 * written, and the table of kernels of each type.
 *
 * The loops have neither `restrict` nor run-time overlap checks: `to` is often `a` or `b` itself
 * (an accumulation in place), and the checks would select the slow loop in that case. No element
 * depends on another one, which the pragma says. -O2 leaves loops of unknown length scalar; -O3 for
 * these files (internal.h) makes them three to ten times faster.
 *
 * Each kernel exists twice: one binary serves every machine, so instructions beyond the baseline
 * are selected at run time. (Resolvers of the linker run before ThreadSanitizer is ready, and crash
 * in it.) Measured on a Zen 4: in the cache AVX2 makes sums of floats 1.7 times as fast, products
 * and minima of integers up to 6 times; from L3 it gains 15 % in place; from memory nothing.
 * AVX-512 is nowhere faster than AVX2, and 10 to 15 % slower where results go to memory, so it is
 * left out.
 * ---- */

/* What a type has. */
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
#define KERNEL_TABLE(function)                                                                     \
    static reduce_function *const function##_kernels[KERNEL_SETS] = {                              \
        [KERNELS_BASELINE] = function##_baseline, [KERNELS_AVX2] = function##_avx2};

/* As reduce_element.h's lists of operators name them. */
#define KERNEL(OPERATOR, function, type)                                                           \
    LOOP(function##_baseline, , type, function)                                                    \
    LOOP(function##_avx2, FOR_AVX2, type, function)                                                \
    KERNEL_TABLE(function)
#define KERNEL_ENTRY(OPERATOR, function, type) [REDUCTION_##OPERATOR] = function##_kernels,

#define FINISH_TABLE(function)                                                                     \
    static finish_function *const function##_kernels[KERNEL_SETS] = {                              \
        [KERNELS_BASELINE] = function##_baseline, [KERNELS_AVX2] = function##_avx2};

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
    FINISH_TABLE(function)

#endif
