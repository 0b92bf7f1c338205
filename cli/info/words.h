/*
 * words.h - words of cctest that are no options: exit statuses and variables of the environment.
 * `cctest help` and the manual read these tables.
 */
#ifndef CCTEST_CLI_INFO_WORDS_H
#define CCTEST_CLI_INFO_WORDS_H

#include "base/status.h"

struct status_row {
    enum status status;
    const char *meaning; /* a sentence without its full stop */
};

/* Ended by a NULL meaning. */
extern const struct status_row status_rows[];

#define VARIABLES_MOST 12

/* Variables that tell one thing. CCTEST_<OPTION> is not among them. */
struct variable_row {
    const char *names[VARIABLES_MOST + 1]; /* ended by NULL */
    const char *text;                      /* as that of an option (options.h) */
};

/* Ended by a NULL name. */
extern const struct variable_row variable_rows[];

#endif
