/*
 * nvidia.h - the NVIDIA GPUs that a process may use, counted by files.
 */
#ifndef CCTEST_HOST_NVIDIA_H
#define CCTEST_HOST_NVIDIA_H

/* How many GPUs CUDA shows to a process: those with a device file, of which `visible`, the text of
 * CUDA_VISIBLE_DEVICES, leaves some (NULL: all). Of a GPU that MIG divides CUDA shows one part. An
 * estimate: CUDA itself is not asked, so that the process may still fork. `root`: "", but in tests.
 */
int nvidia_visible(const char *root, const char *visible);

#endif
