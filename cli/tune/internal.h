/*
 * internal.h - for the files of cli/tune/ alone.
 */
#ifndef CCTEST_CLI_TUNE_INTERNAL_H
#define CCTEST_CLI_TUNE_INTERNAL_H

#include <jansson.h>
#include <stdio.h>

#include "cli/options/options.h"
#include "cli/tune/tune.h"
#include "tune/tune.h"

/* ---- tune_json.c ---- */

/* `status` NULL: it runs. NULL: out of memory. */
json_t *tune_json(const struct tuner *tuner, const struct request *request,
                  const enum status *status);

#endif
