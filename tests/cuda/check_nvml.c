/*
 * check_nvml.c - is compiled with our nvml.h and, where a toolkit has it, with NVIDIA's: constants
 * and layouts are the same. The prototypes are compared by compiling src/host/nvml/nvml.c with
 * NVIDIA's.
 */
#include "host/nvml/nvml.h"

#include <stddef.h>

#define IS(name, value) _Static_assert((long)(name) == (value), #name)

IS(NVML_SUCCESS, 0);
IS(NVML_ERROR_INVALID_ARGUMENT, 2);
IS(NVML_ERROR_NOT_SUPPORTED, 3);
IS(NVML_ERROR_NO_PERMISSION, 4);
IS(NVML_ERROR_NOT_FOUND, 6);
IS(NVML_ERROR_DRIVER_NOT_LOADED, 9);
IS(NVML_ERROR_TIMEOUT, 10);
IS(NVML_ERROR_FUNCTION_NOT_FOUND, 13);
IS(NVML_ERROR_GPU_IS_LOST, 15);
IS(NVML_ERROR_RESET_REQUIRED, 16);
IS(NVML_ERROR_UNKNOWN, 999);
IS(NVML_FEATURE_DISABLED, 0);
IS(NVML_FEATURE_ENABLED, 1);
IS(NVML_TEMPERATURE_GPU, 0);
IS(NVML_CLOCK_SM, 1);
IS(NVML_CLOCK_MEM, 2);
IS(NVML_NVLINK_DEVICE_TYPE_GPU, 0);
IS(NVML_NVLINK_DEVICE_TYPE_SWITCH, 2);
IS(NVML_P2P_STATUS_OK, 0);
IS(NVML_P2P_STATUS_NOT_SUPPORTED, 5);
IS(NVML_P2P_CAPS_INDEX_READ, 0);
IS(NVML_VALUE_TYPE_DOUBLE, 0);
IS(NVML_VALUE_TYPE_UNSIGNED_INT, 1);
IS(NVML_VALUE_TYPE_UNSIGNED_LONG, 2);
IS(NVML_VALUE_TYPE_UNSIGNED_LONG_LONG, 3);
IS(NVML_VALUE_TYPE_SIGNED_LONG_LONG, 4);
IS(NVML_VALUE_TYPE_SIGNED_INT, 5);
IS(NVML_VALUE_TYPE_UNSIGNED_SHORT, 6);
IS(NVML_DEVICE_NAME_V2_BUFFER_SIZE, 96);
IS(NVML_DEVICE_SERIAL_BUFFER_SIZE, 30);
IS(NVML_DEVICE_UUID_V2_BUFFER_SIZE, 96);
IS(NVML_DEVICE_VBIOS_VERSION_BUFFER_SIZE, 32);
IS(NVML_SYSTEM_DRIVER_VERSION_BUFFER_SIZE, 80);
IS(NVML_GPU_FABRIC_UUID_LEN, 16);
IS(NVML_GPU_FABRIC_STATE_COMPLETED, 3);
IS(NVML_DEVICE_MIG_ENABLE, 1);
IS(NVML_FI_DEV_ECC_SBE_VOL_TOTAL, 3);
IS(NVML_FI_DEV_ECC_DBE_VOL_TOTAL, 4);
IS(NVML_FI_DEV_PERF_POLICY_POWER, 74);
IS(NVML_FI_DEV_PERF_POLICY_THERMAL, 75);
IS(NVML_FI_DEV_NVLINK_LINK_COUNT, 91);
IS(NVML_FI_DEV_PCIE_REPLAY_COUNTER, 94);
IS(NVML_FI_DEV_REMAPPED_COR, 142);
IS(NVML_FI_DEV_REMAPPED_UNC, 143);
IS(NVML_FI_DEV_REMAPPED_PENDING, 144);
IS(NVML_FI_DEV_REMAPPED_FAILURE, 145);
IS(NVML_FI_DEV_NVLINK_ERROR_DL_REPLAY, 161);
IS(NVML_FI_DEV_NVLINK_ERROR_DL_RECOVERY, 162);
IS(NVML_FI_DEV_NVLINK_ERROR_DL_CRC, 163);
IS(NVML_FI_DEV_NVLINK_COUNT_RCV_ERRORS, 208);
IS(NVML_FI_DEV_NVLINK_COUNT_LINK_RECOVERY_FAILED_EVENTS, 214);
IS(NVML_FI_DEV_NVLINK_COUNT_LINK_RECOVERY_EVENTS, 215);
IS(nvmlEventTypeXidCriticalError, 8);
IS(nvmlGpuFabricInfo_v2, 0x02000024);
IS(sizeof(nvmlDevice_t), 8);
IS(sizeof(nvmlEventSet_t), 8);
IS(sizeof(nvmlValue_t), 8);
IS(offsetof(nvmlFieldValue_t, scopeId), 4);
IS(offsetof(nvmlFieldValue_t, timestamp), 8);
IS(offsetof(nvmlFieldValue_t, valueType), 24);
IS(offsetof(nvmlFieldValue_t, nvmlReturn), 28);
IS(offsetof(nvmlFieldValue_t, value), 32);
IS(sizeof(nvmlFieldValue_t), 40);
IS(offsetof(nvmlMemory_t, free), 8);
IS(sizeof(nvmlMemory_t), 24);
IS(offsetof(nvmlPciInfo_t, domain), 16);
IS(offsetof(nvmlPciInfo_t, busId), 36);
IS(sizeof(nvmlPciInfo_t), 68);
IS(offsetof(nvmlGpuFabricInfoV_t, clusterUuid), 4);
IS(offsetof(nvmlGpuFabricInfoV_t, status), 20);
IS(offsetof(nvmlGpuFabricInfoV_t, cliqueId), 24);
IS(offsetof(nvmlGpuFabricInfoV_t, state), 28);
IS(offsetof(nvmlGpuFabricInfoV_t, healthMask), 32);
IS(offsetof(nvmlEventData_t, eventType), 8);
IS(offsetof(nvmlEventData_t, eventData), 16);
IS(offsetof(nvmlEventData_t, gpuInstanceId), 24);
IS(sizeof(nvmlEventData_t), 32);

/* Not in ours. NVIDIA has changed the numbers once. */
#ifdef NVML_FI_DEV_CLOCKS_EVENT_REASON_SW_THERM_SLOWDOWN
#define IS_ONE(name)                                                                               \
    _Static_assert(NVML_FI_DEV_CLOCKS_EVENT_REASON_##name == NVML_FI_575_##name ||                 \
                       NVML_FI_DEV_CLOCKS_EVENT_REASON_##name == NVML_FI_590_##name,               \
                   #name)
IS_ONE(SW_THERM_SLOWDOWN);
IS_ONE(HW_THERM_SLOWDOWN);
IS_ONE(HW_POWER_BRAKE_SLOWDOWN);
#endif
