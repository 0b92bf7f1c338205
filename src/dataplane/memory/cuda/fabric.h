/*
 * fabric.h - memory of a GPU that GPUs of its NVLink domain map, on this host and on others.
 *
 * All functions return a CUresult, of which cudaGetErrorString() knows the words; 0: done. `device`
 * is CUDA's number. Source: CUDA driver API, "Virtual Memory Management", CUDA 12.4.
 */
#ifndef CCTEST_DATAPLANE_MEMORY_CUDA_FABRIC_H
#define CCTEST_DATAPLANE_MEMORY_CUDA_FABRIC_H

#include <stdbool.h>
#include <stddef.h>

#include "dataplane/memory/cuda/fabric_driver.h"

#define FABRIC_NOT_PERMITTED 800 /* this process has no IMEX channel, or another one */
#define FABRIC_NOT_SUPPORTED 801

/* What other processes need to map it. */
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
