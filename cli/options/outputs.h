/*
 * outputs.h - files that are written and read: no two of them may be one.
 */
#ifndef CCTEST_CLI_OPTIONS_OUTPUTS_H
#define CCTEST_CLI_OPTIONS_OUTPUTS_H

#include "cli/options/command_line.h"

/* Do two paths lead to the same file? It need not be there; "-" is standard output. */
bool outputs_are_one(const char *one, const char *other);

/* Is this the place of a file that the command line says is to be read? */
bool command_line_reads(const struct command_line *line, const char *path);

/* Refuses two outputs to the same place, and one to that of an input. STATUS_USAGE. */
enum status outputs_settle(const struct command_line *line, const struct request *request);

#endif
