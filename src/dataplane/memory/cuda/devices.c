/*
 * devices.c - the hooks of memory of a GPU that tell of the GPUs.
 *
 * NVML tells most of it, of all GPUs. CUDA knows those that this process may use, by numbers of its
 * own; the PCI address says which is which.
 */
#include "dataplane/memory/cuda/internal.h"

#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "host/nvml/gpus.h"

/* cudaDevAttrMpsEnabled, which headers before CUDA 12.3 do not name. */
#define DEVICE_ATTRIBUTE_MPS ((enum cudaDeviceAttr)133)

#define GIB (double)((size_t)1 << 30)

/* False: this CUDA does not know it. */
static bool attribute(int number, enum cudaDeviceAttr which, int *value)
{
    bool known = cudaDeviceGetAttribute(value, which, number) == cudaSuccess;
    if (!known)
        cudaGetLastError(); /* it is no failure of a call that follows */
    return known;
}

static void rdma_describe(struct device *device, int number)
{
    const char *lack = cuda_share_lack(number);
    int reached, ordering;
    device_fact(device, FACT_SHOWN, "dmabuf", "%s%s", lack ? "not exported: " : "exported",
                lack ? lack : "");
    if (attribute(number, cudaDevAttrGPUDirectRDMASupported, &reached))
        device_fact(device, FACT_SHOWN, "GPUDirect RDMA", "%s", reached ? "yes" : "no");
    if (attribute(number, cudaDevAttrGPUDirectRDMAWritesOrdering, &ordering))
        device_fact(device, FACT_SHOWN, "write ordering", "%s",
                    ordering >= 200   ? "for all GPUs"
                    : ordering >= 100 ? "for this GPU"
                                      : "none");
}

/* Adds the facts that NVML does not know, or has not told. */
static void cuda_describe(struct device *device, int number)
{
    int driver = 0, runtime = 0, major, minor, value;
    struct cudaDeviceProp properties;
    const bool is_named = device_find_fact(device, "product");
    const bool is_sized = device_find_fact(device, "memory");
    if (!(is_named && is_sized) && cudaGetDeviceProperties(&properties, number) == cudaSuccess) {
        if (!is_named)
            device_fact(device, FACT_ALL, "product", "%s", properties.name);
        if (!is_sized)
            device_fact(device, FACT_ALL, "memory", "%.1f GiB",
                        (double)properties.totalGlobalMem / GIB);
    }
    if (cudaDriverGetVersion(&driver) == cudaSuccess)
        device_fact(device, FACT_ALL, "CUDA driver", "%d.%d", driver / 1000, driver % 1000 / 10);
    if (cudaRuntimeGetVersion(&runtime) == cudaSuccess)
        device_fact(device, FACT_SHOWN, "CUDA runtime", "%d.%d", runtime / 1000,
                    runtime % 1000 / 10);
    if (!device_find_fact(device, "compute capability") &&
        attribute(number, cudaDevAttrComputeCapabilityMajor, &major) &&
        attribute(number, cudaDevAttrComputeCapabilityMinor, &minor))
        device_fact(device, FACT_SHOWN, "compute capability", "%d.%d", major, minor);
    if (!device_find_fact(device, "ECC") && attribute(number, cudaDevAttrEccEnabled, &value))
        device_fact(device, FACT_ALL, "ECC", "%s", value ? "on" : "off");
    if (attribute(number, DEVICE_ATTRIBUTE_MPS, &value))
        device_fact(device, FACT_SHOWN, "MPS", "%s", value ? "on" : "off");
}

void cuda_rank_devices(const struct memory_device *own, struct device_list *list)
{
    size_t left, total;
    if (!own->bus[0]) /* CUDA did not tell its address */
        return;
    struct device *device = gpu_add(own->bus, list);
    const char *mig = device_find_fact(device, "MIG");
    if (mig && strcmp(mig, "on") == 0 && cudaSetDevice(own->number) == cudaSuccess &&
        cudaMemGetInfo(&left, &total) == cudaSuccess)
        device_fact(device, FACT_ALL, "memory of the part", "%.1f GiB", (double)total / GIB);
    cuda_describe(device, own->number);
}

/* All GPUs, for `cctest info`. */

/* CUDA's number of each GPU of the list; -1: CUDA does not show it. */
static int number_of(const char *bus, int count)
{
    for (int i = 0; i < count; i++) {
        char own[GPU_BUS_MOST];
        if (cuda_bus(i, own) && strcmp(own, bus) == 0)
            return i;
    }
    return -1;
}

/* The GPUs of a list, with CUDA's numbers of them. */
struct numbered {
    const struct device_list *list;
    int *numbers;
};

static enum gpu_access access_of(const void *argument, int from, int to)
{
    const struct numbered *gpus = argument;
    int can, number = gpus->numbers[from], other = gpus->numbers[to];
    if (number < 0 || other < 0)
        return gpu_access(gpus->list->devices[from].bus, gpus->list->devices[to].bus);
    if (cudaDeviceCanAccessPeer(&can, number, other) != cudaSuccess)
        return GPU_ACCESS_UNKNOWN;
    return can ? GPU_ACCESS_YES : GPU_ACCESS_NO;
}

static void refuse(struct device *device, const char *why)
{
    device->usable = false;
    snprintf(device->why_not, sizeof device->why_not, "%s", why);
}

/* The GPUs that CUDA shows; `why` says what it means if it shows none. */
static int cuda_count(const char **why)
{
    int count = 0;
    *why = cuda_driver_missing();
    cudaError_t error = *why ? cudaSuccess : cudaGetDeviceCount(&count);
    if (error != cudaSuccess)
        *why = cuda_lack(error) ? cuda_lack(error) : cudaGetErrorString(error);
    return *why ? 0 : count;
}

void cuda_devices(struct device_list *list)
{
    const char *why;
    char bus[GPU_BUS_MOST];
    gpus_add(list);
    int count = cuda_count(&why);
    for (int i = 0; i < count; i++)
        if (cuda_bus(i, bus) && !device_is_listed(list, bus))
            gpu_add(bus, list);
    struct numbered gpus = {.list = list,
                            .numbers = new_array((size_t)list->count, sizeof *gpus.numbers)};
    for (int i = 0; i < list->count; i++) {
        struct device *device = &list->devices[i];
        inquiry_asks(list->inquiry, "GPU", device->name, device->bus);
        int number = gpus.numbers[i] = number_of(device->bus, count);
        if (number < 0) {
            refuse(device, why ? why : "CUDA_VISIBLE_DEVICES hides it from CUDA");
            continue;
        }
        cuda_describe(device, number);
        rdma_describe(device, number);
    }
    gpu_links_describe(list, access_of, &gpus);
    free(gpus.numbers);
}
