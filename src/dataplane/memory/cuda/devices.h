/*
 * devices.h - the hooks of memory of a GPU that tell of the GPUs: facts of NVML and of CUDA.
 */
#ifndef CCTEST_DATAPLANE_MEMORY_CUDA_DEVICES_H
#define CCTEST_DATAPLANE_MEMORY_CUDA_DEVICES_H

#include "host/device.h"
#include "dataplane/memory/memory_device.h"

void cuda_devices(struct device_list *list);
void cuda_rank_devices(const struct memory_device *of, struct device_list *list);

#endif
