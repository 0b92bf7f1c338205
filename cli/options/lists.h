/*
 * lists.h - what a job goes through, as lists of names or 'all': collectives, datatypes, operators.
 */
#ifndef CCTEST_CLI_OPTIONS_LISTS_H
#define CCTEST_CLI_OPTIONS_LISTS_H

#include "cli/options/names.h"

#define COLLECTIVES_TEXT_MOST (COLLECTIVES * 17) /* the names of all of them */

extern const struct option_kind kind_datatype, kind_reduction;

/* Reads "allreduce,allgather" or "all" into request->job.collectives. */
enum status collectives_read(const char *text, struct request *request);

/* "allreduce,allgather". Returns `text`. */
const char *collectives_text(const struct request *request, char text[COLLECTIVES_TEXT_MOST]);

#endif
