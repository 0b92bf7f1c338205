/*
 * gpus.h - the interface of host/nvml/.
 */
#ifndef CCTEST_HOST_NVML_GPUS_H
#define CCTEST_HOST_NVML_GPUS_H

#include <stdint.h>

#include "host/host.h"

/* ---- The facts of NVIDIA GPUs, as NVML tells them.
 *
 * A GPU is named by its PCI address, as the kernel writes it ("0000:3b:00.0"). Parts of a GPU (MIG)
 * have that of the GPU.
 * ---- */

#define GPU_BUS_MOST     16 /* bytes, as of device->bus */
#define GPU_NVLINKS_MOST 64
#define GPU_DOMAIN_MOST  48

struct nvmlDevice_st;
struct nvmlFieldValue_st;

/* A PCI address as the kernel writes it; CUDA and NVML write "0000:3B:00.0" and "00000000:3B:00.0".
 * False, and "": it is none. */
bool gpu_bus(const char *text, char bus[GPU_BUS_MOST]);

/* NVML's handle; NULL: it has none, and *why says why (static). */
struct nvmlDevice_st *gpu_find(const char *bus, const char **why);

/* The NVLink domain that reaches beyond the GPU's host, and the clique in it, "UUID.7". "": it is
 * in none, or NVML does not tell. */
void gpu_domain(const char *bus, char domain[GPU_DOMAIN_MOST]);

/* The value that nvmlDeviceGetFieldValues() has filled in. False: the field is not supported, or
 * has no number that counts. */
bool gpu_field_value(const struct nvmlFieldValue_st *field, uint64_t *value);

/* NVLinks that the GPU has, at most GPU_NVLINKS_MOST; 0 if that is not known. */
int gpu_nvlinks(struct nvmlDevice_st *gpu);
/* The number of the first `links` NVLinks that are up. */
int gpu_nvlinks_up(struct nvmlDevice_st *gpu, int links);

/* Adds a GPU with its facts. Where NVML does not know it, these are few. */
struct device *gpu_add(const char *bus, struct device_list *list);

/* Adds all GPUs that NVML knows. */
void gpus_add(struct device_list *list);

/* ---- The ways between the GPUs of a machine. ---- */

enum gpu_access { GPU_ACCESS_UNKNOWN, GPU_ACCESS_NO, GPU_ACCESS_YES };

/* Does a GPU reach the memory of another? What NVML says of it. */
enum gpu_access gpu_access(const char *bus, const char *other);

/* A number that is the same for GPUs of a host that NVLinks join: the PCI number of the first among
 * those that a GPU has direct links to, itself among them, or 1, which is no GPU's, behind
 * NVSwitches. PLACE_UNKNOWN: no NVLink is up, or NVML does not tell. It takes links to be of all to
 * all: bridges of two GPUs, of four. */
uint32_t gpu_nvlinked(const char *bus);

/* Adds to each GPU of the list a fact for each other: "to 0000:3b:00.0" is "NV18 by NVSwitch, peer
 * access" or "PIX, no peer access". access(): does GPU `from` of the list reach the memory of GPU
 * `to`? */
void gpu_links_describe(struct device_list *list,
                        enum gpu_access (*access)(const void *argument, int from, int to),
                        const void *argument);

/* ---- The health of a GPU: what it has counted, how warm and how fast it is. ---- */

/* The meter of a GPU, which counts Xid events from now on. NULL: NVML does not know the GPU, or
 * memory ran out. */
struct meter *gpu_meter_open(const char *bus);

#endif
