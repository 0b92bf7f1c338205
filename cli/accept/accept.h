/*
 * accept.h - the interface of cli/accept/.
 */
#ifndef CCTEST_CLI_ACCEPT_ACCEPT_H
#define CCTEST_CLI_ACCEPT_ACCEPT_H

#include "base/json_field.h"

/* ---- The keys of objects in JSON: accept_files.c has the structs. ---- */

extern const struct json_field accept_fields[], accept_error_fields[];
extern const struct json_field accepted_host_fields[], host_fact_fields[];
extern const struct json_field counter_growth_fields[];
extern const struct json_field host_number_fields[], pair_reading_fields[];
extern const struct json_field finding_fields[], finding_action_fields[], reason_fields[];

#endif
