/*
 * distribution.h - the values of a metric as a histogram, with its median and the sick hosts.
 */
#ifndef CCTEST_CLI_REPORT_DISTRIBUTION_H
#define CCTEST_CLI_REPORT_DISTRIBUTION_H

#include "cli/report/measured.h"
#include "cli/report/parts.h"

void distribution_put(FILE *out, const struct measured *measured,
                      const struct measured_metric *metric);

#endif
