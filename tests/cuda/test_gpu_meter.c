/*
 * test_gpu_meter.c - the facts and the counters of GPUs, over the NVML for tests.
 * tier: deep; load: cpu1
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/nvml/gpus.h"
#include "host/facts/facts.h"
#include "nvml_standin.h"

#define GPU   "0000:1a:00.0"
#define OTHER "0000:22:00.0"

static struct counter_list change, now;

/* Changes of the GPU's counters from the first reading to the `readings`-th after, and gauges. */
static void look(const char *settings, int readings)
{
    struct counter_list before = {0};
    counter_list_free(&change);
    counter_list_free(&now);
    nvml_standin_configure(settings);
    struct meter *meter = gpu_meter_open(GPU);
    assert_non_null(meter);
    meter->read(meter, &before);
    for (int i = 0; i < readings; i++) {
        counter_list_free(&now);
        meter->read(meter, &now);
    }
    meter->close(meter);
    counters_change(&before, &now, &change);
    counter_list_free(&before);
}

static const char *faults(void)
{
    static char text[512];
    return counters_text(&change, COUNTER_FAULTY, text, sizeof text);
}

static bool has(const struct counter_list *list, const char *name)
{
    for (int i = 0; i < list->count; i++)
        if (strcmp(list->counters[i].name, name) == 0)
            return true;
    return false;
}

static void test_healthy(void **state)
{
    char text[256];
    (void)state;
    look("", 2);
    assert_string_equal(faults(), "");
    assert_int_equal(counters_of_class(&change, COUNTER_CONGESTED), 0);
    assert_string_equal(counters_text(&change, COUNTER_GAUGE, text, sizeof text),
                        "sm_clock_MHz 1755, memory_clock_MHz 2619, temperature_C 41");
    assert_true(has(&now, "ecc_corrected") && has(&now, "row_remap_failed") &&
                has(&now, "pcie_replays") && has(&now, "nvlink3_replays"));
    assert_false(has(&now, "nvlink0_receive_errors")); /* this GPU does not count them */
    assert_false(has(&now, "gpu_lost"));
}

static void test_errors(void **state)
{
    (void)state;
    look("grow=0:3:1+0:4:2+0:94:7+1:142:9", 2);
    assert_string_equal(faults(), "ecc_corrected 2, ecc_uncorrected 4, pcie_replays 14");
    look("grow=0:252:1000+0:74:500", 1);
    assert_string_equal(faults(), "hw_thermal_slowdown_ns 1000");
    assert_true(has(&change, "power_cap_ns"));
}

/* A state that lasts is told also if the first reading found it. */
static void test_lasting(void **state)
{
    (void)state;
    look("differs=0:rows", 1);
    assert_string_equal(faults(), "row_remap_pending 1");
}

/* Drivers have settings where others have these fields. */
static void test_drivers(void **state)
{
    static const char grow[] = "grow=0:251:1+0:252:2+0:253:3+0:269:4+0:270:5+0:271:6+0:75:7";
    static const struct {
        const char *driver, *faults;
    } drivers[] = {
        {"570.86.15", "thermal_violation_ns 7"},
        {"580.65.06", "thermal_violation_ns 7, sw_thermal_slowdown_ns 1, hw_thermal_slowdown_ns 2, "
                      "hw_power_brake_ns 3"},
        {"590.44.01", "thermal_violation_ns 7, sw_thermal_slowdown_ns 4, hw_thermal_slowdown_ns 5, "
                      "hw_power_brake_ns 6"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof drivers / sizeof *drivers; i++) {
        char settings[128];
        snprintf(settings, sizeof settings, "driver=%s,%s", drivers[i].driver, grow);
        look(settings, 1);
        assert_string_equal(faults(), drivers[i].faults);
    }
}

/* A field that is not supported is no counter of 0. */
static void test_unsupported(void **state)
{
    (void)state;
    look("without=3+252+91+nvmlDeviceGetTemperature,grow=0:3:1", 1);
    assert_string_equal(faults(), "");
    assert_false(has(&now, "ecc_corrected") || has(&now, "hw_thermal_slowdown_ns") ||
                 has(&now, "nvlink0_replays") || has(&now, "nvlinks_down") ||
                 has(&now, "temperature_C"));
    assert_true(has(&now, "ecc_uncorrected"));
    look("without=nvmlDeviceGetFieldValues", 1);
    assert_int_equal(counters_of_class(&now, COUNTER_FAULTY), 0);
}

/* Events that came before are not known, so the first one counts from zero. */
static void test_xids(void **state)
{
    (void)state;
    look("xid=0:79+0:48+0:79+1:31", 1);
    assert_string_equal(faults(), "xid_79 2, xid_48 1");
    look("xid=0:79,without=nvmlDeviceRegisterEvents", 1);
    assert_string_equal(faults(), "");
    look("xid=0:79,without=nvmlEventSetCreate", 1);
    assert_string_equal(faults(), "");
}

static void test_links(void **state)
{
    (void)state;
    look("down=0:2,grow=0:162:1", 1);
    assert_non_null(strstr(faults(), "nvlinks_down 1"));
    assert_non_null(strstr(faults(), "nvlink3_recoveries"));
}

static void test_lost(void **state)
{
    (void)state;
    look("lost=0:2,grow=0:3:1", 2);
    assert_string_equal(faults(), "gpu_lost 1");
    look("gone=0:2,grow=0:3:1", 2);
    assert_string_equal(faults(), "gpu_lost 1");
    look("gone=0:2", 1); /* while the NVLinks are read */
    assert_string_equal(faults(), "gpu_lost 1");
}

static void test_missing(void **state)
{
    (void)state;
    nvml_standin_configure("library=no");
    assert_null(gpu_meter_open(GPU));
    nvml_standin_configure("library=fails");
    assert_null(gpu_meter_open(GPU));
    nvml_standin_configure("");
    assert_null(gpu_meter_open("0000:ff:00.0"));
}

/* Facts. */

static enum gpu_access access_of(const void *list, int from, int to)
{
    const struct device *devices = ((const struct device_list *)list)->devices;
    return gpu_access(devices[from].bus, devices[to].bus);
}

static const char *fact_of(const char *settings, const char *name)
{
    static char text[FACT_TEXT_MOST];
    struct device_list list = {0};
    nvml_standin_configure(settings);
    struct device *gpu = gpu_add(GPU, &list);
    assert_non_null(gpu);
    assert_string_equal(gpu->bus, GPU);
    assert_non_null(gpu_add(OTHER, &list));
    gpu_links_describe(&list, access_of, &list);
    const char *fact = device_find_fact(&list.devices[0], name);
    if (fact)
        strcpy(text, fact);
    device_list_free(&list);
    return fact ? text : NULL;
}

static void test_facts(void **state)
{
    (void)state;
    assert_string_equal(fact_of("", "memory"), "80.0 GiB");
    assert_string_equal(fact_of("", "PCIe link"), "generation 1 x16");
    assert_string_equal(fact_of("", "PCIe link at most"), "generation 5 x16");
    assert_string_equal(fact_of("", "NVLink domain"), "a0a1a2a3-a4a5-a6a7-a8a9-aaabacadaeaf");
    assert_string_equal(fact_of("", "NVLink clique"), "7");
    assert_string_equal(fact_of("", "NVLinks up"), "4 of 4");
    assert_string_equal(fact_of("differs=0:links", "NVLinks up"), "3 of 4");
    assert_string_equal(fact_of("differs=0:rows", "row remapping"), "pending until a reset");
    assert_string_equal(fact_of("differs=0:ecc", "ECC"), "off");
    assert_string_equal(fact_of("differs=0:ecc", "ECC after a reset"), "on");
    assert_null(fact_of("", "ECC after a reset"));
    assert_null(fact_of("without=nvmlDeviceGetEccMode", "ECC"));
    assert_null(fact_of("without=145", "row remapping"));
    assert_null(fact_of("", "MIG 0"));
    assert_string_equal(fact_of("mig=0", "MIG 1"),
                        "MIG-00000000-0000-0000-0000-000000000001 with 10.0 GiB");
    assert_null(fact_of("mig=0", "MIG 2"));
    assert_string_equal(fact_of("", "NVML"), "loaded");
    assert_string_equal(fact_of("library=fails", "NVML"), "missing");
    assert_string_equal(fact_of("library=fails", "no NVML"),
                        "NVML says: driver/library version mismatch");
    assert_string_equal(fact_of("lost=0:0", "no NVML"), "GPU is lost");
}

static void test_ways(void **state)
{
    (void)state;
    assert_string_equal(fact_of("", "to " OTHER), "NV4 by NVSwitch, peer access");
    /* One end has fewer links. */
    assert_string_equal(fact_of("differs=1:links", "to " OTHER), "NV3 by NVSwitch, peer access");
    assert_string_equal(fact_of("without=nvmlDeviceGetP2PStatus", "to " OTHER), "NV4 by NVSwitch");
    /* This machine has no such PCI devices. */
    assert_string_equal(fact_of("without=nvmlDeviceGetNvLinkState", "to " OTHER),
                        "unknown, peer access");
}

static void test_addresses(void **state)
{
    char bus[GPU_BUS_MOST];
    (void)state;
    assert_true(gpu_bus("0000:3B:00.0", bus));
    assert_string_equal(bus, "0000:3b:00.0");
    assert_true(gpu_bus("00000001:C7:1f.7", bus));
    assert_string_equal(bus, "0001:c7:1f.7");
    assert_true(gpu_bus("00010000:01:00.0", bus)); /* as behind a VMD */
    assert_string_equal(bus, "10000:01:00.0");
    assert_false(gpu_bus("3b:00.0", bus));
    assert_string_equal(bus, "");
    assert_false(gpu_bus("0000:3b:00.0x", bus));
    assert_false(gpu_bus("", bus));
}

/* The order of NVML, by its addresses. */
static void test_all(void **state)
{
    struct device_list list = {0};
    char text[64];
    (void)state;
    nvml_standin_configure("devices=3");
    gpus_add(&list);
    assert_int_equal(list.count, 3);
    assert_string_equal(list.devices[2].name, "0000:2a:00.0");
    assert_string_equal(device_identity(&list.devices[2], text, sizeof text),
                        "index 2, serial 1650123000002");
    device_list_free(&list);
    nvml_standin_configure("library=no");
    gpus_add(&list);
    assert_int_equal(list.count, 0);
}

/* As facts of a host's inventory: a number where it is one. */
static void test_inventory(void **state)
{
    (void)state;
    struct inventory here = {0};
    const struct inventory_source source = {
        .root = "/nowhere", .host = "n1", .patience = 5, .asks_nvml = true};
    const struct {
        const char *key, *value;
    } facts[] = {
        {"memory", "80.0 GiB"},   {"ecc", "on"},         {"row_remapping", "pending until a reset"},
        {"nvlinks_up", "4 of 4"}, {"nvlinks_down", "0"}, {"row_remap_failed", "0"},
        {"nvml", "loaded"}};
    nvml_standin_configure("devices=3,differs=0:rows");
    inventory_collect(&source, &here);
    const struct inventory_fact *count = inventory_find(&here, PART_HOST, "", "gpu.count");
    assert_true(count && count->number == 3);
    for (size_t i = 0; i < sizeof facts / sizeof *facts; i++) {
        char text[VALUE_TEXT_MOST];
        const struct inventory_fact *fact = inventory_find(&here, PART_GPU, GPU, facts[i].key);
        assert_non_null(fact);
        assert_string_equal(fact_text(fact, text), facts[i].value);
    }
    const struct inventory_fact *power = inventory_find(&here, PART_GPU, GPU, "power_limit");
    assert_true(power && power->number > 0);
    inventory_free(&here);
}

static int end(void **state)
{
    (void)state;
    counter_list_free(&change);
    counter_list_free(&now);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_healthy),   cmocka_unit_test(test_errors),
        cmocka_unit_test(test_lasting),   cmocka_unit_test(test_unsupported),
        cmocka_unit_test(test_xids),      cmocka_unit_test(test_links),
        cmocka_unit_test(test_lost),      cmocka_unit_test(test_missing),
        cmocka_unit_test(test_facts),     cmocka_unit_test(test_ways),
        cmocka_unit_test(test_addresses), cmocka_unit_test(test_all),
        cmocka_unit_test(test_drivers),   cmocka_unit_test(test_inventory),
    };
    return cmocka_run_group_tests(tests, NULL, end);
}
