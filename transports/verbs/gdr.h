/*
 * gdr.h - how the NICs of this node reach the memory of its GPUs (GPUDirect RDMA), and what is
 * missing for a better way.
 */
#ifndef CCTEST_TRANSPORTS_VERBS_GDR_H
#define CCTEST_TRANSPORTS_VERBS_GDR_H

#include "host/device.h"

/* Adds the fact "GPU memory" (dmabuf, peermem, or not reached), and one for each better way,
 * which is missing; and "ACS" where a bridge above the NIC redirects what it sends to a GPU.
 * Without a GPU driver it adds none. `imports`: the NIC's driver imports dmabufs. `sysfs`, `proc`:
 * /sys and /proc, but in tests. */
void gdr_describe(const char *sysfs, const char *proc, bool imports, struct device_list *list,
                  struct device *device);

#endif
