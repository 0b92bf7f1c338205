/*
 * line.h - a line of the table that is reported, on rank 0: all that the ranks sent.
 */
#ifndef CCTEST_RUN_RESULTS_LINE_H
#define CCTEST_RUN_RESULTS_LINE_H

#include "run/results/rank_summary.h"
#include "run/results/slowest.h"
#include "run/candidates.h"
#include "base/rank_state.h"

struct line {
    const struct job *job;
    const struct rank_result *mine;
    const struct split *split;
    const struct member *members;
    const struct rank_summaries *summaries;
    const struct slowest *slowest;
    const struct tick *tick; /* for a long search; NULL is allowed */
};

static inline const struct candidate *line_candidate(const struct line *line)
{
    return &line->job->candidates[line->mine->choice];
}

static inline uint64_t line_trips(const struct line *line)
{
    return candidate_trips(line_candidate(line));
}

#endif
