/*
 * test_nearness.c - which NIC is nearest to which cores, on a machine that a file describes to
 * hwloc: two sockets of two NUMA nodes, a NIC beside each of three nodes.
 * tier: check; load: cpu1
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "host/host.h"

#define NIC_0A "0000:3b:00.0" /* beside node 0 (CPUs 0, 1) */
#define NIC_0B "0000:3b:00.1" /* the same card */
#define NIC_1  "0000:5d:00.0" /* beside node 1 (CPUs 2, 3) */
#define NIC_3  "0000:d8:00.0" /* beside node 3 (CPUs 6, 7), in the other socket */

static char path[] = "/tmp/cctest-machine-XXXXXX";

static void set_put(FILE *file, unsigned cpus, unsigned nodes)
{
    fprintf(file,
            " cpuset=\"0x%08x\" complete_cpuset=\"0x%08x\" nodeset=\"0x%08x\" "
            "complete_nodeset=\"0x%08x\"",
            cpus, cpus, nodes, nodes);
}

static void nic_put(FILE *file, const char *bus, int index)
{
    fprintf(file,
            "<object type=\"PCIDev\" gp_index=\"%d\" pci_busid=\"%s\" pci_type=\"0200 [15b3:1021] "
            "[15b3:0041] 00\" pci_link_speed=\"63.0\"/>\n",
            index, bus);
}

static void node_put(FILE *file, int node, const char *const *nics)
{
    unsigned cpus = 3u << (2 * node);
    fprintf(file, "<object type=\"Group\" gp_index=\"%d\" depth=\"0\" kind=\"1001\" subkind=\"0\"",
            100 + node);
    set_put(file, cpus, 1u << node);
    fprintf(file,
            ">\n<object type=\"NUMANode\" os_index=\"%d\" gp_index=\"%d\" "
            "local_memory=\"1073741824\"",
            node, 200 + node);
    set_put(file, cpus, 1u << node);
    fputs("/>\n", file);
    for (int cpu = 2 * node; cpu < 2 * node + 2; cpu++) {
        fprintf(file, "<object type=\"Core\" os_index=\"%d\" gp_index=\"%d\"", cpu, 300 + cpu);
        set_put(file, 1u << cpu, 1u << node);
        fprintf(file, "><object type=\"PU\" os_index=\"%d\" gp_index=\"%d\"", cpu, 400 + cpu);
        set_put(file, 1u << cpu, 1u << node);
        fputs("/></object>\n", file);
    }
    if (nics[0])
        fprintf(file,
                "<object type=\"Bridge\" gp_index=\"%d\" bridge_type=\"0-1\" depth=\"0\" "
                "bridge_pci=\"0000:[%02x-%02x]\">\n",
                500 + node, 0x30 * node, 0x30 * node + 0x2f);
    for (int i = 0; i < 2 && nics[i]; i++)
        nic_put(file, nics[i], 600 + 10 * node + i);
    fputs(nics[0] ? "</object>\n</object>\n" : "</object>\n", file);
}

/* hwloc reads the file instead of this machine. */
static int machine_make(void **state)
{
    static const char *const nics[4][2] = {{NIC_0A, NIC_0B}, {NIC_1}, {NULL}, {NIC_3}};
    int fd = mkstemp(path);
    FILE *file = fd >= 0 ? fdopen(fd, "w") : NULL;
    (void)state;
    assert_non_null(file);
    fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<!DOCTYPE topology SYSTEM "
          "\"hwloc2.dtd\">\n<topology version=\"2.0\">\n<object type=\"Machine\" os_index=\"0\" "
          "gp_index=\"1\" allowed_cpuset=\"0x000000ff\" allowed_nodeset=\"0x0000000f\"",
          file);
    set_put(file, 0xff, 0xf);
    fputs(">\n", file);
    for (int socket = 0; socket < 2; socket++) {
        fprintf(file, "<object type=\"Package\" os_index=\"%d\" gp_index=\"%d\"", socket,
                10 + socket);
        set_put(file, 0xfu << (4 * socket), 3u << (2 * socket));
        fputs(">\n", file);
        node_put(file, 2 * socket, nics[2 * socket]);
        node_put(file, 2 * socket + 1, nics[2 * socket + 1]);
        fputs("</object>\n", file);
    }
    fputs("</object>\n</topology>\n", file);
    assert_int_equal(0, fclose(file));
    return setenv("HWLOC_XMLFILE", path, 1);
}

static int machine_remove(void **state)
{
    (void)state;
    return unlink(path);
}

static const char *const buses[] = {NIC_3, NIC_1, "", NIC_0A, NIC_0B, "0000:ff:00.0"};
#define COUNT 6
static uint64_t distances[COUNT];

/* The order of `buses` for a thread on the CPUs `first` to `last`, as digits. */
static const char *order_from(int first, int last)
{
    static char text[COUNT + 1];
    cpu_set_t cpus;
    int order[COUNT];
    CPU_ZERO(&cpus);
    for (int cpu = first; cpu <= last; cpu++)
        CPU_SET((size_t)cpu, &cpus);
    nearness_distances(buses, COUNT, &cpus, distances);
    nearness_order(distances, COUNT, order);
    for (int i = 0; i < COUNT; i++)
        text[i] = (char)('0' + order[i]);
    return text;
}

static void test_cores(void **state)
{
    (void)state;
    assert_string_equal(order_from(0, 0), "341025");
    assert_true(distances[3] == distances[4]); /* the caller may take turns */
    assert_true(distances[3] < distances[1] && distances[1] < distances[0]);
    assert_true(distances[2] == NEARNESS_UNKNOWN && distances[5] == NEARNESS_UNKNOWN);
    assert_string_equal(order_from(3, 3), "134025");
    assert_string_equal(order_from(5, 5), "013425"); /* node 2 has none: its socket's comes first */
    assert_true(distances[1] == distances[3]);
    assert_string_equal(order_from(7, 7), "013425");
}

static void test_wide(void **state)
{
    (void)state;
    order_from(0, 7); /* not bound: all are equally near */
    assert_true(distances[0] == distances[1] && distances[1] == distances[3]);
    assert_string_equal(order_from(0, 7), "013425");
    assert_string_equal(order_from(0, 3), "134025"); /* a socket's cores: its three NICs tie */
    assert_true(distances[1] == distances[3]);
}

static void test_nothing(void **state)
{
    static const char *const none[] = {"", ""};
    int order[2];
    (void)state;
    nearness_distances(none, 2, NULL, distances);
    nearness_order(distances, 2, order);
    assert_int_equal(order[0], 0);
    assert_int_equal(order[1], 1);
    nearness_distances(none, 0, NULL, distances);
    nearness_order(distances, 0, order);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cores),
        cmocka_unit_test(test_wide),
        cmocka_unit_test(test_nothing),
    };
    return cmocka_run_group_tests(tests, machine_make, machine_remove);
}
