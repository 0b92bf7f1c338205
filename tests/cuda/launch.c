/*
 * launch.c - kernels: the CPU runs one thread of one block after the other, blocks in any order.
 * cooperative.c runs those whose threads wait for each other.
 */
#include <stdlib.h>
#include <string.h>

#include "standin.h"

/* The declarations of device_host.h. */
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

struct standin_kernel *standin_kernel_find(int device, const void *function)
{
    struct standin_kernel *kernels = standin.kernels[device];
    int i = 0;
    while (i < STANDIN_KERNELS && kernels[i].function && kernels[i].function != function)
        i++;
    if (i == STANDIN_KERNELS)
        abort();
    if (!kernels[i].function)
        kernels[i] = (struct standin_kernel){.function = function, .shared_most = STANDIN_SHARED};
    return &kernels[i];
}

/* Code that is loaded by its first launch waits for kernels that run. */
void standin_kernel_launch(const void *function)
{
    struct standin_kernel *found = standin_kernel_find(standin_device(), function);
    bool loaded = found->loaded;
    found->loaded = true;
    if (loaded)
        return;
    standin.counts.lazy++;
    if (standin.config.strict)
        standin_violation(cudaErrorUnknown, "a kernel is launched that was not loaded before");
}

cudaError_t standin_launch_uses(struct standin_work *work, int device, const void *address)
{
    struct standin_block *block = standin_find(address);
    if (block_is_device(block) && !standin_block_serves(block, device))
        return standin_violation(cudaErrorIllegalAddress,
                                 "a kernel of GPU %d reads or writes memory of GPU %d, to which "
                                 "it has no peer access",
                                 device, block->device);
    if (block)
        standin_work_uses(work, block);
    return cudaSuccess;
}

/* The work uses each block that the argument has an address of. */
static cudaError_t argument_uses(struct standin_work *work, int device)
{
    uintptr_t word;
    const char *argument = (const char *)work->argument;
    cudaError_t error = cudaSuccess;
    for (size_t at = 0; error == cudaSuccess && at + sizeof word <= sizeof *work->argument;
         at += sizeof word) {
        memcpy(&word, argument + at, sizeof word);
        error = standin_launch_uses(work, device, (const void *)word);
    }
    return error;
}

cudaError_t cudaFuncGetAttributes(struct cudaFuncAttributes *attributes, const void *function)
{
    cudaError_t error = standin_enter(CALL_cudaFuncGetAttributes);
    if (error != cudaSuccess)
        return error;
    if (!function)
        return standin_leave(cudaErrorInvalidDeviceFunction);
    struct standin_kernel *found = standin_kernel_find(standin_device(), function);
    found->loaded = true;
    memset(attributes, 0, sizeof *attributes);
    attributes->maxThreadsPerBlock = 1024;
    attributes->numRegs = 32;
    attributes->ptxVersion = attributes->binaryVersion = 90;
    attributes->maxDynamicSharedSizeBytes = (int)found->shared_most;
    return standin_leave(cudaSuccess);
}

cudaError_t cudaFuncSetAttribute(const void *function, enum cudaFuncAttribute attribute, int value)
{
    cudaError_t error = standin_enter(CALL_cudaFuncSetAttribute);
    if (error != cudaSuccess)
        return error;
    if (!function)
        return standin_leave(cudaErrorInvalidDeviceFunction);
    if (attribute != cudaFuncAttributeMaxDynamicSharedMemorySize || value < 0 ||
        value > STANDIN_SHARED_MOST)
        return standin_leave(cudaErrorInvalidValue);
    standin_kernel_find(standin_device(), function)->shared_most = (size_t)value;
    return standin_leave(cudaSuccess);
}

cudaError_t standin_launch_check(const char *call, cudaStream_t stream, const void *function,
                                 dim3 grid, dim3 block)
{
    cudaError_t error = standin_stream_check(stream);
    if (error == cudaSuccess && stream->device != standin_device())
        error = standin_violation(cudaErrorInvalidResourceHandle,
                                  "%s on a stream of another device", call);
    if (error == cudaSuccess && !function)
        error = cudaErrorInvalidDeviceFunction;
    if (error == cudaSuccess && !launch_fits(grid, block))
        error = cudaErrorInvalidConfiguration;
    return error;
}

cudaError_t cudaLaunchKernel(const void *function, dim3 grid, dim3 block, void **arguments,
                             size_t shared, cudaStream_t stream)
{
    cudaError_t error = standin_enter(CALL_cudaLaunchKernel);
    if (error != cudaSuccess)
        return error;
    error = standin_launch_check("cudaLaunchKernel", stream, function, grid, block);
    if (error == cudaSuccess &&
        (!arguments || !arguments[0] ||
         shared > standin_kernel_find(standin_device(), function)->shared_most))
        error = cudaErrorInvalidValue;
    if (error != cudaSuccess)
        return standin_leave(error);
    standin_kernel_launch(function);
    struct standin_work *work = standin_allocate(sizeof *work);
    work->kind = WORK_LAUNCH;
    work->function = (kernel *)(uintptr_t)function;
    work->grid = grid;
    work->block = block;
    if (standin.config.threads)
        work->block = (dim3){(unsigned)standin.config.threads, 1, 1};
    work->argument = standin_allocate(sizeof *work->argument);
    memcpy(work->argument, arguments[0], sizeof *work->argument);
    error = argument_uses(work, stream->device);
    if (error == cudaSuccess)
        standin_submit(stream, work);
    return standin_leave(error);
}
