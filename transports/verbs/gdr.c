/*
 * gdr.c - how the NICs of this node reach the memory of its GPUs (GPUDirect RDMA), and what is
 * missing for a better way.
 *
 *     /proc/driver/nvidia/version     NVIDIA's driver: the open kernel module exports dmabufs, the
 *                                     proprietary one does not
 *     /sys/module/amdgpu              AMD's driver
 *
 * Whether one GPU exports its memory is an attribute of the device, which only its library reads.
 */
#include "transports/verbs/facts.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"

enum gpu_driver { GPU_DRIVER_NONE, GPU_DRIVER_NVIDIA, GPU_DRIVER_NVIDIA_OPEN, GPU_DRIVER_AMD };

static enum gpu_driver gpu_driver_find(const char *sysfs, const char *proc)
{
    char text[256], path[SYSFS_PATH_MOST];
    if (sysfs_text(text, sizeof text, "%s/driver/nvidia/version", proc))
        return strstr(text, "Open Kernel Module") ? GPU_DRIVER_NVIDIA_OPEN : GPU_DRIVER_NVIDIA;
    snprintf(path, sizeof path, "%s/module/amdgpu", sysfs);
    return access(path, F_OK) == 0 ? GPU_DRIVER_AMD : GPU_DRIVER_NONE;
}

static void dmabuf_describe(enum gpu_driver driver, bool imports, struct device *device)
{
    char why[FACT_TEXT_MOST];
    struct text text = text_in(why, sizeof why);
    if (driver == GPU_DRIVER_NVIDIA)
        text_add(&text, "the NVIDIA driver is not the open kernel module");
    if (!imports)
        text_add(&text, "%sthe NIC's driver imports none (Linux 5.12, rdma-core 34)",
                 text.used ? "; " : "");
    device_fact(device, FACT_SHOWN, "no dmabuf", "%s", why);
}

void gdr_describe(const char *sysfs, const char *proc, bool imports, struct device *device)
{
    enum gpu_driver driver = gpu_driver_find(sysfs, proc);
    const char *module = peermem_module(sysfs);
    bool dmabuf = imports && driver != GPU_DRIVER_NVIDIA;
    char bridge[16];
    if (driver == GPU_DRIVER_NONE)
        return;
    device_fact(device, FACT_SHOWN, "GPU memory", "%s",
                dmabuf   ? "dmabuf"
                : module ? "peermem"
                         : "not reached");
    if (!dmabuf)
        dmabuf_describe(driver, imports, device);
    if (!dmabuf && !module)
        device_fact(device, FACT_SHOWN, "no peermem", "%s",
                    driver == GPU_DRIVER_AMD
                        ? "amdkfd has not registered with the NIC's driver (MLNX_OFED)"
                        : "nvidia_peermem is not loaded (modprobe nvidia_peermem)");
    if (pci_redirecting(sysfs, device->bus, bridge))
        device_fact(device, FACT_SHOWN, "ACS",
                    "on at %s: what goes to a GPU takes the way through the root complex", bridge);
}
