/*
 * step_kernel.h - the kernel that runs a flat plan, a block of threads for each block of the plan.
 */
#ifndef CCTEST_DATAPLANE_EXECUTE_CUDA_STEP_KERNEL_H
#define CCTEST_DATAPLANE_EXECUTE_CUDA_STEP_KERNEL_H

#include <stddef.h>

#define STEP_THREADS 512u /* of a block */

/* Bytes of shared memory that a block needs. */
#define STEP_SHARED 256u

#ifdef __cplusplus
extern "C" {
#endif
/* For cudaLaunchCooperativeKernel(), since every block waits for blocks of other ranks. Its
 * argument is the plan, in memory of the GPU. NULL: it does nothing. */
const void *step_kernel(void);
#ifdef __cplusplus
}
#endif

#endif
