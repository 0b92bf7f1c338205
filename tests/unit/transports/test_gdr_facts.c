/*
 * test_gdr_facts.c - how a NIC reaches GPU memory, what is missing for a better way, and bridges
 * that redirect, as made-up files say it.
 * tier: check; load: cpu1
 */
#include "tests/unit/tree.h"

#include "host/host.h"
#include "transports/verbs/facts.h"

static void file_remove(const char *path)
{
    char full[PATH_MAX];
    snprintf(full, sizeof full, "%s/%s", tree, path);
    assert_int_equal(0, remove(full));
}

static struct device_list list;

/* Describes a NIC whose driver imports dmabufs, or not. */
static void nic_describe(const char *bus, bool imports)
{
    char proc[PATH_MAX + 16];
    snprintf(proc, sizeof proc, "%s/proc", tree);
    device_list_free(&list);
    struct device *nic = device_add(&list, "port", "mlx5_0:1");
    snprintf(nic->bus, sizeof nic->bus, "%s", bus);
    gdr_describe(tree, proc, imports, nic);
}

static void assert_fact(const char *name, const char *text)
{
    const char *is = device_find_fact(&list.devices[0], name);
    assert_string_equal(is ? is : "(none)", text ? text : "(none)");
}

static void assert_gpu_memory(bool imports, const char *way, const char *no_dmabuf,
                              const char *no_peermem)
{
    nic_describe("", imports);
    assert_fact("GPU memory", way);
    assert_fact("no dmabuf", no_dmabuf);
    assert_fact("no peermem", no_peermem);
    assert_fact("ACS", NULL);
}

static void test_gpu_memory(void **state)
{
    static const char no_peermem[] = "nvidia_peermem is not loaded (modprobe nvidia_peermem)";
    static const char no_import[] = "the NIC's driver imports none (Linux 5.12, rdma-core 34)";
    static const char not_open[] = "the NVIDIA driver is not the open kernel module";
    static const char neither[] = "the NVIDIA driver is not the open kernel module; the NIC's "
                                  "driver imports none (Linux 5.12, rdma-core 34)";
    (void)state;
    assert_gpu_memory(true, NULL, NULL, NULL);
    file_make("proc/driver/nvidia/version",
              "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.14  Thu Feb 22\n");
    assert_gpu_memory(false, "not reached", neither, no_peermem);
    assert_gpu_memory(true, "not reached", not_open, no_peermem);
    file_make("module/nvidia_peermem/version", "550.54.14\n");
    assert_gpu_memory(true, "peermem", not_open, NULL);
    file_make("proc/driver/nvidia/version",
              "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  550.54.14  Release\n");
    assert_gpu_memory(true, "dmabuf", NULL, NULL);
    assert_gpu_memory(false, "peermem", no_import, NULL);
    file_remove("module/nvidia_peermem/version");
    file_remove("module/nvidia_peermem");
    assert_gpu_memory(false, "not reached", no_import, no_peermem);
    file_make("kernel/mm/memory_peers/nv_mem/version", "1.3\n");
    assert_string_equal(peermem_module(tree), "nv_peer_mem");
    file_remove("kernel/mm/memory_peers/nv_mem/version");
    file_make("kernel/mm/memory_peers/amdkfd/version", "1.0\n");
    file_remove("proc/driver/nvidia/version");
    assert_gpu_memory(false, NULL, NULL, NULL);
    file_make("module/amdgpu/version", "6.1\n");
    assert_gpu_memory(false, "peermem", no_import, NULL);
    file_remove("kernel/mm/memory_peers/amdkfd/version");
    assert_gpu_memory(false, "not reached", no_import,
                      "amdkfd has not registered with the NIC's driver (MLNX_OFED)");
    assert_gpu_memory(true, "dmabuf", NULL, NULL);
}

/* The configuration of a bridge: 256 bytes that do not matter, another capability, and ACS. */
static void bridge_make(const char *bus, size_t size, unsigned char control)
{
    char full[PATH_MAX + 64];
    unsigned char config[0x200] = {0};
    snprintf(full, sizeof full, "%s/bus/pci/devices/%s/config", tree, bus);
    memset(config, 0xff, 0x100);
    memcpy(config + 0x100, (unsigned char[]){0x01, 0x00, 0x02, 0x1a}, 4); /* next: 0x1a0 */
    memcpy(config + 0x1a0, (unsigned char[]){0x0d, 0x00, 0x01, 0x10},
           4); /* next: 0x100, for ever */
    config[0x1a6] = control;
    FILE *file = fopen(full, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(config, 1, size, file), size);
    assert_int_equal(0, fclose(file));
}

static void test_acs(void **state)
{
    char bridge[16];
    (void)state;
    pci_make("pci0000:90/0000:90:01.0", "0\n", "16\n", "32.0 GT/s PCIe\n");
    pci_make("pci0000:90/0000:90:01.0/0000:91:00.0", "0\n", "16\n", "32.0 GT/s PCIe\n");
    pci_make("pci0000:90/0000:90:01.0/0000:91:00.0/0000:92:00.0", "0\n", "16\n", "32.0 GT/s\n");
    assert_false(pci_redirecting(tree, "0000:92:00.0", bridge)); /* unreadable */
    bridge_make("0000:92:00.0", 0x200, 0xff);
    bridge_make("0000:91:00.0", 0x200, 0x7b);
    bridge_make("0000:90:01.0", 0x40, 0x04); /* as without privileges */
    assert_false(pci_redirecting(tree, "0000:92:00.0", bridge));
    assert_string_equal(bridge, "");
    bridge_make("0000:90:01.0", 0x200, 0x1d);
    assert_true(pci_redirecting(tree, "0000:92:00.0", bridge));
    assert_string_equal(bridge, "0000:90:01.0");
    bridge_make("0000:91:00.0", 0x200, 0x04);
    assert_true(pci_redirecting(tree, "0000:92:00.0", bridge));
    assert_string_equal(bridge, "0000:91:00.0");
    bridge_make("0000:91:00.0", 0x1a4, 0x04); /* cut off */
    assert_true(pci_redirecting(tree, "0000:92:00.0", bridge));
    assert_string_equal(bridge, "0000:90:01.0");
    assert_false(pci_redirecting(tree, "0000:ff:00.0", bridge));
    assert_false(pci_redirecting(tree, "", bridge));

    file_make("proc/driver/nvidia/version", "NVRM version: NVIDIA UNIX Open Kernel Module\n");
    nic_describe("0000:92:00.0", true);
    assert_fact("GPU memory", "dmabuf");
    assert_fact("ACS",
                "on at 0000:90:01.0: what goes to a GPU takes the way through the root complex");
    nic_describe("0000:90:01.0", true); /* no bridge is above it */
    assert_fact("ACS", NULL);
}

static int begin(void **state)
{
    (void)state;
    tree_begin();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_gpu_memory),
                                       cmocka_unit_test(test_acs)};
    int failed = cmocka_run_group_tests(tests, begin, tree_remove);
    device_list_free(&list);
    return failed;
}
