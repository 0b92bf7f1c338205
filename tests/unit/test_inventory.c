/*
 * test_inventory.c - what hosts have, from made-up trees of sysfs and proc: eight hosts, one of
 * which differs; what travels; the sentences; and this machine.
 */
#include "base/log.h" /* before cmocka, which has a macro fail() */

#include "tree.h"

#include <math.h>

#include "device/inquiry.h"
#include "inventory/collect.h"
#include "inventory/host_counters.h"
#include "inventory/profile.h"
#include "inventory/words.h"

#define HOSTS 8
#define SICK  3 /* the host that differs */

static const char *const names[HOSTS] = {"n1", "n2", "n3", "n4", "n5", "n6", "n7", "n8"};
static struct inventory inventories[HOSTS];
static struct inventory_host hosts[HOSTS];
static struct inventory_findings findings;

/* A device in a slot, both with a link of PCIe 5.0 x16. */
static void device_make(const char *host, const char *bus, int number)
{
    char slot[128], device[192], link[128], target[256];
    snprintf(slot, sizeof slot, "%s/sys/devices/pci0000:%02d/0000:%02d:01.0", host, number, number);
    snprintf(device, sizeof device, "%s/%s", slot, bus);
    const char *const folders[] = {slot, device};
    for (int i = 0; i < 2; i++) {
        file_of("current_link_speed", folders[i], "32.0 GT/s PCIe\n");
        file_of("current_link_width", folders[i], "16\n");
        file_of("max_link_speed", folders[i], "32.0 GT/s PCIe\n");
        file_of("max_link_width", folders[i], "16\n");
        snprintf(link, sizeof link, "%s/sys/bus/pci/devices/%s", host,
                 strrchr(folders[i], '/') + 1);
        snprintf(target, sizeof target, "%s", folders[i]);
        link_make(link, target);
    }
    file_of("numa_node", device, "0\n");
    file_of("aer_dev_correctable", device, "RxErr 0\nTOTAL_ERR_COR 0\n");
    file_of("aer_dev_fatal", device, "Undefined 0\nTOTAL_ERR_FATAL 0\n");
}

static void nic_make(const char *host, int number)
{
    char bus[16], folder[128], link[160], target[160];
    snprintf(bus, sizeof bus, "0000:%02d:00.0", 10 + number);
    device_make(host, bus, 10 + number);
    snprintf(folder, sizeof folder, "%s/sys/class/infiniband/mlx5_%d", host, number);
    file_of("node_type", folder, "1: CA\n");
    file_of("hca_type", folder, "MT4129\n");
    file_of("fw_ver", folder, "28.39.1002\n");
    file_of("ports/1/state", folder, "4: ACTIVE\n");
    file_of("ports/1/rate", folder, "400 Gb/sec (4X NDR)\n");
    file_of("ports/1/link_layer", folder, "Ethernet\n");
    file_of("ports/1/gids/0", folder, "0000:0000:0000:0000:0000:ffff:0a00:0001\n");
    file_of("ports/1/gid_attrs/types/0", folder, "RoCE v2\n");
    file_of("ports/1/gid_attrs/ndevs/0", folder, number == 0 ? "eth0\n" : "eth1\n");
    snprintf(link, sizeof link, "%s/device", folder);
    snprintf(target, sizeof target, "%s/sys/bus/pci/devices/%s", host, bus);
    link_make(link, target);
}

static void interface_make(const char *host, const char *name, int number)
{
    char folder[128], link[160], target[160];
    snprintf(folder, sizeof folder, "%s/sys/class/net/%s", host, name);
    file_of("operstate", folder, "up\n");
    file_of("speed", folder, "400000\n");
    file_of("duplex", folder, "full\n");
    file_of("mtu", folder, "9000\n");
    snprintf(link, sizeof link, "%s/device", folder);
    snprintf(target, sizeof target, "%s/sys/bus/pci/devices/0000:%02d:00.0", host, 10 + number);
    link_make(link, target);
}

static void gpu_make(const char *host, int number)
{
    char bus[16], folder[128];
    snprintf(bus, sizeof bus, "0000:%02d:00.0", 20 + number);
    device_make(host, bus, 20 + number);
    snprintf(folder, sizeof folder, "%s/sys/bus/pci/devices/%s", host, bus);
    file_of("vendor", folder, "0x10de\n");
    file_of("class", folder, "0x030200\n");
    file_of("current_link_speed", folder, "2.5 GT/s PCIe\n"); /* it is idle */
}

static void host_make(const char *host)
{
    file_of("proc/cpuinfo", host, "processor\t: 0\nmodel name\t: Some CPU 9654\n");
    file_of("proc/meminfo", host, "MemTotal: 2113536000 kB\nMemAvailable: 2000000000 kB\n"
                                  "HugePages_Total:    0\n");
    file_of("proc/sys/kernel/osrelease", host, "6.1.0\n");
    file_of("proc/self/limits", host, "Limit  Soft Limit  Hard Limit  Units\n"
                                      "Max open files  65536  65536  files\n"
                                      "Max locked memory  unlimited  unlimited  bytes\n");
    file_of("etc/os-release", host, "NAME=x\nPRETTY_NAME=\"Some Linux 12\"\n");
    file_of("sys/module/mlx5_core/version", host, "24.04\n");
    file_of("sys/kernel/mm/transparent_hugepage/enabled", host, "always [madvise] never\n");
    file_of("sys/devices/system/edac/mc/mc0/ue_count", host, "0\n");
    file_of("sys/devices/system/edac/mc/mc0/ce_count", host, "0\n");
    file_of("dev/shm/x", host, "");
    for (int i = 0; i < 4; i++) {
        char folder[64];
        snprintf(folder, sizeof folder, "%s/sys/devices/system/cpu/cpu%d", host, i);
        file_of("topology/thread_siblings_list", folder, i % 2 ? "1,3\n" : "0,2\n");
        file_of("topology/core_siblings_list", folder, "0-3\n");
        file_of("cpufreq/scaling_governor", folder, "performance\n");
        file_of("cpufreq/scaling_max_freq", folder, "3700000\n");
        file_of("cpufreq/cpuinfo_max_freq", folder, "3700000\n");
        file_of("thermal_throttle/core_throttle_count", folder, "0\n");
        snprintf(folder, sizeof folder, "%s/sys/devices/system/node/node%d", host, i / 2);
        file_of("meminfo", folder, "Node 0 MemTotal:  1056768000 kB\n");
    }
    for (int i = 0; i < 2; i++)
        nic_make(host, i);
    interface_make(host, "eth0", 0);
    interface_make(host, "eth1", 1);
    file_of("sys/class/net/veth1234/mtu", host, "1500\n"); /* no fact */
    for (int i = 0; i < 2; i++)
        gpu_make(host, i);
}

static struct inventory_source source_of(int host)
{
    static char root[PATH_MAX + 8];
    snprintf(root, sizeof root, "%s/%s", tree, names[host]);
    return (struct inventory_source){.root = root, .host = names[host], .patience = 5};
}

static void host_collect(int host)
{
    const struct inventory_source source = source_of(host);
    inventory_free(&inventories[host]);
    inventory_collect(&source, &inventories[host]);
    assert_false(inventories[host].failed);
    hosts[host] = (struct inventory_host){.name = names[host], .inventory = &inventories[host]};
}

static void compare(int count)
{
    inventory_findings_free(&findings);
    inventory_compare(hosts, count, &findings);
    assert_false(findings.failed);
}

/* Whether a finding has this severity, host and sentence; all are printed if not. */
static void expect_finding(const char *severity, int host, const char *sentence)
{
    char text[FINDING_TEXT_MOST];
    for (int i = 0; i < findings.count; i++)
        if (findings.list[i].host == host &&
            strcmp(finding_text(&findings.list[i], hosts, text), sentence) == 0 &&
            strcmp(severity_names[findings.list[i].severity], severity) == 0)
            return;
    for (int i = 0; i < findings.count; i++)
        print_error("%s %d: %s\n", severity_names[findings.list[i].severity],
                    findings.list[i].host, finding_text(&findings.list[i], hosts, text));
    fail_msg("expected %s %d: %s", severity, host, sentence);
}

static int trees_make(void **state)
{
    (void)state;
    tree_begin();
    for (int i = 0; i < HOSTS; i++)
        host_make(names[i]);
    for (int i = 0; i < HOSTS; i++)
        host_collect(i);
    return 0;
}

static int trees_remove(void **state)
{
    for (int i = 0; i < HOSTS; i++)
        inventory_free(&inventories[i]);
    inventory_findings_free(&findings);
    return tree_remove(state);
}

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
    compare(HOSTS);
    assert_int_equal(findings.count, 0);
    compare(1);
    assert_int_equal(findings.count, 0);
}

/* A file of the host that differs, and what is said of it. */
struct difference_case {
    const char *path, *text;
    const char *severity, *sentence;
};

#define SYS   "sys/"
#define NIC   SYS "class/infiniband/mlx5_1/"
#define PORT  NIC "ports/1/"
#define PCI_1 SYS "devices/pci0000:11/0000:11:01.0/"

static const struct difference_case cases[] = {
    {PORT "rate", "200 Gb/sec (4X HDR)\n", "bad",
     "n4: mlx5_1 runs at 200 Gb/s; 7 of 8 hosts have 400"},
    {PORT "rate", "800 Gb/sec (4X XDR)\n", "note",
     "n4: mlx5_1 runs at 800 Gb/s; 7 of 8 hosts have 400"},
    {PORT "state", "1: DOWN\n", "bad", "n4: mlx5_1 is DOWN; 7 of 8 hosts have ACTIVE"},
    {PORT "gid_attrs/types/0", "IB/RoCE v1\n", "suspect",
     "n4: mlx5_1 has GIDs of RoCE v1; 7 of 8 hosts have RoCE v2"},
    {NIC "fw_ver", "28.36.1010\n", "suspect",
     "n4: mlx5_1 has firmware 28.36.1010; 7 of 8 hosts have 28.39.1002"},
    {SYS "class/net/eth1/mtu", "1500\n", "bad",
     "n4: eth1 has an MTU of 1500; 7 of 8 hosts have 9000"},
    {SYS "class/net/eth1/speed", "100000\n", "bad",
     "n4: eth1 runs at 100 Gb/s; 7 of 8 hosts have 400"},
    {SYS "class/net/eth1/operstate", "down\n", "bad", "n4: eth1 is down; 7 of 8 hosts have up"},
    {PCI_1 "0000:11:00.0/current_link_width", "8\n", "bad",
     "n4: mlx5_1 has a PCIe link of x8; its best is x16"},
    {PCI_1 "0000:11:00.0/current_link_speed", "16.0 GT/s PCIe\n", "bad",
     "n4: mlx5_1 has a PCIe link at 16 GT/s; 7 of 8 hosts have 32"},
    {PCI_1 "0000:11:00.0/aer_dev_fatal", "DLP 2\nTOTAL_ERR_FATAL 2\n", "suspect",
     "n4: mlx5_1 has counted 2 fatal PCIe errors since its host started"},
    {"proc/meminfo", "MemTotal: 2047475999 kB\nMemAvailable: 2000000000 kB\nHugePages_Total: 0\n",
     "bad", "n4 has 1.9 TiB of memory; 7 of 8 hosts have 2.0 TiB"},
    {"proc/meminfo", "MemTotal: 2113536000 kB\nMemAvailable: 200000000 kB\nHugePages_Total: 0\n",
     "suspect", "n4 has 191 GiB of free memory; 7 of 8 hosts have 1.9 TiB"},
    {"proc/meminfo", "MemTotal: 2113536000 kB\nMemAvailable: 2000000000 kB\nHugePages_Total: 9\n",
     "suspect", "n4 has 9 huge pages; 7 of 8 hosts have 0"},
    {SYS "devices/system/node/node1/meminfo", "Node 1 MemTotal: 528384000 kB\n", "bad",
     "n4: node1 has 504 GiB of memory; 7 of 8 hosts have 1008 GiB"},
    {"proc/cpuinfo", "model name\t: Other CPU\n", "suspect",
     "n4 has the CPU Other CPU; 7 of 8 hosts have Some CPU 9654"},
    {SYS "devices/system/cpu/cpu3/online", "0\n", "bad",
     "n4 has 3 hardware threads; 7 of 8 hosts have 4"},
    {SYS "devices/system/cpu/cpu3/cpufreq/scaling_governor", "powersave\n", "suspect",
     "n4 has the CPU governor performance, powersave; 7 of 8 hosts have performance"},
    {SYS "devices/system/cpu/cpu3/cpufreq/scaling_max_freq", "2000000\n", "suspect",
     "n4 limits its CPU clock to 2000 MHz; its best is 3700 MHz"},
    {SYS "devices/system/cpu/cpu3/thermal_throttle/core_throttle_count", "12\n", "note",
     "n4 has throttled its CPUs 12 times for heat since it started"},
    {SYS "devices/system/edac/mc/mc0/ue_count", "1\n", "bad",
     "n4 has counted 1 uncorrected memory error since it started"},
    {"proc/sys/kernel/osrelease", "5.14.0\n", "note",
     "n4 runs the kernel 5.14.0; 7 of 8 hosts have 6.1.0"},
    {"proc/self/limits", "Max open files 65536 65536 files\nMax locked memory 65536 65536 bytes\n",
     "suspect", "n4 has a limit of locked memory of 64.0 KiB; 7 of 8 hosts have unlimited"},
    {SYS "module/mlx5_core/version", "23.10\n", "suspect",
     "n4 has the module mlx5_core 23.10; 7 of 8 hosts have 24.04"},
    {SYS "module/nvidia_peermem/version", "570.1\n", "suspect",
     "n4 has the module nvidia_peermem 570.1; 7 of 8 hosts have not loaded"},
    {"proc/sys/kernel/osrelease", "", "note", NULL},
};

/* Each file is changed for one comparison. */
static void test_each_difference(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char command[2 * PATH_MAX], path[256];
        snprintf(path, sizeof path, "%s/%s", names[SICK], cases[i].path);
        snprintf(command, sizeof command, "cd '%s' && if [ -e %s ]; then cp %s old; fi", tree, path,
                 path);
        assert_int_equal(0, system(command));
        file_make(path, cases[i].text);
        host_collect(SICK);
        compare(HOSTS);
        assert_true(findings.count >= 1);
        for (int f = 0; f < findings.count; f++) /* no other host is blamed */
            assert_int_equal(findings.list[f].host, SICK);
        expect_finding(cases[i].severity, SICK,
                       cases[i].sentence ? cases[i].sentence
                                         : "n4 tells no kernel; 7 of 7 hosts have 6.1.0");
        snprintf(command, sizeof command,
                 "cd '%s' && if [ -e old ]; then mv old %s; else rm -r %s; fi; rmdir -p $(dirname "
                 "%s) 2>/dev/null || true",
                 tree, path, path, path);
        assert_int_equal(0, system(command));
    }
    host_collect(SICK);
    compare(HOSTS);
    assert_int_equal(findings.count, 0);
}

static void test_parts(void **state)
{
    char command[PATH_MAX + 128];
    (void)state;
    snprintf(command, sizeof command, "cd '%s/n4/sys' && mv class/infiniband/mlx5_1 ../away && "
                                      "mv bus/pci/devices/0000:20:00.0 ../away.gpu",
             tree);
    assert_int_equal(0, system(command));
    gpu_make("n5", 7);
    host_collect(3);
    host_collect(4);
    compare(HOSTS);
    expect_finding("bad", 3, "n4 has 1 RDMA port; 7 of 8 hosts have 2 (mlx5_1 is missing)");
    expect_finding("bad", 3, "n4 has 1 GPU; 6 of 8 hosts have 2 (0000:20:00.0 is missing)");
    expect_finding("note", 4, "n5 has 3 GPUs; 6 of 8 hosts have 2 (0000:27:00.0 is only there)");
    assert_int_equal(inventory_gravest(&findings, 3), SEVERITY_BAD);
    assert_int_equal(inventory_gravest(&findings, 4), SEVERITY_NOTE);
    assert_int_equal(inventory_gravest(&findings, 0), -1);
    snprintf(command, sizeof command, "cd '%s/n4/sys' && mv ../away class/infiniband/mlx5_1 && "
                                      "mv ../away.gpu bus/pci/devices/0000:20:00.0; "
                                      "rm '%s/n5/sys/bus/pci/devices/0000:27:00.0'",
             tree, tree);
    assert_int_equal(0, system(command));
    host_collect(3);
    host_collect(4);
}

/* Two hosts that differ, and more without a majority: none is blamed. */
static void test_no_majority(void **state)
{
    (void)state;
    const char *path = "/sys/class/infiniband/mlx5_0/ports/1/rate";
    char full[128];
    for (int host = 0; host < 4; host++) {
        snprintf(full, sizeof full, "%s%s", names[host], path);
        file_make(full, host < 2 ? "200 Gb/sec (4X HDR)\n" : "100 Gb/sec (4X EDR)\n");
        host_collect(host);
    }
    compare(HOSTS);
    assert_int_equal(findings.count, 1);
    expect_finding("suspect", -1,
                   "8 hosts differ in nic.rate of mlx5_0 without a majority: 2 have 100 Gb/s (n3, "
                   "...), 2 have 200 Gb/s (n1, ...), 4 have 400 Gb/s (n5, ...)");
    const struct inventory_host pair[] = {hosts[0], hosts[2]};
    inventory_findings_free(&findings);
    inventory_compare(pair, 2, &findings);
    char text[FINDING_TEXT_MOST];
    assert_int_equal(findings.count, 1);
    assert_int_equal(findings.list[0].host, -1);
    assert_string_equal(finding_text(&findings.list[0], pair, text),
                        "n3 and n1 differ in nic.rate of mlx5_0: 100 Gb/s and 200 Gb/s");
    hosts[0].inventory = NULL; /* a lost host is not compared */
    compare(HOSTS);
    expect_finding("bad", 1, "n2: mlx5_0 runs at 200 Gb/s; 4 of 7 hosts have 400");
    for (int host = 0; host < 4; host++) {
        snprintf(full, sizeof full, "%s%s", names[host], path);
        file_make(full, "400 Gb/sec (4X NDR)\n");
        host_collect(host);
    }
}

/* A link is no slower than its slot allows: the slot is to blame. */
static void test_slot(void **state)
{
    (void)state;
    for (int back = 0; back < 2; back++) {
        const char *speed = back ? "32.0 GT/s PCIe\n" : "16.0 GT/s PCIe\n";
        file_make("n4/" PCI_1 "max_link_speed", speed);
        file_make("n4/" PCI_1 "0000:11:00.0/current_link_speed", speed);
        host_collect(SICK);
        compare(HOSTS);
        assert_int_equal(findings.count, back ? 0 : 2);
        if (back)
            break;
        expect_finding("note", SICK,
                       "n4: mlx5_1 stands in a slot of PCIe 16 GT/s; its best is 32 GT/s");
        expect_finding("bad", SICK, "n4: mlx5_1 has a PCIe link at 16 GT/s; 7 of 8 hosts have 32");
    }
}

/* All hosts fall short of their best alike: they are built so. */
static void test_built_so(void **state)
{
    char path[128];
    (void)state;
    for (int host = 0; host < HOSTS; host++) {
        snprintf(path, sizeof path, "%s/%s0000:11:00.0/current_link_width", names[host], PCI_1);
        file_make(path, host == SICK ? "4\n" : "8\n");
        host_collect(host);
    }
    compare(HOSTS);
    expect_finding("note", -1, "7 of 8 hosts: mlx5_1 has a PCIe link of x8; its best is x16");
    expect_finding("bad", SICK, "n4: mlx5_1 has a PCIe link of x4; its best is x16");
    expect_finding("bad", SICK, "n4: mlx5_1 has a PCIe link of x4; 7 of 8 hosts have x8");
    compare(1); /* alone it has none to resemble */
    expect_finding("bad", 0, "n1: mlx5_1 has a PCIe link of x8; its best is x16");
    for (int host = 0; host < HOSTS; host++) {
        snprintf(path, sizeof path, "%s/%s0000:11:00.0/current_link_width", names[host], PCI_1);
        file_make(path, "16\n");
        host_collect(host);
    }
}

/* A full /dev/shm; no tree has one of its own. */
static void test_own_best(void **state)
{
    struct inventory full = {0};
    const struct inventory_host one = {.name = "n9", .inventory = &full};
    char text[FINDING_TEXT_MOST];
    (void)state;
    inventory_add_number(&full, PART_HOST, "", "shm.free", 4096, 1 << 20);
    inventory_add_text(&full, PART_HOST, "GPUs", "silent", "the driver has not answered for 5 s");
    inventory_findings_free(&findings);
    inventory_compare(&one, 1, &findings);
    assert_int_equal(findings.count, 2);
    assert_string_equal(finding_text(&findings.list[0], &one, text),
                        "n9 does not tell of its GPUs: the driver has not answered for 5 s");
    assert_string_equal(finding_text(&findings.list[1], &one, text),
                        "n9 has 4.0 KiB free in /dev/shm; its best is 1.0 MiB");
    assert_int_equal(inventory_gravest(&findings, 0), SEVERITY_BAD);
    inventory_free(&full);
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

/* What is said of n1, or why the line is refused; NULL: n1 is as expected. */
static void expect_line(const char *text, const char *sentence)
{
    struct log log;
    struct failure failure;
    struct profile_line line;
    struct expected_fact expected;
    log_init(&log, 0, 0);
    struct log *own = log_current();
    log_attach(&log);
    enum status status = profile_line_read(text, "x.profile", 7, &line);
    if (status == STATUS_OK)
        status = expected_fact_read(&line, &expected);
    log_attach(own);
    inventory_findings_free(&findings);
    if (status == STATUS_OK) {
        char said[FINDING_TEXT_MOST] = "";
        inventory_expect(hosts, 1, &expected, 1, &findings);
        if (findings.count > 0)
            finding_text(&findings.list[0], hosts, said);
        assert_string_equal(said, sentence ? sentence : "");
        return;
    }
    assert_int_equal(status, STATUS_USAGE);
    assert_true(log_failure(&log, &failure));
    assert_string_equal(failure.text, sentence ? sentence : "");
}

static void test_profile(void **state)
{
    (void)state;
    expect_line("nic.count = 2", NULL);
    expect_line("  nic.rate>=400 Gb/s  ", NULL);
    expect_line("memory.bytes >= 1.9T", NULL);
    expect_line("memory.bytes >= 1.9 TiB", NULL);
    expect_line("nic.pcie.width = x16", NULL);
    expect_line("os = Some Linux 12", NULL);
    expect_line("limit.memlock = unlimited", NULL);
    expect_line("module.efa != loaded", NULL);
    expect_line("nic.count = 8", "n1 has 2 RDMA ports; x.profile:7 expects nic.count = 8");
    expect_line("nic.rate >= 800 Gb/s",
                "n1: mlx5_0 runs at 400 Gb/s; x.profile:7 expects nic.rate >= 800 Gb/s");
    expect_line("nic.mtu <= 1500", "n1: mlx5_0 has an MTU of 9000; x.profile:7 expects nic.mtu <= "
                                   "1500");
    expect_line("gpu.ecc = on", "n1 tells no gpu.ecc; x.profile:7 expects gpu.ecc = on");
    expect_line("nic.speed = 1",
                "x.profile:7: nic.speed is no key of a profile: see cctest(1) for those there are");
    expect_line("nic.rate = 400 MB", "x.profile:7: nic.rate is given in Gb/s, not '400 MB'");
    expect_line("nic.count = many", "x.profile:7: nic.count is a number, not 'many'");
    expect_line("memory.bytes = 3 apples",
                "x.profile:7: memory.bytes is given in bytes (64G), not '3 apples'");
    expect_line("os >= 12", "x.profile:7: os is a text: write = or != behind it");
    expect_line("nic.count 8",
                "x.profile:7: nic.count has no operator: write =, !=, >= or <= behind it");
    expect_line("nic.count =", "x.profile:7: nic.count has no value");
    expect_line("= 8", "x.profile:7: '= 8' does not begin with a key: write KEY = VALUE");
    struct profile_line line;
    assert_int_equal(profile_line_read("  # none", "x", 1, &line), STATUS_OK);
    assert_string_equal(line.key, "");
}

/* What a host counted between two readings, as "mlx5_0: symbol_error 3" and its class. */
static void expect_grown(const struct device_changes *grown, const char *name,
                         enum counter_class class, const char *words)
{
    char text[256];
    for (int i = 0; i < grown->count; i++)
        if (strcmp(grown->of[i].name, name) == 0) {
            counters_text(&grown->of[i].counters, class, text, sizeof text);
            assert_string_equal(text, words);
            return;
        }
    fail_msg("%s has counted nothing", name);
}

#define SNMP                                                                                       \
    "Ip: Forwarding\nIp: 1\nTcp: RtoAlgorithm MaxConn RetransSegs InErrs\nTcp: 1 -1 %d 0\nUdp: "    \
    "InErrors\nUdp: 9\n"

static void counts_make(int number)
{
    char text[512];
    snprintf(text, sizeof text, SNMP, 100 + number);
    file_make("n1/proc/net/snmp", text);
    snprintf(text, sizeof text, "TcpExt: SyncookiesSent TCPTimeouts\nTcpExt: 7 %d\n", 2 * number);
    file_make("n1/proc/net/netstat", text);
    snprintf(text, sizeof text, "%d\n", number);
    file_make("n1/sys/class/infiniband/mlx5_0/ports/1/counters/symbol_error", text);
    file_make("n1/sys/class/infiniband/mlx5_0/ports/1/hw_counters/np_cnp_sent", text);
    file_make("n1/sys/class/net/eth1/statistics/rx_crc_errors", text);
    file_make("n1/sys/class/net/eth1/statistics/rx_dropped", "5\n");
    file_make("n1/sys/class/net/veth1234/statistics/rx_errors", text);
    file_make("n1/sys/devices/system/edac/mc/mc0/ce_count", text);
    snprintf(text, sizeof text, "RxErr 0\nTOTAL_ERR_COR %d\n", number);
    file_make("n1/sys/bus/pci/devices/0000:20:00.0/aer_dev_correctable", text);
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
    expect_grown(&grown, "host", COUNTER_SICK, "memory_errors_corrected 3");
    expect_grown(&grown, "host", COUNTER_CONGESTED, "tcp_RetransSegs 3, tcp_TCPTimeouts 6");
    expect_grown(&grown, "PCIe", COUNTER_SICK, "0000:20:00.0_correctable 3");
    expect_grown(&grown, "mlx5_0", COUNTER_SICK, "symbol_error 3");
    expect_grown(&grown, "mlx5_0", COUNTER_CONGESTED, "np_cnp_sent 3");
    expect_grown(&grown, "eth1", COUNTER_SICK, "rx_crc_errors 3");
    host_counters_close(counters);
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
    assert_false(here.failed);
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
        cmocka_unit_test(test_facts),       cmocka_unit_test(test_each_difference),
        cmocka_unit_test(test_parts),       cmocka_unit_test(test_no_majority),
        cmocka_unit_test(test_slot),        cmocka_unit_test(test_built_so),
        cmocka_unit_test(test_own_best),
        cmocka_unit_test(test_travel),      cmocka_unit_test(test_profile),
        cmocka_unit_test(test_counters),    cmocka_unit_test(test_hanging),
        cmocka_unit_test(test_this_machine),
    };
    return cmocka_run_group_tests(tests, trees_make, trees_remove);
}
