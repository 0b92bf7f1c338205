/*
 * nvml_health.c - the NVML for tests: fields, NVLinks, events.
 */
#include <stdio.h>
#include <string.h>

#include "nvml_state.h"

/* Fields. */

static uint64_t field_grown(nvmlDevice_t device, unsigned field)
{
    uint64_t step = 0;
    for (int i = 0; i < nvml.rule_count; i++)
        if (strcmp(nvml.rules[i].key, "grow") == 0 && nvml.rules[i].numbers[0] == device->gpu &&
            nvml.rules[i].numbers[1] == field)
            step = nvml.rules[i].numbers[2];
    return 100 + (device->grown[field % 512] += step);
}

static void field_answer(nvmlDevice_t device, nvmlFieldValue_t *field, bool is_gone)
{
    char name[NVML_WORD];
    snprintf(name, sizeof name, "%u", field->fieldId);
    field->nvmlReturn = NVML_SUCCESS;
    field->valueType = NVML_VALUE_TYPE_UNSIGNED_LONG_LONG;
    switch (field->fieldId) {
    case NVML_FI_DEV_NVLINK_LINK_COUNT:
        field->valueType = NVML_VALUE_TYPE_UNSIGNED_INT;
        field->value.uiVal = NVML_LINKS;
        break;
    case NVML_FI_DEV_REMAPPED_PENDING:
    case NVML_FI_DEV_REMAPPED_FAILURE:
        field->valueType = NVML_VALUE_TYPE_UNSIGNED_INT;
        field->value.uiVal =
            field->fieldId == NVML_FI_DEV_REMAPPED_PENDING && nvml_differs(device, "rows");
        break;
    case NVML_FI_DEV_NVLINK_COUNT_RCV_ERRORS: /* Blackwell's */
    case NVML_FI_DEV_NVLINK_COUNT_LINK_RECOVERY_EVENTS:
    case NVML_FI_DEV_NVLINK_COUNT_LINK_RECOVERY_FAILED_EVENTS:
        field->nvmlReturn = NVML_ERROR_NOT_SUPPORTED;
        break;
    default:
        field->value.ullVal = field_grown(device, field->fieldId);
    }
    if (nvml_is_without(name))
        field->nvmlReturn = NVML_ERROR_NOT_SUPPORTED;
    if (is_gone)
        field->nvmlReturn = NVML_ERROR_GPU_IS_LOST;
    if (field->nvmlReturn != NVML_SUCCESS) /* what a caller may not read */
        memset(&field->value, 0x5a, sizeof field->value);
}

nvmlReturn_t nvmlDeviceGetFieldValues(nvmlDevice_t device, int count, nvmlFieldValue_t *values)
{
    NVML_ENTER(device);
    pthread_mutex_lock(&nvml.lock);
    const bool of_gpu = values[0].fieldId == NVML_FI_DEV_PERF_POLICY_POWER;
    device->readings += count > 1 && of_gpu;
    const struct nvml_rule *gone = nvml_rule_of("gone", device->gpu, NULL);
    const bool is_gone = gone && device->readings + (count > 1 && !of_gpu) > gone->numbers[1];
    for (int i = 0; i < count; i++)
        field_answer(device, &values[i], is_gone);
    pthread_mutex_unlock(&nvml.lock);
    return NVML_SUCCESS;
}

/* Links. */

nvmlReturn_t nvmlDeviceGetNvLinkState(nvmlDevice_t device, unsigned int link,
                                      nvmlEnableState_t *active)
{
    NVML_ENTER(device);
    if (link >= NVML_LINKS)
        return NVML_ERROR_INVALID_ARGUMENT;
    const struct nvml_rule *down = nvml_rule_of("down", device->gpu, NULL);
    bool is_down = (nvml_differs(device, "links") && link == 1) ||
                   (down && down->numbers[1] == link && device->readings >= 2);
    *active = is_down ? NVML_FEATURE_DISABLED : NVML_FEATURE_ENABLED;
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetNvLinkRemotePciInfo_v2(nvmlDevice_t device, unsigned int link,
                                                 nvmlPciInfo_t *pci)
{
    NVML_ENTER(device);
    *pci = (nvmlPciInfo_t){.bus = 0xc0 + link};
    snprintf(pci->busId, sizeof pci->busId, "00000000:%02X:00.0", pci->bus);
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetNvLinkRemoteDeviceType(nvmlDevice_t device, unsigned int link,
                                                 nvmlIntNvLinkDeviceType_t *type)
{
    NVML_ENTER(device);
    *type = NVML_NVLINK_DEVICE_TYPE_SWITCH;
    return link < NVML_LINKS ? NVML_SUCCESS : NVML_ERROR_INVALID_ARGUMENT;
}

nvmlReturn_t nvmlDeviceGetP2PStatus(nvmlDevice_t device, nvmlDevice_t other,
                                    nvmlGpuP2PCapsIndex_t capability, nvmlGpuP2PStatus_t *status)
{
    NVML_ENTER(device);
    NVML_ENTER(other);
    *status =
        capability == NVML_P2P_CAPS_INDEX_READ ? NVML_P2P_STATUS_OK : NVML_P2P_STATUS_NOT_SUPPORTED;
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetGpuFabricInfoV(nvmlDevice_t device, nvmlGpuFabricInfoV_t *info)
{
    NVML_ENTER(device);
    if (info->version != nvmlGpuFabricInfo_v2)
        nvml_violation("a version of the fabric's info that drivers do not know");
    info->state = NVML_GPU_FABRIC_STATE_COMPLETED;
    info->status = NVML_SUCCESS;
    const struct nvml_rule *clique = nvml_rule_of("clique", device->gpu, NULL);
    bool is_alone = nvml_rule_of("alone", device->gpu, NULL);
    info->cliqueId = clique ? clique->numbers[1] : 7;
    for (int i = 0; i < NVML_GPU_FABRIC_UUID_LEN; i++)
        info->clusterUuid[i] = is_alone ? 0 : (unsigned char)(0xa0 + i);
    return NVML_SUCCESS;
}

/* Events. */

nvmlReturn_t nvmlEventSetCreate(nvmlEventSet_t *set)
{
    nvmlReturn_t result = nvml_enter(__func__);
    pthread_mutex_lock(&nvml.lock);
    for (int i = 0; i < NVML_EVENTS; i++)
        if (result == NVML_SUCCESS && !nvml.events[i].open) {
            *set = &nvml.events[i];
            **set = (struct nvmlEventSet_st){.open = true, .gpu = NVML_GPUS};
            break;
        }
    pthread_mutex_unlock(&nvml.lock);
    return result;
}

static void event_set_check(nvmlEventSet_t set)
{
    if (set < nvml.events || set >= nvml.events + NVML_EVENTS || !set->open)
        nvml_violation("an event set that is not there");
}

nvmlReturn_t nvmlDeviceRegisterEvents(nvmlDevice_t device, unsigned long long types,
                                      nvmlEventSet_t set)
{
    event_set_check(set);
    NVML_ENTER(device);
    if (types != nvmlEventTypeXidCriticalError)
        nvml_violation("events other than Xids are registered");
    set->gpu = device->gpu;
    return NVML_SUCCESS;
}

/* At the first look nothing has come, at the second all events. */
nvmlReturn_t nvmlEventSetWait_v2(nvmlEventSet_t set, nvmlEventData_t *data,
                                 unsigned int milliseconds)
{
    event_set_check(set);
    if (milliseconds > 0)
        nvml_violation("a wait for events");
    nvml_call(__func__, set->gpu);
    unsigned next = 0;
    set->looks++;
    for (int i = 0; i < nvml.rule_count; i++) {
        const struct nvml_rule *rule = &nvml.rules[i];
        if (strcmp(rule->key, "xid") != 0 || rule->numbers[0] != set->gpu ||
            ++next + 1 != set->looks)
            continue;
        *data = (nvmlEventData_t){.device = &nvml.handles[set->gpu * (1 + NVML_PARTS)],
                                  .eventType = nvmlEventTypeXidCriticalError,
                                  .eventData = rule->numbers[1]};
        return NVML_SUCCESS;
    }
    return NVML_ERROR_TIMEOUT;
}

nvmlReturn_t nvmlEventSetFree(nvmlEventSet_t set)
{
    event_set_check(set);
    nvml_call(__func__, set->gpu);
    pthread_mutex_lock(&nvml.lock);
    set->open = false;
    pthread_mutex_unlock(&nvml.lock);
    return NVML_SUCCESS;
}
