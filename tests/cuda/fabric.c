/*
 * fabric.c - memory that is made without addresses and mapped later, as fabric handles ask for:
 * functions of the driver (dataplane/memory/cuda/internal.h). What backs it is a file, which the
 * processes of all hosts of a test find by its path.
 */
#include "dataplane/memory/cuda/internal.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/host.h"
#include "blocks.h"

#define CU_SUCCESS       0
#define CU_INVALID       1
#define CU_OUT_OF_MEMORY 2
#define CU_NO_DEVICE     101
#define CU_NOT_PERMITTED 800
#define CU_NOT_SUPPORTED 801

#define UNIT ((size_t)2 << 20) /* of sizes and addresses */

/* A piece of memory: of this process, or one that it has imported. */
struct fabric_memory {
    unsigned long long handle;
    int device;
    size_t bytes;
    int file;
    bool is_own;
    bool has_nics;
    unsigned handles, mappings; /* that are not released, not unmapped */
    dev_t file_device;
    ino_t file_number;
    struct fabric_memory *next;
};

/* Addresses that are reserved. */
struct addresses {
    char *base;
    size_t bytes;
    struct fabric_memory *memory; /* that is mapped there; NULL: none */
    struct addresses *next;
};

static struct fabric_memory *memories;
static struct addresses *reserved;
static unsigned long long last_handle = 0x7000;

#define FABRIC_MAGIC 0x42414643

/* The contents of a handle, for other processes. */
struct shareable {
    uint64_t bytes, host, file_device, file_number;
    int32_t process, file; /* whose number of the file this is */
    uint32_t magic;
};
_Static_assert(sizeof(struct shareable) <= FABRIC_HANDLE_BYTES, "a handle has room");

static int violation(const char *call, const char *what)
{
    standin_violation(cudaErrorInvalidValue, "%s: %s", call, what);
    return CU_INVALID;
}

static struct fabric_memory *fabric_memory_find(unsigned long long handle)
{
    struct fabric_memory *memory = memories;
    while (memory && memory->handle != handle)
        memory = memory->next;
    return memory && memory->handles > 0 ? memory : NULL;
}

static struct addresses *addresses_find(unsigned long long at, size_t bytes)
{
    struct addresses *each = reserved;
    while (each && ((uintptr_t)each->base != at || each->bytes != bytes))
        each = each->next;
    return each;
}

static struct fabric_memory *memory_add(const struct fabric_memory *values)
{
    struct fabric_memory *memory = standin_allocate(sizeof *memory);
    struct stat stat;
    if (fstat(values->file, &stat) != 0)
        abort();
    *memory = *values;
    memory->file_device = stat.st_dev, memory->file_number = stat.st_ino;
    memory->handle = ++last_handle;
    memory->handles = 1;
    memory->next = memories;
    memories = memory;
    return memory;
}

/* Frees it when nothing refers to it. */
static void memory_settle(struct fabric_memory *memory)
{
    struct fabric_memory **link = &memories;
    if (memory->handles + memory->mappings > 0)
        return;
    while (*link != memory)
        link = &(*link)->next;
    *link = memory->next;
    if (memory->is_own)
        standin.used[memory->device] -= memory->bytes;
    close(memory->file);
    free(memory);
}

void standin_fabric_forget(void)
{
    while (reserved) {
        struct addresses *next = reserved->next;
        free(reserved);
        reserved = next;
    }
    while (memories) {
        memories->handles = memories->mappings = 0;
        memory_settle(memories);
    }
}

bool standin_fabric_is_left(void)
{
    return reserved || memories;
}

bool standin_fabric_serves(int device)
{
    return standin.config.fabric != FABRIC_NO && standin.cards[device].part == 0;
}

static bool properties_fit(const struct fabric_properties *properties)
{
    static const struct fabric_properties none;
    return properties->type == FABRIC_PINNED && properties->handle_types == FABRIC_HANDLE_TYPE &&
           properties->location.type == FABRIC_ON_DEVICE && !properties->unused &&
           !properties->compression && properties->rdma <= 1 && !properties->usage &&
           memcmp(properties->reserved, none.reserved, sizeof none.reserved) == 0;
}

static int cu_granularity_locked(size_t *bytes, const struct fabric_properties *properties,
                                 int option)
{
    if (!properties_fit(properties) || option < 0 || option > FABRIC_GRANULARITY)
        return violation("cuMemGetAllocationGranularity", "it is not for fabric handles");
    *bytes = UNIT;
    return CU_SUCCESS;
}

static int memory_make(unsigned long long *handle, size_t bytes, int device, bool has_nics)
{
    int file = memfd_create("cuda-standin", MFD_CLOEXEC);
    if (bytes > (size_t)standin.config.memory ||
        standin.used[device] + bytes > (size_t)standin.config.memory) {
        close(file);
        return CU_OUT_OF_MEMORY;
    }
    if (file < 0 || ftruncate(file, (off_t)bytes) != 0)
        abort();
    char *view = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (view == MAP_FAILED)
        abort();
    memset(view, STANDIN_GARBAGE, bytes);
    munmap(view, bytes);
    standin.used[device] += bytes;
    *handle = memory_add(&(struct fabric_memory){.device = device,
                                                 .bytes = bytes,
                                                 .file = file,
                                                 .is_own = true,
                                                 .has_nics = has_nics})
                  ->handle;
    return CU_SUCCESS;
}

/* The lock is held. */
static int cu_create_locked(unsigned long long *handle, size_t bytes,
                            const struct fabric_properties *properties, unsigned long long flags)
{
    int device = properties->location.device;
    if (flags || !properties_fit(properties))
        return violation("cuMemCreate", "these properties are not for fabric handles");
    if (device < 0 || device >= standin.config.devices)
        return CU_NO_DEVICE;
    if (bytes == 0 || bytes % UNIT != 0)
        return violation("cuMemCreate", "the size is no multiple of the granularity");
    if (standin_kernels_await("cuMemCreate", device, false) != cudaSuccess)
        return CU_INVALID;
    if (!standin_fabric_serves(device))
        return CU_NOT_SUPPORTED;
    return standin.config.fabric == FABRIC_NO_CHANNEL
               ? CU_NOT_PERMITTED
               : memory_make(handle, bytes, device, properties->rdma);
}

static int cu_release_locked(unsigned long long handle)
{
    struct fabric_memory *memory = fabric_memory_find(handle);
    if (!memory)
        return violation("cuMemRelease", "there is no such handle, or it is released");
    if (standin_kernels_await("cuMemRelease", memory->device, false) != cudaSuccess)
        return CU_INVALID;
    memory->handles--;
    memory_settle(memory);
    return CU_SUCCESS;
}

static int cu_reserve_locked(unsigned long long *at, size_t bytes, size_t alignment,
                             unsigned long long wished, unsigned long long flags)
{
    if (bytes == 0 || bytes % UNIT != 0 || alignment % UNIT != 0 || wished || flags)
        return violation("cuMemAddressReserve", "the size is no multiple of the granularity");
    char *map = mmap(NULL, bytes + UNIT + BLOCK_PAGE, PROT_NONE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (map == MAP_FAILED)
        return CU_OUT_OF_MEMORY;
    struct addresses *addresses = standin_allocate(sizeof *addresses);
    *addresses = (struct addresses){
        .base = map + (UNIT - (uintptr_t)map % UNIT) % UNIT, .bytes = bytes, .next = reserved};
    reserved = addresses;
    *at = (uintptr_t)addresses->base;
    return CU_SUCCESS;
}

static int cu_unreserve_locked(unsigned long long at, size_t bytes)
{
    struct addresses *addresses = addresses_find(at, bytes), **link = &reserved;
    if (!addresses)
        return violation("cuMemAddressFree", "these addresses are not reserved as a whole");
    if (addresses->memory)
        return violation("cuMemAddressFree", "memory is mapped there");
    while (*link != addresses)
        link = &(*link)->next;
    *link = addresses->next;
    free(addresses);
    return CU_SUCCESS;
}

static int cu_map_locked(unsigned long long at, size_t bytes, size_t offset,
                         unsigned long long handle, unsigned long long flags)
{
    struct fabric_memory *memory = fabric_memory_find(handle);
    struct addresses *addresses = addresses_find(at, bytes);
    if (!memory || !addresses || addresses->memory || bytes != memory->bytes || offset || flags)
        return violation("cuMemMap", "a handle and free addresses of its size are wanted");
    if (standin_kernels_await("cuMemMap", memory->device, false) != cudaSuccess)
        return CU_INVALID;
    int file = dup(memory->file);
    char *view = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (file < 0 || view == MAP_FAILED ||
        mmap(addresses->base, bytes, PROT_NONE, MAP_SHARED | MAP_FIXED, file, 0) == MAP_FAILED)
        abort();
    const struct standin_block *block =
        block_add(&(struct standin_block){.kind = BLOCK_MAPPED,
                                          .device = memory->device,
                                          .base = addresses->base,
                                          .view = view,
                                          .bytes = bytes,
                                          .map = addresses->base,
                                          .map_bytes = bytes + BLOCK_PAGE,
                                          .file = file,
                                          .file_device = memory->file_device,
                                          .file_number = memory->file_number});
    if (memory->has_nics)
        standin_nics_reach(block, true);
    memory->mappings++;
    addresses->memory = memory;
    return CU_SUCCESS;
}

/* Waits for the kernels of the devices that reach it. */
static cudaError_t kernels_await(const struct standin_block *block, const char *call)
{
    const uint32_t devices = block->access;
    cudaError_t error = cudaSuccess;
    for (int i = 0; error == cudaSuccess && i < standin.config.devices; i++)
        if (devices >> i & 1)
            error = standin_kernels_await(call, i, true);
    return error;
}

static int cu_unmap_locked(unsigned long long at, size_t bytes)
{
    struct addresses *addresses = addresses_find(at, bytes);
    cudaError_t error;
    if (!addresses || !addresses->memory)
        return violation("cuMemUnmap", "nothing is mapped there as a whole");
    struct fabric_memory *memory = addresses->memory;
    struct standin_block *block = block_take(addresses->base, BLOCK_MAPPED, "cuMemUnmap", &error);
    if (!block || kernels_await(block, "cuMemUnmap") != cudaSuccess ||
        !block_take(addresses->base, BLOCK_MAPPED, "cuMemUnmap", &error))
        return CU_INVALID;
    if (memory->has_nics)
        standin_nics_reach(block, false);
    block_drop(block);
    addresses->memory = NULL;
    memory->mappings--;
    memory_settle(memory);
    return CU_SUCCESS;
}

static int cu_access_locked(unsigned long long at, size_t bytes, const struct fabric_access *access,
                            size_t count)
{
    const struct addresses *addresses = addresses_find(at, bytes);
    if (!addresses || !addresses->memory)
        return violation("cuMemSetAccess", "nothing is mapped there as a whole");
    const struct fabric_memory *memory = addresses->memory;
    struct standin_block *block = standin_find(addresses->base);
    for (size_t i = 0; i < count; i++) {
        int device = access[i].location.device;
        if (access[i].location.type != FABRIC_ON_DEVICE || access[i].flags != FABRIC_READ_WRITE)
            return violation("cuMemSetAccess", "a device that reads and writes is wanted");
        if (device < 0 || device >= standin.config.devices)
            return CU_NO_DEVICE;
        if (standin_kernels_await("cuMemSetAccess", device, false) != cudaSuccess)
            return CU_INVALID;
        if (memory->is_own && device != memory->device &&
            !standin_cards_reach(device, memory->device))
            return CU_NO_DEVICE;
        block->access |= 1u << device;
    }
    standin_memory_protect();
    return CU_SUCCESS;
}

static int cu_retain_locked(unsigned long long *handle, const void *pointer)
{
    for (struct addresses *each = reserved; each; each = each->next)
        if (each->memory && (const char *)pointer >= each->base &&
            (const char *)pointer < each->base + each->bytes) {
            each->memory->handles++;
            *handle = each->memory->handle;
            return CU_SUCCESS;
        }
    return violation("cuMemRetainAllocationHandle", "no memory is mapped there");
}

static int cu_lend_locked(void *handle, unsigned long long of, int type, unsigned long long flags)
{
    const struct fabric_memory *memory = fabric_memory_find(of);
    if (!memory || type != FABRIC_HANDLE_TYPE || flags)
        return violation("cuMemExportToShareableHandle", "a handle of memory is wanted");
    struct shareable values = {.bytes = memory->bytes,
                               .host = host_identity(),
                               .file_device = memory->file_device,
                               .file_number = memory->file_number,
                               .process = getpid(),
                               .file = memory->file,
                               .magic = FABRIC_MAGIC};
    memset(handle, 0, FABRIC_HANDLE_BYTES);
    memcpy(handle, &values, sizeof values);
    return CU_SUCCESS;
}

static int cu_borrow_locked(unsigned long long *handle, const void *shareable, int type)
{
    struct shareable values;
    struct stat stat;
    memcpy(&values, shareable, sizeof values);
    if (!standin_fabric_serves(standin_device()))
        return CU_NOT_SUPPORTED;
    if (standin.config.fabric == FABRIC_NO_CHANNEL)
        return CU_NOT_PERMITTED;
    if (type != FABRIC_HANDLE_TYPE || values.magic != FABRIC_MAGIC)
        return violation("cuMemImportFromShareableHandle", "this is no handle");
    if (standin.config.fabric == FABRIC_NO_DAEMON && values.host != host_identity())
        return CU_NOT_SUPPORTED;
    char path[32];
    snprintf(path, sizeof path, "/proc/%d/fd/%d", values.process, values.file);
    int file = open(path, O_RDWR | O_CLOEXEC);
    if (file < 0 || fstat(file, &stat) != 0 || stat.st_dev != values.file_device ||
        stat.st_ino != values.file_number) {
        if (file >= 0)
            close(file);
        return CU_INVALID;
    }
    struct fabric_memory *known = memories; /* of this process, too */
    while (known && (known->file_device != stat.st_dev || known->file_number != stat.st_ino))
        known = known->next;
    if (known) {
        close(file);
        known->handles++;
        *handle = known->handle;
        return CU_SUCCESS;
    }
    *handle = memory_add(&(struct fabric_memory){
                             .device = standin_device(), .bytes = values.bytes, .file = file})
                  ->handle;
    return CU_SUCCESS;
}

/* Each with the lock, and as often as fail= says with an error. */
#define CALL(name, function, parameters, arguments)                                                \
    static int function parameters                                                                 \
    {                                                                                              \
        int result = standin_enter(CALL_##name);                                                   \
        if (result != cudaSuccess)                                                                 \
            return result;                                                                         \
        result = function##_locked arguments;                                                      \
        standin_leave(cudaSuccess);                                                                \
        return result;                                                                             \
    }

CALL(cuMemGetAllocationGranularity, cu_granularity,
     (size_t * bytes, const struct fabric_properties *properties, int option),
     (bytes, properties, option))
CALL(cuMemCreate, cu_create,
     (unsigned long long *handle, size_t bytes, const struct fabric_properties *properties,
      unsigned long long flags),
     (handle, bytes, properties, flags))
CALL(cuMemRelease, cu_release, (unsigned long long handle), (handle))
CALL(cuMemAddressReserve, cu_reserve,
     (unsigned long long *at, size_t bytes, size_t alignment, unsigned long long wished,
      unsigned long long flags),
     (at, bytes, alignment, wished, flags))
CALL(cuMemAddressFree, cu_unreserve, (unsigned long long at, size_t bytes), (at, bytes))
CALL(cuMemMap, cu_map,
     (unsigned long long at, size_t bytes, size_t offset, unsigned long long handle,
      unsigned long long flags),
     (at, bytes, offset, handle, flags))
CALL(cuMemUnmap, cu_unmap, (unsigned long long at, size_t bytes), (at, bytes))
CALL(cuMemSetAccess, cu_access,
     (unsigned long long at, size_t bytes, const struct fabric_access *access, size_t count),
     (at, bytes, access, count))
CALL(cuMemRetainAllocationHandle, cu_retain, (unsigned long long *handle, void *pointer),
     (handle, pointer))
CALL(cuMemExportToShareableHandle, cu_lend,
     (void *handle, unsigned long long memory, int type, unsigned long long flags),
     (handle, memory, type, flags))
CALL(cuMemImportFromShareableHandle, cu_borrow,
     (unsigned long long *memory, void *handle, int type), (memory, handle, type))

bool standin_fabric_entry(const char *name, void **function)
{
    static const struct fabric_calls calls = {.granularity = cu_granularity,
                                              .create = cu_create,
                                              .release = cu_release,
                                              .reserve = cu_reserve,
                                              .unreserve = cu_unreserve,
                                              .map = cu_map,
                                              .unmap = cu_unmap,
                                              .access = cu_access,
                                              .retain = cu_retain,
                                              .lend = cu_lend,
                                              .borrow = cu_borrow};
#define ENTRY(name, member) {name, &calls.member},
    const struct {
        const char *name;
        const void *function;
    } entries[] = {FABRIC_ENTRIES(ENTRY)};
    for (size_t i = 0; i < sizeof entries / sizeof entries[0]; i++)
        if (strcmp(entries[i].name, name) == 0) {
            memcpy(function, entries[i].function, sizeof *function);
            return true;
        }
    return false;
}
