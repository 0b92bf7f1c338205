/*
 * test_runtime_graph.c - the stand-in of the CUDA runtime works: graphs of captured work.
 * tier: deep; load: cpu1
 */
#include <pthread.h>

#include "meeting.h"
#include "rules.h"

static const char *const modes[] = {"mode=sync", "mode=async,seed=3"};

static struct card card;

static void capture_begin(void)
{
    assert_cuda(cudaStreamBeginCapture(card.stream, cudaStreamCaptureModeThreadLocal), Success);
}

static cudaGraphExec_t capture_end(void)
{
    cudaGraph_t graph;
    cudaGraphExec_t ready;
    assert_cuda(cudaStreamEndCapture(card.stream, &graph), Success);
    assert_cuda(cudaGraphInstantiate(&ready, graph, 0), Success);
    assert_cuda(cudaGraphDestroy(graph), Success);
    return ready;
}

/* A kernel of each kind, a copy and a memset, between two records. */
static void work_capture(const cudaEvent_t *ends)
{
    struct test_meeting values = {
        .to = (uintptr_t)card.memory, .from = (uintptr_t)card.pinned, .value = 1};
    capture_begin();
    assert_cuda(cudaEventRecordWithFlags(ends[0], card.stream, cudaEventRecordExternal), Success);
    assert_cuda(meeting_launch(kernel_meet, 2, 2, 0, card.memory, values, card.stream), Success);
    assert_cuda(cudaEventRecordWithFlags(ends[1], card.stream, cudaEventRecordExternal), Success);
    assert_cuda(card_launch(kernel_add, (dim3){1, 1, 1}, (dim3){1, 1, 1},
                            (struct test_work){.to = (uintptr_t)card.other,
                                               .from = (uintptr_t)card.other,
                                               .count = 1,
                                               .value = 3},
                            card.stream),
                Success);
    assert_cuda(cudaMemcpyAsync(card.pinned + 1, card.other, 4, cudaMemcpyDefault, card.stream),
                Success);
    assert_cuda(cudaMemsetAsync(card.other + 1, 7, 4, card.stream), Success);
}

/* Captured work is done by each launch of the graph, in order, and not before. */
static void replays(void **state)
{
    (void)state;
    for (int mode = 0; mode < 2; mode++) {
        card = card_open(modes[mode]);
        cudaEvent_t ends[2];
        float ms;
        for (int i = 0; i < 2; i++)
            assert_cuda(cudaEventCreateWithFlags(&ends[i], cudaEventDefault), Success);
        uint32_t *words = runtime_view(card.other);
        words[0] = words[1] = 0;
        *card.pinned = 0;
        work_capture(ends);
        cudaGraphExec_t ready = capture_end();
        assert_cuda(cudaStreamQuery(card.stream), Success);
        assert_cuda(cudaEventElapsedTime(&ms, ends[0], ends[1]), ErrorInvalidResourceHandle);
        assert_int_equal(runtime_counts().launches, 0);
        assert_int_equal(runtime_counts().copies, 0);
        assert_int_equal(words[0] + words[1], 0);
        for (uint32_t i = 1; i <= 3; i++) {
            *card.pinned = 0;
            assert_cuda(cudaGraphLaunch(ready, card.stream), Success);
            usleep(10000);
            assert_cuda(cudaStreamQuery(card.stream), ErrorNotReady);
            gate_open(&card);
            assert_cuda(cudaStreamSynchronize(card.stream), Success);
            assert_cuda(cudaEventElapsedTime(&ms, ends[0], ends[1]), Success);
            assert_true(ms > 5 && ms < 5000);
            assert_int_equal(card.pinned[1], 3 * i);
            assert_int_equal(words[1], 0x07070707);
            assert_int_equal(runtime_counts().launches, 2 * i);
            assert_int_equal(runtime_counts().copies, 2 * i);
        }
        assert_int_equal(runtime_counts().graphs, 1);
        assert_cuda(cudaGraphExecDestroy(ready), Success);
        for (int i = 0; i < 2; i++)
            assert_cuda(cudaEventDestroy(ends[i]), Success);
        card_close(&card);
    }
}

/* Launches of a graph count for sticky=. */
static void sticky(void **state)
{
    (void)state;
    card = card_open("sticky=2");
    capture_begin();
    assert_cuda(card_add(&card, card.memory, card.memory, 1), Success);
    cudaGraphExec_t ready = capture_end();
    assert_cuda(cudaGraphLaunch(ready, card.stream), Success);
    assert_cuda(cudaStreamSynchronize(card.stream), Success);
    assert_cuda(cudaGraphLaunch(ready, card.stream), Success);
    assert_cuda(cudaStreamSynchronize(card.stream), ErrorIllegalAddress);
    runtime_configure("");
}

/* Calls that CUDA refuses. */
static void refused(void **state)
{
    (void)state;
    cudaGraph_t graph;
    cudaGraphExec_t ready;
    card = card_open("");
    assert_cuda(cudaStreamBeginCapture(card.stream, (enum cudaStreamCaptureMode)0),
                ErrorInvalidValue);
    assert_cuda(cudaEventRecordWithFlags(card.event, card.stream, cudaEventRecordExternal),
                ErrorInvalidValue);
    assert_cuda(cudaEventRecordWithFlags(card.event, card.stream, 0), Success);
    capture_begin();
    assert_cuda(cudaStreamEndCapture(card.stream, &graph), Success);
    assert_cuda(cudaGraphInstantiate(&ready, graph, 1), ErrorInvalidValue);
    assert_cuda(cudaGraphDestroy(graph), Success);
    card_close(&card);
}

/* Beside a kernel that waits, a graph is launched that was uploaded, or launched, before. */
static void uploaded(void **state)
{
    (void)state;
    for (int launches = 0; launches < 2; launches++) {
        cudaStream_t stream;
        card = card_open("strict=yes");
        assert_cuda(kernel_loaded(kernel_meet), Success);
        assert_cuda(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), Success);
        capture_begin();
        assert_cuda(cudaMemsetAsync(card.other, 7, 4, card.stream), Success);
        cudaGraphExec_t ready = capture_end();
        assert_cuda(launches ? cudaGraphLaunch(ready, card.stream)
                             : cudaGraphUpload(ready, card.stream),
                    Success);
        assert_cuda(gate_launch(&card, 1), Success);
        assert_cuda(cudaGraphLaunch(ready, stream), Success);
        gate_open(&card);
        while (cudaStreamQuery(card.stream) == cudaErrorNotReady)
            usleep(100);
        assert_cuda(cudaGraphExecDestroy(ready), Success);
        assert_cuda(cudaStreamDestroy(stream), Success);
        card_free(&card);
    }
}

/* An end of a capture that fails ends it, and leaves no graph. */
static void end_fails(void **state)
{
    (void)state;
    cudaGraph_t graph;
    card = card_open("fail=cudaStreamEndCapture:1");
    capture_begin();
    assert_cuda(card_add(&card, card.memory, card.memory, 1), Success);
    assert_cuda(cudaStreamEndCapture(card.stream, &graph), ErrorIllegalState);
    assert_null(graph);
    assert_int_equal(runtime_counts().graphs, 0);
    assert_cuda(cudaStreamSynchronize(card.stream), Success);
    capture_begin();
    assert_cuda(cudaGraphExecDestroy(capture_end()), Success);
    card_close(&card);
}

static void capture(const char *settings)
{
    card = card_open(settings);
    capture_begin();
}

static void waits(void)
{
    capture("");
    cudaStreamSynchronize(card.stream);
}

static void waits_for_event(void)
{
    capture("");
    cudaStreamWaitEvent(card.stream, card.event, 0);
}

static void allocates(void)
{
    void *memory;
    capture("");
    cudaMalloc(&memory, 100);
}

static void records(void)
{
    capture("");
    cudaEventRecord(card.event, card.stream);
}

static void copies_pageable(void)
{
    static char pageable[16];
    capture("");
    cudaMemcpyAsync(card.memory, pageable, 16, cudaMemcpyDefault, card.stream);
}

static void *stream_query(void *unused)
{
    (void)unused;
    cudaStreamQuery(card.stream);
    return NULL;
}

static void other_thread(void)
{
    pthread_t thread;
    capture("");
    if (pthread_create(&thread, NULL, stream_query, NULL) == 0)
        pthread_join(thread, NULL);
}

static void begins_twice(void)
{
    capture("");
    cudaStreamBeginCapture(card.stream, cudaStreamCaptureModeThreadLocal);
}

static void ends_twice(void)
{
    cudaGraph_t graph;
    capture("");
    cudaStreamEndCapture(card.stream, &graph);
    cudaStreamEndCapture(card.stream, &graph);
}

static void destroyed_twice(void)
{
    capture("");
    cudaGraphExec_t ready = capture_end();
    cudaGraphExecDestroy(ready);
    cudaGraphExecDestroy(ready);
}

static void memory_freed(void)
{
    capture("");
    card_add(&card, card.memory, card.other, 1);
    cudaGraphExec_t ready = capture_end();
    cudaFree(card.other);
    cudaGraphLaunch(ready, card.stream);
}

static void event_destroyed(void)
{
    capture("");
    cudaEventRecordWithFlags(card.event, card.stream, cudaEventRecordExternal);
    cudaGraphExec_t ready = capture_end();
    cudaEventDestroy(card.event);
    cudaGraphLaunch(ready, card.stream);
}

static void launched_elsewhere(void)
{
    cudaStream_t other;
    capture("");
    cudaGraphExec_t ready = capture_end();
    cudaSetDevice(1);
    cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking);
    cudaGraphLaunch(ready, other);
}

static void uploaded_elsewhere(void)
{
    cudaStream_t other;
    capture("");
    cudaGraphExec_t ready = capture_end();
    cudaSetDevice(1);
    cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking);
    cudaGraphUpload(ready, other);
}

static void memory_in_use(void)
{
    capture("");
    struct test_meeting values = {
        .to = (uintptr_t)card.memory, .from = (uintptr_t)card.pinned, .value = 1};
    *card.pinned = 0;
    meeting_launch(kernel_meet, 1, 1, 0, card.memory, values, card.stream);
    cudaGraphLaunch(capture_end(), card.stream);
    cudaFree(card.memory);
}

static cudaStream_t strict_stream;
static cudaGraph_t strict_graph;

/* There is a graph of a memset. */
static void strict_capture(void)
{
    card = card_open("strict=yes");
    cudaStreamCreateWithFlags(&strict_stream, cudaStreamNonBlocking);
    kernel_loaded(kernel_meet);
    cudaStreamBeginCapture(strict_stream, cudaStreamCaptureModeThreadLocal);
    cudaMemsetAsync(card.other, 7, 4, strict_stream);
    cudaStreamEndCapture(strict_stream, &strict_graph);
}

static void strict_instantiates(void)
{
    cudaGraphExec_t ready;
    strict_capture();
    gate_launch(&card, 1);
    cudaGraphInstantiate(&ready, strict_graph, 0);
}

static void strict_uploads(void)
{
    cudaGraphExec_t ready;
    strict_capture();
    cudaGraphInstantiate(&ready, strict_graph, 0);
    gate_launch(&card, 1);
    cudaGraphUpload(ready, strict_stream);
}

static void strict_not_uploaded(void)
{
    cudaGraphExec_t ready;
    strict_capture();
    cudaGraphInstantiate(&ready, strict_graph, 0);
    gate_launch(&card, 1);
    cudaGraphLaunch(ready, strict_stream);
}

static void left_graph(void)
{
    capture("");
    capture_end();
    card_close(&card);
}

static const struct rule_case rules[] = {
    {"waits", waits, "cudaStreamSynchronize in a thread that captures a stream"},
    {"waits_for_event", waits_for_event, "cudaStreamWaitEvent in a thread that captures a stream"},
    {"allocates", allocates, "cudaMalloc in a thread that captures a stream"},
    {"records", records, "a captured record without cudaEventRecordExternal"},
    {"copies_pageable", copies_pageable, "a copy from or to pageable memory is captured"},
    {"other_thread", other_thread, "a stream is used that another thread captures"},
    {"begins_twice", begins_twice, "the stream is captured already"},
    {"ends_twice", ends_twice, "the stream is not captured"},
    {"destroyed_twice", destroyed_twice, "a graph is used that was destroyed or never made"},
    {"memory_freed", memory_freed, "the graph uses memory that was freed"},
    {"event_destroyed", event_destroyed, "an event is used that was destroyed"},
    {"launched_elsewhere", launched_elsewhere, "cudaGraphLaunch on a stream of another device"},
    {"memory_in_use", memory_in_use, "cudaFree: queued work uses the memory"},
    {"strict_instantiates", strict_instantiates, "cudaGraphInstantiate waits for a kernel"},
    {"strict_uploads", strict_uploads, "the upload of a graph waits for a kernel"},
    {"strict_not_uploaded", strict_not_uploaded, "the upload of a graph waits for a kernel"},
    {"uploaded_elsewhere", uploaded_elsewhere, "cudaGraphUpload on a stream of another device"},
    {"left_graph", left_graph, "0 events and 1 graphs"},
};
#define RULES (sizeof(rules) / sizeof(rules[0]))

int main(void)
{
    struct CMUnitTest tests[RULES + 5];
    for (size_t i = 0; i < RULES; i++) /* before this process has threads (ThreadSanitizer) */
        tests[i] = rule_test(&rules[i]);
    tests[RULES] = (struct CMUnitTest)cmocka_unit_test(replays);
    tests[RULES + 1] = (struct CMUnitTest)cmocka_unit_test(sticky);
    tests[RULES + 2] = (struct CMUnitTest)cmocka_unit_test(refused);
    tests[RULES + 3] = (struct CMUnitTest)cmocka_unit_test(uploaded);
    tests[RULES + 4] = (struct CMUnitTest)cmocka_unit_test(end_fails);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
