/*
 * kernels_for_test.h - kernels for the stand-in's own tests, and what their argument begins with.
 */
#ifndef CCTEST_TEST_CUDA_KERNELS_FOR_TEST_H
#define CCTEST_TEST_CUDA_KERNELS_FOR_TEST_H

#include <stdint.h>

#include "memory/cuda/work.h"

struct test_work {
    uint64_t to, from; /* addresses */
    uint64_t count;
    uint64_t value;
};

#ifdef __cplusplus
extern "C" {
#endif

/* to[i] = from[i] + value, for `count` words of 32 bits; any number of threads. */
void kernel_add(struct device_work work);
/* Words at `to`: the sum of all threads' `value` in 32 and in 64 bits, the least of the numbers of
 * all threads plus `value`, likewise twice, and how many threads there are in a block. */
void kernel_count(struct device_work work);
/* Each block notes its number at `to`, in the order in which they run; at `from` is a counter. */
void kernel_order(struct device_work work);
/* Waits for the word at `from`, in pinned memory, to be `value`. */
void kernel_gate(struct device_work work);

#ifdef __cplusplus
}
#endif

#endif
