/*
 * internal.h - for the files of cli/info/ alone.
 */
#ifndef CCTEST_CLI_INFO_INTERNAL_H
#define CCTEST_CLI_INFO_INTERNAL_H

#include <jansson.h>
#include <stddef.h>

#include "base/json_field.h"
#include "base/status.h"
#include "dataplane/memory/memory.h"
#include "dataplane/transport/transport.h"

/* ---- Objects of `cctest info`. ---- */

extern const struct json_field this_host_fields[], available_fields[], limit_fields[],
    part_fields[], port_fields[], gpu_fields[];

/* ---- info_devices.c ---- */

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

/* A text of an object; NULL: it has none. */
const char *string_of(const json_t *object, const char *key);

/* ---- The parts of this machine and how far they are apart, for `cctest info --topology`. ---- */

/* Adds "parts" and "distances" to the object "topology" of the document. NVLinks are taken from its
 * "gpus". `sysfs`: "/sys", or of another host. */
void topology_add(json_t *document, const char *sysfs);

/* Prints them on standard output, if they are there. */
void topology_print(const json_t *document);

/* ---- Prose in columns, on standard output. ---- */

#define TEXT_WIDTH 80

/* Prints the words of `text` from column `column` on, wrapped before TEXT_WIDTH, and ends the line.
 * `used` columns of the present line are taken; where they leave no gap, a new one is begun. */
void text_print(const char *text, int used, int column);

/* Strings with commas between them, of a list that is ended by NULL or `most`. Cut off at `size`.
 * Returns `text`. */
const char *text_join(const char *const *strings, int most, char *text, size_t size);

/* ---- help.c ---- */

/* Prints them on standard output. */
void transports_print(void);

/* [{"name": ..., "summary": ..., "options": [...]}, ...]: a new reference. */
json_t *transports_json(void);

#endif
