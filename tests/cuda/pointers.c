/*
 * pointers.c - what an address is, and memory of other processes.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "blocks.h"

/* The contents of a handle. */
struct ipc_handle {
    char path[32]; /* of the memfd */
    uint64_t bytes;
    uint32_t lead; /* bytes of the memfd in front of the memory */
    struct standin_card card;
    int32_t pid;
    uint32_t magic;
};
_Static_assert(sizeof(struct ipc_handle) <= sizeof(cudaIpcMemHandle_t), "a handle has room");

#define IPC_MAGIC 0x4d454d43

static uint32_t block_lead(const struct standin_block *block)
{
    return (uint32_t)(block->base - block->map);
}

cudaError_t cudaHostGetDevicePointer(void **there, void *here, unsigned int flags)
{
    cudaError_t error = standin_enter(CALL_cudaHostGetDevicePointer);
    if (error != cudaSuccess)
        return error;
    const struct standin_block *block = standin_find(here);
    if (flags != 0)
        error = cudaErrorInvalidValue;
    else if (!block || block_is_device(block))
        error = standin_violation(cudaErrorInvalidValue,
                                  "cudaHostGetDevicePointer: %p is not in pinned memory", here);
    else
        *there = here;
    return standin_leave(error);
}

cudaError_t cudaPointerGetAttributes(struct cudaPointerAttributes *attributes, const void *pointer)
{
    cudaError_t error = standin_enter(CALL_cudaPointerGetAttributes);
    if (error != cudaSuccess)
        return error;
    const struct standin_block *block = standin_find(pointer);
    void *at = (void *)(uintptr_t)pointer;
    memset(attributes, 0, sizeof *attributes);
    attributes->type = !block                   ? cudaMemoryTypeUnregistered
                       : block_is_device(block) ? cudaMemoryTypeDevice
                                                : cudaMemoryTypeHost;
    attributes->device = block ? block->device : cudaInvalidDeviceId;
    attributes->devicePointer = block ? at : NULL;
    attributes->hostPointer = block_is_device(block) ? NULL : at;
    return standin_leave(cudaSuccess);
}

cudaError_t cudaIpcGetMemHandle(cudaIpcMemHandle_t *handle, void *pointer)
{
    cudaError_t error = standin_enter(CALL_cudaIpcGetMemHandle);
    if (error != cudaSuccess)
        return error;
    if (!standin.config.ipc)
        return standin_leave(cudaErrorNotSupported);
    const struct standin_block *block = standin_find(pointer);
    if (!block || block->kind != BLOCK_DEVICE || block->base != pointer)
        return standin_leave(
            standin_violation(cudaErrorInvalidValue,
                              "cudaIpcGetMemHandle: no memory of a device begins at %p", pointer));
    struct ipc_handle values = {.bytes = block->bytes,
                                .lead = block_lead(block),
                                .card = standin.cards[block->device],
                                .pid = getpid(),
                                .magic = IPC_MAGIC};
    snprintf(values.path, sizeof(values.path), "/proc/%d/fd/%d", getpid(), block->file);
    memset(handle, 0, sizeof *handle);
    memcpy(handle, &values, sizeof values);
    return standin_leave(cudaSuccess);
}

/* Maps the memory, and owns the file then. A lock tells the exporter of it. */
static struct standin_block *ipc_map(const struct ipc_handle *values, int device, int file,
                                     const struct stat *stat)
{
    size_t pages = (size_t)stat->st_size;
    struct flock lock = {.l_type = F_RDLCK, .l_whence = SEEK_SET};
    if (fcntl(file, F_OFD_SETLK, &lock) != 0)
        abort();
    char *view = mmap(NULL, pages, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    char *map = block_map(pages + BLOCK_PAGE, file, PROT_NONE);
    if (view == MAP_FAILED || !map)
        abort();
    return block_add(&(struct standin_block){.kind = BLOCK_OPENED,
                                             .device = device,
                                             .base = map + values->lead,
                                             .view = view + values->lead,
                                             .bytes = values->bytes,
                                             .map = map,
                                             .map_bytes = pages + BLOCK_PAGE,
                                             .file = file,
                                             .file_device = stat->st_dev,
                                             .file_number = stat->st_ino});
}

cudaError_t cudaIpcOpenMemHandle(void **pointer, cudaIpcMemHandle_t handle, unsigned int flags)
{
    cudaError_t error = standin_enter(CALL_cudaIpcOpenMemHandle);
    if (error != cudaSuccess)
        return error;
    struct ipc_handle values;
    int device;
    memcpy(&values, &handle, sizeof values);
    if (!standin.config.ipc)
        return standin_leave(cudaErrorNotSupported);
    if (flags != cudaIpcMemLazyEnablePeerAccess)
        return standin_leave(cudaErrorInvalidValue);
    if (values.magic != IPC_MAGIC)
        return standin_leave(
            standin_violation(cudaErrorInvalidValue, "cudaIpcOpenMemHandle: this is no handle"));
    if (!standin_card_find(&values.card, &device))
        return standin_leave(cudaErrorMapBufferObjectFailed);
    if (values.pid == getpid())
        return standin_leave(cudaErrorDeviceUninitialized);
    if (device != standin_device() && !standin_cards_reach(standin_device(), device))
        return standin_leave(cudaErrorPeerAccessUnsupported);
    int file = open(values.path, O_RDWR | O_CLOEXEC);
    struct stat stat;
    if (file < 0 || fstat(file, &stat) != 0 ||
        (uint64_t)stat.st_size < values.lead + values.bytes) {
        if (file >= 0)
            close(file);
        return standin_leave(cudaErrorMapBufferObjectFailed);
    }
    struct standin_block *block = standin.blocks;
    while (block && (block->kind != BLOCK_OPENED || block->file_device != stat.st_dev ||
                     block->file_number != stat.st_ino))
        block = block->next;
    if (block)
        close(file);
    else
        block = ipc_map(&values, device, file, &stat);
    block->opens++;
    /* The flag asks for this. */
    standin.peers[standin_device()][device] = true;
    standin_memory_protect();
    *pointer = block->base;
    return standin_leave(cudaSuccess);
}

cudaError_t cudaIpcCloseMemHandle(void *pointer)
{
    cudaError_t error = standin_enter(CALL_cudaIpcCloseMemHandle);
    if (error != cudaSuccess)
        return error;
    struct standin_block *block = standin_find(pointer);
    if (block && block->kind == BLOCK_OPENED && block->base == pointer && block->opens > 1) {
        block->opens--;
        return standin_leave(cudaSuccess);
    }
    block = block_take(pointer, BLOCK_OPENED, "cudaIpcCloseMemHandle", &error);
    if (block)
        block_drop(block);
    return standin_leave(error);
}

void *runtime_view(const void *pointer)
{
    standin_lock();
    const struct standin_block *block = standin_find(pointer);
    void *view =
        block ? block->view + ((const char *)pointer - block->base) : (void *)(uintptr_t)pointer;
    standin_unlock();
    return view;
}

int runtime_file(const void *pointer, uint64_t *offset)
{
    standin_lock();
    const struct standin_block *block = standin_find(pointer);
    int file = block ? block->file : -1;
    if (file >= 0)
        *offset = (uint64_t)((const char *)pointer - block->map);
    standin_unlock();
    return file;
}
