/*
 * gpu_meter.h - the health of a GPU: what it has counted, how warm and how fast it is.
 */
#ifndef CCTEST_HOST_NVML_GPU_METER_H
#define CCTEST_HOST_NVML_GPU_METER_H

#include "host/meter.h"

/* The meter of a GPU, which counts Xid events from now on. NULL: NVML does not know the GPU, or
 * memory ran out. */
struct meter *gpu_meter_open(const char *bus);

#endif
