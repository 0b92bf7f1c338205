/*
 * driver.h - the driver for NVIDIA GPUs: is there one here, and for how many GPUs?
 */
#ifndef CCTEST_DATAPLANE_MEMORY_CUDA_DRIVER_H
#define CCTEST_DATAPLANE_MEMORY_CUDA_DRIVER_H

/* Why there is none, and what to do (one clause); NULL: there is one. Initializes nothing of CUDA,
 * which would not survive a fork. */
const char *cuda_driver_missing(void);

/* How many GPUs CUDA would show to this process; 0: unknown. Initializes nothing either. */
int cuda_driver_devices(void);

#endif
