/*
 * test_ports.c - facts and nearness of RDMA ports, from made-up trees of sysfs.
 *
 * The tree has InfiniBand and RoCE as mlx5 shows them, a virtual device as rxe shows it, ports that
 * are broken, and files that hold garbage.
 * tier: check; load: cpu1
 */
#include "tests/unit/tree.h"

#include "host/host.h"
#include "transports/verbs/facts.h"

#define IB "class/infiniband/"

static char devices[PATH_MAX + 16];

static void gpu_make(const char *path, const char *class)
{
    char folder[256];
    pci_make(path, "0\n", "16\n", "32.0 GT/s PCIe\n");
    snprintf(folder, sizeof folder, "devices/%s", path);
    file_of("vendor", folder, "0x10de\n");
    file_of("class", folder, class);
    file_of("device", folder, "0x2330\n");
}

static void nic_make(const char *nic, const char *pci, const char *type, const char *firmware)
{
    char folder[128], link[160], target[160];
    snprintf(folder, sizeof folder, IB "%s", nic);
    file_of("node_type", folder, type);
    file_of("fw_ver", folder, firmware);
    file_of("hca_type", folder, "MT4129\n");
    if (!pci)
        return;
    snprintf(link, sizeof link, "%s/device", folder);
    snprintf(target, sizeof target, "devices/%s", pci);
    link_make(link, target);
}

static void uverbs_make(int number, const char *nic)
{
    char path[128], text[80];
    snprintf(path, sizeof path, "class/infiniband_verbs/uverbs%d/ibdev", number);
    snprintf(text, sizeof text, "%s\n", nic);
    file_make(path, text);
    snprintf(path, sizeof path, "dev/uverbs%d", number);
    file_make(path, "");
}

static const char *port_make(const char *nic, int port, const char *layer, const char *state,
                             const char *physical, const char *rate)
{
    static char folder[128];
    snprintf(folder, sizeof folder, IB "%s/ports/%d", nic, port);
    file_of("link_layer", folder, layer);
    file_of("state", folder, state);
    file_of("phys_state", folder, physical);
    file_of("rate", folder, rate);
    return folder;
}

static void gid_make(const char *port, int index, const char *gid, const char *type,
                     const char *netdev)
{
    char name[64];
    snprintf(name, sizeof name, "gids/%d", index);
    file_of(name, port, gid);
    snprintf(name, sizeof name, "gid_attrs/types/%d", index);
    file_of(name, port, type);
    snprintf(name, sizeof name, "gid_attrs/ndevs/%d", index);
    file_of(name, port, netdev);
}

#define NO_GID     "0000:0000:0000:0000:0000:0000:0000:0000\n"
#define LINK_LOCAL "fe80:0000:0000:0000:0e42:a1ff:fe12:3456\n"
#define MAPPED     "0000:0000:0000:0000:0000:ffff:0a00:0001\n"

static void healthy_make(void)
{
    nic_make("mlx5_0", "pci0000:3a/0000:3a:00.0/0000:3b:00.0", "1: CA\n", "28.39.1002\n");
    const char *port = port_make("mlx5_0", 1, "InfiniBand\n", "4: ACTIVE\n", "5: LinkUp\n",
                                 "400 Gb/sec (4X NDR)\n");
    file_of("lid", port, "0x1f\n");
    file_of("pkeys/0", port, "0xffff\n");
    file_of("pkeys/1", port, "0x0000\n");
    file_of("pkeys/10", port, "0x8001\n");
    gid_make(port, 0, "fe80:0000:0000:0000:0c42:a103:0012:3456\n", "IB/RoCE v1\n", "ib0\n");
    gid_make(port, 1, NO_GID, "", "");
    uverbs_make(0, "mlx5_0");

    nic_make("mlx5_1", "pci0000:5d/0000:5d:00.0/0000:5e:00.0", "1: CA\n", "28.39.1002\n");
    port =
        port_make("mlx5_1", 1, "Ethernet\n", "4: ACTIVE\n", "5: LinkUp\n", "200 Gb/sec (4X HDR)\n");
    gid_make(port, 0, LINK_LOCAL, "IB/RoCE v1\n", "eth7\n");
    gid_make(port, 1, LINK_LOCAL, "RoCE v2\n", "eth7\n");
    gid_make(port, 2, NO_GID, "", "");
    gid_make(port, 3, MAPPED, "RoCE v2\n", "eth7\n");
    file_make("class/net/eth7/mtu", "9000\n");
    uverbs_make(3, "mlx5_1");

    nic_make("rxe0", NULL, "1: CA\n", "\n");
    file_make(IB "rxe0/parent", "eth0\n");
    port =
        port_make("rxe0", 1, "Ethernet\n", "4: ACTIVE\n", "5: LinkUp\n", "2.5 Gb/sec (1X SDR)\n");
    gid_make(port, 0, MAPPED, "RoCE v2\n", "eth0\n");
    file_make("class/net/eth0/mtu", "1500\n");
    file_make("devices/pci0000:00/0000:00:03.0/virtio0/x", "");
    link_make("class/net/eth0/device", "devices/pci0000:00/0000:00:03.0/virtio0");
    uverbs_make(1, "rxe0");
}

static void faults_make(void)
{
    nic_make("bad_0", NULL, "1: CA\n", "1.0\n");
    port_make("bad_0", 1, "InfiniBand\n", "1: DOWN\n", "2: Polling\n", "10 Gb/sec (4X SDR)\n");
    port_make("bad_0", 2, "InfiniBand\n", "2: INIT\n", "5: LinkUp\n", "400 Gb/sec (4X NDR)\n");
    const char *port =
        port_make("bad_0", 3, "Ethernet\n", "4: ACTIVE\n", "5: LinkUp\n", "100 Gb/sec (4X EDR)\n");
    gid_make(port, 0, LINK_LOCAL, "IB/RoCE v1\n", "eth9\n");
    port =
        port_make("bad_0", 4, "Ethernet\n", "1: DOWN\n", "3: Disabled\n", "40 Gb/sec (4X QDR)\n");
    gid_make(port, 0, LINK_LOCAL, "RoCE v2\n", "eth9\n");
    uverbs_make(9, "bad_0");

    nic_make("efa_0", NULL, "7: <unspecified>\n", "1.0\n");
    port_make("efa_0", 1, "Ethernet\n", "4: ACTIVE\n", "5: LinkUp\n", "100 Gb/sec (4X EDR)\n");
    nic_make("hidden_0", NULL, "1: CA\n", "1.0\n"); /* its file is not in /dev */
    port_make("hidden_0", 1, "InfiniBand\n", "4: ACTIVE\n", "5: LinkUp\n", "400 Gb/sec (4X NDR)\n");
    file_make("class/infiniband_verbs/uverbs5/ibdev", "hidden_0\n");
    nic_make("bare_0", NULL, "1: CA\n", "1.0\n"); /* ib_uverbs is not loaded */
    port_make("bare_0", 1, "InfiniBand\n", "4: ACTIVE\n", "5: LinkUp\n", "400 Gb/sec (4X NDR)\n");

    nic_make("junk_0", NULL, "\xff\x01\x02", "\033[31m evil\n");
    port = port_make("junk_0", 1, "\n", "ACTIVE\n", "", "fast\n");
    file_of("lid", port, "");
    gid_make(port, 0, "not a gid\n", "RoCE v2\n", "\001\002\n");
    file_of("gids/x", port, "");
    file_of("pkeys/0", port, "-1\n");
    file_make(IB "junk_0/ports/zero/state", "4: ACTIVE\n");
    file_make(IB "junk_0/ports/0/state", "4: ACTIVE\n");
    file_make(IB "junk_0/ports/999/state", "4: ACTIVE\n");
    file_make(IB "empty_0/ports", "");
    file_make("class/infiniband_verbs/abi_version", "6\n");
}

static int tree_make(void **state)
{
    (void)state;
    tree_begin();
    snprintf(devices, sizeof devices, "%s/dev", tree);
    pci_make("pci0000:3a/0000:3a:00.0/0000:3b:00.0", "0\n", "16\n", "32.0 GT/s PCIe\n");
    pci_make("pci0000:5d/0000:5d:00.0/0000:5e:00.0", "1\n", "8\n", "Unknown\n");
    gpu_make("pci0000:3a/0000:3a:00.0/0000:3b:00.1", "0x030200\n");
    gpu_make("pci0000:3a/0000:3a:01.0/0000:40:00.0", "0x030000\n");
    gpu_make("pci0000:70/0000:70:00.0/0000:71:00.0", "0x030200\n");
    pci_make("pci0000:70/0000:70:01.0/0000:72:00.0", "0\n", "16\n", "16.0 GT/s PCIe\n");
    file_make("bus/pci/devices/0000:72:00.0/vendor", "0x10de\n");
    file_make("bus/pci/devices/0000:72:00.0/class", "0x068000\n"); /* NVSwitch */
    healthy_make();
    faults_make();
    return 0;
}

/* ---- ports ---- */

static int mtu_of(const char *nic, int port)
{
    return strcmp(nic, "mlx5_0") == 0 && port == 1 ? 4096 : 0;
}

static struct device_list ports;

static bool imports_dmabuf(const char *nic)
{
    return strcmp(nic, "mlx5_0") == 0;
}

static void ports_read(const char *library)
{
    const struct port_source source = {.sysfs = tree,
                                       .dev = devices,
                                       .library = library,
                                       .mtu = mtu_of,
                                       .proc = tree,
                                       .imports_dmabuf = imports_dmabuf};
    device_list_free(&ports);
    ports_add(&source, &ports);
}

static const struct device *port_named(const char *name)
{
    for (int i = 0; i < ports.count; i++)
        if (strcmp(ports.devices[i].name, name) == 0)
            return &ports.devices[i];
    fail_msg("there is no port %s", name);
    return NULL;
}

static void assert_fact(const char *port, const char *name, const char *text)
{
    const char *is = device_find_fact(port_named(port), name);
    if (!text)
        assert_null(is);
    else
        assert_string_equal(is ? is : "(none)", text);
}

static void assert_why_not(const char *port, const char *words)
{
    const struct device *device = port_named(port);
    if (!words && !device->usable)
        fail_msg("%s: %s", port, device->why_not);
    if (words && (device->usable || !strstr(device->why_not, words)))
        fail_msg("%s: \"%s\" lacks \"%s\"", port, device->why_not, words);
}

static void test_infiniband(void **state)
{
    (void)state;
    ports_read(NULL);
    assert_why_not("mlx5_0:1", NULL);
    assert_string_equal(port_named("mlx5_0:1")->model, "MT4129");
    assert_string_equal(port_named("mlx5_0:1")->bus, "0000:3b:00.0");
    assert_int_equal(port_named("mlx5_0:1")->numa_node, 0);
    assert_fact("mlx5_0:1", "state", "ACTIVE");
    assert_fact("mlx5_0:1", "physical state", NULL);
    assert_fact("mlx5_0:1", "rate", "400 Gb/s");
    assert_fact("mlx5_0:1", "width", "4X");
    assert_fact("mlx5_0:1", "link layer", "InfiniBand");
    assert_fact("mlx5_0:1", "MTU", "4096");
    assert_fact("mlx5_0:1", "firmware", "28.39.1002");
    assert_fact("mlx5_0:1", "PCIe link", "x16 at 32.0 GT/s");
    assert_fact("mlx5_0:1", "PCIe link at most", "x16 at 32.0 GT/s");
    assert_fact("mlx5_0:1", "LID", "0x1f");
    assert_fact("mlx5_0:1", "P_Keys", "0: 0xffff, 10: 0x8001");
    assert_fact("mlx5_0:1", "GID 0", "fe80::c42:a103:12:3456, IB, ib0");
    assert_fact("mlx5_0:1", "GID 1", NULL);
    assert_fact("mlx5_0:1", "GPU memory", NULL);
    assert_fact("mlx5_0:1", "network device", NULL);
}

static void test_roce(void **state)
{
    (void)state;
    ports_read(NULL);
    assert_why_not("mlx5_1:1", NULL);
    assert_fact("mlx5_1:1", "MTU", NULL); /* the library does not know it */
    assert_fact("mlx5_1:1", "network device", "eth7");
    assert_fact("mlx5_1:1", "network device MTU", "9000");
    assert_fact("mlx5_1:1", "GID 0", "fe80::e42:a1ff:fe12:3456, RoCE v1, eth7");
    assert_fact("mlx5_1:1", "GID 3", "::ffff:10.0.0.1, RoCE v2, eth7");
    assert_fact("mlx5_1:1", "PCIe link", NULL); /* "Unknown" */
    assert_fact("mlx5_1:1", "LID", NULL);
    assert_why_not("rxe0:1", NULL);
    assert_fact("rxe0:1", "rate", "2.5 Gb/s");
    assert_fact("rxe0:1", "width", "1X");
    assert_fact("rxe0:1", "firmware", NULL);
    assert_string_equal(port_named("rxe0:1")->bus, "0000:00:03.0"); /* of its network device */
}

static void test_unusable(void **state)
{
    (void)state;
    ports_read(NULL);
    assert_why_not("bad_0:1", "state DOWN, physical state Polling: look at the cable");
    assert_fact("bad_0:1", "physical state", "Polling");
    assert_fact("bad_0:1", "GPU memory", NULL);
    assert_why_not("bad_0:2", "no subnet manager");
    assert_why_not("bad_0:3",
                   "no GID of RoCE v2 maps an IPv4 address: give its network device one (ip addr "
                   "add ... dev eth9)");
    assert_why_not("bad_0:4", "ip link set eth9 up");
    assert_why_not("efa_0:1", "its type (<unspecified>) has no reliable connections");
    assert_why_not("hidden_0:1", "uverbs5 is missing: give the container this device");
    assert_why_not("bare_0:1", "modprobe ib_uverbs");
    if (geteuid() != 0) {
        char path[PATH_MAX + 64];
        snprintf(path, sizeof path, "%s/uverbs0", devices);
        assert_int_equal(0, chmod(path, 0));
        ports_read(NULL);
        assert_why_not("mlx5_0:1", "no permission for");
        assert_int_equal(0, chmod(path, 0644));
    }
    ports_read("libibverbs.so.1 is missing");
    assert_why_not("mlx5_0:1", "libibverbs.so.1 is missing");
    assert_fact("mlx5_0:1", "rate", "400 Gb/s");
    assert_fact("mlx5_0:1", "MTU", NULL);
}

static void test_garbage(void **state)
{
    (void)state;
    ports_read(NULL);
    assert_why_not("junk_0:1", "has no reliable connections");
    assert_fact("junk_0:1", "rate", "fast");
    assert_fact("junk_0:1", "firmware", "?[31m evil");
    assert_fact("junk_0:1", "P_Keys", NULL);
    assert_fact("junk_0:1", "GID 0", NULL);
    int junk = 0;
    for (int i = 0; i < ports.count; i++)
        junk += strncmp(ports.devices[i].name, "junk_0", 6) == 0;
    assert_int_equal(junk, 1);
    assert_int_equal(ports.count, 11);

    const struct port_source source = {.sysfs = tree, .dev = devices};
    struct device_list none = {0};
    port_add(&source, "nowhere", 7, &none);
    assert_int_equal(none.count, 1);
    assert_false(none.devices[0].usable);
    device_list_free(&none);
    const struct port_source empty = {.sysfs = "/nowhere", .dev = devices};
    ports_add(&empty, &none);
    assert_true(ports_present(tree));
    assert_false(ports_present(empty.sysfs));
    assert_int_equal(none.count, 0);
}

static void test_gids(void **state)
{
    struct gid_entry entries[4];
    (void)state;
    assert_int_equal(gid_table_read(tree, "mlx5_1", 1, entries, 4), 3);
    assert_int_equal(entries[1].index, 1);
    assert_int_equal(entries[1].kind, GID_KIND_ROCE_V2);
    assert_int_equal(entries[2].index, 3);
    assert_int_equal(entries[2].raw[15], 1);
    assert_string_equal(entries[2].netdev, "eth7");
    assert_int_equal(gid_table_read(tree, "mlx5_1", 1, entries, 2), 2);
    assert_int_equal(gid_table_read(tree, "mlx5_0", 1, entries, 4), 1);
    assert_int_equal(entries[0].kind, GID_KIND_IB);
    assert_int_equal(gid_table_read(tree, "nowhere", 1, entries, 4), 0);
}

static void test_names(void **state)
{
    char nic[RDMA_NIC_MOST];
    int port;
    (void)state;
    assert_true(rdma_port_parse("mlx5_0:1", nic, &port));
    assert_string_equal(nic, "mlx5_0");
    assert_int_equal(port, 1);
    assert_true(rdma_port_parse("a:b:255", nic, &port));
    assert_string_equal(nic, "a:b");
    static const char *const wrong[] = {
        "",     "mlx5_0", ":1",   "mlx5_0:", "mlx5_0:0", "x:256",
        "x:1a", "x: 1",   "x:-1", "../x:1",  "x/y:1",    "x:99999999999999999999"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_false(rdma_port_parse(wrong[i], nic, &port));
}

/* ---- places ---- */

static void test_distances(void **state)
{
    struct device_list gpus = {0};
    (void)state;
    pci_gpus(tree, &gpus);
    assert_int_equal(gpus.count, 3);
    assert_string_equal(gpus.devices[0].bus, "0000:3b:00.1");
    assert_string_equal(gpus.devices[0].model, "10de:2330");
    device_list_free(&gpus);
    assert_int_equal(pci_distance(tree, "0000:3b:00.0", "0000:3b:00.0"), PCI_SAME);
    assert_int_equal(pci_distance(tree, "0000:3b:00.0", "0000:3b:00.1"), PCI_PIX);
    assert_int_equal(pci_distance(tree, "0000:3b:00.0", "0000:40:00.0"), PCI_PHB);
    assert_int_equal(pci_distance(tree, "0000:3b:00.0", "0000:71:00.0"), PCI_NODE);
    assert_int_equal(pci_distance(tree, "0000:5e:00.0", "0000:71:00.0"), PCI_SYS);
    assert_int_equal(pci_distance(tree, "0000:5e:00.0", "0000:99:00.0"), PCI_UNKNOWN);
    assert_int_equal(pci_distance(tree, "", "0000:99:00.0"), PCI_UNKNOWN);

    /* Behind a switch, and behind two. */
    pci_make("pci0000:a0/0000:a0:00.0/0000:a1:00.0/0000:a2:00.0/0000:a3:00.0", "0\n", "16\n", "x");
    pci_make("pci0000:a0/0000:a0:00.0/0000:a1:00.0/0000:a2:01.0/0000:a4:00.0", "0\n", "16\n", "x");
    pci_make(
        "pci0000:a0/0000:a0:00.0/0000:a1:00.0/0000:a2:02.0/0000:a5:00.0/0000:a6:00.0/0000:a7:00.0",
        "0\n", "16\n", "x");
    assert_int_equal(pci_distance(tree, "0000:a3:00.0", "0000:a4:00.0"), PCI_PIX);
    assert_int_equal(pci_distance(tree, "0000:a3:00.0", "0000:a7:00.0"), PCI_PXB);
    for (int d = 0; d < PCI_DISTANCES; d++)
        assert_non_null(pci_distance_names[d]);
}

/* The NICs of the tree in their order from a device. */
static const char *order_from(const char *device, uint64_t distances[3])
{
    static const char *const nics[] = {"rxe0", "mlx5_1", "mlx5_0"};
    static char text[4];
    int order[3];
    ports_by_nearness(tree, nics, 3, device, order, distances);
    for (int i = 0; i < 3; i++)
        text[i] = nics[order[i]][0] == 'r' ? 'r' : nics[order[i]][5];
    return text;
}

static void test_nearest_to_device(void **state)
{
    uint64_t distances[3], cores[3];
    (void)state;
    assert_string_equal(order_from("0000:3b:00.1", distances), "01r");
    assert_true(distances[2] < distances[1] && distances[1] < NEARNESS_UNKNOWN);
    assert_true(distances[0] == NEARNESS_UNKNOWN); /* it stands on no PCI device of this tree */
    assert_string_equal(order_from("0000:71:00.0", distances), "01r"); /* in the NUMA node */
    pci_make("pci0000:5d/0000:5d:01.0/0000:61:00.0", "1\n", "16\n", "x");
    assert_string_equal(order_from("0000:61:00.0", distances), "10r");
    pci_make("pci0000:80/0000:80:00.0/0000:81:00.0", "2\n", "16\n", "x");
    assert_string_equal(order_from("0000:81:00.0", distances), "10r"); /* a tie keeps the order */
    assert_true(distances[1] == distances[2]);
    order_from("0000:99:00.0", distances); /* it is not there: the cores decide */
    order_from(NULL, cores);
    assert_memory_equal(distances, cores, sizeof cores);
    order_from("", distances);
    assert_memory_equal(distances, cores, sizeof cores);
}

/* A NIC is up if any of its ports is. */
static void test_nics_are_up(void **state)
{
    (void)state;
    port_make("mlx5_0", 2, "InfiniBand\n", "1: DOWN\n", "3: Disabled\n", "10 Gb/sec (4X SDR)\n");
    struct nic *nics;
    int count = nics_find(tree, &nics), seen = 0;
    for (int i = 0; i < count; i++)
        if (strcmp(nics[i].name, "mlx5_0") == 0) {
            assert_true(nics[i].is_up);
            seen++;
        }
    assert_int_equal(seen, 1);
    free(nics);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_infiniband),  cmocka_unit_test(test_roce),
        cmocka_unit_test(test_unusable),    cmocka_unit_test(test_garbage),
        cmocka_unit_test(test_gids),        cmocka_unit_test(test_names),
        cmocka_unit_test(test_distances),   cmocka_unit_test(test_nearest_to_device),
        cmocka_unit_test(test_nics_are_up),
    };
    int failed = cmocka_run_group_tests(tests, tree_make, tree_remove);
    device_list_free(&ports);
    return failed;
}
