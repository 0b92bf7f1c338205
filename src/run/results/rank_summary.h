/*
 * rank_summary.h - a rank's result of a line as it travels to rank 0, and as rank 0 reads it.
 */
#ifndef CCTEST_RUN_RESULTS_RANK_SUMMARY_H
#define CCTEST_RUN_RESULTS_RANK_SUMMARY_H

#include "base/tick.h"
#include "controlplane/control/blobs.h"
#include "run/results/rank_result.h"

struct transport_use {
    const struct transport *transport;
    bool used; /* it serves peers of the line */
    struct traffic traffic;
};

struct rank_summary {
    uint64_t wrong;                /* elements */
    uint64_t late;                 /* median, ns */
    struct device_changes changes; /* what devices have counted; of those that the rank reads */
    double duration;               /* median of an iteration, us; 0: not asked for */
    double shares[ACTIVITIES];     /* of the iterations' time, summed over them */
    struct finding finding;        /* its ranks are those of the group */
    bool stages, direct;           /* as in struct rank_result */
    int transports;
    struct transport_use transport[TRANSPORTS_MOST];
    int peers;
    struct peer_stats *peer; /* of each of them: the longest awaited first */
    int steps;
    double *step; /* when each ends, us after the release; 0: the rank has no part in it */
};

/* Of one line: of every rank. */
struct rank_summaries {
    int count, group_ranks;
    struct rank_summary *of;
};

/* Sorts the samples and the late times of `rank_result`, with ticks. Out of memory: bytes->failed. */
void rank_summary_encode(struct rank_result *rank_result, const struct job *job,
                         const struct tick *tick, struct bytes *bytes);

/* Reads what all ranks sent, and checks it. `group_ranks`: the ranks of a group, in which findings
 * count. The summaries are given back with
 * rank_summaries_free() also after an error. */
enum status rank_summaries_decode(const struct blobs *blobs, int group_ranks,
                                  struct rank_summaries *summaries);
void rank_summaries_free(struct rank_summaries *summaries);

#endif
