/*
 * load_json.h - the load of links in JSON.
 */
#ifndef CCTEST_CLI_PREDICT_LOAD_JSON_H
#define CCTEST_CLI_PREDICT_LOAD_JSON_H

#include <jansson.h>

#include "predict/topology/link_load.h"

/* {"congestion_factor", "steps": [{"rank_bytes", "link_bytes_by_rate", "link"}], "links": [{"link",
 * "rate", "bytes", "busy", "bytes_by_step"}], "links_left_out"}: the most loaded links first, as many
 * as make LOAD_NUMBERS_MOST numbers. */
#define LOAD_NUMBERS_MOST (1 << 20)
json_t *load_json(const struct link_load *load);

/* {"words", "hosts", "places", "links"} */
json_t *topology_json(const struct topology *topology);

#endif
