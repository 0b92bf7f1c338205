/*
 * gpu_link.h - the way between two GPUs of a machine.
 */
#ifndef CCTEST_DEVICE_NVML_GPU_LINK_H
#define CCTEST_DEVICE_NVML_GPU_LINK_H

#include "device/device.h"

enum gpu_access { GPU_ACCESS_UNKNOWN, GPU_ACCESS_NO, GPU_ACCESS_YES };

/* Does a GPU reach the memory of another? What NVML says of it. */
enum gpu_access gpu_access(const char *bus, const char *other);

/* Adds the fact "to 0000:3b:00.0": "NV18 by NVSwitch, peer access", "PIX, no peer access". */
void gpu_link_describe(struct device_list *list, struct device *gpu, const char *other,
                       enum gpu_access access);

#endif
