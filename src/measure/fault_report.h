/*
 * fault_report.h - what is wrong in a line, in sentences.
 */
#ifndef CCTEST_MEASURE_FAULT_REPORT_H
#define CCTEST_MEASURE_FAULT_REPORT_H

#include "measure/rank_summary.h"
#include "measure/slowest.h"
#include "verdict/rank_state.h"

/* A line that is reported, on rank 0. */
struct line {
    const struct job *job;
    const struct rank_result *mine;
    const struct member *members;
    const struct rank_summaries *summaries;
    struct slowest *slowest;
    const struct tick *tick; /* for a long search; NULL is allowed */
};

typedef void fault_listener(void *argument, const struct job_error *error);

/* Prints one sentence for each fault, and hands over a message of each rank that has it: the two
 * end in the same place and suspect. Some rank has found something wrong. */
enum status faults_report(const struct line *line, fault_listener *listener, void *argument);

#endif
