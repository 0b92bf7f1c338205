/*
 * absent.c - in place of memory of a GPU, in a cctest that was built without CUDA.
 */
#include <stddef.h>
#include <stdio.h>

#include "host/nvml/gpus.h"
#include "dataplane/memory/memory.h"

static const char *cuda_left_out(void)
{
    return "this cctest was built without CUDA: build it where there is a toolkit "
           "(scripts/setup --cuda)";
}

static enum gpu_access access_of(const void *argument, int from, int to)
{
    const struct device_list *list = argument;
    return gpu_access(list->devices[from].bus, list->devices[to].bus);
}

/* NVML needs no CUDA. */
static void absent_devices(struct device_list *list)
{
    gpus_add(list);
    for (int i = 0; i < list->count; i++) {
        struct device *device = &list->devices[i];
        device->usable = false;
        snprintf(device->why_not, sizeof device->why_not, "%s", cuda_left_out());
    }
    gpu_links_describe(list, access_of, list);
}

const struct memory_kind memory_cuda = {
    .name = "cuda",
    .summary = "memory of an NVIDIA GPU",
    .unavailable = cuda_left_out,
    .devices = absent_devices,
};
