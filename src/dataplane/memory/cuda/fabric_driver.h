/*
 * fabric_driver.h - functions of the CUDA driver for memory that other hosts of an NVLink domain
 * map, by the names that the driver has for them. cuda.h is not needed; the values and layouts are
 * its own (tests/cuda/check_header.c compares them).
 */
#ifndef CCTEST_DATAPLANE_MEMORY_CUDA_FABRIC_DRIVER_H
#define CCTEST_DATAPLANE_MEMORY_CUDA_FABRIC_DRIVER_H

#include <stddef.h>

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

#endif
