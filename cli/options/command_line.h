/*
 * command_line.h - from the words of the command line and the environment to a job.
 *
 * In two stages, because what an option means depends on others (an algorithm's name on the
 * collective): first every option's text is found (flag, else environment, else default), then the
 * texts are read in the order of the option table and checked against each other.
 */
#ifndef CCTEST_CLI_OPTIONS_COMMAND_LINE_H
#define CCTEST_CLI_OPTIONS_COMMAND_LINE_H

#include "cli/options/options.h"

struct command {
    const char *name; /* the first word; for FOR_RUN a collective's name stands there */
    unsigned bit;     /* FOR_RUN ... */
    int words_most;   /* words that it takes, itself included */
    const char *synopsis;
    const char *summary;
};

/* Ended by a NULL name; the first is FOR_RUN. */
extern const struct command commands[];

#define WORDS_MOST 3

struct command_line {
    const struct command *command; /* NULL: no word was given */
    const char *words[WORDS_MOST];
    int word_count;
    struct argument arguments[OPTIONS_MOST]; /* in the order of option_table */
    bool help, version;
};

/* Finds every option's text. `environment` as in environ. The texts belong to argv and environment.
 */
enum status command_line_read(int argc, char **argv, char **environment, struct command_line *line);

/* Reads the texts and fills the job. STATUS_USAGE with the reason, STATUS_UNAVAILABLE for a backend
 * that was asked for. */
enum status command_line_resolve(const struct command_line *line, struct job *job);

/* Fails with "'alltaol' is not a collective or command: ...". */
enum status unknown_command(const char *word);

/* The argument of an option, by long name. */
const struct argument *command_line_argument(const struct command_line *line, const char *name);

#endif
