/*
 * graph.c - graphs: work that a stream captures, and that is queued again by each launch.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "standin.h"

static void graph_free(struct standin_graph *graph)
{
    while (graph->first) {
        struct standin_work *work = graph->first;
        graph->first = work->next;
        standin_work_free(work);
    }
    free(graph);
}

static cudaError_t graph_check(const struct standin_graph *list, const void *graph)
{
    while (list && (const void *)list != graph)
        list = list->next;
    return list ? cudaSuccess
                : standin_violation(cudaErrorInvalidValue,
                                    "a graph is used that was destroyed or never made");
}

void standin_graphs_forget(void)
{
    while (standin.graphs || standin.ready_graphs) {
        struct standin_graph **list = standin.graphs ? &standin.graphs : &standin.ready_graphs;
        struct standin_graph *graph = *list;
        *list = graph->next;
        graph_free(graph);
    }
}

static void graph_add(struct standin_graph *graph, struct standin_work *work)
{
    if (graph->first)
        graph->last->next = work;
    else
        graph->first = work;
    graph->last = work;
}

/* It is not queued, so it uses no memory yet. */
void standin_graph_capture(cudaStream_t stream, struct standin_work *work)
{
    for (size_t i = 0; i < work->block_count; i++)
        work->blocks[i]->pending--;
    graph_add(stream->capture, work);
}

static void *copy_of(const void *from, size_t bytes)
{
    return from && bytes ? memcpy(standin_allocate(bytes), from, bytes) : NULL;
}

static struct standin_work *work_clone(const struct standin_work *from)
{
    struct standin_work *work = copy_of(from, sizeof *from);
    work->argument = copy_of(from->argument, sizeof *from->argument);
    work->blocks = copy_of(from->blocks, from->block_count * sizeof(struct standin_block *));
    work->next = NULL;
    return work;
}

/* The memory and the event of the work are still there. */
static cudaError_t work_check(const struct standin_work *work)
{
    for (size_t i = 0; i < work->block_count; i++) {
        const struct standin_block *each = standin.blocks;
        while (each && each != work->blocks[i])
            each = each->next;
        if (!each)
            return standin_violation(cudaErrorIllegalAddress,
                                     "cudaGraphLaunch: the graph uses memory that was freed");
    }
    return work->kind == WORK_RECORD ? standin_event_check(work->event) : cudaSuccess;
}

static cudaError_t graph_destroy(struct standin_graph **list, void *graph)
{
    cudaError_t error = graph_check(*list, graph);
    if (error != cudaSuccess)
        return error;
    while ((void *)*list != graph)
        list = &(*list)->next;
    *list = (*list)->next;
    graph_free(graph);
    return cudaSuccess;
}

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, enum cudaStreamCaptureMode mode)
{
    cudaError_t error = standin_enter(CALL_cudaStreamBeginCapture);
    if (error != cudaSuccess)
        return error;
    error = standin_stream_check(stream);
    if (error == cudaSuccess && mode != cudaStreamCaptureModeThreadLocal)
        error = cudaErrorInvalidValue;
    if (error == cudaSuccess && stream->capture)
        error = standin_violation(cudaErrorIllegalState,
                                  "cudaStreamBeginCapture: the stream is captured already");
    if (error != cudaSuccess)
        return standin_leave(error);
    stream->capture = standin_allocate(sizeof *stream->capture);
    stream->capture->device = stream->device;
    stream->capture->next = standin.graphs;
    standin.graphs = stream->capture;
    stream->captor = pthread_self();
    standin_captures(1);
    return standin_leave(cudaSuccess);
}

static struct standin_graph *capture_end(struct CUstream_st *stream)
{
    struct standin_graph *captured = stream->capture;
    stream->capture = NULL;
    standin_captures(-1);
    return captured;
}

/* A failed end ends the capture, too: there is no graph, and the stream works as before. */
static cudaError_t capture_fail(struct CUstream_st *stream, cudaGraph_t *graph, cudaError_t error)
{
    *graph = NULL;
    if (__atomic_load_n(&standin.pid, __ATOMIC_ACQUIRE) != getpid())
        return error;
    standin_lock();
    if (standin_stream_check(stream) == cudaSuccess && stream->capture)
        graph_destroy(&standin.graphs, capture_end(stream));
    return standin_leave(error);
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph)
{
    cudaError_t error = standin_enter(CALL_cudaStreamEndCapture);
    if (error != cudaSuccess)
        return capture_fail(stream, graph, error);
    error = standin_stream_check(stream);
    if (error == cudaSuccess && !stream->capture)
        error = standin_violation(cudaErrorIllegalState,
                                  "cudaStreamEndCapture: the stream is not captured");
    if (error != cudaSuccess)
        return standin_leave(error);
    *graph = (cudaGraph_t)(void *)capture_end(stream);
    return standin_leave(cudaSuccess);
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t *ready, cudaGraph_t graph,
                                 unsigned long long flags)
{
    cudaError_t error = standin_enter(CALL_cudaGraphInstantiate);
    if (error != cudaSuccess)
        return error;
    error = flags ? cudaErrorInvalidValue : graph_check(standin.graphs, graph);
    if (error == cudaSuccess)
        error = standin_kernels_await("cudaGraphInstantiate", standin_device(), false);
    if (error != cudaSuccess)
        return standin_leave(error);
    const struct standin_graph *from = (const struct standin_graph *)(const void *)graph;
    struct standin_graph *made = standin_allocate(sizeof *made);
    made->device = from->device;
    for (const struct standin_work *each = from->first; each; each = each->next)
        graph_add(made, work_clone(each));
    made->next = standin.ready_graphs;
    standin.ready_graphs = made;
    *ready = (cudaGraphExec_t)(void *)made;
    return standin_leave(cudaSuccess);
}

/* Sets the graph if it may go to the device of the stream. The first to do so, an upload or a
 * launch, allocates memory of the device. */
static cudaError_t graph_upload(const char *call, cudaGraphExec_t ready, cudaStream_t stream,
                                struct standin_graph **graph)
{
    *graph = (struct standin_graph *)(void *)ready;
    cudaError_t error = standin_stream_check(stream);
    if (error == cudaSuccess)
        error = graph_check(standin.ready_graphs, ready);
    if (error == cudaSuccess && (*graph)->device != stream->device)
        error = standin_violation(cudaErrorInvalidResourceHandle,
                                  "%s on a stream of another device", call);
    if (error == cudaSuccess && !(*graph)->uploaded)
        error = standin_kernels_await("the upload of a graph", stream->device, false);
    if (error == cudaSuccess)
        (*graph)->uploaded = true;
    return error;
}

cudaError_t cudaGraphUpload(cudaGraphExec_t ready, cudaStream_t stream)
{
    struct standin_graph *graph;
    cudaError_t error = standin_enter(CALL_cudaGraphUpload);
    return error == cudaSuccess
               ? standin_leave(graph_upload("cudaGraphUpload", ready, stream, &graph))
               : error;
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t ready, cudaStream_t stream)
{
    struct standin_graph *graph;
    cudaError_t error = standin_enter(CALL_cudaGraphLaunch);
    if (error != cudaSuccess)
        return error;
    error = graph_upload("cudaGraphLaunch", ready, stream, &graph);
    if (error != cudaSuccess)
        return standin_leave(error);
    for (const struct standin_work *each = graph->first; each && error == cudaSuccess;
         each = each->next) {
        error = work_check(each);
        if (error == cudaSuccess)
            error = standin_kernel_begin(each, stream->device);
    }
    if (error != cudaSuccess)
        return standin_leave(error);
    for (const struct standin_work *each = graph->first; each; each = each->next) {
        struct standin_work *work = work_clone(each);
        for (size_t i = 0; i < work->block_count; i++)
            work->blocks[i]->pending++;
        standin_submit(stream, work);
    }
    return standin_leave(cudaSuccess);
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t ready)
{
    cudaError_t error = standin_enter(CALL_cudaGraphExecDestroy);
    return error == cudaSuccess ? standin_leave(graph_destroy(&standin.ready_graphs, ready))
                                : error;
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph)
{
    cudaError_t error = standin_enter(CALL_cudaGraphDestroy);
    return error == cudaSuccess ? standin_leave(graph_destroy(&standin.graphs, graph)) : error;
}
