/*
 * peer.c - memory of a GPU that a kernel or a copy of another rank of the host reads.
 *
 * Ranks that are threads of one process use the same addresses. If they use several GPUs, these
 * need peer access. Ranks of other processes open a CUDA IPC handle, which asks for peer access
 * itself.
 */
#include "memory/cuda/peer.h"

#include <cuda_runtime_api.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "memory/cuda/failure.h"

#define BUS_MOST 24

/* What a handle holds. */
struct cuda_handle {
    uint64_t base, bytes;
    int32_t pid, device; /* the process, and the number of the GPU in it */
    int32_t refusal;     /* cudaError_t: why there is no `ipc`; 0: there is one */
    char bus[BUS_MOST];  /* the GPU's PCI address */
    cudaIpcMemHandle_t ipc;
};
_Static_assert(sizeof(struct cuda_handle) <= MEMORY_HANDLE_MOST, "a handle has room");

/* Names no GPU: pairs of ranks with the same reason are reported together. */
static const char no_peer_access[] =
    "their GPUs have no peer access to each other (nvidia-smi topo -p2p r shows which have)";

/* The thread's GPU. */
static enum status own_gpu(int *device, char bus[BUS_MOST])
{
    CUDA_TRY(cudaGetDevice(device), "cannot use a GPU");
    CUDA_TRY(cudaDeviceGetPCIBusId(bus, BUS_MOST, *device), "cannot use a GPU");
    return STATUS_OK;
}

/* That there is no IPC matters only to ranks of other processes. */
enum status cuda_lend(const struct region *region, struct memory_handle *handle)
{
    struct cuda_handle lent = {
        .base = (uintptr_t)region->base, .bytes = region->bytes, .pid = getpid()};
    int device = 0;
    enum status status = own_gpu(&device, lent.bus);
    if (status != STATUS_OK)
        return status;
    lent.device = device;
    lent.refusal = (int32_t)cudaIpcGetMemHandle(&lent.ipc, region->base);
    cudaGetLastError();
    memset(handle, 0, sizeof *handle);
    memcpy(handle, &lent, sizeof lent);
    return STATUS_OK;
}

static enum status map_same_process(const struct cuda_handle *lent, int device, char *reason)
{
    int can = 0;
    if (lent->device == device)
        return STATUS_OK;
    CUDA_TRY(cudaDeviceCanAccessPeer(&can, device, lent->device), "cannot ask for peer access");
    if (!can) {
        snprintf(reason, MEMORY_REASON_MOST, "%s", no_peer_access);
        return STATUS_UNAVAILABLE;
    }
    cudaError_t error = cudaDeviceEnablePeerAccess(lent->device, cudaPeerAccessDefault);
    if (error == cudaErrorPeerAccessAlreadyEnabled)
        error = cudaSuccess;
    cudaGetLastError();
    if (error == cudaSuccess)
        return STATUS_OK;
    snprintf(reason, MEMORY_REASON_MOST, "its GPU gets no peer access to the other's memory: %s",
             cudaGetErrorString(error));
    return STATUS_UNAVAILABLE;
}

static enum status map_other_process(const struct cuda_handle *lent, void **base, char *reason)
{
    if (lent->refusal != cudaSuccess) {
        snprintf(reason, MEMORY_REASON_MOST,
                 "its process cannot share memory of its GPU (CUDA IPC): %s",
                 cudaGetErrorString((cudaError_t)lent->refusal));
        return STATUS_UNAVAILABLE;
    }
    cudaError_t error = cudaIpcOpenMemHandle(base, lent->ipc, cudaIpcMemLazyEnablePeerAccess);
    if (error == cudaSuccess)
        return STATUS_OK;
    cudaGetLastError();
    if (error == cudaErrorPeerAccessUnsupported)
        snprintf(reason, MEMORY_REASON_MOST, "%s", no_peer_access);
    else
        snprintf(reason, MEMORY_REASON_MOST,
                 "memory of its GPU cannot be mapped (CUDA IPC): %s; MIG parts cannot map each "
                 "other's, and containers need the same IPC and PID namespaces",
                 cudaGetErrorString(error));
    return STATUS_UNAVAILABLE;
}

enum status cuda_map(const struct memory_handle *handle, struct memory_mapping *mapping,
                     char *reason)
{
    struct cuda_handle lent;
    char bus[BUS_MOST] = "";
    int device = 0;
    memcpy(&lent, handle, sizeof lent);
    lent.bus[BUS_MOST - 1] = '\0';
    *mapping = (struct memory_mapping){.bytes = lent.bytes};
    enum status status = own_gpu(&device, bus);
    if (status != STATUS_OK)
        return status;
    bool same_gpu = strcmp(bus, lent.bus) == 0;
    if (lent.pid == getpid()) {
        mapping->base = (char *)(uintptr_t)lent.base;
        mapping->words = same_gpu ? "same GPU" : "peer access";
        return map_same_process(&lent, device, reason);
    }
    void *base = NULL;
    status = map_other_process(&lent, &base, reason);
    mapping->base = base;
    mapping->is_opened = status == STATUS_OK;
    mapping->words = same_gpu ? "CUDA IPC, same GPU" : "CUDA IPC, peer access";
    return status;
}

void cuda_unmap(struct memory_mapping *mapping)
{
    if (mapping->is_opened)
        cudaIpcCloseMemHandle(mapping->base);
    *mapping = (struct memory_mapping){.base = NULL};
}
