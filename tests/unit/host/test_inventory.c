/*
 * test_inventory.c - what hosts have, from made-up trees, and on this machine; what travels; what
 * they count. How hosts are compared is in test_inventory_compare.c.
 * tier: check; load: cpu1
 */
#include "tests/unit/host_trees.h"

#include <math.h>

#include "host/host.h"
#include "host/facts/facts.h"

static void expect_fact(enum part_kind kind, const char *part, const char *key, const char *value)
{
    char text[VALUE_TEXT_MOST];
    const struct inventory_fact *fact = inventory_find(&inventories[0], kind, part, key);
    if (!fact)
        fail_msg("no fact %s of '%s'", key, part);
    assert_string_equal(fact_text(fact, text), value);
}

static void test_facts(void **state)
{
    (void)state;
    expect_fact(PART_HOST, "", "cpu.model", "Some CPU 9654");
    expect_fact(PART_HOST, "", "cpu.sockets", "1");
    expect_fact(PART_HOST, "", "cpu.cores", "2");
    expect_fact(PART_HOST, "", "cpu.threads", "4");
    expect_fact(PART_HOST, "", "cpu.governor", "performance");
    expect_fact(PART_HOST, "", "cpu.clock_limit", "3700 MHz");
    expect_fact(PART_HOST, "", "memory.bytes", "2.0 TiB");
    expect_fact(PART_HOST, "", "memory.transparent_huge_pages", "madvise");
    expect_fact(PART_HOST, "", "numa.count", "2");
    expect_fact(PART_NUMA, "node1", "memory", "1008 GiB");
    expect_fact(PART_HOST, "", "os", "Some Linux 12");
    expect_fact(PART_HOST, "", "limit.memlock", "unlimited");
    expect_fact(PART_HOST, "", "limit.files", "65536");
    expect_fact(PART_HOST, "", "module.mlx5_core", "24.04");
    expect_fact(PART_HOST, "", "module.efa", "not loaded");
    expect_fact(PART_HOST, "", "nic.count", "2");
    expect_fact(PART_HOST, "", "interface.count", "2");
    expect_fact(PART_HOST, "", "gpu.count", "2");
    expect_fact(PART_NIC, "mlx5_1", "rate", "400 Gb/s");
    expect_fact(PART_NIC, "mlx5_1", "gids", "RoCE v2");
    expect_fact(PART_NIC, "mlx5_1", "mtu", "9000");
    expect_fact(PART_NIC, "mlx5_1", "pcie.width", "x16");
    expect_fact(PART_NIC, "mlx5_1", "pcie.slot_speed", "32 GT/s");
    expect_fact(PART_INTERFACE, "eth0", "speed", "400 Gb/s");
    expect_fact(PART_GPU, "0000:20:00.0", "pcie.speed", "2.5 GT/s");
    assert_null(inventory_find(&inventories[0], PART_INTERFACE, "veth1234", "mtu"));
    /* The link of an RDMA NIC is its own, and not also that of its interface. */
    assert_null(inventory_find(&inventories[0], PART_INTERFACE, "eth0", "pcie.width"));
}

static void test_travel(void **state)
{
    struct bytes share = {0}, again = {0};
    struct inventory got = {0};
    (void)state;
    inventory_encode(&inventories[0], &share);
    struct reader reader = {.at = share.data, .left = share.size};
    assert_true(inventory_decode(&got, &reader));
    assert_int_equal(reader.left, 0);
    assert_int_equal(got.count, inventories[0].count);
    inventory_encode(&got, &again);
    assert_int_equal(again.size, share.size);
    assert_memory_equal(again.data, share.data, share.size);
    const struct inventory_fact *memlock = inventory_find(&got, PART_HOST, "", "limit.memlock");
    assert_true(memlock && isinf(memlock->number));
    inventory_free(&got);
    for (size_t left = 0; left < share.size; left += 7) { /* cut off */
        reader = (struct reader){.at = share.data, .left = left};
        assert_false(inventory_decode(&got, &reader));
        inventory_free(&got);
    }
    bytes_free(&share);
    bytes_free(&again);
    bytes_put_u32(&share, 1);
    bytes_put_text(&share, "nic.rate");
    bytes_put_text(&share, "mlx5_0");
    bytes_put_u64(&share, UINT64_MAX); /* not a number */
    bytes_put_u64(&share, 0);
    reader = (struct reader){.at = share.data, .left = share.size};
    assert_false(inventory_decode(&got, &reader));
    inventory_free(&got);
    bytes_free(&share);
}

/* A card of eight lanes in a slot of sixteen is as wide as it can be; and the other way round. */
static void test_narrow_cards(void **state)
{
    static const char *const folders[] = {"n1/sys/devices/pci0000:10/0000:10:01.0/0000:10:00.0",
                                          "n1/sys/devices/pci0000:10/0000:10:01.0"};
    (void)state;
    for (int narrow = 0; narrow < 2; narrow++) {
        const struct inventory_source source = source_of(0);
        struct inventory got = {0};
        file_of("max_link_width", folders[narrow], "8\n");
        inventory_collect(&source, &got);
        const struct inventory_fact *width = inventory_find(&got, PART_NIC, "mlx5_0", "pcie.width");
        assert_non_null(width);
        assert_true(width->number == 16 && width->best == 8);
        width = inventory_find(&got, PART_NIC, "mlx5_0", "pcie.slot_width");
        assert_non_null(width); /* the slot's, and what the card could use */
        assert_true(width->number == (narrow ? 8 : 16) && width->best == (narrow ? 16 : 8));
        inventory_free(&got);
        file_of("max_link_width", folders[narrow], "16\n");
    }
}

/* The counts of a host between two readings, as "mlx5_0: symbol_error 3" and its class. */
static void expect_grown(const struct device_changes *grown, const char *name,
                         enum counter_class class, const char *words)
{
    char text[256];
    for (int i = 0; i < grown->count; i++)
        if (strcmp(grown->devices[i].name, name) == 0) {
            counters_text(&grown->devices[i].counters, class, text, sizeof text);
            assert_string_equal(text, words);
            return;
        }
    fail_msg("%s has counted nothing", name);
}

#define SNMP                                                                                       \
    "Ip: Forwarding\nIp: 1\nTcp: RtoAlgorithm MaxConn RetransSegs InErrs\nTcp: 1 -1 %d 0\nUdp: "   \
    "InErrors\nUdp: 9\n"

static void counts_make(int number)
{
    char text[512];
    snprintf(text, sizeof text, SNMP, 100 + number);
    file_make("n1/proc/net/snmp", text);
    snprintf(text, sizeof text, "TcpExt: SyncookiesSent TCPTimeouts\nTcpExt: 7 %d\n",
             2 * (number - 1)); /* at 0 first, which is a count, too; -2 is none */
    file_make("n1/proc/net/netstat", text);
    snprintf(text, sizeof text, "%d\n", number);
    file_make("n1/sys/class/infiniband/mlx5_0/ports/1/counters/symbol_error", text);
    file_make("n1/sys/class/infiniband/mlx5_0/ports/1/hw_counters/np_cnp_sent", text);
    file_make("n1/sys/class/net/eth1/statistics/rx_crc_errors", text);
    file_make("n1/sys/class/net/eth1/statistics/rx_dropped", "5\n");
    file_make("n1/sys/class/net/eth1/carrier_down_count", text);
    file_make("n1/sys/class/net/veth1234/statistics/rx_errors", text);
    file_make("n1/sys/devices/system/edac/mc/mc0/ce_count", text);
    snprintf(text, sizeof text, "RxErr 0\nTOTAL_ERR_COR %d\n", number);
    file_make("n1/sys/bus/pci/devices/0000:20:00.0/aer_dev_correctable", text);
    snprintf(text, sizeof text, "%d\n", 2 * number); /* down, and up again */
    file_make("n1/sys/class/net/eth1/carrier_changes", text);
    snprintf(text, sizeof text, "TLP 0\nTOTAL_ERR_NONFATAL %d\n", 2 * number);
    file_make("n1/sys/bus/pci/devices/0000:20:00.0/aer_dev_nonfatal", text);
    snprintf(text, sizeof text, "DLP 0\nTOTAL_ERR_FATAL %d\n", 3 * number);
    file_make("n1/sys/bus/pci/devices/0000:20:00.0/aer_dev_fatal", text);
}

static void test_counters(void **state)
{
    struct inquiry inquiry;
    struct device_changes before = {0}, now = {0}, grown = {0};
    const struct inventory_source source = source_of(0);
    (void)state;
    inquiry_init(&inquiry, "the devices");
    struct host_counters *counters = host_counters_open(&source, &inquiry);
    assert_non_null(counters);
    counts_make(1);
    host_counters_read(counters, &before);
    device_changes_since(&before, &before, &grown);
    assert_int_equal(grown.count, 0);
    counts_make(4);
    host_counters_read(counters, &now);
    device_changes_since(&before, &now, &grown);
    assert_int_equal(grown.count, 4); /* a veth beside hardware is none of the host's */
    expect_grown(&grown, "host", COUNTER_FAULTY, "memory_errors_corrected 3");
    expect_grown(&grown, "host", COUNTER_CONGESTED, "tcp_RetransSegs 3, tcp_TCPTimeouts 6");
    expect_grown(&grown, "PCIe", COUNTER_FAULTY,
                 "0000:20:00.0_correctable 3, 0000:20:00.0_nonfatal 6, 0000:20:00.0_fatal 9");
    expect_grown(&grown, "mlx5_0", COUNTER_FAULTY, "symbol_error 3");
    expect_grown(&grown, "mlx5_0", COUNTER_CONGESTED, "np_cnp_sent 3");
    expect_grown(&grown, "eth1", COUNTER_FAULTY, "rx_crc_errors 3, carrier_lost 3");
    host_counters_close(counters);
    counts_make(0);
    device_changes_free(&before);
    device_changes_free(&now);
    device_changes_free(&grown);
}

/* A driver that hangs costs the facts of its source only. */
static bool firmware_hangs(const char *netdev, char *text, size_t size)
{
    (void)netdev, (void)text, (void)size;
    while (pause() < 0)
        continue;
    return false;
}

static void test_hanging(void **state)
{
    struct inventory got = {0};
    struct inventory_source source = source_of(0);
    (void)state;
    source.firmware = firmware_hangs;
    source.patience = 0.3;
    inventory_collect(&source, &got);
    const struct inventory_fact *silent =
        inventory_find(&got, PART_HOST, "network interfaces", "silent");
    assert_non_null(silent);
    assert_non_null(strstr(silent->text, "the driver of network interface eth0 (0000:10:00.0) of "
                                         "host n1 has not answered for 0."));
    assert_null(inventory_find(&got, PART_INTERFACE, "eth1", "mtu"));
    assert_non_null(inventory_find(&got, PART_HOST, "", "gpu.count"));
    inventory_free(&got);
}

static void test_this_machine(void **state)
{
    struct inventory here = {0};
    struct inventory_source source = inventory_here("here");
    (void)state;
    source.asks_nvml = false; /* tests fork */
    inventory_collect(&source, &here);
    const struct inventory_fact *threads = inventory_find(&here, PART_HOST, "", "cpu.threads");
    const struct inventory_fact *memory = inventory_find(&here, PART_HOST, "", "memory.bytes");
    assert_true(threads && threads->number >= sysconf(_SC_NPROCESSORS_ONLN));
    assert_true(memory && memory->number >= 1 << 26);
    assert_non_null(inventory_find(&here, PART_HOST, "", "kernel"));
    assert_non_null(inventory_find(&here, PART_HOST, "", "nic.count"));
    for (int i = 0; i < here.count; i++)
        assert_true(here.facts[i].rule->comparison != COMPARE_SILENCE);
    inventory_free(&here);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_facts),        cmocka_unit_test(test_travel),
        cmocka_unit_test(test_narrow_cards), cmocka_unit_test(test_counters),
        cmocka_unit_test(test_hanging),      cmocka_unit_test(test_this_machine),
    };
    return cmocka_run_group_tests(tests, trees_make, trees_remove);
}
