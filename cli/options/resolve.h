/*
 * resolve.h - from the texts of a command line to a job.
 */
#ifndef CCTEST_CLI_OPTIONS_RESOLVE_H
#define CCTEST_CLI_OPTIONS_RESOLVE_H

#include "cli/options/command_line.h"

/* Reads the texts in the order of the option table, checks them against each other and fills the
 * job. STATUS_USAGE with the reason; STATUS_UNAVAILABLE for a transport that the host lacks. */
enum status command_line_resolve(const struct command_line *line, struct request *request);

#endif
