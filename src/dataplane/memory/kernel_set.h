/*
 * kernel_set.h - the sets of instructions that each kernel is compiled for.
 */
#ifndef CCTEST_DATAPLANE_MEMORY_KERNEL_SET_H
#define CCTEST_DATAPLANE_MEMORY_KERNEL_SET_H

/* Each is a superset of the one before. */
enum kernel_set {
    KERNELS_BASELINE, /* what every machine of the architecture has: on x86-64, SSE2 */
    KERNELS_AVX2,     /* and F16C; on architectures other than x86-64 the same as the baseline */
};
#define KERNEL_SETS (KERNELS_AVX2 + 1)

#endif
