/*
 * absent.c - in place of memory of a GPU, in a cctest that was built without CUDA.
 */
#include <stddef.h>
#include <stdio.h>

#include "device/nvml/gpu.h"
#include "device/nvml/gpu_link.h"
#include "memory/memory.h"

static const char *cuda_left_out(void)
{
    return "this cctest was built without CUDA: build it where there is a toolkit "
           "(scripts/setup --cuda)";
}

/* NVML needs no CUDA. */
static void absent_devices(struct device_list *list)
{
    gpus_add(list);
    for (int i = 0; i < list->count; i++) {
        struct device *device = &list->devices[i];
        device->usable = false;
        snprintf(device->why_not, sizeof device->why_not, "%s", cuda_left_out());
        for (int k = 0; k < list->count; k++)
            if (k != i)
                gpu_link_describe(list, device, list->devices[k].bus,
                                  gpu_access(device->bus, list->devices[k].bus));
    }
}

const struct memory_kind memory_cuda = {
    .name = "cuda",
    .summary = "memory of an NVIDIA GPU",
    .unavailable = cuda_left_out,
    .devices = absent_devices,
};
