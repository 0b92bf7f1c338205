/*
 * accept_json.h - an acceptance run as a JSON document.
 */
#ifndef CCTEST_CLI_ACCEPT_ACCEPT_JSON_H
#define CCTEST_CLI_ACCEPT_ACCEPT_JSON_H

#include <jansson.h>

#include "accept/acceptance.h"
#include "cli/options/request.h"

/* All that is known: with `status` NULL the run goes on. A new reference; NULL: out of memory. */
json_t *accept_json(const struct acceptance *acceptance, const struct request *request, const enum status *status);

#endif
