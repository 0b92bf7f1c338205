/*
 * kind.c - memory of an NVIDIA GPU, as a kind of memory. The device is the calling thread's.
 */
#include <cuda_runtime_api.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "host/nvml/gpus.h"
#include "dataplane/memory/cuda/internal.h"
#include "dataplane/memory/cuda/kernels.h"

#define GRAIN_LEAST ((size_t)512 << 10)

/* Ranks that are threads share the queues of their process to a GPU. CUDA makes 8 unless told
 * otherwise, and a kernel may wait behind one of another rank that is in the same queue. */
static void cuda_prepare(void)
{
    setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 0);
}

static void cuda_release(struct region *region)
{
    if (region->reserved > 0)
        fabric_give(region->base, region->reserved);
    else if (region->base)
        cudaFree(region->base);
    *region = (struct region){.fd = -1};
}

/* By a stream of its own: there may be no engine yet. *busy: the GPU still clears, although the job
 * has ended. */
static enum status region_clear(const struct region *region, const struct tick *tick, bool *busy)
{
    cudaStream_t stream;
    CUDA_TRY(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cannot make a stream");
    cudaError_t error = cudaMemsetAsync(region->base, 0, region->bytes, stream);
    enum status status = error == cudaSuccess
                             ? cuda_wait_stream(stream, tick)
                             : cuda_failed(error, "cannot clear memory of the GPU");
    *busy = status != STATUS_OK && cudaStreamQuery(stream) == cudaErrorNotReady;
    cudaStreamDestroy(stream);
    return status;
}

/* A GPU in an NVLink domain has memory that the others there can map, if it can make such. */
static enum status region_take(struct region *region)
{
    const struct memory_device *device = cuda_current();
    void *base = NULL;
    if (device->domain[0] &&
        fabric_take(device->number, region->bytes, &base, &region->reserved) == 0) {
        region->base = base;
        return STATUS_OK;
    }
    region->reserved = 0;
    enum status status = cuda_take(region->bytes, &base);
    region->base = base;
    return status;
}

static enum status cuda_allocate(size_t bytes, const struct tick *tick, struct region *region)
{
    bool busy = false;
    *region = (struct region){.kind = &memory_cuda, .bytes = bytes, .fd = -1};
    enum status status = region_take(region);
    if (status == STATUS_OK && bytes > 0)
        status = region_clear(region, tick, &busy);
    if (busy) /* to free the memory would wait for the GPU: the end of the process does */
        *region = (struct region){.fd = -1};
    else if (status != STATUS_OK)
        cuda_release(region);
    return status;
}

/* Kernels take the address that the CPU has, as is possible wherever addresses are unified. */
static enum status cuda_pin(void *base, size_t bytes)
{
    void *address = NULL;
    cudaError_t error =
        cudaHostRegister(base, bytes, cudaHostRegisterPortable | cudaHostRegisterMapped);
    if (error != cudaSuccess)
        return cuda_pin_failed(
            error, bytes,
            "through which messages are staged: run fewer ranks here, or use fewer channels");
    error = cudaHostGetDevicePointer(&address, base, 0);
    if (error == cudaSuccess && address == base)
        return STATUS_OK;
    cudaHostUnregister(base);
    if (error != cudaSuccess)
        return cuda_failed(error, "cannot map pinned memory");
    return fail(STATUS_UNAVAILABLE, "no GPU can be used: this one maps memory of the host at other "
                                    "addresses than the CPU");
}

static void cuda_unpin(void *base)
{
    cudaHostUnregister(base);
}

/* What is left on the thread's device. */
static void cuda_look(struct memory_pool *pools)
{
    const struct memory_device *device = cuda_current();
    size_t left = 0, total = 0;
    pools[0] = pools[1] = (struct memory_pool){.which = 0};
    if (cudaMemGetInfo(&left, &total) != cudaSuccess)
        return;
    pools[0] = (struct memory_pool){
        .which = memory_device_identity(device), .left = left, .is_exact = true};
    memory_device_text(device, pools[0].where);
}

static reduce_function *cuda_reduce(const struct datatype *type, const struct reduction *reduction)
{
    const void *kernel = device_reduce_kernel(type->id, reduction->id);
    reduce_function *function;
    memcpy(&function, &kernel, sizeof function);
    return function;
}

static finish_function *cuda_finish(const struct datatype *type, const struct reduction *reduction)
{
    const void *kernel = reduction->finishes ? device_finish_kernel(type->id) : NULL;
    finish_function *function;
    memcpy(&function, &kernel, sizeof function);
    return function;
}

const struct memory_kind memory_cuda = {
    .name = "cuda",
    .summary = "memory of an NVIDIA GPU",
    .unavailable = cuda_driver_missing,
    .prepare = cuda_prepare,
    .grain_least = GRAIN_LEAST,
    .grain_most = CUDA_GRAIN_MOST,
    .devices_taken = cuda_devices_taken,
    .settle = cuda_settle,
    .pin = cuda_pin,
    .unpin = cuda_unpin,
    .look = cuda_look,
    .engine_bytes = CUDA_ENGINE_BYTES,
    .allocate = cuda_allocate,
    .release = cuda_release,
    .engine_open = cuda_engine_open,
    .engine_post = cuda_engine_post,
    .engine_progress = cuda_engine_progress,
    .engine_busy = cuda_engine_busy,
    .engine_close = cuda_engine_close,
    .engine_forget = cuda_engine_forget,
    .reduce = cuda_reduce,
    .finish = cuda_finish,
    .fill = cuda_fill,
    .make = cuda_make,
    .compare = cuda_compare,
    .select = cuda_select,
    .scan = cuda_scan,
    .read = cuda_read,
    .write = cuda_write,
    .devices = cuda_devices,
    .rank_devices = cuda_rank_devices,
    .device_meter = gpu_meter_open,
    .share = cuda_share,
    .flush = cuda_flush,
    .lend = cuda_lend,
    .map = cuda_map,
    .unmap = cuda_unmap,
};
