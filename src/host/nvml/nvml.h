/*
 * nvml.h - NVML, NVIDIA's library that knows the state of GPUs, loaded at run time, so that one
 * binary starts on nodes with and without a driver. It needs no CUDA.
 *
 * This is what cctest uses of NVIDIA's nvml.h, which many toolkits lack: names, numbers and layouts
 * are NVIDIA's (tests/cuda/check_nvml.c compares them). nvml.c defines the functions, and each
 * forwards its call. They may be called after nvml_load() has succeeded, in any thread. One that
 * the loaded NVML lacks returns NVML_ERROR_FUNCTION_NOT_FOUND. A test puts another object in the
 * place of nvml.o.
 */
#ifndef CCTEST_HOST_NVML_NVML_H
#define CCTEST_HOST_NVML_NVML_H

/* Loads and initializes NVML, for good. NULL, or why there is none, and what to do (static). May be
 * called again. Never before a fork. */
const char *nvml_load(void);

/* NVML_FI_DEV_CLOCKS_EVENT_REASON_*: NVIDIA's header of CUDA 13.1 (driver 590) gives these fields
 * other numbers than that of 12.9 (driver 575). Each driver has settings in the place of the
 * other's. */
#define NVML_FI_575_SW_THERM_SLOWDOWN       251
#define NVML_FI_575_HW_THERM_SLOWDOWN       252
#define NVML_FI_575_HW_POWER_BRAKE_SLOWDOWN 253
#define NVML_FI_590_SW_THERM_SLOWDOWN       269
#define NVML_FI_590_HW_THERM_SLOWDOWN       270
#define NVML_FI_590_HW_POWER_BRAKE_SLOWDOWN 271

#ifndef __nvml_nvml_h__ /* NVIDIA's own, which a check includes first */

#define NVML_DEVICE_NAME_V2_BUFFER_SIZE                      96
#define NVML_DEVICE_SERIAL_BUFFER_SIZE                       30
#define NVML_DEVICE_UUID_V2_BUFFER_SIZE                      96
#define NVML_DEVICE_VBIOS_VERSION_BUFFER_SIZE                32
#define NVML_SYSTEM_DRIVER_VERSION_BUFFER_SIZE               80
#define NVML_DEVICE_PCI_BUS_ID_BUFFER_SIZE                   32
#define NVML_DEVICE_PCI_BUS_ID_BUFFER_V2_SIZE                16
#define NVML_GPU_FABRIC_UUID_LEN                             16
#define NVML_GPU_FABRIC_STATE_COMPLETED                      3
#define NVML_DEVICE_MIG_ENABLE                               1
#define NVML_FI_DEV_ECC_SBE_VOL_TOTAL                        3
#define NVML_FI_DEV_ECC_DBE_VOL_TOTAL                        4
#define NVML_FI_DEV_PERF_POLICY_POWER                        74
#define NVML_FI_DEV_PERF_POLICY_THERMAL                      75
#define NVML_FI_DEV_NVLINK_LINK_COUNT                        91
#define NVML_FI_DEV_PCIE_REPLAY_COUNTER                      94
#define NVML_FI_DEV_REMAPPED_COR                             142
#define NVML_FI_DEV_REMAPPED_UNC                             143
#define NVML_FI_DEV_REMAPPED_PENDING                         144
#define NVML_FI_DEV_REMAPPED_FAILURE                         145
#define NVML_FI_DEV_NVLINK_ERROR_DL_REPLAY                   161
#define NVML_FI_DEV_NVLINK_ERROR_DL_RECOVERY                 162
#define NVML_FI_DEV_NVLINK_ERROR_DL_CRC                      163
#define NVML_FI_DEV_NVLINK_COUNT_RCV_ERRORS                  208
#define NVML_FI_DEV_NVLINK_COUNT_LINK_RECOVERY_FAILED_EVENTS 214
#define NVML_FI_DEV_NVLINK_COUNT_LINK_RECOVERY_EVENTS        215
#define nvmlEventTypeXidCriticalError                        0x0000000000000008LL

typedef enum nvmlReturn_enum {
    NVML_SUCCESS = 0,
    NVML_ERROR_INVALID_ARGUMENT = 2,
    NVML_ERROR_NOT_SUPPORTED = 3,
    NVML_ERROR_NO_PERMISSION = 4,
    NVML_ERROR_NOT_FOUND = 6,
    NVML_ERROR_DRIVER_NOT_LOADED = 9,
    NVML_ERROR_TIMEOUT = 10,
    NVML_ERROR_FUNCTION_NOT_FOUND = 13,
    NVML_ERROR_GPU_IS_LOST = 15,
    NVML_ERROR_RESET_REQUIRED = 16,
    NVML_ERROR_UNKNOWN = 999,
} nvmlReturn_t;

typedef enum nvmlEnableState_enum {
    NVML_FEATURE_DISABLED = 0,
    NVML_FEATURE_ENABLED = 1,
} nvmlEnableState_t;

typedef enum nvmlTemperatureSensors_enum {
    NVML_TEMPERATURE_GPU = 0,
} nvmlTemperatureSensors_t;

typedef enum nvmlClockType_enum {
    NVML_CLOCK_SM = 1,
    NVML_CLOCK_MEM = 2,
} nvmlClockType_t;

typedef enum nvmlIntNvLinkDeviceType_enum {
    NVML_NVLINK_DEVICE_TYPE_GPU = 0,
    NVML_NVLINK_DEVICE_TYPE_SWITCH = 2,
} nvmlIntNvLinkDeviceType_t;

typedef enum nvmlGpuP2PStatus_enum {
    NVML_P2P_STATUS_OK = 0,
    NVML_P2P_STATUS_NOT_SUPPORTED = 5,
} nvmlGpuP2PStatus_t;

typedef enum nvmlGpuP2PCapsIndex_enum {
    NVML_P2P_CAPS_INDEX_READ = 0,
} nvmlGpuP2PCapsIndex_t;

typedef enum nvmlValueType_enum {
    NVML_VALUE_TYPE_DOUBLE = 0,
    NVML_VALUE_TYPE_UNSIGNED_INT = 1,
    NVML_VALUE_TYPE_UNSIGNED_LONG = 2,
    NVML_VALUE_TYPE_UNSIGNED_LONG_LONG = 3,
    NVML_VALUE_TYPE_SIGNED_LONG_LONG = 4,
    NVML_VALUE_TYPE_SIGNED_INT = 5,
    NVML_VALUE_TYPE_UNSIGNED_SHORT = 6,
} nvmlValueType_t;

typedef union nvmlValue_st {
    double dVal;
    int siVal;
    unsigned int uiVal;
    unsigned long ulVal;
    unsigned long long ullVal;
    signed long long sllVal;
    unsigned short usVal;
} nvmlValue_t;

typedef struct nvmlFieldValue_st {
    unsigned int fieldId;
    unsigned int scopeId; /* of an NVLink: its number */
    long long timestamp;
    long long latencyUsec;
    nvmlValueType_t valueType;
    nvmlReturn_t nvmlReturn; /* of this field */
    nvmlValue_t value;
} nvmlFieldValue_t;

typedef struct nvmlMemory_st {
    unsigned long long total, free, used; /* bytes */
} nvmlMemory_t;

typedef struct nvmlPciInfo_st {
    char busIdLegacy[NVML_DEVICE_PCI_BUS_ID_BUFFER_V2_SIZE]; /* "0000:3B:00.0" */
    unsigned int domain, bus, device, pciDeviceId, pciSubSystemId;
    char busId[NVML_DEVICE_PCI_BUS_ID_BUFFER_SIZE]; /* "00000000:3B:00.0" */
} nvmlPciInfo_t;

/* The struct of version 2, which all drivers since 535 know. */
typedef struct {
    unsigned int version;
    unsigned char clusterUuid[NVML_GPU_FABRIC_UUID_LEN];
    nvmlReturn_t status;
    unsigned int cliqueId;
    unsigned char state;
    unsigned int healthMask;
} nvmlGpuFabricInfoV_t;
#define nvmlGpuFabricInfo_v2 (unsigned int)(sizeof(nvmlGpuFabricInfoV_t) | 2u << 24)

typedef struct nvmlDevice_st *nvmlDevice_t;
typedef struct nvmlEventSet_st *nvmlEventSet_t;

typedef struct nvmlEventData_st {
    nvmlDevice_t device;
    unsigned long long eventType;
    unsigned long long eventData; /* of an Xid event: its number */
    unsigned int gpuInstanceId, computeInstanceId;
} nvmlEventData_t;

#endif

/* F(function, parameters, arguments) */
#define NVML_FUNCTIONS(F)                                                                          \
    F(nvmlInit_v2, (void), ())                                                                     \
    F(nvmlSystemGetDriverVersion, (char *version, unsigned int length), (version, length))         \
    F(nvmlDeviceGetCount_v2, (unsigned int *count), (count))                                       \
    F(nvmlDeviceGetHandleByIndex_v2, (unsigned int index, nvmlDevice_t *device), (index, device))  \
    F(nvmlDeviceGetHandleByPciBusId_v2, (const char *bus, nvmlDevice_t *device), (bus, device))    \
    F(nvmlDeviceGetIndex, (nvmlDevice_t device, unsigned int *index), (device, index))             \
    F(nvmlDeviceGetPciInfo_v3, (nvmlDevice_t device, nvmlPciInfo_t * pci), (device, pci))          \
    F(nvmlDeviceGetName, (nvmlDevice_t device, char *name, unsigned int length),                   \
      (device, name, length))                                                                      \
    F(nvmlDeviceGetSerial, (nvmlDevice_t device, char *serial, unsigned int length),               \
      (device, serial, length))                                                                    \
    F(nvmlDeviceGetUUID, (nvmlDevice_t device, char *uuid, unsigned int length),                   \
      (device, uuid, length))                                                                      \
    F(nvmlDeviceGetVbiosVersion, (nvmlDevice_t device, char *version, unsigned int length),        \
      (device, version, length))                                                                   \
    F(nvmlDeviceGetMemoryInfo, (nvmlDevice_t device, nvmlMemory_t * memory), (device, memory))     \
    F(nvmlDeviceGetCudaComputeCapability, (nvmlDevice_t device, int *major, int *minor),           \
      (device, major, minor))                                                                      \
    F(nvmlDeviceGetCurrPcieLinkGeneration, (nvmlDevice_t device, unsigned int *generation),        \
      (device, generation))                                                                        \
    F(nvmlDeviceGetCurrPcieLinkWidth, (nvmlDevice_t device, unsigned int *width), (device, width)) \
    F(nvmlDeviceGetMaxPcieLinkGeneration, (nvmlDevice_t device, unsigned int *generation),         \
      (device, generation))                                                                        \
    F(nvmlDeviceGetMaxPcieLinkWidth, (nvmlDevice_t device, unsigned int *width), (device, width))  \
    F(nvmlDeviceGetEccMode,                                                                        \
      (nvmlDevice_t device, nvmlEnableState_t * current, nvmlEnableState_t * pending),             \
      (device, current, pending))                                                                  \
    F(nvmlDeviceGetMigMode, (nvmlDevice_t device, unsigned int *current, unsigned int *pending),   \
      (device, current, pending))                                                                  \
    F(nvmlDeviceGetMaxMigDeviceCount, (nvmlDevice_t device, unsigned int *count), (device, count)) \
    F(nvmlDeviceGetMigDeviceHandleByIndex,                                                         \
      (nvmlDevice_t device, unsigned int index, nvmlDevice_t *part), (device, index, part))        \
    F(nvmlDeviceGetClockInfo, (nvmlDevice_t device, nvmlClockType_t type, unsigned int *mhz),      \
      (device, type, mhz))                                                                         \
    F(nvmlDeviceGetMaxClockInfo, (nvmlDevice_t device, nvmlClockType_t type, unsigned int *mhz),   \
      (device, type, mhz))                                                                         \
    F(nvmlDeviceGetTemperature,                                                                    \
      (nvmlDevice_t device, nvmlTemperatureSensors_t sensor, unsigned int *celsius),               \
      (device, sensor, celsius))                                                                   \
    F(nvmlDeviceGetEnforcedPowerLimit, (nvmlDevice_t device, unsigned int *milliwatts),            \
      (device, milliwatts))                                                                        \
    F(nvmlDeviceGetFieldValues, (nvmlDevice_t device, int count, nvmlFieldValue_t *values),        \
      (device, count, values))                                                                     \
    F(nvmlDeviceGetNvLinkState,                                                                    \
      (nvmlDevice_t device, unsigned int link, nvmlEnableState_t *active), (device, link, active)) \
    F(nvmlDeviceGetNvLinkRemotePciInfo_v2,                                                         \
      (nvmlDevice_t device, unsigned int link, nvmlPciInfo_t *pci), (device, link, pci))           \
    F(nvmlDeviceGetNvLinkRemoteDeviceType,                                                         \
      (nvmlDevice_t device, unsigned int link, nvmlIntNvLinkDeviceType_t *type),                   \
      (device, link, type))                                                                        \
    F(nvmlDeviceGetP2PStatus,                                                                      \
      (nvmlDevice_t device, nvmlDevice_t other, nvmlGpuP2PCapsIndex_t capability,                  \
       nvmlGpuP2PStatus_t * status),                                                               \
      (device, other, capability, status))                                                         \
    F(nvmlDeviceGetGpuFabricInfoV, (nvmlDevice_t device, nvmlGpuFabricInfoV_t * info),             \
      (device, info))                                                                              \
    F(nvmlEventSetCreate, (nvmlEventSet_t * set), (set))                                           \
    F(nvmlDeviceRegisterEvents,                                                                    \
      (nvmlDevice_t device, unsigned long long types, nvmlEventSet_t set), (device, types, set))   \
    F(nvmlEventSetWait_v2,                                                                         \
      (nvmlEventSet_t set, nvmlEventData_t * data, unsigned int milliseconds),                     \
      (set, data, milliseconds))                                                                   \
    F(nvmlEventSetFree, (nvmlEventSet_t set), (set))

const char *nvmlErrorString(nvmlReturn_t result);

#define NVML_DECLARE(function, parameters, arguments) nvmlReturn_t function parameters;
NVML_FUNCTIONS(NVML_DECLARE)

#endif
