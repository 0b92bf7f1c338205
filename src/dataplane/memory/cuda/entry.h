/*
 * entry.h - functions of the CUDA driver that the runtime does not have. The runtime finds them, so
 * nothing is linked with the driver's library.
 */
#ifndef CCTEST_DATAPLANE_MEMORY_CUDA_ENTRY_H
#define CCTEST_DATAPLANE_MEMORY_CUDA_ENTRY_H

#include <stdbool.h>

/* Writes the address of the driver's function of this name, as of CUDA `version` (12040: 12.4),
 * into the function pointer that `function` points to; or NULL, and false: the driver is older. */
bool cuda_entry_find(const char *name, unsigned version, void *function);

#endif
