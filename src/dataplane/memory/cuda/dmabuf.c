/*
 * dmabuf.c - memory of a GPU that NICs write and read: exports it, and flushes what they wrote.
 *
 * Only the driver's interface exports a dmabuf (internal.h); cuda.h is not needed.
 *
 * CU_POINTER_ATTRIBUTE_SYNC_MEMOPS is not set. It is for copies and memsets that return before
 * they are done although they are synchronous. All work here is asynchronous, and no link sees
 * memory before an event says that the work there is done.
 */
#include "dataplane/memory/cuda/internal.h"

#include <cuda_runtime_api.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

/* Constants of cuda.h. */
#define DRIVER_SUCCESS              0
#define DRIVER_ATTRIBUTE_DMABUF     124 /* CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED */
#define DRIVER_RANGE_HANDLE_DMABUF  1   /* CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD */
#define DRIVER_VERSION_WITH_DMABUFS 11070

/* Functions of the driver, by the names that it has for them. */
struct dmabuf_calls {
    int (*attribute)(int *value, int attribute, int device); /* cuDeviceGetAttribute */
    int (*export)(void *handle, unsigned long long pointer, size_t bytes, int type,
                  unsigned long long flags); /* cuMemGetHandleForAddressRange */
};

/* Can NICs' writes into the device's memory be told to be there? */
static bool writes_can_be_ordered(int device)
{
    int ordering = cudaGPUDirectRDMAWritesOrderingNone, flushes = 0;
    cudaDeviceGetAttribute(&ordering, cudaDevAttrGPUDirectRDMAWritesOrdering, device);
    cudaDeviceGetAttribute(&flushes, cudaDevAttrGPUDirectRDMAFlushWritesOptions, device);
    return ordering >= cudaGPUDirectRDMAWritesOrderingOwner ||
           flushes & cudaFlushGPUDirectRDMAWritesOptionHost;
}

/* NULL: the device exports its memory, by *calls. */
static const char *dmabuf_lack(int device, struct dmabuf_calls *calls)
{
    int exports = 0;
    if (!cuda_entry_find("cuDeviceGetAttribute", DRIVER_VERSION_WITH_DMABUFS, &calls->attribute) ||
        !cuda_entry_find("cuMemGetHandleForAddressRange", DRIVER_VERSION_WITH_DMABUFS,
                         &calls->export))
        return "its driver is older than CUDA 11.7: install a newer one";
    /* The runtime numbers devices as the driver does. */
    if (calls->attribute(&exports, DRIVER_ATTRIBUTE_DMABUF, device) != DRIVER_SUCCESS || !exports)
        return "that takes the open kernel module of NVIDIA's driver, and Linux 5.12 or newer";
    if (!writes_can_be_ordered(device))
        return "it can neither order nor flush what NICs write";
    return NULL;
}

const char *cuda_share_lack(int device)
{
    struct dmabuf_calls calls;
    return dmabuf_lack(device, &calls);
}

/* Whole pages: the allocation is backed by such. */
enum status cuda_share(const struct region *region, enum share_way way, struct shared *shared,
                       char *reason)
{
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), base = (uintptr_t)region->base;
    const uintptr_t begin = base / page * page,
                    end = (base + region->bytes + page - 1) / page * page;
    struct dmabuf_calls calls;
    int device = 0, fd = -1;
    (void)way; /* there is but one */
    cudaGetDevice(&device);
    const char *why = dmabuf_lack(device, &calls);
    if (why) {
        snprintf(reason, MEMORY_REASON_MOST, "GPU %d has no dmabuf: %s", device, why);
        return STATUS_UNAVAILABLE;
    }
    int error = calls.export(&fd, begin, end - begin, DRIVER_RANGE_HANDLE_DMABUF, 0);
    if (error != DRIVER_SUCCESS) {
        snprintf(reason, MEMORY_REASON_MOST,
                 "GPU %d does not export its memory as a dmabuf (CUDA error %d)", device, error);
        return STATUS_UNAVAILABLE;
    }
    *shared = (struct shared){.fd = fd, .offset = base - begin};
    return STATUS_OK;
}

/* A GPU that orders NICs' writes before its own later work needs none. */
enum status cuda_flush(const struct region *region)
{
    int device = 0, ordering = cudaGPUDirectRDMAWritesOrderingNone;
    (void)region; /* the call is for all memory of the device */
    CUDA_TRY(cudaGetDevice(&device), "cannot flush what a NIC wrote");
    CUDA_TRY(cudaDeviceGetAttribute(&ordering, cudaDevAttrGPUDirectRDMAWritesOrdering, device),
             "cannot flush what a NIC wrote");
    if (ordering < cudaGPUDirectRDMAWritesOrderingOwner)
        CUDA_TRY(cudaDeviceFlushGPUDirectRDMAWrites(cudaFlushGPUDirectRDMAWritesTargetCurrentDevice,
                                                    cudaFlushGPUDirectRDMAWritesToOwner),
                 "cannot flush what a NIC wrote; try -x verbs:gdr=staged");
    return STATUS_OK;
}
