/*
 * distribution.h - the values of a metric as a histogram, with its median and the sick hosts.
 */
#ifndef CCTEST_CLI_HTML_DISTRIBUTION_H
#define CCTEST_CLI_HTML_DISTRIBUTION_H

#include "cli/html/measured.h"
#include "cli/html/parts.h"

void distribution_put(FILE *out, const struct measured *measured,
                      const struct measured_metric *metric);

#endif
