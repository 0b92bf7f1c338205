/*
 * card.h - what the tests of the stand-in begin with: a stream, memory of a device, pinned memory.
 */
#ifndef CCTEST_TEST_CUDA_CARD_H
#define CCTEST_TEST_CUDA_CARD_H

#include "../unit/child.h"

#include <cuda_runtime_api.h>
#include <stdlib.h>
#include <string.h>

#include "kernels_for_test.h"
#include "runtime.h"

#define CARD_WORDS 1000
#define CARD_BYTES (CARD_WORDS * sizeof(uint32_t))

#define assert_cuda(call, error)                                                                   \
    assert_string_equal(cudaGetErrorName(call), cudaGetErrorName(cuda##error))

struct card {
    cudaStream_t stream;
    cudaEvent_t event;
    uint32_t *memory, *other; /* of the device */
    uint32_t *pinned;
};

static inline struct card card_open(const char *settings)
{
    struct card card;
    runtime_configure(settings);
    assert_cuda(cudaSetDevice(0), Success);
    assert_cuda(cudaStreamCreateWithFlags(&card.stream, cudaStreamNonBlocking), Success);
    assert_cuda(cudaEventCreateWithFlags(&card.event, cudaEventDisableTiming), Success);
    assert_cuda(cudaMalloc((void **)&card.memory, CARD_BYTES), Success);
    assert_cuda(cudaMalloc((void **)&card.other, CARD_BYTES), Success);
    assert_cuda(cudaHostAlloc((void **)&card.pinned, CARD_BYTES, cudaHostAllocDefault), Success);
    return card;
}

/* Its stream has done all. */
static inline void card_free(struct card *card)
{
    assert_cuda(cudaFree(card->memory), Success);
    assert_cuda(cudaFree(card->other), Success);
    assert_cuda(cudaFreeHost(card->pinned), Success);
    assert_cuda(cudaEventDestroy(card->event), Success);
    assert_cuda(cudaStreamDestroy(card->stream), Success);
    runtime_check();
}

static inline void card_close(struct card *card)
{
    assert_cuda(cudaStreamSynchronize(card->stream), Success);
    card_free(card);
}

static inline cudaError_t card_launch(void (*kernel)(struct device_work), dim3 grid, dim3 block,
                                      struct test_work values, cudaStream_t stream)
{
    struct device_work work;
    memset(&work, 0, sizeof work);
    memcpy(&work, &values, sizeof values);
    void *arguments[] = {&work};
    return cudaLaunchKernel((const void *)(uintptr_t)kernel, grid, block, arguments, 0, stream);
}

/* to[i] = from[i] + value in all words. */
static inline cudaError_t card_add(const struct card *card, const void *to, const void *from,
                                   uint64_t value)
{
    return card_launch(kernel_add, (dim3){3, 1, 1}, (dim3){32, 1, 1},
                       (struct test_work){(uintptr_t)to, (uintptr_t)from, CARD_WORDS, value},
                       card->stream);
}

/* first, first + 1, ... */
static inline void words_fill(uint32_t *words, uint32_t first)
{
    for (uint32_t i = 0; i < CARD_WORDS; i++)
        words[i] = first + i;
}

static inline int words_wrong(const uint32_t *words, uint32_t first)
{
    int wrong = 0;
    for (uint32_t i = 0; i < CARD_WORDS; i++)
        wrong += words[i] != first + i;
    return wrong;
}

#endif
