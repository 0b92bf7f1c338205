/*
 * contest.h - the algorithms of a run side by side: their curves, and the winner of each size.
 */
#ifndef CCTEST_CLI_REPORT_CONTEST_H
#define CCTEST_CLI_REPORT_CONTEST_H

#include "cli/report/lines.h"
#include "cli/report/parts.h"

/* A section for the lines of this group. */
void contest_put(struct page *page, const struct run_line *lines, size_t count, const char *group);

/* The fastest line of a group at each of its sizes, of those that are right: *count of them, by
 * size. NULL: out of memory. The caller frees the list. */
const struct run_line **winners_find(const struct run_line *lines, size_t count, const char *group,
                                     size_t *winners);

/* "12.3", with the interval as its title. */
void median_cell(FILE *out, const struct run_line *line);

#endif
