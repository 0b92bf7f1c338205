/*
 * message_load.h - the load of links that the messages of an algorithm make.
 */
#ifndef CCTEST_CLI_PREDICT_MESSAGE_LOAD_H
#define CCTEST_CLI_PREDICT_MESSAGE_LOAD_H

#include "collective/schedule/algorithm.h"
#include "predict/topology/link_load.h"

/* Writes the schedule of one rank of a group after the other, and adds the messages that it sends.
 * `element`: bytes of one. Errors as of schedule_build() and link_load_add(). */
enum status message_load_add(const struct choice *choice, const struct problem *problem,
                             int channels, size_t element, struct link_load *load);

#endif
