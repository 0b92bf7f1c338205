/*
 * options.h - the option table.
 */
#ifndef CCTEST_CLI_OPTIONS_OPTIONS_H
#define CCTEST_CLI_OPTIONS_OPTIONS_H

#include "cli/options/option.h"

#define OPTIONS_MOST 96
extern const struct option_row option_table[]; /* ended by a NULL name */
extern const char *const option_group_titles[GROUPS];

/* The first row of a long name; NULL: there is none. */
const struct option_row *option_find(const char *name);
/* Options of different commands may have one name: the row of those of `commands` (a sum of FOR_...),
 * or the first if they take none. */
const struct option_row *option_of(const char *name, unsigned commands);

/* Writes all that the ranks of a job, or the agents of `accept`, must agree on, as a command line:
 * the collective, and every option of that command that is not per_rank. If two ranks differ, a difference of their texts is what
 * the user has to look for. A text that does not fit is cut off. */
#define COMPARED_TEXT_MOST (ALGORITHMS_MOST * CANDIDATE_TEXT_MOST + 2048)
void options_compared(const struct request *request, unsigned command, char text[COMPARED_TEXT_MOST]);

/* The options of a command as resolved, by long name; a new reference. */
json_t *json_options(const struct request *request, unsigned command);

#endif
