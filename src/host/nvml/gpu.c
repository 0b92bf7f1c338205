/*
 * gpu.c - the facts of NVIDIA GPUs, as NVML tells them. What a GPU does not support is no fact.
 */
#include "host/nvml/gpus.h"

#include "base/list.h"
#include "base/text.h"
#include "host/nvml/nvml.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SYSFS "/sys"
#define GIB   (double)((uint64_t)1 << 30)

bool gpu_bus(const char *text, char bus[GPU_BUS_MOST])
{
    unsigned domain, number, device, function;
    int behind = 0;
    bus[0] = 0;
    if (sscanf(text, "%8x:%2x:%2x.%1x%n", &domain, &number, &device, &function, &behind) != 4 ||
        text[behind] || domain > 0xfffff || device > 0x1f || function > 7)
        return false;
    snprintf(bus, GPU_BUS_MOST, "%04x:%02x:%02x.%x", domain & 0xfffff, number & 0xff, device & 0x1f,
             function & 7); /* masks tell the compiler that there is room */
    return true;
}

nvmlDevice_t gpu_find(const char *bus, const char **why)
{
    nvmlDevice_t gpu = NULL;
    *why = nvml_load();
    nvmlReturn_t result = *why ? NVML_ERROR_UNKNOWN : nvmlDeviceGetHandleByPciBusId_v2(bus, &gpu);
    if (!*why && result != NVML_SUCCESS)
        *why = nvmlErrorString(result);
    return result == NVML_SUCCESS ? gpu : NULL;
}

bool gpu_field_value(const nvmlFieldValue_t *field, uint64_t *value)
{
    if (field->nvmlReturn != NVML_SUCCESS)
        return false;
    switch (field->valueType) {
    case NVML_VALUE_TYPE_UNSIGNED_INT:
        *value = field->value.uiVal;
        return true;
    case NVML_VALUE_TYPE_UNSIGNED_LONG:
        *value = field->value.ulVal;
        return true;
    case NVML_VALUE_TYPE_UNSIGNED_LONG_LONG:
        *value = field->value.ullVal;
        return true;
    case NVML_VALUE_TYPE_SIGNED_LONG_LONG:
        *value = (uint64_t)field->value.sllVal;
        return field->value.sllVal >= 0;
    case NVML_VALUE_TYPE_SIGNED_INT:
        *value = (uint64_t)field->value.siVal;
        return field->value.siVal >= 0;
    case NVML_VALUE_TYPE_UNSIGNED_SHORT:
        *value = field->value.usVal;
        return true;
    default:
        return false;
    }
}

/* False: the GPU does not have the field. */
static bool field_number(nvmlDevice_t gpu, unsigned id, uint64_t *number)
{
    nvmlFieldValue_t field = {.fieldId = id};
    return nvmlDeviceGetFieldValues(gpu, 1, &field) == NVML_SUCCESS &&
           gpu_field_value(&field, number);
}

int gpu_nvlinks(nvmlDevice_t gpu)
{
    uint64_t links;
    bool known = field_number(gpu, NVML_FI_DEV_NVLINK_LINK_COUNT, &links);
    return known && links <= GPU_NVLINKS_MOST ? (int)links : 0;
}

/* Is this NVLink up? */
static bool gpu_nvlink_is_up(nvmlDevice_t gpu, int link)
{
    nvmlEnableState_t active;
    return nvmlDeviceGetNvLinkState(gpu, (unsigned)link, &active) == NVML_SUCCESS &&
           active == NVML_FEATURE_ENABLED;
}

int gpu_nvlinks_up(nvmlDevice_t gpu, int links)
{
    int up = 0;
    for (int link = 0; link < links; link++)
        up += gpu_nvlink_is_up(gpu, link);
    return up;
}

/* A GPU that is being described. */
struct gpu_look {
    nvmlDevice_t gpu;
    struct device_list *list;
    struct device *device;
};

static void identity_describe(const struct gpu_look *look)
{
    char text[NVML_DEVICE_NAME_V2_BUFFER_SIZE];
    unsigned index;
    if (nvmlDeviceGetIndex(look->gpu, &index) == NVML_SUCCESS)
        device_fact(look->device, FACT_IDENTITY, "index", "%u", index);
    if (nvmlDeviceGetSerial(look->gpu, text, sizeof text) == NVML_SUCCESS)
        device_fact(look->device, FACT_IDENTITY, "serial", "%s", text);
    if (nvmlDeviceGetUUID(look->gpu, text, sizeof text) == NVML_SUCCESS)
        device_fact(look->device, FACT_SHOWN, "UUID", "%s", text);
    if (nvmlDeviceGetName(look->gpu, text, sizeof text) != NVML_SUCCESS)
        return;
    device_fact(look->device, FACT_ALL, "product", "%s", text);
    const char *model = strncmp(text, "NVIDIA ", 7) == 0 ? text + 7 : text;
    snprintf(look->device->model, sizeof look->device->model, "%s", model);
}

static void memory_describe(const struct gpu_look *look)
{
    nvmlMemory_t memory;
    if (nvmlDeviceGetMemoryInfo(look->gpu, &memory) != NVML_SUCCESS)
        return;
    device_fact(look->device, FACT_ALL, "memory", "%.1f GiB", (double)memory.total / GIB);
    device_fact(look->device, FACT_SHOWN, "free memory", "%.1f GiB", (double)memory.free / GIB);
}

static void pcie_describe(const struct gpu_look *look)
{
    unsigned generation, width;
    if (nvmlDeviceGetCurrPcieLinkWidth(look->gpu, &width) == NVML_SUCCESS) {
        device_fact(look->device, FACT_ALL, "PCIe width", "x%u", width);
        /* Idle GPUs slow their link down, so its generation is not compared. */
        if (nvmlDeviceGetCurrPcieLinkGeneration(look->gpu, &generation) == NVML_SUCCESS)
            device_fact(look->device, FACT_SHOWN, "PCIe link", "generation %u x%u", generation,
                        width);
    }
    if (nvmlDeviceGetMaxPcieLinkWidth(look->gpu, &width) == NVML_SUCCESS &&
        nvmlDeviceGetMaxPcieLinkGeneration(look->gpu, &generation) == NVML_SUCCESS)
        device_fact(look->device, FACT_SHOWN, "PCIe link at most", "generation %u x%u", generation,
                    width);
}

static void clocks_describe(const struct gpu_look *look)
{
    static const struct {
        nvmlClockType_t type;
        const char *now, *most;
    } clocks[] = {{NVML_CLOCK_SM, "SM clock", "SM clock at most"},
                  {NVML_CLOCK_MEM, "memory clock", "memory clock at most"}};
    unsigned number;
    for (size_t i = 0; i < sizeof clocks / sizeof *clocks; i++) {
        if (nvmlDeviceGetMaxClockInfo(look->gpu, clocks[i].type, &number) == NVML_SUCCESS)
            device_fact(look->device, FACT_ALL, clocks[i].most, "%u MHz", number);
        if (nvmlDeviceGetClockInfo(look->gpu, clocks[i].type, &number) == NVML_SUCCESS)
            device_fact(look->device, FACT_SHOWN, clocks[i].now, "%u MHz", number);
    }
    if (nvmlDeviceGetEnforcedPowerLimit(look->gpu, &number) == NVML_SUCCESS)
        device_fact(look->device, FACT_ALL, "power limit", "%u W", number / 1000);
    if (nvmlDeviceGetTemperature(look->gpu, NVML_TEMPERATURE_GPU, &number) == NVML_SUCCESS)
        device_fact(look->device, FACT_SHOWN, "temperature", "%u C", number);
}

static void ecc_describe(const struct gpu_look *look)
{
    nvmlEnableState_t now, pending;
    uint64_t waits, failed;
    if (nvmlDeviceGetEccMode(look->gpu, &now, &pending) == NVML_SUCCESS) {
        device_fact(look->device, FACT_ALL, "ECC", "%s", now ? "on" : "off");
        if (now != pending)
            device_fact(look->device, FACT_SHOWN, "ECC after a reset", "%s",
                        pending ? "on" : "off");
    }
    if (field_number(look->gpu, NVML_FI_DEV_REMAPPED_PENDING, &waits) &&
        field_number(look->gpu, NVML_FI_DEV_REMAPPED_FAILURE, &failed))
        device_fact(look->device, FACT_ALL, "row remapping", "%s",
                    failed  ? "failed"
                    : waits ? "pending until a reset"
                            : "none pending");
}

static void mig_describe(const struct gpu_look *look)
{
    unsigned now, pending, parts = 0;
    if (nvmlDeviceGetMigMode(look->gpu, &now, &pending) != NVML_SUCCESS)
        return;
    device_fact(look->device, FACT_ALL, "MIG", "%s", now == NVML_DEVICE_MIG_ENABLE ? "on" : "off");
    if (now == NVML_DEVICE_MIG_ENABLE)
        nvmlDeviceGetMaxMigDeviceCount(look->gpu, &parts);
    for (unsigned i = 0; i < parts && i < 16; i++) {
        char name[FACT_NAME_MOST], uuid[NVML_DEVICE_UUID_V2_BUFFER_SIZE];
        nvmlDevice_t part;
        nvmlMemory_t memory;
        snprintf(name, sizeof name, "MIG %u", i);
        if (nvmlDeviceGetMigDeviceHandleByIndex(look->gpu, i, &part) == NVML_SUCCESS &&
            nvmlDeviceGetUUID(part, uuid, sizeof uuid) == NVML_SUCCESS &&
            nvmlDeviceGetMemoryInfo(part, &memory) == NVML_SUCCESS)
            device_fact(look->device, FACT_SHOWN, name, "%s with %.1f GiB", uuid,
                        (double)memory.total / GIB);
    }
}

#define FABRIC_UUID_MOST (3 * NVML_GPU_FABRIC_UUID_LEN)

/* Is the GPU part of an NVLink domain? On one host alone the UUID of that is all zero. */
static bool fabric_read(nvmlDevice_t gpu, nvmlGpuFabricInfoV_t *fabric, char uuid[FABRIC_UUID_MOST])
{
    *fabric = (nvmlGpuFabricInfoV_t){.version = nvmlGpuFabricInfo_v2};
    if (nvmlDeviceGetGpuFabricInfoV(gpu, fabric) != NVML_SUCCESS ||
        fabric->state != NVML_GPU_FABRIC_STATE_COMPLETED || fabric->status != NVML_SUCCESS)
        return false;
    struct text text = text_in(uuid, FABRIC_UUID_MOST);
    bool any = false;
    for (int i = 0; i < NVML_GPU_FABRIC_UUID_LEN; i++) {
        text_add(&text, "%s%02x", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "",
                 fabric->clusterUuid[i]);
        any |= fabric->clusterUuid[i] != 0;
    }
    return any;
}

void gpu_domain(const char *bus, char domain[GPU_DOMAIN_MOST])
{
    nvmlGpuFabricInfoV_t fabric;
    char uuid[FABRIC_UUID_MOST];
    const char *why;
    nvmlDevice_t gpu = gpu_find(bus, &why);
    domain[0] = '\0';
    if (gpu && fabric_read(gpu, &fabric, uuid))
        snprintf(domain, GPU_DOMAIN_MOST, "%.36s.%u", uuid, fabric.cliqueId);
}

static void nvlink_describe(const struct gpu_look *look)
{
    nvmlGpuFabricInfoV_t fabric;
    char uuid[FABRIC_UUID_MOST];
    int links = gpu_nvlinks(look->gpu);
    if (links > 0)
        device_fact(look->device, FACT_ALL, "NVLinks up", "%d of %d",
                    gpu_nvlinks_up(look->gpu, links), links);
    if (!fabric_read(look->gpu, &fabric, uuid))
        return;
    device_fact(look->device, FACT_SHOWN, "NVLink domain", "%s", uuid);
    device_fact(look->device, FACT_SHOWN, "NVLink clique", "%u", fabric.cliqueId);
}

static void versions_describe(const struct gpu_look *look)
{
    char text[NVML_SYSTEM_DRIVER_VERSION_BUFFER_SIZE];
    int major, minor;
    if (nvmlDeviceGetCudaComputeCapability(look->gpu, &major, &minor) == NVML_SUCCESS)
        device_fact(look->device, FACT_SHOWN, "compute capability", "%d.%d", major, minor);
    if (nvmlSystemGetDriverVersion(text, sizeof text) == NVML_SUCCESS)
        device_fact(look->device, FACT_ALL, "driver", "%s", text);
    if (nvmlDeviceGetVbiosVersion(look->gpu, text, sizeof text) == NVML_SUCCESS)
        device_fact(look->device, FACT_MODEL, "VBIOS", "%s", text);
}

struct device *gpu_add(const char *bus, struct device_list *list)
{
    const char *why;
    struct gpu_look look = {.list = list, .device = device_add(list, "GPU", bus)};
    look.gpu = gpu_find(bus, &why);
    snprintf(look.device->bus, sizeof look.device->bus, "%s", bus);
    look.device->numa_node = pci_numa_node(SYSFS, bus);
    device_fact(look.device, FACT_ALL, "NVML", "%s", look.gpu ? "loaded" : "missing");
    if (!look.gpu) {
        device_fact(look.device, FACT_SHOWN, "no NVML", "%s", why);
        return look.device;
    }
    identity_describe(&look);
    memory_describe(&look);
    pcie_describe(&look);
    clocks_describe(&look);
    ecc_describe(&look);
    mig_describe(&look);
    nvlink_describe(&look);
    versions_describe(&look);
    return look.device;
}

void gpus_add(struct device_list *list)
{
    unsigned count = 0;
    if (nvml_load() || nvmlDeviceGetCount_v2(&count) != NVML_SUCCESS)
        return;
    for (unsigned i = 0; i < count; i++) {
        char bus[GPU_BUS_MOST];
        nvmlDevice_t gpu;
        nvmlPciInfo_t pci;
        snprintf(bus, sizeof bus, "%u", i);
        inquiry_asks(list->inquiry, "GPU", bus, "");
        if (nvmlDeviceGetHandleByIndex_v2(i, &gpu) == NVML_SUCCESS &&
            nvmlDeviceGetPciInfo_v3(gpu, &pci) == NVML_SUCCESS && gpu_bus(pci.busId, bus))
            gpu_add(bus, list);
    }
}

/*
 * The way between two GPUs of a machine: NVLinks from one to the other or to switches,
 * or PCI bridges, in the words of `nvidia-smi topo -m`.
 */
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
static void link_describe(struct device *gpu, const struct nvlinks *own, const char *other,
                          const struct nvlinks *theirs, enum gpu_access access)
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
        device_fact(gpu, FACT_SHOWN, name, "NV%d%s", direct, words[access]);
    else if (switched > 0)
        device_fact(gpu, FACT_SHOWN, name, "NV%d by NVSwitch%s", switched, words[access]);
    else
        device_fact(gpu, FACT_SHOWN, name, "%s%s",
                    pci_distance_names[pci_distance(SYSFS, gpu->bus, other)], words[access]);
}

void gpu_links_describe(struct device_list *list,
                        enum gpu_access (*access)(const void *argument, int from, int to),
                        const void *argument)
{
    struct nvlinks *links = new_array((size_t)list->count, sizeof *links);
    for (int i = 0; i < list->count; i++) {
        inquiry_asks(list->inquiry, "GPU", list->devices[i].name, list->devices[i].bus);
        nvlinks_find(list->devices[i].bus, &links[i]);
    }
    for (int i = 0; i < list->count; i++) {
        inquiry_asks(list->inquiry, "GPU", list->devices[i].name, list->devices[i].bus);
        for (int k = 0; k < list->count; k++)
            if (k != i)
                link_describe(&list->devices[i], &links[i], list->devices[k].bus, &links[k],
                              access(argument, i, k));
    }
    free(links);
}
