/*
 * info_devices.h - the NICs and GPUs of this machine, for `cctest info`.
 */
#ifndef CCTEST_CLI_INFO_DEVICES_H
#define CCTEST_CLI_INFO_DEVICES_H

#include <jansson.h>

#include "memory/memory.h"
#include "transport/transport.h"

/* Adds the arrays "nics" (of all these transports) and "gpus" (of all these kinds of memory, and
 * without a driver those that sysfs shows) to the document. Both lists end by NULL. `sysfs`:
 * "/sys". */
void devices_add(json_t *document, const struct transport *const *list,
                 const struct memory_kind *const *kinds, const char *sysfs);

/* A transport of the array "transports" that has ports, but no usable one, is not available. */
void devices_judge(json_t *document);

/* Prints the ports and GPUs on standard output. */
void devices_print(const json_t *document);

#endif
