/*
 * changes.h - two runs side by side.
 */
#ifndef CCTEST_CLI_REPORT_CHANGES_H
#define CCTEST_CLI_REPORT_CHANGES_H

#include "cli/report/parts.h"

/* What of `after` differs from `before`: how they were run, and which lines changed beyond noise. */
void changes_put(struct page *page, const json_t *before, const char *before_name,
                 const json_t *after, const char *after_name);

#endif
