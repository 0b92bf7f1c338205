/*
 * fields.h - the keys of a model in JSON (model_file.c).
 */
#ifndef CCTEST_PREDICT_FIELDS_H
#define CCTEST_PREDICT_FIELDS_H

#include "base/io/io.h"

extern const struct json_field fit_fields[];          /* of struct model; context: the residuals, */
extern const struct json_field model_fields[];        /* the same; */
extern const struct json_field combine_cost_fields[]; /* of struct combine_cost, */
extern const struct json_field link_model_fields[];   /* struct link_model, */
extern const struct json_field path_cost_fields[];    /* and struct path_cost */

#endif
