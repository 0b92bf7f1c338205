/*
 * heat_map.h - the pairs of hosts as a map: rows send, columns receive.
 */
#ifndef CCTEST_CLI_REPORT_HEAT_MAP_H
#define CCTEST_CLI_REPORT_HEAT_MAP_H

#include "cli/report/measured.h"
#include "cli/report/parts.h"

/* Draws a metric of pairs. A cell has the median of what its pair measured; where there are several
 * rails, or several hosts in a cell, the worst. */
void heat_map_put(FILE *out, const struct measured *measured, const struct measured_metric *metric);

#endif
