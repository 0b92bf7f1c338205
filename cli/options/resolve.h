/*
 * resolve.h - from the texts of a command line to a job.
 */
#ifndef CCTEST_CLI_OPTIONS_RESOLVE_H
#define CCTEST_CLI_OPTIONS_RESOLVE_H

#include "cli/options/command_line.h"

/* Reads the texts in the order of the option table, checks them against each other and fills the
 * job. STATUS_USAGE with the reason; STATUS_UNAVAILABLE for a transport that the host lacks. */
enum status command_line_resolve(const struct command_line *line, struct job *job);

/* Is this the place of a file that the command line says is to be read? */
bool command_line_reads(const struct command_line *line, const char *path);

/* Do two paths lead to the same file? It need not be there; "-" is standard output. */
bool outputs_are_one(const char *one, const char *other);

#endif
