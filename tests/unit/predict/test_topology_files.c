/*
 * test_topology_files.c - topologies of files: Slurm's topology.conf, a node as NCCL and as hwloc
 * write it, places of ranks; and files that are refused, with their names and lines.
 * tier: check; load: cpu1
 */
#include "tests/unit/topologies.h"

#include <hwloc.h>

/* ---- files ---- */

static void test_slurm(void **state)
{
    (void)state;
    char path[64], spec[128];
    file_write(path, "SwitchName=s1 Nodes=n[1-3] LinkSpeed=100\nSwitchName=s2 Nodes=m1,m2\n"
                     "SwitchName=s3 Nodes=x[1-2]\n"
                     "SwitchName=p1 Switches=s[1-3] LinkSpeed=50\nSwitchName=p2 Switches=s[1-3]\n");
    snprintf(spec, sizeof spec, "%s:ranks=2:latency=0.5", path);
    struct topology *t = topology_of(spec);
    struct topology_link link;
    char name[LINK_NAME_MOST];
    uint32_t links[8];
    assert_int_equal(topology_hosts(t), 7);
    assert_int_equal(topology_links(t), 14 + 12);
    for (int from = 0; from < 14; from++)
        for (int to = 0; to < 14; to++)
            way_check(t, 1, from, to);
    topology_end_name(t, 9, name);
    assert_string_equal(name, "m2 rank 1");
    assert_int_equal(topology_route(t, 0, 6, links, 8), 4);
    topology_link_get(t, links[1], &link);
    assert_true(link.latency_us == 0.5);
    /* s1 -> p1 as LinkSpeed says; to p2, half of what its three hosts send. */
    for (uint32_t l = 14; l < 26; l++) {
        topology_link_get(t, l, &link);
        if (strcmp(link.name, "s1 -> p1") == 0)
            assert_true(link.capacity == 0.5);
        if (strcmp(link.name, "p2 -> s1") == 0)
            assert_true(link.capacity == 1.5);
    }
    topology_free(t);
    /* LinkSpeed of the slowest switch with hosts stands for rate=. */
    file_write(path,
               "SwitchName=s1 Nodes=n[1-3] LinkSpeed=100\nSwitchName=s2 Nodes=m1 LinkSpeed=200\n"
               "SwitchName=s3 Nodes=x1 LinkSpeed=400\n"
               "SwitchName=p1 Switches=s[1-3] LinkSpeed=800\n");
    t = topology_of(path);
    for (uint32_t l = 10; l < topology_links(t); l++) {
        topology_link_get(t, l, &link);
        assert_true(link.capacity == 8);
    }
    topology_free(t);
    /* Three levels without LinkSpeed: a switch sends up what all its hosts send. */
    file_write(path, "SwitchName=s1 Nodes=n[1-3]\nSwitchName=s2 Nodes=m1\nSwitchName=s3 Nodes=x1\n"
                     "SwitchName=p1 Switches=s[1-2]\nSwitchName=p2 Switches=s3\n"
                     "SwitchName=top Switches=p[1-2]\n");
    t = topology_of(path);
    int seen = 0;
    for (uint32_t l = 0; l < topology_links(t); l++) {
        topology_link_get(t, l, &link);
        if (strcmp(link.name, "p1 -> top") != 0)
            continue;
        assert_true(link.capacity == 4);
        seen++;
    }
    assert_int_equal(seen, 1);
    topology_free(t);
    unlink(path);
}

/* Lines may begin with blanks, and go on in the next one. */
static void test_blanks(void **state)
{
    (void)state;
    char path[64];
    file_write(path, "  SwitchName=s1 Nodes=n1\n\t SwitchName=s2 \\\n   Nodes=n2\n   # none\n   \n"
                     "    SwitchName=top Switches=s[1-2]\n");
    struct topology *t = topology_of(path);
    assert_int_equal(topology_hosts(t), 2);
    assert_int_equal(topology_route(t, 0, 1, NULL, 0), 4);
    topology_free(t);
    unlink(path);
}

/* A place has the number of its rank where a host has several. */
static void check_end_name(const char *spec, int end, const char *expected)
{
    struct topology *t = topology_of(spec);
    char name[LINK_NAME_MOST];
    topology_end_name(t, end, name);
    assert_string_equal(name, expected);
    topology_free(t);
}

static void test_names_of_places(void **state)
{
    (void)state;
    char path[64], spec[128];
    file_write(path, "SwitchName=s1 Nodes=n[1-3]\n");
    check_end_name(path, 2, "n3");
    snprintf(spec, sizeof spec, "%s:ranks=2", path);
    check_end_name(spec, 2, "n2 rank 0");
    check_end_name(spec, 5, "n3 rank 1");
    unlink(path);
}

/* Where switches of two levels have two parents each, messages use all links of both levels. */
static void test_picks_of_levels(void **state)
{
    (void)state;
    char path[64];
    bool used[64] = {false};
    uint32_t links[16];
    struct topology_link link;
    file_write(path,
               "SwitchName=s1 Nodes=n[1-8]\nSwitchName=s2 Nodes=m[1-8]\n"
               "SwitchName=p1 Switches=s1\nSwitchName=p2 Switches=s1\n"
               "SwitchName=q1 Switches=s2\nSwitchName=q2 Switches=s2\n"
               "SwitchName=t1 Switches=p[1-2],q[1-2]\nSwitchName=t2 Switches=p[1-2],q[1-2]\n");
    struct topology *t = topology_of(path);
    assert_true(topology_links(t) <= 64);
    for (int from = 0; from < 16; from++)
        for (int to = 0; to < 16; to++)
            for (size_t l = topology_route(t, from, to, links, 16); l > 0; l--)
                used[links[l - 1]] = true;
    for (uint32_t l = 0; l < topology_links(t); l++) {
        topology_link_get(t, l, &link);
        if (!used[l])
            print_error("no message crosses %s\n", link.name);
        assert_true(used[l]);
    }
    topology_free(t);
    unlink(path);
}

#define GPU(bus, dev, links) GPU_OF("90", bus, dev, links)
#define GPU_OF(sm, bus, dev, links)                                                                \
    "<pci busid='" bus                                                                             \
    "' class='0x030200' link_speed='32.0 GT/s PCIe' link_width='16'><gpu dev='" dev "' sm='" sm    \
    "' rank='0'>" links "</gpu></pci>"
#define SWITCHED "<nvlink target='0000:00:00.0' count='18' tclass='0x068000'/>"
#define TO(bus)  "<nvlink target='" bus "' count='4' tclass='0x030200'/>"
#define NODE(first, second)                                                                        \
    "<?xml version='1.0'?><system version='1'><cpu numaid='0' arch='x86_64' "                      \
    "vendor='AuthenticAMD'><pci busid='0000:01:00.0' class='0x060400' link_speed='32.0 GT/s "      \
    "PCIe' "                                                                                       \
    "link_width='16'>" first                                                                       \
    "</pci></cpu><cpu numaid='1' arch='x86_64' vendor='AuthenticAMD'>" second "</cpu></system>"

static void names_of_way(const struct topology *t, int from, int to, char *text)
{
    uint32_t links[16];
    struct topology_link link;
    size_t count = topology_route(t, from, to, links, 16);
    text[0] = '\0';
    for (size_t l = 0; l < count; l++) {
        topology_link_get(t, links[l], &link);
        sprintf(text + strlen(text), "%s%s %.4g", l ? ", " : "", link.name, link.capacity);
    }
}

static void test_nccl(void **state)
{
    (void)state;
    char path[64], text[600];
    file_write(path, NODE(GPU("0000:02:00.0", "0", SWITCHED) GPU("0000:03:00.0", "1", SWITCHED),
                          GPU("0000:82:00.0", "2", SWITCHED)));
    struct topology *t = topology_of(path);
    assert_int_equal(topology_ends(t), 3);
    for (int from = 0; from < 3; from++)
        for (int to = 0; to < 3; to++)
            way_check(t, 1, from, to);
    names_of_way(t, 0, 2, text);
    assert_string_equal(text, "GPU 0 -> NVSwitch 1, NVSwitch -> GPU 2 1");
    topology_end_name(t, 2, text);
    assert_string_equal(text, "GPU 2");
    topology_free(t);
    unlink(path);
    /* NVLink from 0 to 1 and from 1 to 2: 0 reaches 2 over PCI, since a GPU passes nothing on. */
    file_write(path, NODE(GPU("0000:02:00.0", "0", TO("0000:03:00.0"))
                              GPU("0000:03:00.0", "1", TO("0000:02:00.0") TO("0000:82:00.0")),
                          GPU("0000:82:00.0", "2", TO("0000:03:00.0"))));
    t = topology_of(path);
    names_of_way(t, 0, 1, text);
    assert_string_equal(text, "GPU 0 -> GPU 1 1");
    names_of_way(t, 0, 2, text);
    assert_string_equal(text, "GPU 0 -> PCI 0000:01:00.0 0.5825, PCI 0000:01:00.0 -> CPU 0 0.5825, "
                              "CPU 0 -> CPU 1 0.1942, CPU 1 -> GPU 2 0.5825");
    topology_free(t);
    unlink(path);
}

/* An NVLink of Blackwell is about twice as fast as one of Hopper, beside the same PCI. */
static void test_nvlink_of_a_generation(void **state)
{
    (void)state;
    static const struct {
        const char *text, *way;
    } cases[] = {{NODE(GPU("0000:02:00.0", "0", TO("0000:03:00.0"))
                           GPU("0000:03:00.0", "1", TO("0000:02:00.0")),
                       GPU("0000:82:00.0", "2", "")),
                  "GPU 0 -> PCI 0000:01:00.0 0.5825, PCI 0000:01:00.0 -> CPU 0 0.5825, "
                  "CPU 0 -> CPU 1 0.1942, CPU 1 -> GPU 2 0.5825"},
                 {NODE(GPU_OF("100", "0000:02:00.0", "0", TO("0000:03:00.0"))
                           GPU_OF("100", "0000:03:00.0", "1", TO("0000:02:00.0")),
                       GPU_OF("100", "0000:82:00.0", "2", "")),
                  "GPU 0 -> PCI 0000:01:00.0 0.2993, PCI 0000:01:00.0 -> CPU 0 0.2993, "
                  "CPU 0 -> CPU 1 0.09975, CPU 1 -> GPU 2 0.2993"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char path[64], text[600];
        file_write(path, cases[i].text);
        struct topology *t = topology_of(path);
        names_of_way(t, 0, 2, text);
        assert_string_equal(text, cases[i].way);
        topology_free(t);
        unlink(path);
    }
}

/* The second of two GPUs alone names their NVLink. */
static void test_nccl_named_once(void **state)
{
    (void)state;
    char path[64], text[600];
    file_write(path,
               NODE(GPU("0000:02:00.0", "0", ""), GPU("0000:82:00.0", "1", TO("0000:02:00.0"))));
    struct topology *t = topology_of(path);
    names_of_way(t, 0, 1, text);
    assert_string_equal(text, "GPU 0 -> GPU 1 1");
    names_of_way(t, 1, 0, text);
    assert_string_equal(text, "GPU 1 -> GPU 0 1");
    topology_free(t);
    unlink(path);
}

/* A machine of hwloc's own making, and the file that hwloc writes of it. */
static void test_hwloc(void **state)
{
    (void)state;
    char path[64], spec[128], text[600], *xml;
    int length;
    hwloc_topology_t made;
    assert_int_equal(hwloc_topology_init(&made), 0);
    assert_int_equal(hwloc_topology_set_synthetic(made, "package:2 l3:2 core:3 pu:2"), 0);
    assert_int_equal(hwloc_topology_load(made), 0);
    assert_int_equal(hwloc_topology_export_xmlbuffer(made, &xml, &length, 0), 0);
    file_write(path, xml);
    hwloc_free_xmlbuffer(made, xml);
    hwloc_topology_destroy(made);
    struct topology *t = topology_of(path);
    assert_int_equal(topology_ends(t), 12);
    assert_int_equal(topology_hosts(t), 1);
    for (int from = 0; from < 12; from++)
        for (int to = 0; to < 12; to++)
            way_check(t, 1, from, to);
    assert_true(topology_distance(t, 0, 1) < topology_distance(t, 0, 3));
    assert_true(topology_distance(t, 0, 3) < topology_distance(t, 0, 6));
    topology_free(t);
    snprintf(spec, sizeof spec, "%s:places=pu:package=2:cache=1.5", path);
    t = topology_of(spec);
    assert_int_equal(topology_ends(t), 24);
    names_of_way(t, 2, 12, text);
    assert_string_equal(text, "PU 2 -> L3 0 1, L3 0 -> Package 0 1.5, Package 0 -> Machine 0 2, "
                              "Machine 0 -> Package 1 2, Package 1 -> L3 2 1.5, L3 2 -> PU 12 1");
    topology_free(t);
    snprintf(spec, sizeof spec, "%s:ranks=2", path);
    refused(spec, NULL, 0, "leave ranks= out");
    unlink(path);
}

/* A file is refused with its name and the line. */
static void file_refused(const char *content, const char *why)
{
    char path[64], whole[400];
    file_write(path, content);
    snprintf(whole, sizeof whole, "%s%s", path, why);
    refused(path, NULL, 0, whole);
    unlink(path);
}

/* The name of one host begins with the name of another. */
static void test_places_by_name(void **state)
{
    (void)state;
    char path[64], places[64];
    int ends[2];
    file_write(path, "SwitchName=s1 Nodes=n10,n1\n");
    file_write(places, "n1\nn10\n");
    struct topology *t = topology_of(path);
    assert_int_equal(placement_make(t, places, 2, ends), STATUS_OK);
    assert_true(ends[0] == 1 && ends[1] == 0);
    topology_free(t);
    unlink(places);
    unlink(path);
}

static void test_files_refused(void **state)
{
    (void)state;
    char path[64];
    file_refused("", " names no switch");
    file_refused("SwitchName=a Nodes=n[1-2]\nSwitchName=b Nodes=n2\n",
                 ":2: host n2 is behind switch a already (line 1)");
    file_refused("SwitchName=a Nodes=n1,n1\n", ":1: host n1 is behind switch a already");
    file_refused("SwitchName=a Nodes=n1\nSwitchName=b Nodes=n2\n",
                 " names 2 switches and none that connects them");
    file_refused("a: n1\nb: n2\nc: n3\nSwitchName=top Switches=a,b\n",
                 ": there is no way from c to a");
    file_refused("SwitchName=a Nodes=n1 LinkSpeed=fast\n", ":1: 'fast' is no LinkSpeed");
    file_refused("<topology version='2.0'><object/>", " is no topology that hwloc reads");
    file_refused("<system>\n<cpu numaid='0'>\n</system>", ":3: this is no XML: ");
    file_refused("<system>\n<cpu numaid='0'/>\n</system>", " has no GPU");
    file_refused("<system>\n<cpu>\n<pci>\n</pci></cpu></system>", ":3: <pci> has no busid=");
    file_refused("<system><cpu>\n<pci busid='0'><gpu dev='x' sm='80'/></pci></cpu></system>",
                 ":2: ");
    file_refused(NODE("", "\n" GPU("0", "0", "\n<nvlink target='0' count='1'/>")),
                 ":3: <nvlink> leads to its own GPU");
    file_refused(NODE("", "\n" GPU("0", "0", "") "\n" GPU("1", "0", "")),
                 ":3: <gpu> has the dev= of another GPU");
    file_refused(NODE("", "\n" GPU("0", "0", "") "\n" GPU("0", "1", "")),
                 ":3: <gpu> has the busid= of another GPU");
    static const char *const places[][2] = {
        {"0\n1\n", " has places for 2 ranks, and these are 3"},
        {"0\n1\n2\n3\n", ":4: '3' is the place of a rank that there is not"},
        {"0\n\n0\n", ":3: '0' is the place of a rank before"},
        {"0\n9\n", ":2: '9' is none of the topology's places"},
        {"0\nsomewhere\n", ":2: 'somewhere' is neither a place's number nor a host's name"},
        {"host 1\nhost 1\n", ":2: 'host 1' has no place left"},
        {"99999999999999999999\n", ":1: "},
    };
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        char why[200];
        file_write(path, places[i][0]);
        snprintf(why, sizeof why, "%s%s", path, places[i][1]);
        refused("ring:9", path, 3, why);
        unlink(path);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_slurm),
        cmocka_unit_test(test_blanks),
        cmocka_unit_test(test_names_of_places),
        cmocka_unit_test(test_nccl),
        cmocka_unit_test(test_nvlink_of_a_generation),
        cmocka_unit_test(test_picks_of_levels),
        cmocka_unit_test(test_nccl_named_once),
        cmocka_unit_test(test_places_by_name),
        cmocka_unit_test(test_hwloc),
        cmocka_unit_test(test_files_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
