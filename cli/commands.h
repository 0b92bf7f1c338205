/*
 * commands.h - what `cctest` can be told to do. Each returns the exit status; a failure is recorded
 * with fail() and printed by main().
 */
#ifndef CCTEST_CLI_COMMANDS_H
#define CCTEST_CLI_COMMANDS_H

#include "cli/options/command_line.h"

enum status run_command(const struct command_line *line, struct job *job);
enum status list_command(const struct command_line *line, struct job *job);
enum status info_command(const struct command_line *line, struct job *job);
enum status plan_command(const struct command_line *line, struct job *job);
enum status help_command(const struct command_line *line, struct job *job);

/* `cctest complete WORD...`, which is for shells: its words are not a command line of its own. */
void complete_words(int count, char **words);

#endif
