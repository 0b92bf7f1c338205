/*
 * info_devices.h - the NICs and GPUs of this machine, for `cctest info`.
 */
#ifndef CCTEST_CLI_INFO_INFO_DEVICES_H
#define CCTEST_CLI_INFO_INFO_DEVICES_H

#include <jansson.h>

#include "base/status.h"
#include "dataplane/memory/memory.h"
#include "dataplane/transport/transport.h"

/* Where devices are looked for. Both lists end by NULL. */
struct device_sources {
    const struct transport *const *transports;
    const struct memory_kind *const *kinds;
    const char *sysfs; /* "/sys" */
    double patience;   /* s that a driver may take for one device */
};

/* Adds the arrays "nics" (of all transports) and "gpus" (of all kinds of memory, and without a
 * driver those that sysfs shows) to the document. STATUS_TIMEOUT: a driver hangs. Its devices are
 * missing then, but for GPUs in sysfs; a thread goes on, so the process must end soon. */
enum status devices_add(json_t *document, const struct device_sources *sources);

/* In the arrays "transports" and "memory_kinds" what needs a usable port, or a usable GPU, and has
 * none, is not available. They list the sources in their order. */
void devices_judge(json_t *document, const struct device_sources *sources);

/* Prints the ports and GPUs on standard output. */
void devices_print(const json_t *document);

#endif
