/*
 * tune_json.h - the winners of `cctest tune` as a JSON document, which --tuning reads.
 */
#ifndef CCTEST_CLI_TUNE_TUNE_JSON_H
#define CCTEST_CLI_TUNE_TUNE_JSON_H

#include <jansson.h>

#include "cli/options/request.h"
#include "tune/state.h"

/* `status` NULL: it runs. NULL: out of memory. */
json_t *tune_json(const struct tuner *tuner, const struct request *request, const enum status *status);

#endif
