/*
 * predict.h - the interface of cli/predict/.
 */
#ifndef CCTEST_CLI_PREDICT_PREDICT_H
#define CCTEST_CLI_PREDICT_PREDICT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "base/json_field.h"
#include "predict/topology/topology.h"
#include "run/results/results.h"

/* ---- load.c ---- */

/* As many links as make LOAD_NUMBERS_MOST numbers. */
#define LOAD_NUMBERS_MOST (1 << 20)
json_t *load_json(const struct link_load *load);
json_t *topology_json(const struct topology *topology);

/* Their tables, and that of fit.c. */
extern const struct json_field load_fields[], load_step_fields[], loaded_link_fields[];
extern const struct json_field network_fields[], residual_fields[];

/* ---- The load of links as text: the congestion factor, the most loaded links, and the
 * steps.
 * ---- */

/* `title`: what makes the load. `all`: all links and steps, not the first few. */
void load_print(FILE *out, const struct link_load *load, const char *title, bool all);

/* ---- A prediction beside a measured line: predict.c ---- */

/* Below a line: in which of several steps measured and predicted times part most. Nothing if the
 * steps are not known. */
void prediction_steps_print(FILE *out, const struct result *result);

#endif
