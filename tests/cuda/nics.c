/*
 * nics.c - device memory that NICs reach: the functions of the driver that export it, and the flush
 * of what NICs wrote. The NICs are those of the provider of tests/verbs, where that is linked.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "blocks.h"
#include "dataplane/memory/cuda/internal.h"

#define CU_SUCCESS             0
#define CU_ERROR_INVALID       1   /* CUDA_ERROR_INVALID_VALUE */
#define CU_ERROR_NO_DEVICE     101 /* CUDA_ERROR_INVALID_DEVICE */
#define CU_ERROR_NOT_SUPPORTED 801
#define CU_ATTRIBUTE_DMABUF    124 /* CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED */
#define CU_HANDLE_DMABUF       1   /* CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD */

/* Functions of the provider (tests/verbs/provider.h); NULL where it is not linked. */
void provider_device_memory(void *base, size_t bytes, int file, uint64_t offset)
    __attribute__((weak));
void provider_flush(const void *base, size_t bytes) __attribute__((weak));

void standin_nics_reach(const struct standin_block *block, bool reach)
{
    if (provider_device_memory)
        provider_device_memory(block->base, block->bytes, reach ? block->file : -1,
                               (uint64_t)(block->base - block->map));
}

cudaError_t cudaDeviceFlushGPUDirectRDMAWrites(enum cudaFlushGPUDirectRDMAWritesTarget target,
                                               enum cudaFlushGPUDirectRDMAWritesScope scope)
{
    cudaError_t error = standin_enter(CALL_cudaDeviceFlushGPUDirectRDMAWrites);
    if (error != cudaSuccess)
        return error;
    if (target != cudaFlushGPUDirectRDMAWritesTargetCurrentDevice ||
        (scope != cudaFlushGPUDirectRDMAWritesToOwner &&
         scope != cudaFlushGPUDirectRDMAWritesToAllDevices))
        return standin_leave(cudaErrorInvalidValue);
    if (!standin.config.flush)
        return standin_leave(cudaErrorNotSupported);
    for (const struct standin_block *each = standin.blocks; each; each = each->next)
        if (provider_flush && (each->kind == BLOCK_DEVICE || each->kind == BLOCK_MAPPED) &&
            each->device == standin_device())
            provider_flush(each->base, each->bytes);
    return standin_leave(cudaSuccess);
}

static int attribute_get(int *value, int attribute, int device)
{
    standin_lock();
    bool there = device >= 0 && device < standin.config.devices;
    int exports = standin.config.dmabuf == 1, is_fabric = there && standin_fabric_serves(device);
    standin_unlock();
    if (!there)
        return CU_ERROR_NO_DEVICE;
    if (attribute != CU_ATTRIBUTE_DMABUF && attribute != FABRIC_ATTRIBUTE_RDMA &&
        attribute != FABRIC_ATTRIBUTE_HANDLES)
        return CU_ERROR_INVALID;
    *value = attribute == FABRIC_ATTRIBUTE_HANDLES ? is_fabric
             : attribute == FABRIC_ATTRIBUTE_RDMA  ? 1
                                                   : exports;
    return CU_SUCCESS;
}

/* The lock is held. */
static int range_export(int *fd, const char *begin, size_t bytes)
{
    const struct standin_block *block = standin.blocks;
    while (block &&
           ((block->kind != BLOCK_DEVICE && block->kind != BLOCK_MAPPED) || block->map != begin))
        block = block->next;
    if (!standin.config.dmabuf)
        return CU_ERROR_NOT_SUPPORTED;
    if (!block || bytes % BLOCK_PAGE != 0 || bytes == 0 || bytes > block->map_bytes - BLOCK_PAGE) {
        standin_violation(cudaErrorInvalidValue,
                          "cuMemGetHandleForAddressRange: %zu bytes from %p on are not whole pages "
                          "from the first one of an allocation on",
                          bytes, (const void *)begin);
        return CU_ERROR_INVALID;
    }
    *fd = dup(block->file);
    return *fd < 0 ? CU_ERROR_INVALID : CU_SUCCESS;
}

static int range_handle(void *handle, unsigned long long pointer, size_t bytes, int type,
                        unsigned long long flags)
{
    cudaError_t error = standin_enter(CALL_cuMemGetHandleForAddressRange);
    int fd = -1, result = error;
    if (error != cudaSuccess)
        return result;
    result = type == CU_HANDLE_DMABUF && flags == 0
                 ? range_export(&fd, (const char *)(uintptr_t)pointer, bytes)
                 : CU_ERROR_INVALID;
    if (result == CU_SUCCESS)
        memcpy(handle, &fd, sizeof fd);
    standin_leave(cudaSuccess);
    return result;
}

cudaError_t cudaGetDriverEntryPointByVersion(const char *name, void **function, unsigned version,
                                             unsigned long long flags,
                                             enum cudaDriverEntryPointQueryResult *result)
{
    int (*const attribute)(int *, int, int) = attribute_get;
    int (*const handle)(void *, unsigned long long, size_t, int, unsigned long long) = range_handle;
    cudaError_t error = standin_enter(CALL_cudaGetDriverEntryPointByVersion);
    if (error != cudaSuccess)
        return error;
    if (flags != cudaEnableDefault)
        return standin_leave(cudaErrorInvalidValue);
    *function = NULL;
    *result = cudaDriverEntryPointSuccess;
    if (strcmp(name, "cuDeviceGetAttribute") == 0)
        memcpy(function, &attribute, sizeof attribute);
    else if (strcmp(name, "cuMemGetHandleForAddressRange") == 0 && standin.config.dmabuf <= 1)
        memcpy(function, &handle, sizeof handle);
    else if (!standin_fabric_entry(name, function))
        *result = cudaDriverEntryPointSymbolNotFound;
    if (*function && version < 11070)
        *result = cudaDriverEntryPointVersionNotSufficent;
    return standin_leave(cudaSuccess);
}
