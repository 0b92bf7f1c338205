/*
 * peer.c - memory of a GPU that a kernel or a copy of another rank reads.
 *
 * Ranks that are threads of one process use the same addresses. If they use several GPUs, these
 * need peer access. Ranks of other processes open a fabric handle if the memory has one, on this
 * host or on another; else, on this host, a CUDA IPC handle, which asks for peer access itself.
 */
#include "dataplane/memory/cuda/internal.h"

#include <cuda_runtime_api.h>
#include <stdio.h>
#include <string.h>

#include "base/host.h"
#include "base/log.h"

#define BUS_MOST      24
#define IMEX_CHANNELS "/dev/nvidia-caps-imex-channels"

/* What a handle holds. */
struct cuda_handle {
    uint64_t base, bytes;
    uint64_t reserved; /* bytes, which `fabric` names; 0: `ipc` does */
    uint64_t host, process;
    int32_t device;         /* the GPU's number in the process */
    int32_t refusal;        /* cudaError_t: why there is no `ipc`; 0: there is one */
    int32_t fabric_refusal; /* CUresult: why there is no `fabric`; 0: there is one */
    char bus[BUS_MOST];     /* the GPU's PCI address */
    union {
        cudaIpcMemHandle_t ipc;
        struct fabric_handle fabric;
    };
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

/* That there is no handle matters only to ranks of other processes, or of other hosts. */
enum status cuda_lend(const struct region *region, struct memory_handle *handle)
{
    struct cuda_handle lent = {.base = (uintptr_t)region->base,
                               .bytes = region->bytes,
                               .reserved = region->reserved,
                               .host = host_identity(),
                               .process = host_process_identity()};
    int device = 0;
    TRY(own_gpu(&device, lent.bus));
    lent.device = device;
    if (region->reserved > 0) {
        lent.fabric_refusal = fabric_lend(region->base, &lent.fabric);
    } else {
        lent.refusal = (int32_t)cudaIpcGetMemHandle(&lent.ipc, region->base);
        lent.fabric_refusal = cuda_current()->domain[0] ? fabric_try(device) : FABRIC_NOT_SUPPORTED;
        if (!lent.fabric_refusal) /* it had no room for such memory, which comes in large units */
            lent.fabric_refusal = cudaErrorMemoryAllocation;
        cudaGetLastError();
    }
    memset(handle, 0, sizeof *handle);
    memcpy(handle, &lent, sizeof lent);
    return STATUS_OK;
}

static enum status map_same_process(const struct cuda_handle *lent, int device, char *reason)
{
    void *base = (void *)(uintptr_t)lent->base;
    int can = 0;
    if (lent->device == device)
        return STATUS_OK;
    CUDA_TRY(cudaDeviceCanAccessPeer(&can, device, lent->device), "cannot ask for peer access");
    if (!can) {
        snprintf(reason, MEMORY_REASON_MOST, "%s", no_peer_access);
        return STATUS_UNAVAILABLE;
    }
    cudaError_t error = lent->reserved > 0
                            ? (cudaError_t)fabric_open(device, base, lent->reserved)
                            : cudaDeviceEnablePeerAccess(lent->device, cudaPeerAccessDefault);
    if (error == cudaErrorPeerAccessAlreadyEnabled)
        error = cudaSuccess;
    cudaGetLastError();
    if (error == cudaSuccess)
        return STATUS_OK;
    snprintf(reason, MEMORY_REASON_MOST, "its GPU gets no peer access to the other's memory: %s",
             cudaGetErrorString(error));
    return STATUS_UNAVAILABLE;
}

static enum status map_ipc(const struct cuda_handle *lent, void **base, char *reason)
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

static void no_handle(int error, char *reason)
{
    if (error == FABRIC_NOT_PERMITTED)
        snprintf(reason, MEMORY_REASON_MOST,
                 "its GPU makes no fabric handle, since its process has no IMEX channel: make "
                 "one that the user may open (" IMEX_CHANNELS "/channel0)");
    else if (error == cudaErrorMemoryAllocation)
        snprintf(reason, MEMORY_REASON_MOST,
                 "its GPU has no room for memory with a fabric handle, which comes in units of 2 "
                 "MiB: ask for smaller sizes (-e)");
    else
        snprintf(reason, MEMORY_REASON_MOST,
                 "its GPU makes no fabric handle that can be opened: %s; nvidia-imex has to run on "
                 "its host",
                 cudaGetErrorString((cudaError_t)error));
}

static enum status map_fabric(const struct cuda_handle *lent, int device, void **base, char *reason)
{
    int error = fabric_map(device, &lent->fabric, lent->reserved, base);
    if (error == 0)
        return STATUS_OK;
    if (error == FABRIC_NOT_PERMITTED)
        snprintf(reason, MEMORY_REASON_MOST,
                 "a fabric handle cannot be opened without the IMEX channel of its process: give "
                 "the user the same one on all hosts (" IMEX_CHANNELS "/channel0)");
    else
        snprintf(reason, MEMORY_REASON_MOST,
                 "memory of its GPU cannot be mapped (fabric handle): %s%s",
                 cudaGetErrorString((cudaError_t)error),
                 lent->host == host_identity() ? ""
                                               : "; nvidia-imex has to run on both hosts, and to "
                                                 "know both (nvidia-imex-ctl -N)");
    return STATUS_UNAVAILABLE;
}

static enum status map_other_process(const struct cuda_handle *lent, int device,
                                     struct memory_mapping *mapping, char *reason)
{
    void *base = NULL;
    bool same_host = lent->host == host_identity();
    enum status status = STATUS_UNAVAILABLE;
    if (lent->reserved > 0 && !lent->fabric_refusal)
        status = map_fabric(lent, device, &base, reason);
    else if (lent->reserved == 0 && same_host)
        status = map_ipc(lent, &base, reason);
    else
        no_handle(lent->fabric_refusal, reason);
    mapping->base = base;
    mapping->is_opened = status == STATUS_OK;
    mapping->reserved = lent->reserved;
    return status;
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
    TRY(own_gpu(&device, bus));
    bool same_gpu = lent.host == host_identity() && strcmp(bus, lent.bus) == 0;
    if (lent.process == host_process_identity()) {
        mapping->base = (char *)(uintptr_t)lent.base;
        mapping->words = same_gpu ? "same GPU" : "peer access";
        return map_same_process(&lent, device, reason);
    }
    mapping->words = lent.reserved > 0 ? same_gpu ? "fabric handle, same GPU" : "fabric handle"
                     : same_gpu        ? "CUDA IPC, same GPU"
                                       : "CUDA IPC, peer access";
    return map_other_process(&lent, device, mapping, reason);
}

void cuda_unmap(struct memory_mapping *mapping)
{
    if (mapping->is_opened && mapping->reserved > 0)
        fabric_give(mapping->base, mapping->reserved);
    else if (mapping->is_opened)
        cudaIpcCloseMemHandle(mapping->base);
    *mapping = (struct memory_mapping){.base = NULL};
}
