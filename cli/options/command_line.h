/*
 * command_line.h - the command, and the text of every option.
 *
 * A job takes two stages, because the meaning of an option depends on others (an algorithm's name
 * on the collective). This stage finds every option's text: flag, else environment, else default.
 * resolve.h reads the texts.
 */
#ifndef CCTEST_CLI_OPTIONS_COMMAND_LINE_H
#define CCTEST_CLI_OPTIONS_COMMAND_LINE_H

#include "cli/options/options.h"

struct command_line;

struct command {
    const char *name; /* the first word; for FOR_RUN the name of a collective */
    unsigned bit;     /* FOR_RUN ... */
    enum status (*run)(const struct command_line *line, struct request *request);
    int words_most;   /* with the name */
    const char *synopsis;
    const char *summary;
};

/* Ended by a NULL name; the first is FOR_RUN. Defined in cli/commands.c. */
extern const struct command commands[];

#define WORDS_MOST 17

struct command_line {
    const struct command *command; /* NULL: no word was given */
    const char *words[WORDS_MOST];
    int word_count;
    bool is_named;                           /* the first word is the name of the program */
    struct argument arguments[OPTIONS_MOST]; /* in the order of option_table */
    bool help, version;
    const char *stray; /* the first variable of the environment that looks like an option's and is
                          none, with its value; NULL: all are known */
    int strays;        /* how many there are */
};

/* Finds every option's text, also on a failure (the first is the one that is recorded).
 * `environment` as in environ. The texts belong to argv and environment. */
enum status command_line_read(int argc, char **argv, char **environment, struct command_line *line);

/* Warns of the variables that are no options. */
void command_line_warn(const struct command_line *line);

/* Fails with "'alltaol' is not a collective or command: ...". */
enum status unknown_command(const char *word);

/* The argument of an option, by long name. */
const struct argument *command_line_argument(const struct command_line *line, const char *name);

#endif
