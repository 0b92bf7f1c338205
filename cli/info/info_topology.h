/*
 * info_topology.h - the parts of this machine and how far they are apart, for `cctest info --topology`.
 */
#ifndef CCTEST_CLI_INFO_INFO_TOPOLOGY_H
#define CCTEST_CLI_INFO_INFO_TOPOLOGY_H

#include <jansson.h>

#include "base/status.h"

/* Adds "parts" and "distances" to the object "topology" of the document. NVLinks are taken from its
 * "gpus". `sysfs`: "/sys", or of another host. */
enum status topology_add(json_t *document, const char *sysfs);

/* Prints them on standard output, if they are there. */
void topology_print(const json_t *document);

#endif
