/*
 * copy.c - copies and memsets.
 */
#include <stdlib.h>
#include <string.h>

#include "standin.h"

/* Where the CPU reads and writes. */
static char *copy_address(const void *pointer, const struct standin_block *block)
{
    char *at = (char *)(uintptr_t)pointer;
    return block_is_device(block) && !standin.config.async ? block->view + (at - block->base) : at;
}

static cudaError_t copy_direction(enum cudaMemcpyKind kind, bool to_device, bool from_device)
{
    enum cudaMemcpyKind is = to_device
                                 ? from_device ? cudaMemcpyDeviceToDevice : cudaMemcpyHostToDevice
                             : from_device ? cudaMemcpyDeviceToHost
                                           : cudaMemcpyHostToHost;
    if (kind == cudaMemcpyDefault || kind == is)
        return cudaSuccess;
    return standin_violation(cudaErrorInvalidMemcpyDirection,
                             "a copy of kind %d goes from %s memory to %s memory", (int)kind,
                             from_device ? "device" : "host", to_device ? "device" : "host");
}

/* Packs what the copy reads. */
static void copy_stage(struct standin_work *work)
{
    size_t width = work->copy.width;
    work->stage = standin_allocate(width * work->copy.height);
    for (size_t row = 0; row < work->copy.height; row++)
        memcpy(work->stage + row * width, work->copy.from + row * work->copy.from_pitch, width);
    work->copy.from = work->stage;
    work->copy.from_pitch = width;
}

/* Copies between devices need no peer access, but mapped memory is there for those alone to which
 * it was given. */
static cudaError_t copy_reaches(const struct standin_block *block, int device, const char *what)
{
    if (!block || block->kind != BLOCK_MAPPED || standin_block_serves(block, device))
        return cudaSuccess;
    return standin_violation(cudaErrorIllegalAddress,
                             "%s of GPU %d uses mapped memory at %p, to which it has no access",
                             what, device, (void *)block->base);
}

struct copy {
    void *to;
    const void *from;
    size_t to_pitch, from_pitch, width, height;
    enum cudaMemcpyKind kind;
};

/* The lock is held. */
static cudaError_t copy_submit(const struct copy *copy, cudaStream_t stream)
{
    size_t width = copy->width, height = copy->height;
    cudaError_t error = standin_stream_check(stream);
    if (error != cudaSuccess || width == 0 || height == 0)
        return error;
    if (height > 1 && (width > copy->to_pitch || width > copy->from_pitch))
        return cudaErrorInvalidPitchValue;
    size_t to_bytes = (height - 1) * copy->to_pitch + width;
    size_t from_bytes = (height - 1) * copy->from_pitch + width;
    struct standin_block *to, *from;
    error = standin_range(copy->to, to_bytes, "the target of a copy", &to);
    if (error == cudaSuccess)
        error = standin_range(copy->from, from_bytes, "the source of a copy", &from);
    if (error == cudaSuccess)
        error = copy_direction(copy->kind, block_is_device(to), block_is_device(from));
    if (error == cudaSuccess)
        error = copy_reaches(to, stream->device, "a copy");
    if (error == cudaSuccess)
        error = copy_reaches(from, stream->device, "a copy");
    if (error != cudaSuccess)
        return error;
    const char *to_at = copy->to, *from_at = copy->from;
    if (height == 1 && to_at < from_at + from_bytes && from_at < to_at + to_bytes)
        return standin_violation(cudaErrorInvalidValue, "the source of a copy overlaps the target");
    if (stream->capture && (!to || !from))
        return standin_violation(cudaErrorStreamCaptureUnsupported,
                                 "a copy from or to pageable memory is captured");
    struct standin_work *work = standin_allocate(sizeof *work);
    work->kind = WORK_COPY;
    work->copy.to = copy_address(copy->to, to);
    work->copy.from = copy_address(copy->from, from);
    work->copy.to_pitch = copy->to_pitch, work->copy.from_pitch = copy->from_pitch;
    work->copy.width = width, work->copy.height = height;
    if (to)
        standin_work_uses(work, to);
    if (from) {
        standin_work_uses(work, from);
    } else {
        standin_blocks("a copy from pageable memory");
        copy_stage(work);
    }
    standin_submit(stream, work);
    if (to)
        return cudaSuccess;
    standin_blocks("a copy to pageable memory");
    return standin_await(stream, stream->queued);
}

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind,
                            cudaStream_t stream)
{
    cudaError_t error = standin_enter(CALL_cudaMemcpyAsync);
    if (error != cudaSuccess)
        return error;
    struct copy copy = {.to = to, .from = from, .width = bytes, .height = 1, .kind = kind};
    return standin_leave(copy_submit(&copy, stream));
}

cudaError_t cudaMemcpy2DAsync(void *to, size_t to_pitch, const void *from, size_t from_pitch,
                              size_t width, size_t height, enum cudaMemcpyKind kind,
                              cudaStream_t stream)
{
    cudaError_t error = standin_enter(CALL_cudaMemcpy2DAsync);
    if (error != cudaSuccess)
        return error;
    struct copy copy = {.to = to,
                        .from = from,
                        .to_pitch = to_pitch,
                        .from_pitch = from_pitch,
                        .width = width,
                        .height = height,
                        .kind = kind};
    if (width > to_pitch || width > from_pitch)
        return standin_leave(cudaErrorInvalidPitchValue);
    return standin_leave(copy_submit(&copy, stream));
}

cudaError_t cudaMemsetAsync(void *to, int value, size_t bytes, cudaStream_t stream)
{
    cudaError_t error = standin_enter(CALL_cudaMemsetAsync);
    if (error != cudaSuccess)
        return error;
    struct standin_block *block;
    error = standin_stream_check(stream);
    if (error == cudaSuccess && stream->device != standin_device())
        error = standin_violation(cudaErrorInvalidResourceHandle,
                                  "cudaMemsetAsync on a stream of another device");
    if (error == cudaSuccess && bytes > 0)
        error = standin_range(to, bytes, "the target of a memset", &block);
    if (error == cudaSuccess && bytes > 0)
        error = copy_reaches(block, stream->device, "a memset");
    if (error != cudaSuccess || bytes == 0)
        return standin_leave(error);
    if (!block)
        return standin_leave(
            standin_violation(cudaErrorInvalidValue, "cudaMemsetAsync: %p is in no memory", to));
    struct standin_work *work = standin_allocate(sizeof *work);
    work->kind = WORK_SET;
    work->copy.to = copy_address(to, block);
    work->copy.width = bytes, work->copy.height = 1;
    work->value = value;
    standin_work_uses(work, block);
    standin_submit(stream, work);
    return standin_leave(cudaSuccess);
}
