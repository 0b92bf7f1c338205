/*
 * stream.c - streams: work is done in the call, or by a thread of the stream.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "standin.h"

cudaError_t standin_stream_check(cudaStream_t stream)
{
    const struct CUstream_st *each = standin.streams, *old = standin.old_streams;
    while (each && each != stream)
        each = each->next;
    while (old && old != stream)
        old = old->next;
    if (each && each->capture && !pthread_equal(each->captor, pthread_self()))
        return standin_violation(cudaErrorStreamCaptureUnsupported,
                                 "a stream is used that another thread captures");
    if (each)
        return cudaSuccess;
    return standin_violation(cudaErrorInvalidResourceHandle, "%s",
                             old              ? "a stream is used that was destroyed"
                             : stream == NULL ? "the default stream is used"
                                              : "a stream is used that was never made");
}

void standin_work_uses(struct standin_work *work, struct standin_block *block)
{
    for (size_t i = 0; i < work->block_count; i++)
        if (work->blocks[i] == block)
            return;
    work->blocks = realloc(work->blocks, (work->block_count + 1) * sizeof(struct standin_block *));
    if (!work->blocks)
        abort();
    work->blocks[work->block_count++] = block;
    block->pending++;
}

void standin_work_free(struct standin_work *work)
{
    free(work->stage);
    free(work->argument);
    free(work->blocks);
    free(work);
}

/* Without the lock in mode=async, with it in mode=sync, where kernels do not wait for others. */
static void work_run(const struct standin_work *work)
{
    if (work->kind == WORK_COPY)
        for (size_t row = 0; row < work->copy.height; row++)
            memcpy(work->copy.to + row * work->copy.to_pitch,
                   work->copy.from + row * work->copy.from_pitch, work->copy.width);
    else if (work->kind == WORK_SET)
        memset(work->copy.to, work->value, work->copy.width);
    else if (work->kind == WORK_LAUNCH)
        standin_kernel_run(work);
}

/* The lock is held. */
static void work_finish(struct CUstream_st *stream, struct standin_work *work)
{
    for (size_t i = 0; i < work->block_count; i++)
        work->blocks[i]->pending--;
    if (work->fails)
        standin.sticky = cudaErrorIllegalAddress;
    if (work->kind == WORK_RECORD && standin.sticky == cudaSuccess &&
        work->event->done < work->number) {
        work->event->done = work->number;
        work->event->at = standin_now();
    }
    if (work->cooperative)
        standin_kernel_find(stream->device, (const void *)(uintptr_t)work->cooperative)->has_run =
            true;
    if (standin_kernel_waits(work))
        standin.cooperative[stream->device]--;
    stream->done++;
    standin_work_free(work);
}

/* The lock is held. */
static void work_do(struct CUstream_st *stream, struct standin_work *work)
{
    if (standin.sticky != cudaSuccess || work->fails)
        return;
    if (work->cooperative) {
        standin_cooperative_run(stream, work);
        return;
    }
    if (standin.config.async)
        standin_unlock();
    else if (work->kind == WORK_LAUNCH)
        standin_memory_open(stream->device, true);
    work_run(work);
    if (standin.config.async)
        standin_lock();
    else if (work->kind == WORK_LAUNCH)
        standin_memory_open(stream->device, false);
}

/* Half of all work starts at once. */
static void work_delay(struct CUstream_st *stream)
{
    uint64_t most = (uint64_t)standin.config.delay;
    uint64_t delay = standin_random(&stream->random, 2 * most + 1);
    standin_unlock();
    if (delay < most)
        usleep((useconds_t)delay);
    standin_lock();
}

static void *stream_work(void *argument)
{
    struct CUstream_st *stream = argument;
    standin_lock();
    for (;;) {
        while (!stream->first && !stream->destroyed)
            pthread_cond_wait(&stream->wake, &standin.lock);
        struct standin_work *work = stream->first;
        if (!work)
            break;
        while (work->kind == WORK_WAIT && work->event->done < work->number &&
               standin.sticky == cudaSuccess)
            pthread_cond_wait(&standin.finished, &standin.lock);
        while (work->hangs)
            pthread_cond_wait(&standin.finished, &standin.lock);
        if (standin.config.async)
            work_delay(stream);
        work_do(stream, work);
        stream->first = work->next;
        work_finish(stream, work);
        pthread_cond_broadcast(&standin.finished);
    }
    stream->ended = true;
    pthread_cond_broadcast(&standin.finished);
    standin_unlock();
    return NULL;
}

static void stream_start(struct CUstream_st *stream)
{
    stream->threaded = true;
    stream->ended = false;
    pthread_attr_t attributes;
    pthread_t thread;
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    if (pthread_create(&thread, &attributes, stream_work, stream) != 0) {
        fprintf(stderr, "cuda stand-in: cannot start a thread\n");
        abort();
    }
    pthread_attr_destroy(&attributes);
}

/* May the work have to wait for other work? */
static bool work_waits(const struct standin_work *work)
{
    return work->cooperative || (work->kind == WORK_WAIT && work->event->done < work->number);
}

void standin_submit(cudaStream_t stream, struct standin_work *work)
{
    if (stream->capture) {
        standin_graph_capture(stream, work);
        return;
    }
    if (work->kind == WORK_LAUNCH) {
        standin.counts.launches++;
        work->random = stream->seed + stream->queued;
        work->fails = standin.counts.launches == (uint64_t)standin.config.sticky;
        work->hangs = standin.counts.launches == (uint64_t)standin.config.hang &&
                      (work->cooperative || standin.config.async);
    }
    if (work->kind == WORK_RECORD)
        work->number = ++work->event->recorded;
    if (work->kind == WORK_COPY || work->kind == WORK_SET) {
        standin.counts.copies++;
        standin.counts.bytes += work->copy.width * work->copy.height;
    }
    if (standin_kernel_waits(work))
        standin.cooperative[stream->device]++;
    stream->queued++;
    if (!stream->threaded && work_waits(work))
        stream_start(stream);
    if (!stream->threaded) {
        work_do(stream, work);
        work_finish(stream, work);
        return;
    }
    if (stream->first)
        stream->last->next = work;
    else
        stream->first = work;
    stream->last = work;
    pthread_cond_signal(&stream->wake);
}

cudaError_t standin_await(cudaStream_t stream, uint64_t count)
{
    while (stream->done < count && standin.sticky == cudaSuccess)
        pthread_cond_wait(&standin.finished, &standin.lock);
    return standin.sticky;
}

static cudaError_t stream_create(cudaStream_t *stream, unsigned int flags)
{
    if (flags & ~(unsigned)cudaStreamNonBlocking)
        return cudaErrorInvalidValue;
    struct CUstream_st *made = standin_allocate(sizeof *made);
    made->device = standin_device();
    made->random = standin.random += 0x9e3779b97f4a7c15u;
    made->seed = standin_random(&standin.random, INT32_MAX);
    pthread_cond_init(&made->wake, NULL);
    made->next = standin.streams;
    standin.streams = made;
    made->ended = true;
    if (standin.config.async)
        stream_start(made);
    *stream = made;
    return cudaSuccess;
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned int flags)
{
    cudaError_t error = standin_enter(CALL_cudaStreamCreateWithFlags);
    return error == cudaSuccess ? standin_leave(stream_create(stream, flags)) : error;
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t *stream, unsigned int flags, int priority)
{
    (void)priority; /* CUDA takes the nearest that there is */
    cudaError_t error = standin_enter(CALL_cudaStreamCreateWithPriority);
    return error == cudaSuccess ? standin_leave(stream_create(stream, flags)) : error;
}

/* Its thread does the rest of its work, and ends. */
static void stream_destroy(struct CUstream_st *stream)
{
    struct CUstream_st **link = &standin.streams;
    while (*link != stream)
        link = &(*link)->next;
    *link = stream->next;
    stream->next = standin.old_streams;
    standin.old_streams = stream;
    stream->destroyed = true;
    pthread_cond_signal(&stream->wake);
}

cudaError_t cudaStreamDestroy(cudaStream_t stream)
{
    cudaError_t error = standin_enter(CALL_cudaStreamDestroy);
    if (error != cudaSuccess)
        return error;
    error = standin_stream_check(stream);
    if (error == cudaSuccess)
        stream_destroy(stream);
    return standin_leave(error);
}

void standin_streams_forget(void)
{
    while (standin.streams)
        stream_destroy(standin.streams);
    while (standin.old_streams) {
        struct CUstream_st *stream = standin.old_streams;
        while (!stream->ended)
            pthread_cond_wait(&standin.finished, &standin.lock);
        standin.old_streams = stream->next;
        pthread_cond_destroy(&stream->wake);
        free(stream);
    }
    for (int i = 0; i < 2; i++) {
        struct CUevent_st **list = i ? &standin.events : &standin.old_events;
        while (*list) {
            struct CUevent_st *event = *list;
            *list = event->next;
            free(event);
        }
    }
}

cudaError_t cudaStreamQuery(cudaStream_t stream)
{
    cudaError_t error = standin_enter(CALL_cudaStreamQuery);
    if (error != cudaSuccess)
        return error;
    error = standin_stream_check(stream);
    if (error == cudaSuccess && stream->done < stream->queued)
        error = cudaErrorNotReady;
    return standin_leave(error);
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream)
{
    cudaError_t error = standin_enter(CALL_cudaStreamSynchronize);
    if (error != cudaSuccess)
        return error;
    error = standin_stream_check(stream);
    standin_blocks("cudaStreamSynchronize");
    if (error == cudaSuccess)
        error = standin_await(stream, stream->queued);
    return standin_leave(error);
}

static bool streams_busy(const struct CUstream_st *list, int device)
{
    while (list && (list->device != device || list->done == list->queued))
        list = list->next;
    return list;
}

cudaError_t cudaDeviceSynchronize(void)
{
    cudaError_t error = standin_enter(CALL_cudaDeviceSynchronize);
    if (error != cudaSuccess)
        return error;
    standin_blocks("cudaDeviceSynchronize");
    int device = standin_device();
    while ((streams_busy(standin.streams, device) || streams_busy(standin.old_streams, device)) &&
           standin.sticky == cudaSuccess)
        pthread_cond_wait(&standin.finished, &standin.lock);
    return standin_leave(standin.sticky);
}
