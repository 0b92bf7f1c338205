/*
 * test_rank_place.c - rings of ranks that run on cores and on GPUs of made-up hosts: near ranks
 * follow each other, and ranks that are near a NIC join hosts.
 * tier: check; load: cpu1
 */
#include "base/log.h" /* before cmocka, which has a macro fail() */

#include "tests/unit/tree.h"

#include "run/run.h"
#include "run/session/internal.h"
#include "collective/collective.h"

#define RANKS_MOST 16

/* `path`: from the host bridge on; `node`, `cpus`: as sysfs writes them. */
static void device_make(const char *path, const char *node, const char *cpus)
{
    char folder[256];
    pci_make(path, node, "16\n", "32.0 GT/s PCIe\n");
    snprintf(folder, sizeof folder, "devices/%s", path);
    file_of("local_cpulist", folder, cpus);
}

static void nic_make(const char *name, const char *bus, const char *state)
{
    char folder[64], link[64], target[64];
    snprintf(folder, sizeof folder, "class/infiniband/%s", name);
    snprintf(link, sizeof link, "%s/device", folder);
    snprintf(target, sizeof target, "bus/pci/devices/%s", bus);
    file_of("ports/1/state", folder, state);
    link_make(link, target);
}

static void interface_make(const char *name, const char *bus)
{
    char folder[64], link[64], target[64];
    snprintf(folder, sizeof folder, "class/net/%s", name);
    snprintf(link, sizeof link, "%s/device", folder);
    snprintf(target, sizeof target, "bus/pci/devices/%s", bus);
    file_of("operstate", folder, "up\n");
    link_make(link, target);
}

/* ---- rings ---- */

static struct rank_place places[RANKS_MOST];
static int hosts[RANKS_MOST];

static uint32_t between(const void *argument, int a, int b)
{
    (void)argument;
    return rank_places_distance(&places[a], &places[b], hosts[a] == hosts[b]);
}

static void ring_find(int ranks, int *order)
{
    const struct rank_distances distances = {between, NULL};
    assert_int_equal(STATUS_OK, ring_order_find(&distances, NULL, ranks, order));
}

/* How often a ring goes from one value to another. */
static int changes(const int *order, const int *value, int ranks)
{
    int count = 0;
    for (int i = 0; i < ranks; i++)
        count += value[order[i]] != value[order[(i + 1) % ranks]];
    return count;
}

/* ---- GPUs ---- */

static const char *const gpus[] = {
    "0000:13:00.0", "0000:14:00.0", "0000:23:00.0", "0000:24:00.0",
    "0000:83:00.0", "0000:84:00.0", "0000:93:00.0", "0000:94:00.0",
};

static void gpus_make(void)
{
    for (int i = 0; i < 8; i++) {
        char path[128];
        int bridge = (gpus[i][5] - '0') * 16;
        snprintf(path, sizeof path, "pci0000:%02x/0000:%02x:01.0/0000:%02x:00.0/0000:%02x:0%d.0/%s",
                 bridge, bridge, bridge + 1, bridge + 2, i % 2, gpus[i]);
        device_make(path, i < 4 ? "0\n" : "1\n", i < 4 ? "0-3\n" : "4-7\n");
    }
}

/* Whatever GPUs ranks take, each switch, node and host is entered once. NVLinks join GPUs of
 * different switches. */
static void test_gpus(void **state)
{
    static const int takes[] = {0, 4, 2, 6, 1, 5, 3, 7};
    int order[RANKS_MOST], switches[RANKS_MOST], nodes[RANKS_MOST];
    (void)state;
    for (int bridged = 0; bridged < 2; bridged++) {
        for (int r = 0; r < 16; r++) {
            int gpu = takes[r / 2];
            uint32_t pair =
                (uint32_t)(gpu % 2 + gpu / 4 * 2); /* GPUs 0 and 2, 1 and 3, 4 and 6 ... */
            hosts[r] = r % 2;
            places[r] = rank_place_of_gpu(tree, gpus[gpu], bridged ? pair : PLACE_UNKNOWN);
            switches[r] = hosts[r] * 8 + (bridged ? (int)pair : gpu / 2);
            nodes[r] = hosts[r] * 2 + gpu / 4;
        }
        ring_find(16, order);
        assert_int_equal(2, changes(order, hosts, 16));
        assert_int_equal(4, changes(order, nodes, 16));
        assert_int_equal(8, changes(order, switches, 16));
    }
    struct rank_place lost = rank_place_of_gpu(tree, "0000:ff:00.0", PLACE_UNKNOWN);
    struct rank_place none = rank_place_of_gpu(tree, "", PLACE_UNKNOWN);
    assert_int_equal(PLACE_LEVELS, host_place_shared(&lost.place, &none.place));
}

/* ---- cores ---- */

/* A rank on one of 8 cores: a package of four NUMA nodes. */
static void rank_at(int rank, int host, int core)
{
    cpu_set_t cpus;
    CPU_ZERO(&cpus);
    CPU_SET((size_t)core, &cpus);
    hosts[rank] = host;
    places[rank] = rank_place_of_cpus(tree, &cpus, 1, 0, true);
}

/* Does a ring of two hosts leave or enter both by a rank on NUMA node `node`? */
static bool joined_at(int node)
{
    static const int nodes[] = {0, 3, 2, 1}; /* of ranks 0 to 3, and of 4 to 7 */
    int order[RANKS_MOST];
    bool near[2] = {false, false};
    for (int r = 0; r < 8; r++)
        rank_at(r, r / 4, 2 * nodes[r % 4]);
    ring_find(8, order);
    assert_int_equal(2, changes(order, hosts, 8));
    for (int i = 0; i < 8; i++) {
        int a = order[i], b = order[(i + 1) % 8];
        if (hosts[a] == hosts[b])
            continue;
        near[hosts[a]] |= nodes[a % 4] == node;
        near[hosts[b]] |= nodes[b % 4] == node;
    }
    return near[0] && near[1];
}

/* Where a NIC stands is cut off, or what no host has. */
static void wrong_places(void)
{
    static const char *const wrong[] = {
        "4-5,\n", "", "-3\n", "4-", "999999999999-", "4-99999999999999999999\n", "x\n"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        file_make("devices/pci0000:b0/0000:b0:01.0/0000:b1:00.0/local_cpulist", wrong[i]);
        rank_at(0, 0, 0);
        assert_in_range(places[0].nic, CPU_PACKAGE, PLACE_LEVELS);
    }
}

static void test_nics(void **state)
{
    (void)state;
    assert_int_equal(0, setenv("HWLOC_SYNTHETIC", "pack:1 l3:4 [numa] core:2 pu:1", 1));
    rank_at(0, 0, 5);
    assert_int_equal(0, places[0].nic); /* there is none */
    device_make("pci0000:a0/0000:a0:01.0/0000:a1:00.0", "1\n", "2-3\n");
    interface_make("eth0", "0000:a1:00.0");
    rank_at(0, 0, 5);
    assert_int_equal(CPU_PACKAGE, places[0].nic);
    rank_at(0, 0, 3);
    assert_int_equal(CPU_CACHE, places[0].nic);
    assert_true(joined_at(1));
    /* An active NIC of RDMA is taken instead, and not one that is down. */
    device_make("pci0000:b0/0000:b0:01.0/0000:b1:00.0", "2\n", "4-5\n");
    nic_make("mlx5_0", "0000:b1:00.0", "1: DOWN\n");
    rank_at(0, 0, 3);
    assert_int_equal(CPU_CACHE, places[0].nic);
    file_make("class/infiniband/mlx5_0/ports/1/state", "4: ACTIVE\n");
    rank_at(0, 0, 3);
    assert_int_equal(CPU_PACKAGE, places[0].nic);
    assert_true(joined_at(2));
    wrong_places();
}

/* The place that another rank sends. */
static void test_travel(void **state)
{
    struct bytes share = {0};
    struct rank_place found, sent = {.place = host_place_unknown(), .nic = PLACE_LEVELS};
    (void)state;
    sent.place.at[2] = 7;
    rank_place_code(codec_to(&share), &sent);
    struct reader reader = {.at = share.data, .left = share.size};
    rank_place_code(codec_from(&reader), &found);
    assert_false(reader.bad);
    assert_memory_equal(&found, &sent, sizeof sent);
    share.data[share.size - 4] = PLACE_LEVELS + 1; /* it would index the costs */
    reader = (struct reader){.at = share.data, .left = share.size};
    rank_place_code(codec_from(&reader), &found);
    assert_true(reader.bad);
    bytes_free(&share);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_gpus), cmocka_unit_test(test_nics),
                                       cmocka_unit_test(test_travel)};
    tree_begin();
    gpus_make();
    return cmocka_run_group_tests(tests, NULL, tree_remove);
}
