/*
 * words.h - words of cctest that are no options: exit statuses, variables of the environment, and
 * terms of its output and of its field. `cctest help` and the manual read these tables.
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

#define SYNONYMS_MOST 12

/* Words that tell one thing. */
struct word_row {
    const char *names[SYNONYMS_MOST + 1]; /* ended by NULL */
    const char *text;                     /* as that of an option (options.h) */
};

/* Ended by a NULL name. CCTEST_<OPTION> is not among the variables. */
extern const struct word_row variable_rows[], term_rows[];

#endif
