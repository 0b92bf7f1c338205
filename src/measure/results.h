/*
 * results.h - rank 0's account of the job: every line's result, and everything that went wrong.
 */
#ifndef CCTEST_MEASURE_RESULTS_H
#define CCTEST_MEASURE_RESULTS_H

#include "control/blobs.h"
#include "measure/link_stats.h"
#include "measure/report.h"
#include "verdict/rank_state.h"

struct rank_result;

/* A tally as it travels to rank 0. */
struct rank_result_wire {
    uint64_t wrong; /* elements */
    uint64_t late;  /* median, ns */
    int32_t hop_peer, hop_step;
    struct traffic traffic[TRANSPORTS_MOST];
    double shares[ACTIVITIES]; /* summed over the iterations */
    double duration;           /* median, us; 0 if nobody reads it */
    char transport[TRANSPORTS_MOST][16];
    uint8_t used[TRANSPORTS_MOST]; /* 0 or 1 */
    char explanation[768];
    int32_t peers;
    uint64_t samples[]; /* one for each timed iteration, ns; behind them a struct peer_stats of each
                           of the `peers` */
};

static inline const struct peer_stats *rank_result_wire_peers(const struct rank_result_wire *wire,
                                                              long iterations)
{
    return (const struct peer_stats *)(const void *)&wire->samples[iterations];
}

/* Zeroed at the start; stays empty at other ranks. */
struct results {
    struct result *results;
    int result_count;
    struct job_error *errors;
    int error_count;
    size_t wrong;
};

/* Adds a line: says on stderr which ranks hold wrong data and why, and reports the result.
 * `tallies` holds a struct rank_result_wire of each rank, with the samples of job->iterations and its
 * peers; what stands in it is checked. */
enum status results_add_line(struct results *results, const struct rank_result *mine,
                             const struct job *job, const struct member *members,
                             const struct blobs *rank_results, struct report *report);

/* Adds what the control plane had to report. */
void results_add_errors(struct results *results, const struct job_error *errors, int count);

/* What the data says of the job: wrong data, too slow, or all as asked. STATUS_OK at other
 * ranks. */
enum status results_status(const struct results *results, const struct job *job);
void results_free(struct results *results);

/* --min-busbw: is the best right result of the largest size fast enough? *best: its busbw, GB/s.
 * True if it was not asked for. */
bool results_fast_enough(const struct job *job, const struct result *results, int count,
                         double *best);

#endif
