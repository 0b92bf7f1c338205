/*
 * gpu_link.c - the way between two GPUs of a machine: NVLinks from one to the other or to switches,
 * or PCI bridges, in the words of `nvidia-smi topo -m`.
 */
#include "host/nvml/gpus.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/host.h"
#include "host/nvml/nvml.h"

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

/* Where the NVLinks of a GPU that are up lead to. */
struct nvlinks {
    int switched;
    int direct;                                     /* to other GPUs */
    char direct_to[GPU_NVLINKS_MOST][GPU_BUS_MOST]; /* which ones */
};

static void nvlinks_find(const char *bus, struct nvlinks *links)
{
    const char *why;
    nvmlDevice_t gpu = gpu_find(bus, &why);
    int count = gpu ? gpu_nvlinks(gpu) : 0;
    for (int i = 0; i < count; i++) {
        unsigned link = (unsigned)i;
        nvmlIntNvLinkDeviceType_t type;
        nvmlPciInfo_t pci;
        if (!gpu_nvlink_is_up(gpu, i))
            continue;
        if (nvmlDeviceGetNvLinkRemoteDeviceType(gpu, link, &type) == NVML_SUCCESS &&
            type == NVML_NVLINK_DEVICE_TYPE_SWITCH)
            links->switched++;
        else if (nvmlDeviceGetNvLinkRemotePciInfo_v2(gpu, link, &pci) == NVML_SUCCESS &&
                 gpu_bus(pci.busId, links->direct_to[links->direct]))
            links->direct++;
    }
}

uint32_t gpu_nvlinked(const char *bus)
{
    struct nvlinks links = {0};
    nvlinks_find(bus, &links);
    if (links.switched > 0)
        return 1;
    uint32_t first = links.direct > 0 ? pci_number(bus) : PLACE_UNKNOWN;
    for (int i = 0; i < links.direct; i++) {
        uint32_t other = pci_number(links.direct_to[i]);
        first = other < first ? other : first;
    }
    return first;
}

static int nvlinks_to(const struct nvlinks *links, const char *bus)
{
    int count = 0;
    for (int i = 0; i < links->direct; i++)
        count += strcmp(links->direct_to[i], bus) == 0;
    return count;
}

/* `own`, `theirs`: the NVLinks of the two. */
static void link_describe(struct device_list *list, struct device *gpu, const struct nvlinks *own,
                          const char *other, const struct nvlinks *theirs, enum gpu_access access)
{
    static const char *const words[] = {
        [GPU_ACCESS_UNKNOWN] = "",
        [GPU_ACCESS_NO] = ", no peer access",
        [GPU_ACCESS_YES] = ", peer access",
    };
    char name[FACT_NAME_MOST];
    int direct = nvlinks_to(own, other);
    int switched = own->switched < theirs->switched ? own->switched : theirs->switched;
    snprintf(name, sizeof name, "to %s", other);
    if (direct > 0)
        device_fact(list, gpu, FACT_SHOWN, name, "NV%d%s", direct, words[access]);
    else if (switched > 0)
        device_fact(list, gpu, FACT_SHOWN, name, "NV%d by NVSwitch%s", switched, words[access]);
    else
        device_fact(list, gpu, FACT_SHOWN, name, "%s%s",
                    pci_distance_names[pci_distance(SYSFS, gpu->bus, other)], words[access]);
}

void gpu_links_describe(struct device_list *list,
                        enum gpu_access (*access)(const void *argument, int from, int to),
                        const void *argument)
{
    struct nvlinks *links = calloc((size_t)list->count + 1, sizeof *links);
    list->failed |= !links;
    for (int i = 0; links && i < list->count; i++) {
        inquiry_asks(list->inquiry, "GPU", list->devices[i].name, list->devices[i].bus);
        nvlinks_find(list->devices[i].bus, &links[i]);
    }
    for (int i = 0; links && i < list->count; i++) {
        inquiry_asks(list->inquiry, "GPU", list->devices[i].name, list->devices[i].bus);
        for (int k = 0; k < list->count; k++)
            if (k != i)
                link_describe(list, &list->devices[i], &links[i], list->devices[k].bus, &links[k],
                              access(argument, i, k));
    }
    free(links);
}
