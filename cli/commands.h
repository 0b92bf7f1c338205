/*
 * commands.h - the interface of commands, one a file. A command returns the exit status; it records
 * a failure with fail(), and main() prints it.
 */
#ifndef CCTEST_CLI_COMMANDS_H
#define CCTEST_CLI_COMMANDS_H

#include "cli/options/options.h"

enum status run_command(const struct command_line *line, struct request *request);
enum status list_command(const struct command_line *line, struct request *request);
enum status info_command(const struct command_line *line, struct request *request);
enum status plan_command(const struct command_line *line, struct request *request);
enum status accept_command(const struct command_line *line, struct request *request);
enum status report_command(const struct command_line *line, struct request *request);
enum status fit_command(const struct command_line *line, struct request *request);
enum status predict_command(const struct command_line *line, struct request *request);
enum status tune_command(const struct command_line *line, struct request *request);
enum status guidelines_command(const struct command_line *line, struct request *request);
enum status help_command(const struct command_line *line, struct request *request);

/* Calls `take` with each word that `cctest help` explains, but for those with another name. */
void help_words(void (*take)(void *argument, const char *word), void *argument);

/* Describes the algorithms of this name or alias, of every collective that has one. */
void list_algorithm(const char *name);

/* `cctest complete WORD...`, for shells: prints candidates for the last word. */
void complete_words(int count, char **words);

#endif
