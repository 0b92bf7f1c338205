/*
 * evidence.h - what an acceptance run found, each finding with the measurements that it rests on.
 */
#ifndef CCTEST_CLI_REPORT_EVIDENCE_H
#define CCTEST_CLI_REPORT_EVIDENCE_H

#include "cli/report/measured.h"
#include "cli/report/parts.h"

/* The findings of a document, the gravest first. */
void findings_put(FILE *out, const json_t *document, const struct measured *measured);

#endif
