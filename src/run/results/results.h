/*
 * results.h - rank 0's account of the job: every line's result, and everything that went wrong.
 */
#ifndef CCTEST_RUN_RESULTS_RESULTS_H
#define CCTEST_RUN_RESULTS_RESULTS_H

#include "controlplane/control/blobs.h"
#include "run/results/report.h"
#include "run/results/slowest.h"
#include "base/rank_state.h"

struct rank_result;
struct tick;

/* Zeroed at the start; stays empty at other ranks. */
struct results {
    struct result *results;
    int result_count;
    struct job_error *errors;
    int error_count;
    size_t wrong;
    struct device_sums devices; /* what they have counted */
    const struct tick *tick;    /* for long work */
};

/* Before the first line. `table` has the devices that the ranks use; it and `tick` outlive the
 * results. */
enum status results_open(struct results *results, const struct device_table *table,
                         const struct tick *tick);

/* Adds a line, reports it, and says on stderr which ranks hold wrong data and why. `mine`: rank 0's
 * part of it. `blobs`: the encoded rank_summary of each rank, which is checked. `slowest`: of the
 * same line; its times are sorted. */
enum status results_add_line(struct results *results, const struct rank_result *mine,
                             const struct job *job, const struct split *split,
                             const struct member *members, const struct blobs *blobs,
                             struct slowest *slowest, struct report *report);

/* Adds the errors of the control plane. */
void results_add_errors(struct results *results, const struct job_error *errors, int count);

/* The status that follows from the results: wrong data, too slow, or all as asked. STATUS_OK at
 * other ranks. */
enum status results_status(const struct results *results, const struct job *job);
void results_free(struct results *results);

/* --min-busbw: is the best right result of the largest size fast enough, for each collective that
 * moves data, datatype and operator? *slowest: the slowest of these; a busbw of 0 where none is
 * right. True if it was not asked for. */
bool results_fast_enough(const struct job *job, const struct result *results, int count,
                         struct result *slowest);

#endif
