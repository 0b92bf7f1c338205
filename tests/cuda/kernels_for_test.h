/*
 * kernels_for_test.h - kernels for the stand-in's own tests, and what their argument begins with.
 */
#ifndef CCTEST_TEST_CUDA_KERNELS_FOR_TEST_H
#define CCTEST_TEST_CUDA_KERNELS_FOR_TEST_H

#include <stdint.h>

#include "dataplane/memory/cuda/work.h"

struct test_work {
    uint64_t to, from; /* addresses */
    uint64_t count;
    uint64_t value;
};

/* At the argument of a cooperative kernel. */
struct test_meeting {
    uint64_t to, from; /* addresses of words of 32 bits */
    uint64_t value;
    uint32_t result; /* how many threads say so */
    uint32_t wrong;  /* how many saw what they should not */
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
/* A barrier, shared memory or a trap where `value` is 0, 1 or 2. */
void kernel_asks(struct device_work work);

/* Cooperative kernels: their argument is a struct test_meeting in device memory. */

/* Sets the word at `to` to `value`, and waits for the word at `from` to be `value`. */
void kernel_meet(void *meeting);
/* `value` times, each thread tells its neighbour of the same block a word in shared memory. */
void kernel_neighbours(void *meeting);
/* Each thread votes, in each turn another one against. The last of them end early. */
void kernel_vote(void *meeting);
/* All blocks fill all of their shared memory, of `value` bytes, before any of them looks at it. At
 * `to` is a counter. */
void kernel_apart(void *meeting);
/* Threads wait at different barriers. */
void kernel_divide(void *meeting);
/* Counts its threads, as many as blockDim and gridDim say, and their numbers. */
void kernel_present(void *meeting);

#ifdef __cplusplus
}
#endif

#endif
