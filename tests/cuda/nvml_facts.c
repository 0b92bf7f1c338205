/*
 * nvml_facts.c - the NVML for tests: what it tells of a GPU.
 */
#include <stdio.h>

#include "nvml_state.h"

#define GIB ((unsigned long long)1 << 30)

nvmlReturn_t nvmlDeviceGetIndex(nvmlDevice_t device, unsigned int *index)
{
    NVML_ENTER(device);
    *index = device->gpu;
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetPciInfo_v3(nvmlDevice_t device, nvmlPciInfo_t *pci)
{
    NVML_ENTER(device);
    *pci = (nvmlPciInfo_t){.bus = 0x1a + 8 * device->gpu};
    nvml_bus_write(device->gpu, pci->busId, sizeof pci->busId);
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetName(nvmlDevice_t device, char *name, unsigned int length)
{
    NVML_ENTER(device);
    snprintf(name, length, "%s",
             nvml_differs(device, "product") ? "NVIDIA H200" : "NVIDIA H100 80GB HBM3");
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetSerial(nvmlDevice_t device, char *serial, unsigned int length)
{
    NVML_ENTER(device);
    snprintf(serial, length, "165012300000%u", device->gpu);
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetUUID(nvmlDevice_t device, char *uuid, unsigned int length)
{
    NVML_ENTER(device);
    if (device->part < 0)
        snprintf(uuid, length, "GPU-00000000-0000-0000-0000-00000000000%u", device->gpu);
    else
        snprintf(uuid, length, "MIG-00000000-0000-0000-0000-0000000000%u%d", device->gpu,
                 device->part);
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetVbiosVersion(nvmlDevice_t device, char *version, unsigned int length)
{
    NVML_ENTER(device);
    snprintf(version, length, "96.00.74.00.01");
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t device, nvmlMemory_t *memory)
{
    NVML_ENTER(device);
    unsigned long long total = nvml_differs(device, "memory") ? 40 * GIB : 80 * GIB;
    total = device->part < 0 ? total : 10 * GIB;
    *memory = (nvmlMemory_t){.total = total, .free = total - GIB, .used = GIB};
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetCudaComputeCapability(nvmlDevice_t device, int *major, int *minor)
{
    NVML_ENTER(device);
    *major = 9;
    *minor = 0;
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetCurrPcieLinkGeneration(nvmlDevice_t device, unsigned int *generation)
{
    NVML_ENTER(device);
    *generation = 1;
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetCurrPcieLinkWidth(nvmlDevice_t device, unsigned int *width)
{
    NVML_ENTER(device);
    *width = nvml_differs(device, "width") ? 8 : 16;
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetMaxPcieLinkGeneration(nvmlDevice_t device, unsigned int *generation)
{
    NVML_ENTER(device);
    *generation = 5;
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetMaxPcieLinkWidth(nvmlDevice_t device, unsigned int *width)
{
    NVML_ENTER(device);
    *width = 16;
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetEccMode(nvmlDevice_t device, nvmlEnableState_t *current,
                                  nvmlEnableState_t *pending)
{
    NVML_ENTER(device);
    *current = nvml_differs(device, "ecc") ? NVML_FEATURE_DISABLED : NVML_FEATURE_ENABLED;
    *pending = NVML_FEATURE_ENABLED;
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetMigMode(nvmlDevice_t device, unsigned int *current, unsigned int *pending)
{
    NVML_ENTER(device);
    *current = *pending = nvml_rule_of("mig", device->gpu, NULL) ? NVML_DEVICE_MIG_ENABLE : 0;
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetMaxMigDeviceCount(nvmlDevice_t device, unsigned int *count)
{
    NVML_ENTER(device);
    *count = 7;
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetMigDeviceHandleByIndex(nvmlDevice_t device, unsigned int index,
                                                 nvmlDevice_t *part)
{
    NVML_ENTER(device);
    if (index >= NVML_PARTS)
        return NVML_ERROR_NOT_FOUND;
    *part = device + 1 + index;
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetClockInfo(nvmlDevice_t device, nvmlClockType_t type, unsigned int *mhz)
{
    NVML_ENTER(device);
    *mhz = type == NVML_CLOCK_SM ? 1755 : 2619;
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetMaxClockInfo(nvmlDevice_t device, nvmlClockType_t type, unsigned int *mhz)
{
    NVML_ENTER(device);
    *mhz = type == NVML_CLOCK_MEM ? 2619 : nvml_differs(device, "clocks") ? 1410 : 1980;
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetTemperature(nvmlDevice_t device, nvmlTemperatureSensors_t sensor,
                                      unsigned int *celsius)
{
    NVML_ENTER(device);
    *celsius = sensor == NVML_TEMPERATURE_GPU ? 41 : 0;
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetEnforcedPowerLimit(nvmlDevice_t device, unsigned int *milliwatts)
{
    NVML_ENTER(device);
    *milliwatts = 700000;
    return NVML_SUCCESS;
}
