/*
 * fault_report.h - what is wrong in a line, in sentences.
 */
#ifndef CCTEST_RUN_RESULTS_FAULT_REPORT_H
#define CCTEST_RUN_RESULTS_FAULT_REPORT_H

#include "run/results/line.h"

typedef void fault_listener(void *argument, const struct job_error *error);

/* Prints one sentence for each fault, and hands over a message of each rank that has it: the two
 * end in the same place and suspect. Some rank has found something wrong. */
enum status faults_report(const struct line *line, fault_listener *listener, void *argument);

#endif
