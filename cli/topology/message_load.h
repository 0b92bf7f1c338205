/*
 * message_load.h - the load of links that the messages of an algorithm make.
 */
#ifndef CCTEST_CLI_TOPOLOGY_MESSAGE_LOAD_H
#define CCTEST_CLI_TOPOLOGY_MESSAGE_LOAD_H

#include "cli/topology/placed_ranks.h"
#include "schedule/algorithm.h"
#include "topology/link_load.h"

/* Writes the schedule of one rank after the other, and adds the messages that it sends. `element`:
 * bytes of one. The load refers to `placed`. To be freed with link_load_free(), also after an error. */
enum status message_load_make(const struct choice *choice, const struct problem *problem,
                              int channels, size_t element, const struct placed_ranks *placed,
                              struct link_load **load);

#endif
