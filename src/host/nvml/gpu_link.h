/*
 * gpu_link.h - the ways between the GPUs of a machine.
 */
#ifndef CCTEST_HOST_NVML_GPU_LINK_H
#define CCTEST_HOST_NVML_GPU_LINK_H

#include "host/device.h"
#include "host/host_place.h"

enum gpu_access { GPU_ACCESS_UNKNOWN, GPU_ACCESS_NO, GPU_ACCESS_YES };

/* Does a GPU reach the memory of another? What NVML says of it. */
enum gpu_access gpu_access(const char *bus, const char *other);

/* Of GPUs of a host that NVLinks join the same number: the PCI number of the first among those that
 * a GPU has direct links to, itself among them, or 1, which is no GPU's, behind NVSwitches.
 * PLACE_UNKNOWN: no NVLink is up, or NVML does not tell. It takes links to be of all to all:
 * bridges of two GPUs, of four. */
uint32_t gpu_nvlinked(const char *bus);

/* Adds to each GPU of the list a fact for each other: "to 0000:3b:00.0" is "NV18 by NVSwitch, peer
 * access" or "PIX, no peer access". access(): does GPU `from` of the list reach the memory of GPU
 * `to`? */
void gpu_links_describe(struct device_list *list,
                        enum gpu_access (*access)(const void *argument, int from, int to),
                        const void *argument);

#endif
