/*
 * test_runtime_streams.c - the stand-in of the CUDA runtime works: copies, kernels, their order in
 * streams, events.
 * tier: deep; load: cpu1
 */

#include "card.h"

static const char *const modes[] = {"mode=sync", "mode=async,seed=3"};

/* Copies in each direction, memsets, copies with a pitch, and a kernel, one after the other. */
static void copies(void **state)
{
    (void)state;
    for (int mode = 0; mode < 2; mode++) {
        struct card card = card_open(modes[mode]);
        static uint32_t pageable[CARD_WORDS];
        words_fill(card.pinned, 5);
        memset(pageable, 0, sizeof pageable);
        assert_cuda(cudaMemcpyAsync(card.memory, card.pinned, CARD_BYTES, cudaMemcpyHostToDevice,
                                    card.stream),
                    Success);
        assert_cuda(cudaMemcpyAsync(card.other, card.memory, CARD_BYTES, cudaMemcpyDeviceToDevice,
                                    card.stream),
                    Success);
        assert_cuda(card_add(&card, card.memory, card.other, 10), Success);
        assert_cuda(
            cudaMemcpyAsync(pageable, card.memory, CARD_BYTES, cudaMemcpyDeviceToHost, card.stream),
            Success);
        assert_int_equal(words_wrong(pageable, 15), 0);
        assert_cuda(cudaMemsetAsync(card.memory, 0, CARD_BYTES, card.stream), Success);
        assert_cuda(cudaMemcpy2DAsync(card.memory, 16, card.other + 1, 8, 4, 3,
                                      cudaMemcpyDeviceToDevice, card.stream),
                    Success);
        assert_cuda(
            cudaMemcpy2DAsync(card.memory, 16, card.other, 4, 8, 3, cudaMemcpyDefault, card.stream),
            ErrorInvalidPitchValue);
        assert_cuda(
            cudaMemcpyAsync(pageable, card.memory, CARD_BYTES, cudaMemcpyDefault, card.stream),
            Success);
        static const uint32_t expected[] = {6, 0, 0, 0, 8, 0, 0, 0, 10, 0, 0, 0};
        assert_memory_equal(pageable, expected, sizeof expected);
        struct runtime_counts counts = runtime_counts();
        assert_int_equal(counts.launches, 1);
        assert_int_equal(counts.lazy, 1);
        assert_int_equal(counts.copies, 6);
        assert_int_equal(counts.bytes, 5 * CARD_BYTES + 12);
        assert_int_equal(counts.waits, 2);
        card_close(&card);
    }
}

/* A kernel sees each thread of each block once, within limits. */
static void kernels(void **state)
{
    (void)state;
    for (int threads = 0; threads < 2; threads++) {
        struct card card = card_open(threads ? "threads=1" : "");
        unsigned long long *words = runtime_view(card.memory);
        memset(words, 0, CARD_BYTES);
        words[2] = words[3] = 1 << 30;
        struct cudaFuncAttributes attributes;
        assert_cuda(cudaFuncGetAttributes(&attributes, (const void *)(uintptr_t)kernel_count),
                    Success);
        struct test_work values = {.to = (uintptr_t)card.memory, .value = 7};
        assert_cuda(
            card_launch(kernel_count, (dim3){5, 3, 2}, (dim3){8, 4, 2}, values, card.stream),
            Success);
        int per_block = threads ? 1 : 64;
        assert_int_equal(words[0], 7 * 30 * per_block);
        assert_int_equal(words[1], 7 * 30 * per_block);
        assert_int_equal(words[2], 7);
        assert_int_equal(words[3], 7);
        assert_int_equal(words[4], per_block);
        assert_int_equal(runtime_counts().lazy, 0);
        assert_cuda(
            card_launch(kernel_count, (dim3){0, 1, 1}, (dim3){1, 1, 1}, values, card.stream),
            ErrorInvalidConfiguration);
        assert_cuda(
            card_launch(kernel_count, (dim3){1, 1, 1}, (dim3){1024, 2, 1}, values, card.stream),
            ErrorInvalidConfiguration);
        assert_cuda(card_launch(NULL, (dim3){1, 1, 1}, (dim3){1, 1, 1}, values, card.stream),
                    ErrorInvalidDeviceFunction);
        card_close(&card);
    }
}

/* Blocks run in an order that the seed decides. */
static void block_order(void **state)
{
    (void)state;
    uint32_t orders[3][16];
    for (int i = 0; i < 3; i++) {
        struct card card = card_open(i == 1 ? "seed=2" : "seed=9");
        *(uint32_t *)runtime_view(card.other) = 0;
        struct test_work values = {(uintptr_t)card.memory, (uintptr_t)card.other, 0, 0};
        assert_cuda(
            card_launch(kernel_order, (dim3){16, 1, 1}, (dim3){2, 1, 1}, values, card.stream),
            Success);
        memcpy(orders[i], runtime_view(card.memory), sizeof orders[i]);
        uint32_t seen = 0;
        for (int k = 0; k < 16; k++)
            seen |= 1u << orders[i][k];
        assert_int_equal(seen, 0xffff);
        card_close(&card);
    }
    assert_memory_equal(orders[0], orders[2], sizeof orders[0]);
    assert_memory_not_equal(orders[0], orders[1], sizeof orders[0]);
    assert_int_not_equal(orders[0][1], (orders[0][0] + 1) % 16);
}

/* In mode=async pinned memory is read late, pageable memory at once. */
static void late_reads(void **state)
{
    (void)state;
    for (int pinned = 0; pinned < 2; pinned++) {
        struct card card = card_open("mode=async");
        static uint32_t pageable[CARD_WORDS];
        uint32_t *from = pinned ? card.pinned : pageable, *gate;
        cudaStream_t other;
        assert_cuda(cudaHostAlloc((void **)&gate, sizeof *gate, cudaHostAllocMapped), Success);
        *gate = 0;
        assert_cuda(cudaStreamCreateWithPriority(&other, cudaStreamNonBlocking, -1), Success);
        assert_cuda(card_launch(kernel_gate, (dim3){1, 1, 1}, (dim3){1, 1, 1},
                                (struct test_work){.from = (uintptr_t)gate, .value = 1}, other),
                    Success);
        assert_cuda(cudaEventRecord(card.event, other), Success);
        assert_cuda(cudaStreamWaitEvent(card.stream, card.event, 0), Success);
        words_fill(from, 1);
        assert_cuda(
            cudaMemcpyAsync(card.memory, from, CARD_BYTES, cudaMemcpyHostToDevice, card.stream),
            Success);
        usleep(5000); /* more than any delay */
        assert_cuda(cudaStreamQuery(card.stream), ErrorNotReady);
        assert_cuda(cudaEventQuery(card.event), ErrorNotReady);
        words_fill(from, 2); /* too early, if it is pinned */
        __atomic_store_n(gate, 1, __ATOMIC_RELEASE);
        assert_cuda(cudaStreamSynchronize(card.stream), Success);
        assert_cuda(cudaStreamQuery(card.stream), Success);
        assert_int_equal(words_wrong(runtime_view(card.memory), pinned ? 2 : 1), 0);
        assert_cuda(cudaStreamDestroy(other), Success);
        assert_cuda(cudaFreeHost(gate), Success);
        card_close(&card);
    }
}

/* Work of one stream is done in order; an event is done with what was queued before it. */
static void order(void **state)
{
    (void)state;
    struct card card = card_open("mode=async,delay=300");
    assert_cuda(cudaEventQuery(card.event), Success);
    int early = 0;
    words_fill(card.pinned, 0);
    assert_cuda(
        cudaMemcpyAsync(card.memory, card.pinned, CARD_BYTES, cudaMemcpyDefault, card.stream),
        Success);
    for (uint32_t i = 1; i <= 100; i++) {
        assert_cuda(card_add(&card, card.memory, card.memory, 1), Success);
        assert_cuda(
            cudaMemcpyAsync(card.pinned, card.memory, CARD_BYTES, cudaMemcpyDefault, card.stream),
            Success);
        assert_cuda(cudaEventRecord(card.event, card.stream), Success);
        cudaError_t error;
        while ((error = cudaEventQuery(card.event)) == cudaErrorNotReady) {
            early++;
            assert_cuda(cudaGetLastError(), ErrorNotReady);
        }
        assert_cuda(error, Success);
        assert_int_equal(words_wrong(card.pinned, i), 0);
    }
    assert_true(early > 0);
    card_close(&card);
}

/* A stream that is destroyed finishes its work; synchronizations wait for what was queued. */
static void streams(void **state)
{
    (void)state;
    struct card card = card_open("mode=async,delay=2000");
    cudaStream_t other;
    cudaEvent_t ends[2];
    float ms = -1;
    for (int i = 0; i < 2; i++)
        assert_cuda(cudaEventCreateWithFlags(&ends[i], cudaEventDefault), Success);
    assert_cuda(cudaEventElapsedTime(&ms, ends[0], ends[1]), ErrorInvalidResourceHandle);
    assert_cuda(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking), Success);
    assert_cuda(cudaEventRecord(ends[0], other), Success);
    for (int i = 0; i < 20; i++)
        assert_cuda(cudaMemsetAsync(card.memory, i, CARD_BYTES, other), Success);
    assert_cuda(cudaEventRecord(ends[1], other), Success);
    assert_cuda(cudaEventElapsedTime(&ms, ends[0], ends[1]), ErrorNotReady);
    assert_cuda(cudaStreamDestroy(other), Success);
    assert_cuda(cudaEventSynchronize(ends[1]), Success);
    assert_int_equal(*(unsigned char *)runtime_view(card.memory), 19);
    assert_cuda(cudaEventElapsedTime(&ms, ends[0], ends[1]), Success);
    assert_true(ms > 0);
    assert_cuda(cudaMemsetAsync(card.memory, 77, CARD_BYTES, card.stream), Success);
    assert_cuda(cudaDeviceSynchronize(), Success);
    assert_int_equal(*(unsigned char *)runtime_view(card.memory), 77);
    for (int i = 0; i < 2; i++)
        assert_cuda(cudaEventDestroy(ends[i]), Success);
    card_close(&card);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(copies),     cmocka_unit_test(kernels), cmocka_unit_test(block_order),
        cmocka_unit_test(late_reads), cmocka_unit_test(order),   cmocka_unit_test(streams),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
