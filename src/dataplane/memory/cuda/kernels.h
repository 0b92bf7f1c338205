/*
 * kernels.h - the kernels of a GPU, each of which takes one struct device_work.
 */
#ifndef CCTEST_DATAPLANE_MEMORY_CUDA_KERNELS_H
#define CCTEST_DATAPLANE_MEMORY_CUDA_KERNELS_H

#include <stddef.h>

/* Kernels, for cudaLaunchKernel(). NULL: there is none for that type (enum datatype_id) and
 * operator (enum reduction_id). */
#ifdef __cplusplus
extern "C" {
#endif
const void *device_copy_kernel(void);
const void *device_reduce_kernel(int type, int reduction);
const void *device_finish_kernel(int type);
const void *device_make_kernel(int type);
const void *device_compare_kernel(int type);
const void *device_scan_kernel(void);
#ifdef __cplusplus
}
#endif

#endif
