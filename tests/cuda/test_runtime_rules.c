/*
 * test_runtime_rules.c - rules of the stand-in, each with what breaks it and the sentence that ends
 * it; and what only a signal shows.
 * tier: deep; load: cpu1
 */
#include <sys/prctl.h>
#include <sys/socket.h>

#include "card.h"
#include "rules.h"

static struct card card;
static char pageable[CARD_BYTES];

static void copy(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind)
{
    cudaMemcpyAsync(to, from, bytes, kind, card.stream);
}

static void source_beyond(void)
{
    card = card_open("");
    copy(card.pinned, card.memory + 1, CARD_BYTES, cudaMemcpyDefault);
}

static void target_beyond(void)
{
    card = card_open("");
    copy(card.memory, pageable, CARD_BYTES + 1, cudaMemcpyDefault);
}

static void rows_beyond(void)
{
    card = card_open("");
    cudaMemcpy2DAsync(card.memory, 400, card.other, 401, 400, 10, cudaMemcpyDefault, card.stream);
}

static void pinned_beyond(void)
{
    card = card_open("");
    copy(card.memory, card.pinned + 1, CARD_BYTES, cudaMemcpyDefault);
}

static void pinned_in_part(void)
{
    card = card_open("");
    cudaHostRegister(pageable + 64, 64, 0);
    copy(card.memory, pageable, 128, cudaMemcpyDefault);
}

static void target_before(void)
{
    card = card_open("");
    copy((char *)card.memory - 8, pageable, 16, cudaMemcpyDefault);
}

static void source_null(void)
{
    card = card_open("");
    copy(card.memory, NULL, 16, cudaMemcpyHostToDevice);
}

static void source_freed(void)
{
    card = card_open("");
    cudaFree(card.other);
    copy(card.memory, card.other, 16, cudaMemcpyDefault);
}

static void source_freed_host(void)
{
    card = card_open("");
    cudaFreeHost(card.pinned);
    copy(card.memory, card.pinned, 16, cudaMemcpyDefault);
}

static void direction(void)
{
    card = card_open("");
    copy(card.memory, card.other, 16, cudaMemcpyHostToDevice);
}

static void overlap(void)
{
    card = card_open("");
    copy(card.memory, card.memory + 3, 16, cudaMemcpyDefault);
}

static void memset_of_host(void)
{
    card = card_open("");
    cudaMemsetAsync(pageable, 0, 16, card.stream);
}

static void freed_twice(void)
{
    card = card_open("");
    cudaFree(card.memory);
    cudaFree(card.memory);
}

static void freed_inside(void)
{
    card = card_open("");
    cudaFree(card.memory + 1);
}

static void freed_as_other(void)
{
    card = card_open("");
    cudaFree(card.pinned);
}

static void freed_host_twice(void)
{
    card = card_open("");
    cudaFreeHost(card.pinned);
    cudaFreeHost(card.pinned);
}

static void unregistered_unknown(void)
{
    card = card_open("");
    cudaHostUnregister(pageable);
}

static void device_pointer_of_pageable(void)
{
    card = card_open("");
    void *there;
    cudaHostGetDevicePointer(&there, pageable, 0);
}

/* A stream that waits for a gate that stays shut. */
static void gate_shut(void)
{
    card = card_open("mode=async");
    *card.pinned = 0;
    card_launch(kernel_gate, (dim3){1, 1, 1}, (dim3){1, 1, 1},
                (struct test_work){.from = (uintptr_t)card.pinned, .value = 1}, card.stream);
}

static void lazy_launch(void)
{
    card = card_open("strict=yes");
    card_add(&card, card.memory, card.other, 1);
}

/* Loaded on one device, launched on another. */
static void lazy_launch_elsewhere(void)
{
    struct cudaFuncAttributes about;
    card = card_open("strict=yes");
    cudaSetDevice(1);
    cudaFuncGetAttributes(&about, (const void *)(uintptr_t)kernel_add);
    cudaSetDevice(0);
    card_add(&card, card.memory, card.other, 1);
}

static void stream_waits(void)
{
    card = card_open("strict=yes");
    cudaStreamSynchronize(card.stream);
}

static void copy_waits(void)
{
    card = card_open("strict=yes");
    copy(pageable, card.memory, 16, cudaMemcpyDefault);
}

static void copy_of_pageable_waits(void)
{
    card = card_open("strict=yes");
    copy(card.memory, pageable, 16, cudaMemcpyDefault);
}

static void device_not_chosen(void)
{
    void *memory;
    runtime_configure("strict=yes,devices=2");
    cudaMalloc(&memory, 16);
}

static void freed_while_copied(void)
{
    gate_shut();
    copy(card.memory, card.other, 16, cudaMemcpyDefault);
    cudaFree(card.other);
}

static void freed_while_launched(void)
{
    gate_shut();
    card_add(&card, card.memory, card.other, 1);
    cudaFree(card.memory);
}

static void unpinned_while_launched(void)
{
    gate_shut();
    cudaFreeHost(card.pinned);
}

static void stream_destroyed(void)
{
    card = card_open("");
    cudaStreamDestroy(card.stream);
    cudaStreamQuery(card.stream);
}

static void stream_destroyed_twice(void)
{
    card = card_open("");
    cudaStreamDestroy(card.stream);
    cudaStreamDestroy(card.stream);
}

static void stream_unknown(void)
{
    card = card_open("");
    cudaStreamQuery((cudaStream_t)(void *)pageable);
}

static void stream_default(void)
{
    card = card_open("");
    cudaMemsetAsync(card.memory, 0, 16, NULL);
}

static void event_destroyed(void)
{
    card = card_open("");
    cudaEventDestroy(card.event);
    cudaEventRecord(card.event, card.stream);
}

static void event_unknown(void)
{
    card = card_open("");
    cudaStreamWaitEvent(card.stream, (cudaEvent_t)(void *)pageable, 0);
}

static void event_of_other_device(void)
{
    card = card_open("");
    cudaEvent_t event;
    cudaSetDevice(1);
    cudaEventCreateWithFlags(&event, 0);
    cudaEventRecord(event, card.stream);
}

static void launch_on_other_device(void)
{
    card = card_open("");
    cudaSetDevice(1);
    card_add(&card, card.memory, card.other, 1);
}

static void memset_on_other_device(void)
{
    card = card_open("");
    cudaSetDevice(1);
    cudaMemsetAsync(card.memory, 0, 16, card.stream);
}

static void handle_of_inside(void)
{
    card = card_open("");
    cudaIpcMemHandle_t handle;
    cudaIpcGetMemHandle(&handle, card.memory + 64);
}

static void handle_of_nothing(void)
{
    card = card_open("");
    cudaIpcMemHandle_t handle = {{0}};
    void *memory;
    cudaIpcOpenMemHandle(&memory, handle, cudaIpcMemLazyEnablePeerAccess);
}

static void closed_not_opened(void)
{
    card = card_open("");
    cudaIpcCloseMemHandle(card.memory);
}

static void left_memory(void)
{
    void *memory;
    runtime_configure("");
    cudaMalloc(&memory, 1);
}

static void left_stream(void)
{
    cudaStream_t stream;
    runtime_configure("mode=async");
    cudaStreamCreateWithFlags(&stream, 0);
}

static void left_event(void)
{
    cudaEvent_t event;
    runtime_configure("");
    cudaEventCreateWithFlags(&event, 0);
}

static void left_at_configure(void)
{
    card = card_open("");
    runtime_configure("");
}

static void setting_unknown(void)
{
    runtime_configure("mode=sometimes");
}

static void fault_unknown(void)
{
    runtime_configure("fail=cudaNothing:1");
}

static void kernel_without_peer(void)
{
    card = card_open("mode=async");
    uint32_t *far;
    cudaSetDevice(1);
    cudaMalloc((void **)&far, CARD_BYTES);
    cudaSetDevice(0);
    card_add(&card, card.memory, far, 1);
}

/* The other process opens the memory, and stays until this one ends. */
static void freed_while_opened(void)
{
    int ends[2];
    cudaIpcMemHandle_t handle;
    void *memory;
    char word;
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0)
        return;
    if (fork() == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        runtime_configure("");
        if (read(ends[1], &handle, sizeof handle) == sizeof handle &&
            cudaIpcOpenMemHandle(&memory, handle, cudaIpcMemLazyEnablePeerAccess) == cudaSuccess &&
            write(ends[1], "o", 1) == 1)
            pause();
        _exit(1);
    }
    close(ends[1]);
    card = card_open("");
    cudaIpcGetMemHandle(&handle, card.memory);
    if (write(ends[0], &handle, sizeof handle) == sizeof handle && read(ends[0], &word, 1) == 1)
        cudaFree(card.memory);
}

/* The cases below end without a sentence. */

static void stray_read(void)
{
    card = card_open("");
    card_add(&card, card.memory, card.other, 1); /* after a kernel it is closed again */
    printf("%u", *(volatile uint32_t *)card.memory);
}

static void kernel_beyond(void)
{
    card = card_open("");
    card_add(&card, card.memory + 64, card.other, 1);
}

static void kernel_of_freed(void)
{
    card = card_open("mode=async");
    cudaFree(card.other);
    card_add(&card, card.memory, card.other, 1);
    cudaStreamSynchronize(card.stream);
}

static const struct rule_case rules[] = {
    {"source_beyond", source_beyond, "the source of a copy: 4000 bytes at"},
    {"target_beyond", target_beyond, "the target of a copy: 4001 bytes at"},
    {"rows_beyond", rows_beyond, "the source of a copy: 4009 bytes at"},
    {"pinned_beyond", pinned_beyond, "go beyond the end of the memory"},
    {"pinned_in_part", pinned_in_part, "in no memory, but beside some"},
    {"target_before", target_before, "in no memory, but beside some"},
    {"source_null", source_null, "the address is NULL"},
    {"source_freed", source_freed, "was freed"},
    {"source_freed_host", source_freed_host, "was freed"},
    {"direction", direction, "kind 1 goes from device memory to device memory"},
    {"overlap", overlap, "overlaps the target"},
    {"memset_of_host", memset_of_host, "is in no memory"},
    {"freed_twice", freed_twice, "was freed before"},
    {"freed_inside", freed_inside, "cudaFree: no memory begins at"},
    {"freed_as_other", freed_as_other, "is of another kind"},
    {"freed_host_twice", freed_host_twice, "was freed before"},
    {"unregistered_unknown", unregistered_unknown, "cudaHostUnregister: no memory begins"},
    {"device_pointer_of_pageable", device_pointer_of_pageable, "is not in pinned memory"},
    {"freed_while_copied", freed_while_copied, "queued work uses the memory"},
    {"freed_while_launched", freed_while_launched, "queued work uses the memory"},
    {"unpinned_while_launched", unpinned_while_launched, "queued work uses the memory"},
    {"stream_destroyed", stream_destroyed, "a stream is used that was destroyed"},
    {"stream_destroyed_twice", stream_destroyed_twice, "a stream is used that was destroyed"},
    {"stream_unknown", stream_unknown, "a stream is used that was never made"},
    {"stream_default", stream_default, "the default stream is used"},
    {"event_destroyed", event_destroyed, "an event is used that was destroyed"},
    {"event_unknown", event_unknown, "an event is used that was never made"},
    {"event_of_other_device", event_of_other_device, "recorded on a stream of another device"},
    {"launch_on_other_device", launch_on_other_device, "cudaLaunchKernel on a stream of another"},
    {"memset_on_other_device", memset_on_other_device, "cudaMemsetAsync on a stream of another"},
    {"handle_of_inside", handle_of_inside, "no memory of a device begins at"},
    {"handle_of_nothing", handle_of_nothing, "this is no handle"},
    {"kernel_without_peer", kernel_without_peer, "of GPU 1, to which it has no peer access"},
    {"freed_while_opened", freed_while_opened, "cudaFree: another process has the memory"},
    {"closed_not_opened", closed_not_opened, "is of another kind"},
    {"left_memory", left_memory, "at the end there are 1 pieces of memory"},
    {"left_stream", left_stream, "0 pieces of memory, 1 streams"},
    {"left_event", left_event, "0 streams, 1 events and 0 graphs"},
    {"left_at_configure", left_at_configure,
     "3 pieces of memory, 1 streams, 1 events and 0 graphs"},
    {"setting_unknown", setting_unknown, "CUDA_STANDIN has mode"},
    {"fault_unknown", fault_unknown, "CUDA_STANDIN has cudaNothing"},
    {"lazy_launch", lazy_launch, "a kernel is launched that was not loaded before"},
    {"lazy_launch_elsewhere", lazy_launch_elsewhere, "a kernel is launched that was not loaded"},
    {"stream_waits", stream_waits, "cudaStreamSynchronize blocks"},
    {"copy_waits", copy_waits, "a copy to pageable memory blocks"},
    {"copy_of_pageable_waits", copy_of_pageable_waits, "a copy from pageable memory blocks"},
    {"device_not_chosen", device_not_chosen, "cudaMalloc in a thread that has not called"},
    {"stray_read", stray_read, NULL},
    {"kernel_beyond", kernel_beyond, NULL},
    {"kernel_of_freed", kernel_of_freed, NULL},
};
#define RULES (sizeof(rules) / sizeof(rules[0]))

/* With violations=status calls give errors, and violations are counted. */
static void status(void **state)
{
    (void)state;
    card = card_open("violations=status");
    assert_cuda(cudaFree(card.pinned), ErrorInvalidValue);
    assert_cuda(cudaStreamQuery(NULL), ErrorInvalidResourceHandle);
    assert_cuda(cudaHostUnregister(pageable), ErrorHostMemoryNotRegistered);
    assert_cuda(cudaMemcpyAsync(card.memory, card.other, 16, cudaMemcpyHostToDevice, card.stream),
                ErrorInvalidMemcpyDirection);
    assert_int_equal(runtime_counts().violations, 4);
    card_close(&card);
}

/* A kernel reaches the memory of a peer. */
static void peers(void **state)
{
    (void)state;
    card = card_open("");
    uint32_t *far;
    assert_cuda(cudaSetDevice(1), Success);
    assert_cuda(cudaMalloc((void **)&far, CARD_BYTES), Success);
    assert_cuda(cudaSetDevice(0), Success);
    assert_cuda(cudaDeviceEnablePeerAccess(1, 0), Success);
    assert_cuda(card_add(&card, card.memory, far, 1), Success);
    assert_int_equal(*(uint32_t *)runtime_view(card.memory), 0xa5a5a5a6);
    assert_cuda(cudaFree(far), Success);
    card_close(&card);
}

int main(void)
{
    struct CMUnitTest tests[RULES + 2] = {cmocka_unit_test(status), cmocka_unit_test(peers)};
    for (size_t i = 0; i < RULES; i++)
        tests[2 + i] = rule_test(&rules[i]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
