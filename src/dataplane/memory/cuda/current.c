/*
 * current.c - keeps the name of the thread's GPU.
 */
#include "dataplane/memory/cuda/cuda.h"

/* As CUDA's own current device: it belongs to the thread. */
static _Thread_local struct memory_device chosen = {.number = -1};

const struct memory_device *cuda_current(void)
{
    return &chosen;
}

void cuda_current_set(const struct memory_device *device)
{
    chosen = *device;
}
