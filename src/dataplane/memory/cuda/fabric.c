/*
 * fabric.c - finds functions of the driver; and allocates memory in two steps, as fabric handles
 * ask for: first the memory, then addresses for it.
 */
#include "dataplane/memory/cuda/internal.h"

#include <cuda_runtime_api.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>

bool cuda_entry_find(const char *name, unsigned version, void *function)
{
    void *found = NULL;
    enum cudaDriverEntryPointQueryResult result = cudaDriverEntryPointSymbolNotFound;
#if CUDART_VERSION >= 12050
    cudaError_t error =
        cudaGetDriverEntryPointByVersion(name, &found, version, cudaEnableDefault, &result);
#else
    (void)version;
    cudaError_t error = cudaGetDriverEntryPoint(name, &found, cudaEnableDefault, &result);
#endif
    if (error != cudaSuccess || result != cudaDriverEntryPointSuccess)
        found = NULL;
    cudaGetLastError(); /* it is no failure of a call that follows */
    memcpy(function, &found, sizeof found);
    return found != NULL;
}

static struct fabric_calls calls;
static bool has_calls;

static void calls_find(void)
{
#define ENTRY(name, member) {name, &calls.member},
    const struct {
        const char *name;
        void *function;
    } entries[] = {FABRIC_ENTRIES(ENTRY)};
    has_calls = true;
    for (size_t i = 0; i < sizeof entries / sizeof entries[0]; i++)
        has_calls &= cuda_entry_find(entries[i].name, FABRIC_DRIVER_VERSION, entries[i].function);
}

static bool fabric_has_calls(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, calls_find);
    return has_calls;
}

bool fabric_is_supported(int device)
{
    int has = 0;
    return fabric_has_calls() && calls.attribute(&has, FABRIC_ATTRIBUTE_HANDLES, device) == 0 &&
           has;
}

/* The memory's properties. NICs reach it where they can reach any that is made in this way. */
static struct fabric_properties properties_of(int device)
{
    int rdma = 0;
    if (calls.attribute(&rdma, FABRIC_ATTRIBUTE_RDMA, device) != 0)
        rdma = 0;
    return (struct fabric_properties){.type = FABRIC_PINNED,
                                      .handle_types = FABRIC_HANDLE_TYPE,
                                      .location = {FABRIC_ON_DEVICE, device},
                                      .rdma = rdma != 0};
}

/* Can its handle be opened, here at least? Else nothing but this process would reach it. */
static int memory_prove(unsigned long long memory)
{
    struct fabric_handle handle;
    unsigned long long again;
    int error = calls.lend(handle.bytes, memory, FABRIC_HANDLE_TYPE, 0);
    if (!error)
        error = calls.borrow(&again, handle.bytes, FABRIC_HANDLE_TYPE);
    if (!error)
        error = calls.release(again);
    return error;
}

/* Only the memory, and how much it is. */
static int memory_create(int device, size_t bytes, unsigned long long *memory, size_t *reserved)
{
    size_t unit = 0;
    if (!fabric_has_calls())
        return FABRIC_NOT_SUPPORTED;
    const struct fabric_properties properties = properties_of(device);
    int error = calls.granularity(&unit, &properties, FABRIC_GRANULARITY);
    if (error)
        return error;
    *reserved = (bytes / unit + (bytes % unit != 0 || bytes == 0)) * unit;
    error = calls.create(memory, *reserved, &properties, 0);
    if (error)
        return error;
    error = memory_prove(*memory);
    if (error)
        calls.release(*memory);
    return error;
}

int fabric_open(int device, void *base, size_t reserved)
{
    const struct fabric_access access = {.location = {FABRIC_ON_DEVICE, device},
                                         .flags = FABRIC_READ_WRITE};
    return calls.access((uintptr_t)base, reserved, &access, 1);
}

/* Gives the memory addresses, which the device reaches; then they alone keep it. */
static int fabric_place(int device, unsigned long long memory, size_t reserved, void **base)
{
    unsigned long long at = 0;
    int error = calls.reserve(&at, reserved, 0, 0, 0);
    *base = (void *)(uintptr_t)at;
    if (!error) {
        error = calls.map(at, reserved, 0, memory, 0);
        if (error) {
            calls.unreserve(at, reserved);
        } else {
            error = fabric_open(device, *base, reserved);
            if (error)
                fabric_give(*base, reserved);
        }
    }
    calls.release(memory);
    if (error)
        *base = NULL;
    return error;
}

int fabric_take(int device, size_t bytes, void **base, size_t *reserved)
{
    unsigned long long memory;
    int error = memory_create(device, bytes, &memory, reserved);
    return error ? error : fabric_place(device, memory, *reserved, base);
}

void fabric_give(void *base, size_t reserved)
{
    const unsigned long long at = (uintptr_t)base;
    calls.unmap(at, reserved);
    calls.unreserve(at, reserved);
}

int fabric_lend(void *base, struct fabric_handle *handle)
{
    unsigned long long memory;
    int error = calls.retain(&memory, base);
    if (error)
        return error;
    error = calls.lend(handle->bytes, memory, FABRIC_HANDLE_TYPE, 0);
    calls.release(memory);
    return error;
}

int fabric_try(int device)
{
    unsigned long long memory;
    size_t reserved;
    int error = memory_create(device, 1, &memory, &reserved);
    if (!error)
        calls.release(memory);
    return error;
}

int fabric_map(int device, const struct fabric_handle *handle, size_t reserved, void **base)
{
    unsigned long long memory;
    struct fabric_handle copy = *handle; /* the driver's function takes no const */
    if (!fabric_has_calls())
        return FABRIC_NOT_SUPPORTED;
    int error = calls.borrow(&memory, copy.bytes, FABRIC_HANDLE_TYPE);
    return error ? error : fabric_place(device, memory, reserved, base);
}
