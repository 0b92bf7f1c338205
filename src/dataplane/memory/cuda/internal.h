/*
 * internal.h - for the files of dataplane/memory/cuda/ alone.
 */
#ifndef CCTEST_DATAPLANE_MEMORY_CUDA_INTERNAL_H
#define CCTEST_DATAPLANE_MEMORY_CUDA_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>

#include "dataplane/memory/cuda/cuda.h"
#include "host/host.h"

/* ---- The hooks of memory of a GPU that tell of the GPUs: facts of NVML and of CUDA. ---- */

void cuda_devices(struct device_list *list);
void cuda_rank_devices(const struct memory_device *own, struct device_list *list);

/* ---- Memory of a GPU that NICs write and read (GPUDirect RDMA). ---- */

/* Why the GPU with this number exports no memory as a dmabuf (one clause); NULL: it does. */
const char *cuda_share_lack(int device);

/* Hooks of memory.h. */
enum status cuda_share(const struct region *region, enum share_way way, struct shared *shared,
                       char *reason);
enum status cuda_flush(const struct region *region);

/* ---- The driver for NVIDIA GPUs: is there one here, and for how many GPUs? ---- */

/* Why there is none, and what to do (one clause); NULL: there is one. Initializes nothing of CUDA,
 * which would not survive a fork. */
const char *cuda_driver_missing(void);

/* How many GPUs CUDA would show to this process; 0: unknown. Initializes nothing either. */
int cuda_driver_devices(void);

/* ---- Functions of the CUDA driver that the runtime does not have. The runtime finds them, so
 * nothing is linked with the driver's library.
 * ---- */

/* Writes the address of the driver's function of this name, as of CUDA `version` (12040: 12.4),
 * into the function pointer that `function` points to; or NULL, and false: the driver is older. */
bool cuda_entry_find(const char *name, unsigned version, void *function);

/* ---- Functions of the CUDA driver for memory that other hosts of an NVLink domain
 * map, by the names that the driver has for them. cuda.h is not needed; the values and layouts are
 * its own (tests/cuda/check_header.c compares them).
 * ---- */

/* CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED */
#define FABRIC_ATTRIBUTE_RDMA    110
#define FABRIC_ATTRIBUTE_HANDLES 128 /* CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_FABRIC_SUPPORTED */
#define FABRIC_HANDLE_TYPE       8   /* CU_MEM_HANDLE_TYPE_FABRIC */
#define FABRIC_HANDLE_BYTES      64  /* sizeof(CUmemFabricHandle) */
#define FABRIC_PINNED            1   /* CU_MEM_ALLOCATION_TYPE_PINNED */
#define FABRIC_ON_DEVICE         1   /* CU_MEM_LOCATION_TYPE_DEVICE */
#define FABRIC_READ_WRITE        3   /* CU_MEM_ACCESS_FLAGS_PROT_READWRITE */
#define FABRIC_GRANULARITY       1   /* CU_MEM_ALLOC_GRANULARITY_RECOMMENDED */
#define FABRIC_DRIVER_VERSION    12040

/* CUmemLocation */
struct fabric_location {
    int type;
    int device;
};

/* CUmemAllocationProp */
struct fabric_properties {
    int type;
    int handle_types;
    struct fabric_location location;
    void *unused;
    unsigned char compression, rdma;
    unsigned short usage;
    unsigned char reserved[4];
};

/* CUmemAccessDesc */
struct fabric_access {
    struct fabric_location location;
    int flags;
};

/* Each returns a CUresult: 0 is success. Handles are CUmemGenericAllocationHandle. */
struct fabric_calls {
    int (*attribute)(int *value, int attribute, int device); /* cuDeviceGetAttribute */
    int (*granularity)(size_t *bytes, const struct fabric_properties *properties,
                       int option); /* cuMemGetAllocationGranularity */
    int (*create)(unsigned long long *handle, size_t bytes,
                  const struct fabric_properties *properties,
                  unsigned long long flags);   /* cuMemCreate */
    int (*release)(unsigned long long handle); /* cuMemRelease */
    int (*reserve)(unsigned long long *pointer, size_t bytes, size_t alignment,
                   unsigned long long wished, unsigned long long flags); /* cuMemAddressReserve */
    int (*unreserve)(unsigned long long pointer, size_t bytes);          /* cuMemAddressFree */
    int (*map)(unsigned long long pointer, size_t bytes, size_t offset, unsigned long long handle,
               unsigned long long flags);                   /* cuMemMap */
    int (*unmap)(unsigned long long pointer, size_t bytes); /* cuMemUnmap */
    int (*access)(unsigned long long pointer, size_t bytes, const struct fabric_access *access,
                  size_t count);                              /* cuMemSetAccess */
    int (*retain)(unsigned long long *handle, void *pointer); /* cuMemRetainAllocationHandle */
    int (*lend)(void *handle, unsigned long long memory, int type,
                unsigned long long flags); /* cuMemExportToShareableHandle */
    int (*borrow)(unsigned long long *memory, void *handle,
                  int type); /* cuMemImportFromShareableHandle */
};

/* The driver's name of each, and the member. */
#define FABRIC_ENTRIES(ENTRY)                                                                      \
    ENTRY("cuDeviceGetAttribute", attribute)                                                       \
    ENTRY("cuMemGetAllocationGranularity", granularity)                                            \
    ENTRY("cuMemCreate", create)                                                                   \
    ENTRY("cuMemRelease", release)                                                                 \
    ENTRY("cuMemAddressReserve", reserve)                                                          \
    ENTRY("cuMemAddressFree", unreserve)                                                           \
    ENTRY("cuMemMap", map)                                                                         \
    ENTRY("cuMemUnmap", unmap)                                                                     \
    ENTRY("cuMemSetAccess", access)                                                                \
    ENTRY("cuMemRetainAllocationHandle", retain)                                                   \
    ENTRY("cuMemExportToShareableHandle", lend)                                                    \
    ENTRY("cuMemImportFromShareableHandle", borrow)

/* ---- Memory of a GPU that GPUs of its NVLink domain map, on this host and on others.
 *
 * All functions return a CUresult, of which cudaGetErrorString() knows the words; 0: done. `device`
 * is CUDA's number. Source: CUDA driver API, "Virtual Memory Management", CUDA 12.4.
 * ---- */

#define FABRIC_NOT_PERMITTED 800 /* this process has no IMEX channel, or another one */
#define FABRIC_NOT_SUPPORTED 801

/* The handle by which other processes map memory. */
struct fabric_handle {
    unsigned char bytes[FABRIC_HANDLE_BYTES];
};

/* Can memory of the device have such handles, as far as the driver tells without allocating any? */
bool fabric_is_supported(int device);

/* Allocates at least `bytes` bytes, *reserved in fact, which the device reaches. */
int fabric_take(int device, size_t bytes, void **base, size_t *reserved);

/* Frees, or unmaps, what fabric_take() or fabric_map() has made. Other processes keep what they
 * have mapped. */
void fabric_give(void *base, size_t reserved);

/* The handle of memory of fabric_take(). */
int fabric_lend(void *base, struct fabric_handle *handle);

/* Why memory of the device has no handles; 0: it can have. */
int fabric_try(int device);

/* Maps memory of another process: `reserved` bytes of its. */
int fabric_map(int device, const struct fabric_handle *handle, size_t reserved, void **base);

/* Lets another device of this process reach it. */
int fabric_open(int device, void *base, size_t reserved);

#endif
