/*
 * choice.h - which GPU a rank takes.
 */
#ifndef CCTEST_DATAPLANE_MEMORY_CUDA_CHOICE_H
#define CCTEST_DATAPLANE_MEMORY_CUDA_CHOICE_H

#include <stdbool.h>

#include "base/status.h"
#include "base/tick.h"
#include "dataplane/memory/memory_device.h"

/* The PCI address of the GPU that has this number for CUDA. False, and "": it is not known. */
bool cuda_bus(int number, char bus[16]);

/* The hooks of memory.h. */
int cuda_devices_taken(const char *choices);
enum status cuda_settle(const char *choices, int local_rank, const struct tick *tick,
                        struct memory_device *device);

#endif
