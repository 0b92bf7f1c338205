/*
 * fields.h - the keys of the JSON of `cctest tune` (tuning_file.c).
 */
#ifndef CCTEST_TUNE_FIELDS_H
#define CCTEST_TUNE_FIELDS_H

#include "base/io/io.h"

extern const struct json_field tune_fields[], tuned_cell_fields[], tuned_algorithm_fields[];
extern const struct json_field pruned_algorithm_fields[];

#endif
