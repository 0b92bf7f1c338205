/*
 * current.h - the calling thread's GPU, by name.
 */
#ifndef CCTEST_DATAPLANE_MEMORY_CUDA_CURRENT_H
#define CCTEST_DATAPLANE_MEMORY_CUDA_CURRENT_H

#include "dataplane/memory/memory_device.h"

/* Its number is -1 until one is chosen (choice.h). Calls nothing of CUDA, which after some failures
 * does not even tell a name. */
const struct memory_device *cuda_current(void);
void cuda_current_set(const struct memory_device *device);

#endif
