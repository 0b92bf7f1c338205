/*
 * json_devices.h - the NICs and GPUs that the ranks use, in the JSON document of a run.
 */
#ifndef CCTEST_CLI_RUN_JSON_DEVICES_H
#define CCTEST_CLI_RUN_JSON_DEVICES_H

#include <jansson.h>

#include "run/results/report.h"

/* At the beginning: adds the keys of the functions below, with empty lists. */
void devices_begin(json_t *document);

/* Adds "nics" and "gpus" to a rank, empty until devices_put(). */
void devices_begin_rank(json_t *rank);

/* Adds "nics" and "gpus", with the facts that are compared, "nic_differences" and
 * "gpu_differences", and for each of the document's "ranks" the names of its NICs and GPUs. */
void devices_put(json_t *document, const struct connectivity *connectivity);

/* Adds "nics" and "gpus" to a line: what each has counted, by class. */
void readings_put(json_t *line, const struct device_readings *readings);

/* The counters of a class: {"local_ack_timeout_err": 3}. */
json_t *counters_object(const struct counter_list *list, enum counter_class class);

/* Adds "nic_faults" and "gpu_faults", what devices have counted in the job and healthy ones do not,
 * and "nics_unfinished" and "gpus_unfinished". */
void devices_end(json_t *document, const struct job_end *end);

#endif
