/*
 * launch.c - kernels: the CPU runs one thread of one block after the other, blocks in any order.
 */
#include <stdlib.h>
#include <string.h>

#include "standin.h"

#define SHARED_MOST (48 << 10)

/* What device_host.h declares. */
extern __thread uint3 threadIdx, blockIdx;
extern __thread dim3 blockDim, gridDim;
__thread uint3 threadIdx, blockIdx;
__thread dim3 blockDim, gridDim;

typedef void kernel(struct device_work);

static uint64_t divisor(uint64_t a, uint64_t b)
{
    while (b) {
        uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

void standin_kernel_run(const struct standin_work *work)
{
    uint64_t blocks = (uint64_t)work->grid.x * work->grid.y * work->grid.z;
    uint64_t state = work->random, at = standin_random(&state, blocks);
    uint64_t step = 1 + standin_random(&state, blocks);
    while (divisor(step, blocks) != 1)
        step++;
    gridDim = work->grid;
    blockDim = work->block;
    for (uint64_t i = 0; i < blocks; i++, at = (at + step) % blocks) {
        blockIdx.x = (unsigned)(at % gridDim.x);
        blockIdx.y = (unsigned)(at / gridDim.x % gridDim.y);
        blockIdx.z = (unsigned)(at / gridDim.x / gridDim.y);
        for (threadIdx.z = 0; threadIdx.z < blockDim.z; threadIdx.z++)
            for (threadIdx.y = 0; threadIdx.y < blockDim.y; threadIdx.y++)
                for (threadIdx.x = 0; threadIdx.x < blockDim.x; threadIdx.x++)
                    work->function(*work->argument);
    }
}

static bool launch_fits(dim3 grid, dim3 block)
{
    return grid.x > 0 && grid.y > 0 && grid.z > 0 && grid.x <= INT32_MAX && grid.y <= 65535 &&
           grid.z <= 65535 && block.x > 0 && block.y > 0 && block.z > 0 && block.x <= 1024 &&
           block.y <= 1024 && block.z <= 64 && block.x * block.y * block.z <= 1024;
}

/* Loads the kernel on the thread's device. Was it? */
static bool kernel_load(const void *function)
{
    const void **kernels = standin.kernels[standin_device()];
    int i = 0;
    while (i < STANDIN_KERNELS && kernels[i] && kernels[i] != function)
        i++;
    if (i == STANDIN_KERNELS)
        abort();
    bool was = kernels[i];
    kernels[i] = function;
    return was;
}

/* Code that is loaded by its first launch waits for kernels that run. */
static void kernel_launch(const void *function)
{
    if (kernel_load(function))
        return;
    standin.counts.lazy++;
    if (standin.config.strict)
        standin_violation(cudaErrorUnknown, "a kernel is launched that was not loaded before");
}

/* The work uses each block that the argument has an address of, and which the device reaches. */
static cudaError_t launch_uses(struct standin_work *work, int device)
{
    uintptr_t word;
    const char *argument = (const char *)work->argument;
    for (size_t at = 0; at + sizeof word <= sizeof *work->argument; at += sizeof word) {
        memcpy(&word, argument + at, sizeof word);
        struct standin_block *block = standin_find((const void *)word);
        if (block_is_device(block) && block->device != device &&
            !standin.peers[device][block->device])
            return standin_violation(
                cudaErrorIllegalAddress,
                "a kernel of GPU %d reads or writes memory of GPU %d, to which "
                "it has no peer access",
                device, block->device);
        if (block)
            standin_work_uses(work, block);
    }
    return cudaSuccess;
}

cudaError_t cudaFuncGetAttributes(struct cudaFuncAttributes *attributes, const void *function)
{
    cudaError_t error = standin_enter(CALL_cudaFuncGetAttributes);
    if (error != cudaSuccess)
        return error;
    if (!function)
        return standin_leave(cudaErrorInvalidDeviceFunction);
    kernel_load(function);
    memset(attributes, 0, sizeof *attributes);
    attributes->maxThreadsPerBlock = 1024;
    attributes->numRegs = 32;
    attributes->ptxVersion = attributes->binaryVersion = 90;
    attributes->maxDynamicSharedSizeBytes = SHARED_MOST;
    return standin_leave(cudaSuccess);
}

cudaError_t cudaLaunchKernel(const void *function, dim3 grid, dim3 block, void **arguments,
                             size_t shared, cudaStream_t stream)
{
    cudaError_t error = standin_enter(CALL_cudaLaunchKernel);
    if (error != cudaSuccess)
        return error;
    error = standin_stream_check(stream);
    if (error == cudaSuccess && stream->device != standin_device())
        error = standin_violation(cudaErrorInvalidResourceHandle,
                                  "cudaLaunchKernel on a stream of another device");
    if (error == cudaSuccess && !function)
        error = cudaErrorInvalidDeviceFunction;
    if (error == cudaSuccess && !launch_fits(grid, block))
        error = cudaErrorInvalidConfiguration;
    if (error == cudaSuccess && (!arguments || !arguments[0] || shared > SHARED_MOST))
        error = cudaErrorInvalidValue;
    if (error != cudaSuccess)
        return standin_leave(error);
    kernel_launch(function);
    struct standin_work *work = standin_allocate(sizeof *work);
    work->kind = WORK_LAUNCH;
    work->function = (kernel *)(uintptr_t)function;
    work->grid = grid;
    work->block = block;
    if (standin.config.threads)
        work->block = (dim3){(unsigned)standin.config.threads, 1, 1};
    work->argument = standin_allocate(sizeof *work->argument);
    memcpy(work->argument, arguments[0], sizeof *work->argument);
    work->random = stream->seed + stream->queued;
    error = launch_uses(work, stream->device);
    if (error != cudaSuccess)
        return standin_leave(error);
    standin.counts.launches++;
    work->fails = standin.counts.launches == (uint64_t)standin.config.sticky;
    work->hangs = standin.counts.launches == (uint64_t)standin.config.hang;
    standin_submit(stream, work);
    return standin_leave(cudaSuccess);
}
