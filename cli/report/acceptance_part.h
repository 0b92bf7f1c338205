/*
 * acceptance_part.h - an acceptance run on a page.
 */
#ifndef CCTEST_CLI_REPORT_ACCEPTANCE_PART_H
#define CCTEST_CLI_REPORT_ACCEPTANCE_PART_H

#include "cli/report/parts.h"

/* Verdict, findings, heat maps, distributions, stages and hosts. */
void acceptance_put(struct page *page, const json_t *document);

#endif
