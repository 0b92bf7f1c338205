/*
 * test_runtime_cooperative.c - the stand-in of the CUDA runtime works: cooperative kernels, whose
 * threads wait for each other and for other kernels.
 * tier: deep; load: cpu1
 */
#include <pthread.h>

#include "meeting.h"

static const char *const modes[] = {"mode=sync", "mode=async,seed=3"};

/* Two kernels in two streams wait for each other; events show how long that takes. `peer`: the
 * device of the second, which reaches memory of device 0. */
static void meet(const char *settings, int peer)
{
    struct card card = card_open(settings);
    cudaStream_t other;
    cudaEvent_t ends[2];
    uint32_t *far;
    float ms = 0;
    for (int i = 0; i < 2; i++)
        assert_cuda(cudaEventCreateWithFlags(&ends[i], cudaEventDefault), Success);
    memset(runtime_view(card.memory), 0, CARD_BYTES);
    assert_cuda(cudaEventRecord(ends[0], card.stream), Success);
    assert_cuda(meeting_launch(kernel_meet, 2, 2, 0, card.memory,
                               (struct test_meeting){.to = (uintptr_t)card.memory,
                                                     .from = (uintptr_t)(card.memory + 1),
                                                     .value = 5},
                               card.stream),
                Success);
    assert_cuda(cudaEventRecord(ends[1], card.stream), Success);
    assert_cuda(cudaMemcpyAsync(card.pinned, card.memory, 8, cudaMemcpyDefault, card.stream),
                Success);
    while (cudaEventQuery(ends[0]) == cudaErrorNotReady)
        usleep(100);
    usleep(20000);
    assert_cuda(cudaStreamQuery(card.stream), ErrorNotReady);
    assert_cuda(cudaEventQuery(ends[1]), ErrorNotReady);
    assert_cuda(cudaSetDevice(peer), Success);
    if (peer)
        assert_cuda(cudaDeviceEnablePeerAccess(0, 0), Success);
    assert_cuda(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking), Success);
    assert_cuda(cudaMalloc((void **)&far, CARD_BYTES), Success);
    assert_cuda(meeting_launch(kernel_meet, 1, 1, 0, far,
                               (struct test_meeting){.to = (uintptr_t)(card.memory + 1),
                                                     .from = (uintptr_t)card.memory,
                                                     .value = 5},
                               other),
                Success);
    assert_cuda(cudaStreamSynchronize(card.stream), Success);
    assert_cuda(cudaStreamSynchronize(other), Success);
    assert_int_equal(card.pinned[0], 5);
    assert_int_equal(card.pinned[1], 5);
    assert_cuda(cudaEventElapsedTime(&ms, ends[0], ends[1]), Success);
    assert_true(ms >= 19 && ms < 5000);
    assert_int_equal(runtime_counts().launches, 2);
    assert_cuda(cudaFree(far), Success);
    assert_cuda(cudaStreamDestroy(other), Success);
    assert_cuda(cudaSetDevice(0), Success);
    for (int i = 0; i < 2; i++)
        assert_cuda(cudaEventDestroy(ends[i]), Success);
    card_close(&card);
}

static void meetings(void **state)
{
    (void)state;
    for (int mode = 0; mode < 2; mode++)
        for (int peer = 0; peer < 2; peer++)
            meet(modes[mode], peer);
}

/* Runs the kernel, and checks that so many threads of a block run, and that none saw a fault. */
static void kernel_check(const char *settings, void (*kernel)(void *), unsigned blocks,
                         unsigned threads, size_t shared, uint64_t value, uint32_t result)
{
    struct card card = card_open(settings);
    memset(runtime_view(card.other), 0, CARD_BYTES);
    assert_cuda(meeting_launch(kernel, blocks, threads, shared, card.memory,
                               (struct test_meeting){.to = (uintptr_t)card.other, .value = value},
                               card.stream),
                Success);
    assert_cuda(cudaStreamSynchronize(card.stream), Success);
    assert_int_equal(meeting_view(card.memory)->wrong, 0);
    assert_int_equal(meeting_view(card.memory)->result, result);
    card_close(&card);
}

/* Threads of a block wait for each other at barriers, and vote; some may end before the others. */
static void barriers(void **state)
{
    (void)state;
    for (int mode = 0; mode < 2; mode++) {
        char settings[64];
        snprintf(settings, sizeof settings, "%s,threads=7", modes[mode]);
        kernel_check(settings, kernel_neighbours, 3, 1, 7 * sizeof(uint32_t), 200, 3 * 7);
        kernel_check(settings, kernel_vote, 3, 1, 0, 200, 3 * 2);
        kernel_check("threads=1", kernel_neighbours, 3, 1, sizeof(uint32_t), 200, 3);
    }
}

/* Each block has shared memory of its own, of as many bytes as the launch says. */
static void shared_memory(void **state)
{
    (void)state;
    for (int mode = 0; mode < 2; mode++)
        kernel_check(modes[mode], kernel_apart, 5, 2, 3001, 3001, 5 * 2);
    struct card card = card_open("");
    const void *kernel = (const void *)(uintptr_t)kernel_apart;
    struct cudaFuncAttributes about;
    struct test_meeting values = {.to = (uintptr_t)card.other, .value = 60 << 10};
    memset(runtime_view(card.other), 0, CARD_BYTES);
    assert_cuda(meeting_launch(kernel_apart, 1, 1, 60 << 10, card.memory, values, card.stream),
                ErrorInvalidValue);
    assert_cuda(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, 1 << 20),
                ErrorInvalidValue);
    assert_cuda(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, 60 << 10),
                Success);
    assert_cuda(meeting_launch(kernel_apart, 1, 1, 60 << 10, card.memory, values, card.stream),
                Success);
    assert_cuda(cudaFuncGetAttributes(&about, kernel), Success);
    assert_int_equal(about.maxDynamicSharedSizeBytes, 60 << 10);
    card_close(&card);
}

/* At most four threads of a block run, if the settings say no other number; each knows which it is,
 * and how many there are. */
static void threads(void **state)
{
    (void)state;
    static const struct {
        const char *settings;
        dim3 asked;
        unsigned runs;
    } list[] = {
        {"", {32, 2, 1}, 4}, {"", {1, 3, 1}, 3}, {"", {1, 2, 2}, 4}, {"threads=6", {1, 1, 1}, 6}};
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        struct card card = card_open(list[i].settings);
        uint32_t *mask = runtime_view(card.other);
        *mask = 0;
        *meeting_view(card.memory) =
            (struct test_meeting){.to = (uintptr_t)card.other, .value = list[i].runs};
        void *pointer = card.memory + MEETING_WORD, *arguments[] = {&pointer};
        assert_cuda(cudaLaunchCooperativeKernel((const void *)(uintptr_t)kernel_present,
                                                (dim3){2, 1, 2}, list[i].asked, arguments, 0,
                                                card.stream),
                    Success);
        assert_cuda(cudaStreamSynchronize(card.stream), Success);
        assert_int_equal(*mask, (1u << (4 * list[i].runs)) - 1);
        assert_int_equal(meeting_view(card.memory)->result, 4 * list[i].runs);
        assert_int_equal(meeting_view(card.memory)->wrong, 0);
        card_close(&card);
    }
}

/* A kernel begins when its blocks have room beside those that run on its device. */
static void room(void **state)
{
    (void)state;
    for (int mode = 0; mode < 2; mode++) {
        char settings[64];
        snprintf(settings, sizeof settings, "%s,sms=3,per_sm=2", modes[mode]);
        struct card card = card_open(settings);
        cudaStream_t other;
        int value = 0;
        assert_cuda(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking), Success);
        assert_cuda(cudaDeviceGetAttribute(&value, cudaDevAttrMultiProcessorCount, 0), Success);
        assert_int_equal(value, 3);
        const void *kernel = (const void *)(uintptr_t)kernel_meet;
        assert_cuda(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&value, kernel, 128, 1024),
                    Success);
        assert_int_equal(value, 2);
        assert_cuda(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&value, kernel, 128, 1 << 20),
                    Success);
        assert_int_equal(value, 0);
        assert_cuda(gate_launch(&card, 7), ErrorCooperativeLaunchTooLarge);
        assert_int_equal(runtime_counts().launches, 0);
        uint32_t *begun = runtime_view(card.other);
        *begun = 0;
        assert_cuda(gate_launch(&card, 5), Success);
        gate_begun(&card);
        struct test_meeting values = {
            .to = (uintptr_t)card.other, .from = (uintptr_t)card.other, .value = 1};
        assert_cuda(meeting_launch(kernel_meet, 2, 1, 0, card.other, values, other), Success);
        usleep(10000);
        assert_cuda(cudaStreamQuery(other), ErrorNotReady);
        assert_int_equal(__atomic_load_n(begun, __ATOMIC_ACQUIRE), 0);
        gate_open(&card);
        assert_cuda(cudaStreamSynchronize(other), Success);
        assert_int_equal(*begun, 1);
        assert_cuda(gate_launch(&card, 5), Success);
        gate_begun(&card);
        *begun = 0;
        assert_cuda(meeting_launch(kernel_meet, 1, 1, 0, card.other, values, other), Success);
        assert_cuda(cudaStreamSynchronize(other), Success); /* beside it */
        gate_open(&card);
        assert_cuda(cudaStreamDestroy(other), Success);
        card_close(&card);
    }
}

/* The attributes of a device, and the launches that it refuses. */
static void attributes(void **state)
{
    (void)state;
    int value = -1;
    struct card card = card_open("cooperative=no,mps=yes");
    assert_cuda(cudaDeviceGetAttribute(&value, cudaDevAttrCooperativeLaunch, 0), Success);
    assert_int_equal(value, 0);
    assert_cuda(cudaDeviceGetAttribute(&value, (enum cudaDeviceAttr)133, 0), Success);
    assert_int_equal(value, 1);
    assert_cuda(gate_launch(&card, 1), ErrorNotSupported);
    card_close(&card);
    card = card_open("");
    assert_cuda(cudaDeviceGetAttribute(&value, cudaDevAttrCooperativeLaunch, 0), Success);
    assert_int_equal(value, 1);
    assert_cuda(cudaDeviceGetAttribute(&value, (enum cudaDeviceAttr)133, 0), Success);
    assert_int_equal(value, 0);
    assert_cuda(
        cudaLaunchCooperativeKernel(NULL, (dim3){1, 1, 1}, (dim3){1, 1, 1}, NULL, 0, card.stream),
        ErrorInvalidDeviceFunction);
    assert_cuda(cudaLaunchCooperativeKernel((const void *)(uintptr_t)kernel_meet, (dim3){0, 1, 1},
                                            (dim3){1, 1, 1}, NULL, 0, card.stream),
                ErrorInvalidConfiguration);
    card_close(&card);
}

/* All work of a stream follows a kernel that waits, and so does work of other streams that waits
 * for an event after it. */
static void order(void **state)
{
    (void)state;
    for (int mode = 0; mode < 2; mode++) {
        struct card card = card_open(modes[mode]);
        cudaStream_t other;
        assert_cuda(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking), Success);
        assert_cuda(gate_launch(&card, 1), Success);
        assert_cuda(card_add(&card, card.other, card.memory, 41), Success);
        assert_cuda(cudaEventRecord(card.event, card.stream), Success);
        assert_cuda(cudaStreamWaitEvent(other, card.event, 0), Success);
        assert_cuda(cudaMemcpyAsync(card.pinned + 1, card.other, 4, cudaMemcpyDefault, other),
                    Success);
        usleep(5000);
        assert_cuda(cudaStreamQuery(other), ErrorNotReady);
        assert_cuda(cudaEventQuery(card.event), ErrorNotReady);
        gate_open(&card);
        assert_cuda(cudaStreamSynchronize(other), Success);
        assert_int_equal(card.pinned[1], 42);
        assert_cuda(cudaStreamDestroy(other), Success);
        card_close(&card);
    }
}

static void *gate_open_late(void *card)
{
    usleep(20000);
    gate_open(card);
    return NULL;
}

/* cudaFree() waits for kernels that run on the device, also of other memory; not for those of other
 * devices. */
static void free_waits(void **state)
{
    (void)state;
    for (int mode = 0; mode < 2; mode++) {
        struct card card = card_open(modes[mode]);
        pthread_t thread;
        void *memory, *far;
        assert_cuda(cudaMalloc(&memory, 100), Success);
        assert_cuda(cudaSetDevice(1), Success);
        assert_cuda(cudaMalloc(&far, 100), Success);
        assert_cuda(cudaSetDevice(0), Success);
        assert_cuda(gate_launch(&card, 1), Success);
        assert_cuda(cudaFree(far), Success);
        assert_cuda(cudaStreamQuery(card.stream), ErrorNotReady);
        assert_int_equal(pthread_create(&thread, NULL, gate_open_late, &card), 0);
        assert_cuda(cudaFree(memory), Success);
        assert_cuda(cudaStreamQuery(card.stream), Success);
        pthread_join(thread, NULL);
        card_close(&card);
    }
}

/* A launch without an argument waits for none, so strict=yes lets others wait for it. A kernel that
 * has run begins beside one that waits. */
static void without_argument(void **state)
{
    (void)state;
    struct card card = card_open("strict=yes");
    cudaStream_t stream;
    void *nothing = NULL, *arguments[] = {&nothing}, *memory;
    assert_cuda(kernel_loaded(kernel_meet), Success);
    assert_cuda(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), Success);
    for (int i = 0; i < 2; i++)
        assert_cuda(cudaLaunchCooperativeKernel((const void *)(uintptr_t)kernel_meet,
                                                (dim3){2, 1, 1}, (dim3){2, 1, 1}, arguments, 0,
                                                i ? stream : card.stream),
                    Success);
    assert_cuda(cudaMalloc(&memory, 100), Success);
    assert_cuda(cudaFree(memory), Success);
    while (cudaStreamQuery(card.stream) == cudaErrorNotReady)
        usleep(100);
    for (int i = 0; i < 2; i++)
        assert_cuda(gate_launch(&card, 1), Success);
    gate_open(&card);
    assert_cuda(cudaStreamDestroy(stream), Success);
    while (cudaStreamQuery(card.stream) == cudaErrorNotReady)
        usleep(100);
    card_free(&card);
}

/* sticky= counts cooperative launches, too: this one does nothing. */
static void sticky(void **state)
{
    (void)state;
    for (int mode = 0; mode < 2; mode++) {
        char settings[64];
        snprintf(settings, sizeof settings, "%s,sticky=2", modes[mode]);
        struct card card = card_open(settings);
        assert_cuda(card_add(&card, card.memory, card.memory, 1), Success);
        assert_cuda(gate_launch(&card, 1), Success);
        assert_cuda(cudaStreamSynchronize(card.stream), ErrorIllegalAddress);
        runtime_check();
    }
    runtime_configure("");
}

static int hang_work(void *settings)
{
    struct card card = card_open(settings);
    if (gate_launch(&card, 1) != cudaSuccess)
        return 1;
    gate_open(&card);
    usleep(20000);
    return cudaStreamQuery(card.stream) == cudaErrorNotReady ? 0 : 2;
}

/* First, before this process has threads: ThreadSanitizer does not let its children have some
 * then. */
static void hang(void **state)
{
    (void)state;
    static char sync[] = "hang=1", async[] = "mode=async,hang=1";
    assert_int_equal(child_run(hang_work, sync)->status, 0);
    assert_int_equal(child_run(hang_work, async)->status, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hang),
        cmocka_unit_test(meetings),
        cmocka_unit_test(barriers),
        cmocka_unit_test(shared_memory),
        cmocka_unit_test(threads),
        cmocka_unit_test(room),
        cmocka_unit_test(attributes),
        cmocka_unit_test(order),
        cmocka_unit_test(free_waits),
        cmocka_unit_test(sticky),
        cmocka_unit_test(without_argument),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
