/*
 * gpu_meter.c - the health of a GPU, by NVML.
 *
 * Counters go on from when the driver was loaded. Only Xid events have none: NVML delivers each
 * event once to a set that was registered before, so the meter counts them. Fields that a GPU does
 * not support are left out.
 */
#include "host/nvml/gpus.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/list.h"
#include "host/nvml/nvml.h"

#define XIDS_MOST   16  /* different numbers */
#define EVENTS_MOST 256 /* taken at a time */

struct field {
    unsigned id;
    enum counter_class class;
    const char *name;
    int first, last; /* drivers that have it there */
    bool lasts;      /* until a reset: told once, also if it was so before the job */
};

#define ALL   0, INT_MAX, false
#define LASTS 0, INT_MAX, true
#define R575  575, 589, false
#define LATER 590, INT_MAX, false

/* Times are in ns. */
static const struct field fields[] = {
    {NVML_FI_DEV_PERF_POLICY_POWER, COUNTER_CONGESTED, "power_cap_ns", ALL},
    {NVML_FI_DEV_PERF_POLICY_THERMAL, COUNTER_FAULTY, "thermal_violation_ns", ALL},
    {NVML_FI_575_SW_THERM_SLOWDOWN, COUNTER_FAULTY, "sw_thermal_slowdown_ns", R575},
    {NVML_FI_575_HW_THERM_SLOWDOWN, COUNTER_FAULTY, "hw_thermal_slowdown_ns", R575},
    {NVML_FI_575_HW_POWER_BRAKE_SLOWDOWN, COUNTER_FAULTY, "hw_power_brake_ns", R575},
    {NVML_FI_590_SW_THERM_SLOWDOWN, COUNTER_FAULTY, "sw_thermal_slowdown_ns", LATER},
    {NVML_FI_590_HW_THERM_SLOWDOWN, COUNTER_FAULTY, "hw_thermal_slowdown_ns", LATER},
    {NVML_FI_590_HW_POWER_BRAKE_SLOWDOWN, COUNTER_FAULTY, "hw_power_brake_ns", LATER},
    {NVML_FI_DEV_ECC_SBE_VOL_TOTAL, COUNTER_FAULTY, "ecc_corrected", ALL},
    {NVML_FI_DEV_ECC_DBE_VOL_TOTAL, COUNTER_FAULTY, "ecc_uncorrected", ALL},
    {NVML_FI_DEV_REMAPPED_COR, COUNTER_FAULTY, "remapped_rows_corrected", ALL},
    {NVML_FI_DEV_REMAPPED_UNC, COUNTER_FAULTY, "remapped_rows_uncorrected", ALL},
    {NVML_FI_DEV_REMAPPED_PENDING, COUNTER_FAULTY, "row_remap_pending", LASTS},
    {NVML_FI_DEV_REMAPPED_FAILURE, COUNTER_FAULTY, "row_remap_failed", LASTS},
    {NVML_FI_DEV_PCIE_REPLAY_COUNTER, COUNTER_FAULTY, "pcie_replays", ALL},
};
#define FIELDS (int)(sizeof fields / sizeof *fields)

/* Fields of each NVLink: "nvlink3_replays". Blackwell has the second half. */
static const struct field link_fields[] = {
    {NVML_FI_DEV_NVLINK_ERROR_DL_REPLAY, COUNTER_FAULTY, "replays", ALL},
    {NVML_FI_DEV_NVLINK_ERROR_DL_RECOVERY, COUNTER_FAULTY, "recoveries", ALL},
    {NVML_FI_DEV_NVLINK_ERROR_DL_CRC, COUNTER_FAULTY, "crc_errors", ALL},
    {NVML_FI_DEV_NVLINK_COUNT_LINK_RECOVERY_EVENTS, COUNTER_FAULTY, "recoveries", ALL},
    {NVML_FI_DEV_NVLINK_COUNT_LINK_RECOVERY_FAILED_EVENTS, COUNTER_FAULTY, "failed_recoveries",
     ALL},
    {NVML_FI_DEV_NVLINK_COUNT_RCV_ERRORS, COUNTER_FAULTY, "receive_errors", ALL},
};
#define LINK_FIELDS (int)(sizeof link_fields / sizeof *link_fields)

struct xid_count {
    unsigned long long xid;
    uint64_t count;
};

struct gpu_meter {
    struct meter meter;
    nvmlDevice_t gpu;
    int driver; /* "580.65.06" is 580 */
    bool has_read;
    nvmlEventSet_t events; /* NULL: the GPU reports none */
    struct xid_count xids[XIDS_MOST];
    int xid_count;
};

/* Each further call may wait for such a GPU. */
static bool is_lost(nvmlReturn_t result)
{
    return result == NVML_ERROR_GPU_IS_LOST || result == NVML_ERROR_RESET_REQUIRED;
}

/* `link`: -1: the fields are of the whole GPU. False: it is lost. */
static bool fields_add(const struct gpu_meter *meter, const struct field *wanted, int count,
                       int link, struct counter_list *list)
{
    nvmlFieldValue_t values[FIELDS + LINK_FIELDS] = {0};
    for (int i = 0; i < count; i++) {
        values[i].fieldId = wanted[i].id;
        values[i].scopeId = link < 0 ? 0 : (unsigned)link;
    }
    nvmlReturn_t result = nvmlDeviceGetFieldValues(meter->gpu, count, values);
    bool lost = is_lost(result);
    for (int i = 0; i < count && result == NVML_SUCCESS; i++) {
        char name[COUNTER_NAME_MOST];
        uint64_t value;
        lost |= is_lost(values[i].nvmlReturn);
        if (link < 0)
            snprintf(name, sizeof name, "%s", wanted[i].name);
        else
            snprintf(name, sizeof name, "nvlink%d_%s", link, wanted[i].name);
        bool is_there = wanted[i].first <= meter->driver && meter->driver <= wanted[i].last;
        if (!is_there || !gpu_field_value(&values[i], &value))
            continue;
        if (!wanted[i].lasts)
            counter_add(list, name, wanted[i].class, value);
        else if (meter->has_read)
            counter_add_since_open(list, name, wanted[i].class, value);
    }
    return !lost;
}

/* False: the GPU is lost. */
static bool nvlinks_add(const struct gpu_meter *meter, struct counter_list *list)
{
    int links = gpu_nvlinks(meter->gpu);
    for (int link = 0; link < links; link++)
        if (!fields_add(meter, link_fields, LINK_FIELDS, link, list))
            return false;
    if (links > 0)
        counter_add(list, "nvlinks_down", COUNTER_FAULTY,
                    (uint64_t)(links - gpu_nvlinks_up(meter->gpu, links)));
    return true;
}

static void gauges_add(nvmlDevice_t gpu, struct counter_list *list)
{
    unsigned value;
    if (nvmlDeviceGetClockInfo(gpu, NVML_CLOCK_SM, &value) == NVML_SUCCESS)
        counter_add(list, "sm_clock_MHz", COUNTER_GAUGE, value);
    if (nvmlDeviceGetClockInfo(gpu, NVML_CLOCK_MEM, &value) == NVML_SUCCESS)
        counter_add(list, "memory_clock_MHz", COUNTER_GAUGE, value);
    if (nvmlDeviceGetTemperature(gpu, NVML_TEMPERATURE_GPU, &value) == NVML_SUCCESS)
        counter_add(list, "temperature_C", COUNTER_GAUGE, value);
}

static void xid_note(struct gpu_meter *meter, unsigned long long xid)
{
    int i = 0;
    while (i < meter->xid_count && meter->xids[i].xid != xid)
        i++;
    if (i == XIDS_MOST)
        return;
    if (i == meter->xid_count)
        meter->xids[meter->xid_count++] = (struct xid_count){.xid = xid};
    meter->xids[i].count++;
}

/* Takes the events that have come; waits for none. */
static void xids_add(struct gpu_meter *meter, struct counter_list *list)
{
    nvmlEventData_t event;
    for (int i = 0; meter->events && i < EVENTS_MOST &&
                    nvmlEventSetWait_v2(meter->events, &event, 0) == NVML_SUCCESS;
         i++)
        if (event.eventType == nvmlEventTypeXidCriticalError)
            xid_note(meter, event.eventData);
    for (int i = 0; i < meter->xid_count; i++) {
        char name[COUNTER_NAME_MOST];
        snprintf(name, sizeof name, "xid_%llu", meter->xids[i].xid);
        counter_add_since_open(list, name, COUNTER_FAULTY, meter->xids[i].count);
    }
}

static void gpu_meter_read(struct meter *reading, struct counter_list *list)
{
    struct gpu_meter *meter = (struct gpu_meter *)reading;
    bool answers = fields_add(meter, fields, FIELDS, -1, list);
    meter->has_read = true;
    xids_add(meter, list);
    if (!answers || !nvlinks_add(meter, list)) {
        counter_add_since_open(list, "gpu_lost", COUNTER_FAULTY, 1);
        return;
    }
    gauges_add(meter->gpu, list);
}

static void gpu_meter_close(struct meter *closing)
{
    struct gpu_meter *meter = (struct gpu_meter *)closing;
    if (meter->events)
        nvmlEventSetFree(meter->events);
    free(meter);
}

static void events_register(struct gpu_meter *meter)
{
    if (nvmlEventSetCreate(&meter->events) != NVML_SUCCESS)
        meter->events = NULL;
    else if (nvmlDeviceRegisterEvents(meter->gpu, nvmlEventTypeXidCriticalError, meter->events) !=
             NVML_SUCCESS) {
        nvmlEventSetFree(meter->events);
        meter->events = NULL;
    }
}

struct meter *gpu_meter_open(const char *bus)
{
    const char *why;
    char version[NVML_SYSTEM_DRIVER_VERSION_BUFFER_SIZE];
    nvmlDevice_t gpu = gpu_find(bus, &why);
    if (!gpu)
        return NULL;
    struct gpu_meter *meter = new_array(1, sizeof *meter);
    meter->meter = (struct meter){.read = gpu_meter_read, .close = gpu_meter_close};
    meter->gpu = gpu;
    if (nvmlSystemGetDriverVersion(version, sizeof version) == NVML_SUCCESS)
        meter->driver = atoi(version);
    events_register(meter);
    return &meter->meter;
}
