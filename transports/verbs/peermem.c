/*
 * peermem.c - modules of the kernel by which NICs reach the memory of GPUs at its addresses.
 *
 * Those of MLNX_OFED show themselves below mm/memory_peers; nvidia_peermem is NVIDIA's later one.
 */
#include "transports/verbs/facts.h"

#include <stddef.h>
#include <stdio.h>
#include <unistd.h>

const char *peermem_module(const char *sysfs)
{
    static const struct {
        const char *name, *path;
    } modules[] = {
        {"nvidia_peermem", "module/nvidia_peermem"},
        {"nv_peer_mem", "kernel/mm/memory_peers/nv_mem/version"},
        {"nv_peer_mem", "kernel/mm/memory_peers/nv_mem_nc/version"},
        {"amdkfd", "kernel/mm/memory_peers/amdkfd/version"},
    };
    for (size_t i = 0; i < sizeof modules / sizeof *modules; i++) {
        char path[SYSFS_PATH_MOST];
        snprintf(path, sizeof path, "%s/%s", sysfs, modules[i].path);
        if (access(path, F_OK) == 0)
            return modules[i].name;
    }
    return NULL;
}
