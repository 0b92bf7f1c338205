/*
 * gpu_link.c - the way between two GPUs of a machine: NVLinks from one to the other or to switches,
 * or PCI bridges, in the words of `nvidia-smi topo -m`.
 */
#include "device/nvml/gpu_link.h"

#include <stdio.h>
#include <string.h>

#include "device/nvml/gpu.h"
#include "device/nvml/nvml.h"
#include "device/pci.h"

#define SYSFS "/sys"

enum gpu_access gpu_access(const char *bus, const char *other)
{
    const char *why;
    nvmlDevice_t gpu = gpu_find(bus, &why), peer = gpu_find(other, &why);
    nvmlGpuP2PStatus_t status;
    if (!gpu || !peer ||
        nvmlDeviceGetP2PStatus(gpu, peer, NVML_P2P_CAPS_INDEX_READ, &status) != NVML_SUCCESS)
        return GPU_ACCESS_UNKNOWN;
    return status == NVML_P2P_STATUS_OK ? GPU_ACCESS_YES : GPU_ACCESS_NO;
}

/* NVLinks of a GPU that are up. */
struct nvlinks {
    int direct; /* to one other GPU */
    int switched;
};

static struct nvlinks nvlinks_count(const char *bus, const char *other)
{
    const char *why;
    nvmlDevice_t gpu = gpu_find(bus, &why);
    struct nvlinks links = {0};
    int count = gpu ? gpu_nvlinks(gpu) : 0;
    for (unsigned i = 0; i < (unsigned)count; i++) {
        char there[GPU_BUS_MOST];
        nvmlEnableState_t active;
        nvmlIntNvLinkDeviceType_t type;
        nvmlPciInfo_t pci;
        if (nvmlDeviceGetNvLinkState(gpu, i, &active) != NVML_SUCCESS || !active)
            continue;
        if (nvmlDeviceGetNvLinkRemoteDeviceType(gpu, i, &type) == NVML_SUCCESS &&
            type == NVML_NVLINK_DEVICE_TYPE_SWITCH)
            links.switched++;
        else if (nvmlDeviceGetNvLinkRemotePciInfo_v2(gpu, i, &pci) == NVML_SUCCESS &&
                 gpu_bus(pci.busId, there) && strcmp(there, other) == 0)
            links.direct++;
    }
    return links;
}

void gpu_link_describe(struct device_list *list, struct device *gpu, const char *other,
                       enum gpu_access access)
{
    static const char *const words[] = {
        [GPU_ACCESS_UNKNOWN] = "",
        [GPU_ACCESS_NO] = ", no peer access",
        [GPU_ACCESS_YES] = ", peer access",
    };
    char name[FACT_NAME_MOST];
    struct nvlinks own = nvlinks_count(gpu->bus, other), theirs = nvlinks_count(other, gpu->bus);
    int switched = own.switched < theirs.switched ? own.switched : theirs.switched;
    snprintf(name, sizeof name, "to %s", other);
    if (own.direct > 0)
        device_fact(list, gpu, FACT_SHOWN, name, "NV%d%s", own.direct, words[access]);
    else if (switched > 0)
        device_fact(list, gpu, FACT_SHOWN, name, "NV%d by NVSwitch%s", switched, words[access]);
    else
        device_fact(list, gpu, FACT_SHOWN, name, "%s%s",
                    pci_distance_names[pci_distance(SYSFS, gpu->bus, other)], words[access]);
}
