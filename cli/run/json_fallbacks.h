/*
 * json_fallbacks.h - in JSON, why pairs of ranks do not run over the transport that they prefer.
 */
#ifndef CCTEST_CLI_RUN_JSON_FALLBACKS_H
#define CCTEST_CLI_RUN_JSON_FALLBACKS_H

#include <jansson.h>

#include "run/results/connectivity.h"

/* One object for each reason. */
json_t *fallbacks_json(const struct connectivity *connectivity);

#endif
