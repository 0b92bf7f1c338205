/*
 * test_inventory_compare.c - eight hosts, one of which differs, in each of the ways; no majority; a
 * profile; and the sentences.
 * tier: check; load: cpu1
 */
#include "tests/unit/host_trees.h"

#include <math.h>

#include "accept/judge/judge.h"

#define SICK 3 /* the host that differs */

/* The worst severity of a host's findings; -1: it has none. */
static int inventory_worst(const struct inventory_findings *found, int host)
{
    int worst = -1;
    for (int i = 0; i < found->count; i++)
        if (found->items[i].host == host && (int)found->items[i].severity > worst)
            worst = (int)found->items[i].severity;
    return worst;
}

static struct inventory_findings findings;

static void compare(int count)
{
    inventory_findings_free(&findings);
    inventory_compare(hosts, count, &findings);
}

/* Whether a finding has this severity, host and sentence; all are printed if not. */
static void expect_finding(const char *severity, int host, const char *sentence)
{
    for (int i = 0; i < findings.count; i++)
        if (findings.items[i].host == host && strcmp(findings.items[i].text, sentence) == 0 &&
            strcmp(severity_names[findings.items[i].severity], severity) == 0)
            return;
    for (int i = 0; i < findings.count; i++)
        print_error("%s %d: %s\n", severity_names[findings.items[i].severity],
                    findings.items[i].host, findings.items[i].text);
    fail_msg("expected %s %d: %s", severity, host, sentence);
}

static void test_equal(void **state)
{
    (void)state;
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

static const struct difference_case differences[] = {
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
    {SYS "class/net/eth1/mtu", "9600\n", "bad",
     "n4: eth1 has an MTU of 9600; 7 of 8 hosts have 9000"},
    {SYS "class/net/eth1/speed", "100000\n", "bad",
     "n4: eth1 runs at 100 Gb/s; 7 of 8 hosts have 400"},
    {SYS "class/net/eth1/speed", "-1\n", "note",
     "n4: eth1 tells no interface.speed; 7 of 7 hosts have 400 Gb/s"},
    {SYS "class/net/eth1/speed", "4294967295\n", "note",
     "n4: eth1 tells no interface.speed; 7 of 7 hosts have 400 Gb/s"},
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
    for (size_t i = 0; i < sizeof differences / sizeof *differences; i++) {
        char command[2 * PATH_MAX], path[256];
        snprintf(path, sizeof path, "%s/%s", names[SICK], differences[i].path);
        snprintf(command, sizeof command, "cd '%s' && if [ -e %s ]; then cp %s old; fi", tree, path,
                 path);
        assert_int_equal(0, system(command));
        file_make(path, differences[i].text);
        host_collect(SICK);
        compare(HOSTS);
        assert_true(findings.count >= 1);
        for (int f = 0; f < findings.count; f++) /* no other host is blamed */
            assert_int_equal(findings.items[f].host, SICK);
        expect_finding(differences[i].severity, SICK,
                       differences[i].sentence ? differences[i].sentence
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
    snprintf(command, sizeof command,
             "cd '%s/n4/sys' && mv class/infiniband/mlx5_1 ../away && "
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
    assert_int_equal(inventory_worst(&findings, 3), SEVERITY_BAD);
    assert_int_equal(inventory_worst(&findings, 4), SEVERITY_NOTE);
    assert_int_equal(inventory_worst(&findings, 0), -1);
    snprintf(command, sizeof command,
             "cd '%s/n4/sys' && mv ../away class/infiniband/mlx5_1 && "
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
    assert_int_equal(findings.count, 1);
    assert_int_equal(findings.items[0].host, -1);
    assert_string_equal(findings.items[0].text,
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
    (void)state;
    inventory_add_number(&full, PART_HOST, "", "shm.free", 4096, 1 << 20);
    inventory_add_text(&full, PART_HOST, "GPUs", "silent", "the driver has not answered for 5 s");
    inventory_findings_free(&findings);
    inventory_compare(&one, 1, &findings);
    assert_int_equal(findings.count, 2);
    assert_string_equal(findings.items[0].text,
                        "n9 does not tell of its GPUs: the driver has not answered for 5 s");
    assert_string_equal(findings.items[1].text,
                        "n9 has 4.0 KiB free in /dev/shm; its best is 1.0 MiB");
    assert_int_equal(inventory_worst(&findings, 0), SEVERITY_BAD);
    inventory_free(&full);
}

/* The sentence about n1, or why the line is refused; NULL: n1 is as expected. */
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
        inventory_expect(hosts, 1, &expected, 1, &findings);
        assert_string_equal(findings.count > 0 ? findings.items[0].text : "",
                            sentence ? sentence : "");
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
    expect_line("nic.rate = 400Gbit/s", NULL);
    expect_line("memory.bytes >= 3000000000000",
                "n1 has 2.0 TiB of memory; x.profile:7 expects memory.bytes >= 3000000000000");
    expect_line("limit.files = unlimited",
                "n1 has a limit of 65536 open files; x.profile:7 expects limit.files = unlimited");
    expect_line("nic.rate >= unlimited", "x.profile:7: nic.rate is given in Gb/s, not 'unlimited'");
    expect_line("nic.count = 8", "n1 has 2 RDMA ports; x.profile:7 expects nic.count = 8");
    expect_line("nic.rate >= 800 Gb/s",
                "n1: mlx5_0 runs at 400 Gb/s; x.profile:7 expects nic.rate >= 800 Gb/s");
    assert_int_equal(findings.count, 2); /* and mlx5_1 */
    expect_line("nic.mtu <= 9000", NULL);
    expect_line("nic.rate <= 400 Gb/s", NULL);
    expect_line("nic.mtu != 1500", NULL);
    expect_line("nic.mtu != 9000", "n1: mlx5_0 has an MTU of 9000; x.profile:7 expects nic.mtu != "
                                   "9000");
    expect_line("nic.mtu <= 8999", "n1: mlx5_0 has an MTU of 9000; x.profile:7 expects nic.mtu <= "
                                   "8999");
    expect_line("nic.mtu <= 1500", "n1: mlx5_0 has an MTU of 9000; x.profile:7 expects nic.mtu <= "
                                   "1500");
    expect_line("gpu.ecc = on", "n1 tells no gpu.ecc; x.profile:7 expects gpu.ecc = on");
    expect_line("nic.speed = 1",
                "x.profile:7: nic.speed is no key of a profile: see cctest-accept(1) for all keys");
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

/* A fleet of `count` hosts, m1 .. */
struct small_fleet {
    struct inventory inventories[4];
    struct inventory_host hosts[4];
    int count;
};

/* The longest key and value of a line, and longer ones by a byte. */
static void test_long_lines(void **state)
{
    (void)state;
    for (int over = 0; over < 2; over++) {
        struct profile_line line;
        char text[sizeof line.key + sizeof line.value + 1];
        enum status expected = over ? STATUS_USAGE : STATUS_OK;
        snprintf(text, sizeof text, "%0*d = 1", (int)sizeof line.key - 1 + over, 1);
        assert_int_equal(profile_line_read(text, "x", 1, &line), expected);
        assert_int_equal(strlen(line.key), over ? 0 : sizeof line.key - 1);
        snprintf(text, sizeof text, "k = %0*d", (int)sizeof line.value - 1 + over, 1);
        assert_int_equal(profile_line_read(text, "x", 1, &line), expected);
        assert_int_equal(strlen(line.value), over ? 0 : sizeof line.value - 1);
    }
}

static void fleet_make(struct small_fleet *fleet, int count)
{
    static const char *const fleet_names[] = {"m1", "m2", "m3", "m4"};
    *fleet = (struct small_fleet){.count = count};
    for (int h = 0; h < count; h++)
        fleet->hosts[h] =
            (struct inventory_host){.name = fleet_names[h], .inventory = &fleet->inventories[h]};
}

static void fleet_free_all(struct small_fleet *fleet)
{
    for (int h = 0; h < fleet->count; h++)
        inventory_free(&fleet->inventories[h]);
}

/* Half of the hosts have the port b, since one tells of no ports: a host without it does not lack
 * b. */
static void test_half_have_it(void **state)
{
    static const char *const second[] = {"b", "b", NULL};
    struct small_fleet fleet;
    (void)state;
    fleet_make(&fleet, 4);
    for (int h = 0; h < 3; h++) {
        inventory_add_number(&fleet.inventories[h], PART_NIC, "a", "rate", 400, 0);
        if (second[h])
            inventory_add_number(&fleet.inventories[h], PART_NIC, second[h], "rate", 400, 0);
        inventory_add_number(&fleet.inventories[h], PART_HOST, "", "nic.count", second[h] ? 2 : 1,
                             0);
    }
    inventory_findings_free(&findings);
    inventory_compare(fleet.hosts, fleet.count, &findings);
    expect_finding("bad", 2, "m3 has 1 RDMA port; 2 of 3 hosts have 2");
    fleet_free_all(&fleet);
}

static void fleet_compare(const struct small_fleet *fleet)
{
    inventory_findings_free(&findings);
    inventory_compare(fleet->hosts, fleet->count, &findings);
}

/* How many findings have these words, of the fleet or of hosts. */
static int findings_with(const char *words, bool of_fleet)
{
    int count = 0;
    for (int i = 0; i < findings.count; i++)
        count += strstr(findings.items[i].text, words) && (findings.items[i].host < 0) == of_fleet;
    return count;
}

/* A host that does not tell a fact has a note if more than half of the hosts tell it. Hosts that
 * are lost are none. */
static void test_untold(void **state)
{
    (void)state;
    for (int lost = 0; lost < 2; lost++) {
        for (int tell = 0; tell <= 4 - lost; tell++) {
            struct small_fleet fleet;
            fleet_make(&fleet, 4);
            for (int h = 0; h < tell; h++)
                inventory_add_text(&fleet.inventories[h], PART_HOST, "", "kernel", "6.1");
            for (int h = 0; h < 4; h++)
                inventory_add_text(&fleet.inventories[h], PART_HOST, "", "os", "12");
            if (lost)
                fleet.hosts[3].inventory = NULL;
            fleet_compare(&fleet);
            if (tell == 3 - lost) {
                assert_int_equal(findings.count, 1);
                expect_finding("note", tell,
                               lost ? "m3 tells no kernel; 2 of 2 hosts have 6.1"
                                    : "m4 tells no kernel; 3 of 3 hosts have 6.1");
            } else {
                assert_int_equal(findings.count, 0);
            }
            fleet_free_all(&fleet);
        }
    }
}

/* A host without a part does not tell of it, and that is no finding. */
static void test_untold_of_parts(void **state)
{
    (void)state;
    for (int has = 0; has < 2; has++) {
        struct small_fleet fleet;
        fleet_make(&fleet, 4);
        for (int h = 0; h < 3 + has; h++)
            inventory_add_text(&fleet.inventories[h], PART_NIC, "a", "state", "ACTIVE");
        for (int h = 0; h < 4; h++)
            inventory_add_text(&fleet.inventories[h], PART_INTERFACE, "a", "state", "up");
        for (int h = 0; h < 3; h++)
            inventory_add_number(&fleet.inventories[h], PART_NIC, "a", "rate", 400, 0);
        fleet_compare(&fleet);
        assert_int_equal(findings.count, has);
        if (has)
            expect_finding("note", 3, "m4: a tells no nic.rate; 3 of 3 hosts have 400 Gb/s");
        fleet_free_all(&fleet);
    }
}

/* The worst findings of a host come first, whatever is found earlier. A state that is right is a
 * note, though most hosts have another. */
static void test_worst_first(void **state)
{
    struct small_fleet fleet;
    (void)state;
    fleet_make(&fleet, 4);
    for (int h = 0; h < 4; h++) {
        struct inventory *inventory = &fleet.inventories[h];
        inventory_add_text(inventory, PART_HOST, "", "kernel", h == 2 ? "5.14" : "6.1");
        inventory_add_text(inventory, PART_NIC, "a", "state", h == 2 ? "ACTIVE" : "DOWN");
        inventory_add_number(inventory, PART_NIC, "a", "mtu", h == 2 ? 1500 : 9000, 0);
        inventory_add_text(inventory, PART_NIC, "a", "firmware", h == 2 ? "1" : "2");
    }
    fleet_compare(&fleet);
    static const char *const expected[] = {"m3: a has an MTU of 1500; 3 of 4 hosts have 9000",
                                           "m3: a has firmware 1; 3 of 4 hosts have 2",
                                           "m3 runs the kernel 5.14; 3 of 4 hosts have 6.1",
                                           "m3: a is ACTIVE; 3 of 4 hosts have DOWN"};
    assert_int_equal(findings.count, 4);
    for (int i = 0; i < 4; i++)
        assert_string_equal(findings.items[i].text, expected[i]);
    fleet_free_all(&fleet);
}

/* Three values are told, and how many more there are. */
static void test_many_values(void **state)
{
    struct small_fleet fleet;
    (void)state;
    fleet_make(&fleet, 4);
    for (int h = 0; h < 4; h++)
        inventory_add_number(&fleet.inventories[h], PART_NIC, "a", "rate", 100 << h, 0);
    fleet_compare(&fleet);
    assert_int_equal(findings.count, 1);
    expect_finding("suspect", -1,
                   "4 hosts differ in nic.rate of a without a majority: 1 has 100 Gb/s (m1), 1 has "
                   "200 Gb/s (m2), 1 has 400 Gb/s (m3), and 1 more values");
    fleet_free_all(&fleet);
}

/* Hosts fall short of their best, x16, alike: a note of the fleet, where they are more than half of
 * three hosts at least. */
static void test_most_fall_short(void **state)
{
    static const struct {
        int hosts, widths[4];
        bool built_so;
        int short_alone; /* hosts that fall short otherwise */
    } cases[] = {{1, {8}, false, 1},          {2, {8, 8}, false, 2},
                 {3, {8, 16, 16}, false, 1},  {3, {8, 16, 8}, true, 0},
                 {3, {8, 8, 8}, true, 0},     {4, {8, 8, 16, 16}, false, 2},
                 {4, {8, 4, 8, 8}, true, 1},  {4, {4, 8, 8, 16}, false, 3},
                 {4, {4, 4, 8, 8}, false, 4}, {4, {16, 16, 16, 16}, false, 0}};
    (void)state;
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        struct small_fleet fleet;
        fleet_make(&fleet, cases[c].hosts);
        for (int h = 0; h < cases[c].hosts; h++)
            inventory_add_number(&fleet.inventories[h], PART_NIC, "a", "pcie.width",
                                 cases[c].widths[h], 16);
        fleet_compare(&fleet);
        assert_int_equal(findings_with("its best is x16", true), cases[c].built_so);
        assert_int_equal(findings_with("its best is x16", false), cases[c].short_alone);
        fleet_free_all(&fleet);
    }
}

/* Memory agrees within 1% of the larger one. */
static void test_tolerance(void **state)
{
    static const struct {
        double bytes;
        const char *severity; /* NULL: it agrees */
    } cases[] = {{990000, NULL}, {989999, "bad"}, {1010101, NULL}, {1010102, "note"}};
    (void)state;
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        struct small_fleet fleet;
        fleet_make(&fleet, 3);
        for (int h = 0; h < 3; h++)
            inventory_add_number(&fleet.inventories[h], PART_HOST, "", "memory.bytes",
                                 h == 1 ? cases[c].bytes : 1e6, 0);
        fleet_compare(&fleet);
        assert_int_equal(findings.count, cases[c].severity != NULL);
        if (cases[c].severity) {
            assert_int_equal(findings.items[0].host, 1);
            assert_string_equal(severity_names[findings.items[0].severity], cases[c].severity);
        }
        fleet_free_all(&fleet);
    }
}

/* The profile of a fleet, which its hosts meet. */
static void check_typical(const struct small_fleet *fleet, const char *expected)
{
    char *text, *rest = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    assert_true(inventory_typical_put(fleet->hosts, fleet->count, out));
    fclose(out);
    assert_string_equal(text, expected);
    for (char *at = strtok_r(text, "\n", &rest); at; at = strtok_r(NULL, "\n", &rest)) {
        struct profile_line line;
        struct expected_fact expectation;
        assert_int_equal(profile_line_read(at, "x", 1, &line), STATUS_OK);
        assert_int_equal(expected_fact_read(&line, &expectation), STATUS_OK);
        inventory_findings_free(&findings);
        inventory_expect(fleet->hosts, fleet->count, &expectation, 1, &findings);
        assert_int_equal(findings.count, 0);
    }
    free(text);
}

/* A profile of what all have, which all meet: bytes are cut to whole MiB. */
static void test_typical(void **state)
{
    static const double locked[] = {2.5 * (1 << 20), 3 << 20, INFINITY};
    struct small_fleet fleet;
    (void)state;
    fleet_make(&fleet, 3);
    for (int h = 0; h < 3; h++) {
        inventory_add_text(&fleet.inventories[h], PART_HOST, "", "kernel", "6.1");
        inventory_add_text(&fleet.inventories[h], PART_HOST, "", "os", h == 1 ? "12" : "13");
        inventory_add_number(&fleet.inventories[h], PART_HOST, "", "limit.memlock", locked[h], 0);
        inventory_add_number(&fleet.inventories[h], PART_NIC, "a", "rate", h == 2 ? 100 : 400, 0);
    }
    check_typical(&fleet, "kernel = 6.1\nlimit.memlock >= 2M\nnic.rate >= 100 Gb/s\n");
    fleet_free_all(&fleet);
}

/* A host may have less memory than another by its tolerance: 1% in all, half of what is free.
 * Less than a MiB is told in bytes. */
static void test_typical_bytes(void **state)
{
    static const struct {
        double locked;
        const char *text;
    } cases[] = {{1 << 20, "1M"}, {(1 << 20) - 1, "1048575"}, {1.5, "1"}, {INFINITY, "unlimited"}};
    char expected[256];
    (void)state;
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        struct small_fleet fleet;
        fleet_make(&fleet, 3);
        for (int h = 0; h < 3; h++) {
            struct inventory *inventory = &fleet.inventories[h];
            inventory_add_number(inventory, PART_HOST, "", "memory.bytes", (1000 + h) << 20, 0);
            inventory_add_number(inventory, PART_HOST, "", "memory.available",
                                 (h == 1 ? 500 : 900) << 20, 0);
            inventory_add_number(inventory, PART_HOST, "", "limit.memlock", cases[c].locked, 0);
        }
        snprintf(expected, sizeof expected,
                 "memory.bytes >= 990M\nmemory.available >= 250M\nlimit.memlock >= %s\n",
                 cases[c].text);
        check_typical(&fleet, expected);
        fleet_free_all(&fleet);
    }
}

/* Nothing is told of what is 0, not loaded, not alike, or not known of each host. */
static void test_typical_leaves_out(void **state)
{
    struct small_fleet fleet;
    (void)state;
    fleet_make(&fleet, 3);
    for (int h = 0; h < 3; h++) {
        struct inventory *inventory = &fleet.inventories[h];
        inventory_add_number(inventory, PART_HOST, "", "gpu.count", h, 0);
        inventory_add_text(inventory, PART_HOST, "", "module.mlx5_ib", NOT_LOADED);
        inventory_add_text(inventory, PART_HOST, "", "module.efa", "2.1");
        inventory_add_number(inventory, PART_NIC, "a", "mtu", 9000, 0);
        inventory_add_number(inventory, PART_INTERFACE, "b", "mtu", h ? 1500 : 9000, 0);
        if (h < 2)
            inventory_add_text(inventory, PART_HOST, "", "os", "12");
    }
    check_typical(&fleet, "module.efa = 2.1\nnic.mtu = 9000\n");
    fleet_free_all(&fleet);
}

static int end(void **state)
{
    inventory_findings_free(&findings);
    return trees_remove(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_equal),
        cmocka_unit_test(test_each_difference),
        cmocka_unit_test(test_parts),
        cmocka_unit_test(test_no_majority),
        cmocka_unit_test(test_slot),
        cmocka_unit_test(test_built_so),
        cmocka_unit_test(test_own_best),
        cmocka_unit_test(test_profile),
        cmocka_unit_test(test_half_have_it),
        cmocka_unit_test(test_typical),
        cmocka_unit_test(test_untold),
        cmocka_unit_test(test_untold_of_parts),
        cmocka_unit_test(test_worst_first),
        cmocka_unit_test(test_many_values),
        cmocka_unit_test(test_most_fall_short),
        cmocka_unit_test(test_tolerance),
        cmocka_unit_test(test_typical_bytes),
        cmocka_unit_test(test_typical_leaves_out),
        cmocka_unit_test(test_long_lines),
    };
    return cmocka_run_group_tests(tests, trees_make, end);
}
