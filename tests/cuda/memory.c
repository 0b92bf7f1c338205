/*
 * memory.c - the memory that CUDA knows: of devices, and host memory that is pinned.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "blocks.h"

#define ALIGNMENT 256

bool block_is_device(const struct standin_block *block)
{
    return block && (block->kind == BLOCK_DEVICE || block->kind == BLOCK_OPENED ||
                     block->kind == BLOCK_MAPPED);
}

bool standin_block_serves(const struct standin_block *block, int device)
{
    return block->kind == BLOCK_MAPPED
               ? block->access >> device & 1
               : block->device == device || standin.peers[device][block->device];
}

struct standin_block *standin_find(const void *pointer)
{
    const char *at = pointer;
    for (struct standin_block *each = standin.blocks; each; each = each->next)
        if (at >= each->base && at < each->base + each->bytes)
            return each;
    return NULL;
}

/* A block of the list that has one of the bytes, or reserves their addresses. */
static struct standin_block *block_near(struct standin_block *list, const char *at, size_t bytes)
{
    for (struct standin_block *each = list; each; each = each->next)
        if (at < each->map + each->map_bytes && at + bytes > each->map)
            return each;
    return NULL;
}

cudaError_t standin_range(const void *pointer, size_t bytes, const char *what,
                          struct standin_block **block)
{
    const char *at = pointer;
    *block = standin_find(at);
    if (*block && bytes <= (size_t)((*block)->base + (*block)->bytes - at))
        return cudaSuccess;
    if (*block)
        return standin_violation(cudaErrorInvalidValue,
                                 "%s: %zu bytes at %p go beyond the end of the memory there, which "
                                 "has %zu bytes from %p on",
                                 what, bytes, pointer, (*block)->bytes, (void *)(*block)->base);
    if (!at)
        return standin_violation(cudaErrorInvalidValue, "%s: the address is NULL", what);
    if (block_near(standin.old_blocks, at, bytes))
        return standin_violation(cudaErrorInvalidValue, "%s: the memory at %p was freed", what,
                                 pointer);
    if (block_near(standin.blocks, at, bytes))
        return standin_violation(cudaErrorInvalidValue,
                                 "%s: %zu bytes at %p are in no memory, but beside some", what,
                                 bytes, pointer);
    return cudaSuccess;
}

static bool block_reached(const struct standin_block *block)
{
    for (int i = 0; i < standin.config.devices; i++)
        if ((standin.open[i] > 0 || standin.config.async) && standin_block_serves(block, i))
            return true;
    return standin.config.async && block->kind != BLOCK_MAPPED;
}

void standin_memory_protect(void)
{
    for (struct standin_block *each = standin.blocks; each; each = each->next) {
        bool open = block_reached(each);
        if (!block_is_device(each) || open == each->open)
            continue;
        if (mprotect(each->map, each->map_bytes - BLOCK_PAGE,
                     open ? PROT_READ | PROT_WRITE : PROT_NONE) != 0)
            abort();
        each->open = open;
    }
}

void standin_memory_open(int device, bool open)
{
    standin.open[device] += open ? 1 : -1u;
    standin_memory_protect();
}

struct standin_block *block_add(const struct standin_block *values)
{
    struct standin_block *block = standin_allocate(sizeof *block);
    *block = *values;
    block->next = standin.blocks;
    standin.blocks = block;
    return block;
}

char *block_map(size_t bytes, int file, int protection)
{
    char *map = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (map == MAP_FAILED)
        return NULL;
    int flags = file < 0 ? MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED : MAP_SHARED | MAP_FIXED;
    if (mmap(map, bytes - BLOCK_PAGE, protection, flags, file, 0) == MAP_FAILED)
        abort();
    return map;
}

void block_drop(struct standin_block *block)
{
    struct standin_block **link = &standin.blocks;
    while (*link != block)
        link = &(*link)->next;
    *link = block->next;
    if (block_is_device(block)) {
        munmap(block->view - (block->base - block->map), block->map_bytes - BLOCK_PAGE);
        close(block->file);
    }
    if (block->kind == BLOCK_REGISTERED) {
        free(block);
        return;
    }
    if (mmap(block->map, block->map_bytes, PROT_NONE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) == MAP_FAILED)
        abort();
    block->next = standin.old_blocks;
    standin.old_blocks = block;
}

void standin_blocks_forget(void)
{
    while (standin.blocks)
        block_drop(standin.blocks);
}

/* The block of this kind that begins there; *error says what is wrong if there is none, or if it is
 * in use. */
struct standin_block *block_take(const void *pointer, enum block_kind kind, const char *call,
                                 cudaError_t *error)
{
    struct standin_block *block = standin_find(pointer), *old = standin.old_blocks;
    while (old && old->base != pointer)
        old = old->next;
    *error = cudaErrorInvalidValue;
    if (!block && old)
        standin_violation(*error, "%s: the memory at %p was freed before", call, pointer);
    else if (!block || block->base != pointer)
        standin_violation(*error, "%s: no memory begins at %p", call, pointer);
    else if (block->kind != kind)
        standin_violation(*error, "%s: the memory at %p is of another kind", call, pointer);
    else if (block->pending)
        standin_violation(*error, "%s: queued work uses the memory at %p", call, pointer);
    else
        *error = cudaSuccess;
    return *error == cudaSuccess ? block : NULL;
}

/* How many bytes of a device's memory it takes. */
static size_t block_cost(size_t bytes)
{
    return (bytes + BLOCK_PAGE - 1) / BLOCK_PAGE * BLOCK_PAGE;
}

cudaError_t cudaMalloc(void **pointer, size_t bytes)
{
    cudaError_t error = standin_enter(CALL_cudaMalloc);
    if (error != cudaSuccess)
        return error;
    int device = standin_device();
    if (bytes == 0) {
        *pointer = NULL;
        return standin_leave(cudaSuccess);
    }
    error = standin_kernels_await("cudaMalloc", device, false);
    if (error != cudaSuccess)
        return standin_leave(error);
    if (bytes > (size_t)standin.config.memory ||
        standin.used[device] + block_cost(bytes) > (size_t)standin.config.memory)
        return standin_leave(cudaErrorMemoryAllocation);
    size_t aligned = (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT, pages = block_cost(bytes);
    int file = memfd_create("cuda-standin", MFD_CLOEXEC);
    if (file < 0 || ftruncate(file, (off_t)pages) != 0)
        abort();
    struct stat stat;
    fstat(file, &stat);
    char *view = mmap(NULL, pages, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    char *map = block_map(pages + BLOCK_PAGE, file, PROT_NONE);
    if (view == MAP_FAILED || !map)
        abort();
    memset(view, STANDIN_GARBAGE, pages);
    const struct standin_block *block =
        block_add(&(struct standin_block){.kind = BLOCK_DEVICE,
                                          .device = device,
                                          .base = map + pages - aligned,
                                          .view = view + pages - aligned,
                                          .bytes = bytes,
                                          .map = map,
                                          .map_bytes = pages + BLOCK_PAGE,
                                          .file = file,
                                          .file_device = stat.st_dev,
                                          .file_number = stat.st_ino});
    standin_memory_protect();
    standin.used[device] += pages;
    standin_nics_reach(block, true);
    *pointer = block->base;
    return standin_leave(cudaSuccess);
}

/* Has another process mapped it, and not closed it? One that has ended has not. */
static bool block_is_opened(const struct standin_block *block)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    return fcntl(block->file, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

cudaError_t cudaFree(void *pointer)
{
    cudaError_t error = standin_enter(CALL_cudaFree);
    if (error != cudaSuccess)
        return error;
    struct standin_block *block =
        pointer ? block_take(pointer, BLOCK_DEVICE, "cudaFree", &error) : NULL;
    if (block) {
        error = standin_kernels_await("cudaFree", block->device, true);
        block = error == cudaSuccess ? block_take(pointer, BLOCK_DEVICE, "cudaFree", &error) : NULL;
    }
    if (block && block_is_opened(block))
        error = standin_violation(cudaErrorInvalidValue,
                                  "cudaFree: another process has the memory at %p open", pointer);
    else if (block) {
        standin.used[block->device] -= block_cost(block->bytes);
        standin_nics_reach(block, false);
        block_drop(block);
    }
    return standin_leave(error);
}

cudaError_t cudaHostAlloc(void **pointer, size_t bytes, unsigned int flags)
{
    cudaError_t error = standin_enter(CALL_cudaHostAlloc);
    if (error != cudaSuccess)
        return error;
    if (flags &
        ~(unsigned)(cudaHostAllocPortable | cudaHostAllocMapped | cudaHostAllocWriteCombined))
        return standin_leave(cudaErrorInvalidValue);
    *pointer = NULL;
    if (bytes == 0)
        return standin_leave(cudaSuccess);
    error = standin_kernels_await("cudaHostAlloc", standin_device(), false);
    if (error != cudaSuccess)
        return standin_leave(error);
    size_t pages = block_cost(bytes);
    char *map = pages < bytes ? NULL : block_map(pages + BLOCK_PAGE, -1, PROT_READ | PROT_WRITE);
    if (!map)
        return standin_leave(cudaErrorMemoryAllocation);
    memset(map, STANDIN_GARBAGE, pages);
    block_add(&(struct standin_block){.kind = BLOCK_ALLOCATED,
                                      .device = standin_device(),
                                      .base = map,
                                      .view = map,
                                      .bytes = bytes,
                                      .map = map,
                                      .map_bytes = pages + BLOCK_PAGE,
                                      .file = -1});
    *pointer = map;
    return standin_leave(cudaSuccess);
}

cudaError_t cudaFreeHost(void *pointer)
{
    cudaError_t error = standin_enter(CALL_cudaFreeHost);
    if (error != cudaSuccess)
        return error;
    struct standin_block *block =
        pointer ? block_take(pointer, BLOCK_ALLOCATED, "cudaFreeHost", &error) : NULL;
    if (block)
        error = standin_kernels_await("cudaFreeHost", standin_device(), false);
    if (block && error == cudaSuccess)
        block_drop(block);
    return standin_leave(error);
}

cudaError_t cudaHostRegister(void *pointer, size_t bytes, unsigned int flags)
{
    cudaError_t error = standin_enter(CALL_cudaHostRegister);
    if (error != cudaSuccess)
        return error;
    if (!pointer || bytes == 0 || (flags & ~15u))
        return standin_leave(cudaErrorInvalidValue);
    if (flags & (cudaHostRegisterIoMemory | cudaHostRegisterReadOnly))
        return standin_leave(cudaErrorNotSupported);
    if (block_near(standin.blocks, pointer, bytes))
        return standin_leave(cudaErrorHostMemoryAlreadyRegistered);
    block_add(&(struct standin_block){.kind = BLOCK_REGISTERED,
                                      .device = standin_device(),
                                      .base = pointer,
                                      .view = pointer,
                                      .bytes = bytes,
                                      .map = pointer,
                                      .map_bytes = bytes,
                                      .file = -1});
    return standin_leave(cudaSuccess);
}

cudaError_t cudaHostUnregister(void *pointer)
{
    cudaError_t error = standin_enter(CALL_cudaHostUnregister);
    if (error != cudaSuccess)
        return error;
    struct standin_block *block =
        block_take(pointer, BLOCK_REGISTERED, "cudaHostUnregister", &error);
    if (block)
        block_drop(block);
    return standin_leave(error == cudaSuccess ? error : cudaErrorHostMemoryNotRegistered);
}
