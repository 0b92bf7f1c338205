/*
 * meeting.h - tests of cooperative kernels: launches of them, and their argument.
 */
#ifndef CCTEST_TEST_CUDA_MEETING_H
#define CCTEST_TEST_CUDA_MEETING_H

#include "card.h"

/* The argument lies in the card's memory, from this word on; what the kernel reads lies before. */
#define MEETING_WORD 100

static inline struct test_meeting *meeting_view(const uint32_t *memory)
{
    return runtime_view(memory + MEETING_WORD);
}

static inline cudaError_t kernel_loaded(void (*kernel)(void *))
{
    struct cudaFuncAttributes about;
    return cudaFuncGetAttributes(&about, (const void *)(uintptr_t)kernel);
}

/* `memory`: of the device; the values become the argument there. */
static inline cudaError_t meeting_launch(void (*kernel)(void *), unsigned blocks, unsigned threads,
                                         size_t shared, uint32_t *memory,
                                         struct test_meeting values, cudaStream_t stream)
{
    *meeting_view(memory) = values;
    void *pointer = memory + MEETING_WORD, *arguments[] = {&pointer};
    return cudaLaunchCooperativeKernel((const void *)(uintptr_t)kernel, (dim3){blocks, 1, 1},
                                       (dim3){threads, 1, 1}, arguments, shared, stream);
}

/* A kernel that waits for the first word of the card's pinned memory to be 1. */
static inline cudaError_t gate_launch(const struct card *card, unsigned blocks)
{
    *card->pinned = *(uint32_t *)runtime_view(card->memory) = 0;
    return meeting_launch(kernel_meet, blocks, 1, 0, card->memory,
                          (struct test_meeting){.to = (uintptr_t)card->memory,
                                                .from = (uintptr_t)card->pinned,
                                                .value = 1},
                          card->stream);
}

/* Waits until it has begun. */
static inline void gate_begun(const struct card *card)
{
    const uint32_t *begun = runtime_view(card->memory);
    while (__atomic_load_n(begun, __ATOMIC_ACQUIRE) != 1)
        usleep(100);
}

static inline void gate_open(const struct card *card)
{
    __atomic_store_n(card->pinned, 1, __ATOMIC_RELEASE);
}

#endif
