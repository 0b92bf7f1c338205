/*
 * json_groups.h - the groups of a split job in JSON, and the times of each.
 */
#ifndef CCTEST_CLI_RUN_JSON_GROUPS_H
#define CCTEST_CLI_RUN_JSON_GROUPS_H

#include <jansson.h>

#include "run/results/report.h"

/* The document's "groups": the name and the ranks of each; null: the job is not split. */
json_t *groups_json(const struct job *job, const struct participants *participants);

/* Puts the results of all groups into that of a line, in the order of the document's "groups", and
 * which of them are the slowest, the median and the fastest. */
void groups_put(json_t *line, const struct result *result);

#endif
