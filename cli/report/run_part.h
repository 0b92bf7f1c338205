/*
 * run_part.h - a run of collectives on a page.
 */
#ifndef CCTEST_CLI_REPORT_RUN_PART_H
#define CCTEST_CLI_REPORT_RUN_PART_H

#include "cli/report/parts.h"

/* What was run and where; for each collective, type and operation its curves and the winners. */
void run_put(struct page *page, const json_t *document);

/* The value of an option, as the command line has it. */
void option_text_put(FILE *out, const json_t *value);

#endif
