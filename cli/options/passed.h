/*
 * passed.h - options of a command that has small jobs run, which these jobs are given, too.
 */
#ifndef CCTEST_CLI_OPTIONS_PASSED_H
#define CCTEST_CLI_OPTIONS_PASSED_H

#include "cli/options/command_line.h"

#define PASSED_TEXT_MOST 2048 /* more than a --transport and a --memory are long */

/* Writes the options that the user gave and that both the command and a run have, of these groups (bits
 * of enum option_group) and without those that each rank has for itself, each behind a blank. `but`: one
 * that is left out; NULL. */
void options_pass(const struct command_line *line, const struct request *request, unsigned groups,
                  const struct option_kind *but, char text[PASSED_TEXT_MOST]);

#endif
