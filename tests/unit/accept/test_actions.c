/*
 * test_actions.c - what to do about a finding.
 * tier: check; load: cpu1
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#undef fail /* log.h has a function of that name */

#include <string.h>

#include "accept/accept.h"

static void each_kind_but_a_note_has_an_action(void **state)
{
    (void)state;
    for (enum found_kind kind = 0; kind < FOUND_KINDS; kind++) {
        bool is_note = kind == FOUND_NOTE;
        assert_int_equal(found_action(kind) == ACTION_NONE, is_note);
        assert_int_equal(found_advice(kind) == NULL, is_note);
        assert_int_equal(action_words[found_action(kind)] == NULL, is_note);
    }
    for (int a = 1; a < ACTIONS; a++)
        for (int b = 1; b < a; b++)
            assert_string_not_equal(action_words[a], action_words[b]);
}

static enum action action_of(enum part_kind part, const char *key)
{
    struct inventory_fact fact = {.rule = fact_rule_find(part, key)};
    assert_non_null(fact.rule);
    return found_action(fact_kind(&fact));
}

static void facts_lead_to_what_mends_them(void **state)
{
    (void)state;
    static const struct {
        enum part_kind part;
        const char *key;
        enum action action;
    } expected[] = {
        {PART_HOST, "silent", ACTION_REBOOT},
        {PART_HOST, "cpu.model", ACTION_REPLACE},
        {PART_HOST, "cpu.sockets", ACTION_RESEAT},
        {PART_HOST, "cpu.cores", ACTION_RESEAT},
        {PART_HOST, "cpu.threads", ACTION_RESEAT},
        {PART_HOST, "cpu.smt", ACTION_RECONFIGURE},
        {PART_HOST, "cpu.governor", ACTION_RECONFIGURE},
        {PART_HOST, "cpu.throttled", ACTION_DIAGNOSE},
        {PART_HOST, "memory.bytes", ACTION_RESEAT},
        {PART_HOST, "memory.available", ACTION_LOAD},
        {PART_HOST, "memory.huge_pages", ACTION_RECONFIGURE},
        {PART_HOST, "edac.uncorrected", ACTION_REPLACE},
        {PART_HOST, "edac.corrected", ACTION_REPLACE},
        {PART_HOST, "shm.free", ACTION_LOAD},
        {PART_HOST, "shm.bytes", ACTION_RECONFIGURE},
        {PART_HOST, "kernel", ACTION_RECONFIGURE},
        {PART_HOST, "numa.count", ACTION_RESEAT},
        {PART_HOST, "nic.count", ACTION_RESEAT},
        {PART_HOST, "interface.count", ACTION_RESEAT},
        {PART_HOST, "gpu.count", ACTION_RESEAT},
        {PART_HOST, "drive.count", ACTION_RESEAT},
        {PART_NUMA, "memory", ACTION_RESEAT},
        {PART_NIC, "state", ACTION_CABLE},
        {PART_NIC, "rate", ACTION_RESEAT},
        {PART_NIC, "width", ACTION_RESEAT},
        {PART_NIC, "mtu", ACTION_RECONFIGURE},
        {PART_NIC, "model", ACTION_REPLACE},
        {PART_NIC, "firmware", ACTION_FIRMWARE},
        {PART_NIC, "pcie.width", ACTION_RESEAT},
        {PART_NIC, "pcie.speed", ACTION_RESEAT},
        {PART_NIC, "aer.fatal", ACTION_RESEAT},
        {PART_NIC, "aer.nonfatal", ACTION_RESEAT},
        {PART_NIC, "aer.correctable", ACTION_RESEAT},
        {PART_INTERFACE, "state", ACTION_CABLE},
        {PART_INTERFACE, "speed", ACTION_RESEAT},
        {PART_INTERFACE, "duplex", ACTION_RESEAT},
        {PART_INTERFACE, "driver", ACTION_RECONFIGURE},
        {PART_GPU, "product", ACTION_REPLACE},
        {PART_GPU, "vbios", ACTION_FIRMWARE},
        {PART_GPU, "row_remapping", ACTION_REBOOT},
        {PART_GPU, "ecc", ACTION_RECONFIGURE},
        {PART_GPU, "ecc_uncorrected", ACTION_REPLACE},
        {PART_GPU, "row_remap_failed", ACTION_REPLACE},
        {PART_GPU, "nvlinks_up", ACTION_RESEAT},
        {PART_GPU, "nvlinks_down", ACTION_RESEAT},
    };
    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++)
        assert_int_equal(action_of(expected[i].part, expected[i].key), expected[i].action);
    assert_int_equal(found_action(fact_kind(NULL)), ACTION_RESEAT); /* the part is not there */
}

static enum action action_of_counters(const char *const *names, enum counter_class class)
{
    struct device_changes grown = {.count = 0};
    for (; *names; names++)
        counter_add(device_changes_add(&grown, "device"), *names, class, 3);
    enum action action = found_action(counters_kind(&grown));
    device_changes_free(&grown);
    return action;
}

/* The worst of several decides, whichever device has it. */
static void counters_lead_to_what_mends_them(void **state)
{
    (void)state;
    static const struct {
        const char *names[4];
        enum action action;
    } expected[] = {
        {{"carrier_lost"}, ACTION_CABLE},
        {{"rx_crc_errors"}, ACTION_CABLE},
        {{"symbol_error"}, ACTION_CABLE},
        {{"packet_seq_err"}, ACTION_CABLE},
        {{"InCsumErrors"}, ACTION_CABLE},
        {{"memory_errors_corrected"}, ACTION_REPLACE},
        {{"ecc_uncorrected"}, ACTION_REPLACE},
        {{"row_remap_pending"}, ACTION_REPLACE},
        {{"0000:17:00.0_correctable"}, ACTION_RESEAT},
        {{"0000:17:00.0_fatal"}, ACTION_RESEAT},
        {{"pcie_replays"}, ACTION_RESEAT},
        {{"nvlink3_replays"}, ACTION_RESEAT},
        {{"cpu_thermal_throttles"}, ACTION_DIAGNOSE},
        {{"hw_power_brake_ns"}, ACTION_DIAGNOSE},
        {{"gpu_lost"}, ACTION_REBOOT},
        {{"rx_errors", "memory_errors_uncorrected"}, ACTION_REPLACE},
        {{"out_of_buffer"}, ACTION_NONE},
        {{NULL}, ACTION_NONE},
    };
    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++) {
        assert_int_equal(action_of_counters(expected[i].names, COUNTER_FAULTY), expected[i].action);
        assert_int_equal(action_of_counters(expected[i].names, COUNTER_CONGESTED), ACTION_NONE);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_kind_but_a_note_has_an_action),
        cmocka_unit_test(facts_lead_to_what_mends_them),
        cmocka_unit_test(counters_lead_to_what_mends_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
