/*
 * gpu_measure.h - how fast each GPU of this host copies, inside it and between it and the host.
 */
#ifndef CCTEST_ACCEPT_GPU_MEASURE_H
#define CCTEST_ACCEPT_GPU_MEASURE_H

#include "base/status.h"

/* Measures for about `seconds` in all, all GPUs that this process can see at the same time, and writes
 * JSON to `fd`: for each GPU a line of "gpu-copy", "host-to-device" and "device-to-host" (GB/s, bytes
 * that were written). Where there are GPUs that this cctest cannot use, "note" says why. */
enum status gpu_measure(double seconds, int fd);

#endif
