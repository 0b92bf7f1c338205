/*
 * internal.h - for the files of run/results/ alone.
 */
#ifndef CCTEST_RUN_RESULTS_INTERNAL_H
#define CCTEST_RUN_RESULTS_INTERNAL_H

#include "collective/schedule/schedule.h"
#include "run/results/results.h"

/* ---- Rank 0's view of the time of a line: what each rank saw, and the
 * bottleneck.
 * ---- */

/* Fills in result->bottleneck, its text, and result->samples, which point into the summaries.
 * result->late_rank is known. `duration`: p50 of an iteration; `time`: of all of them together;
 * ns. */
void bottleneck_report(struct result *result, const struct member *members,
                       const struct rank_summaries *summaries, uint64_t duration, uint64_t time);
void bottleneck_report_free(struct result *result);

/* ---- What is wrong in a line, in sentences. ---- */

typedef void fault_listener(void *argument, const struct job_error *error);

/* Prints one sentence for each fault, and hands over a message of each rank that has it: the two
 * end in the same place and suspect. Some rank has found something wrong. */
void faults_report(const struct line *line, fault_listener *listener, void *argument);

/* ---- Through which message of a reduction a bit was flipped, or which was lost.
 *
 * A flipped bit of a partial result leaves a sum in which many bits differ, on every rank. So the
 * schedules of all ranks are followed back from the wrong element to the sources, and the result is
 * computed again with each bit of each message flipped in turn. Messages that would have left what
 * each rank has are suspects; or, if none would, memory in which ranks combine.
 * ---- */

#define HOPS_MOST 32 /* that are kept; more are counted */

/* What may have happened to a message. */
enum hop_fault {
    HOP_FLIPPED, /* one bit */
    HOP_LOST,    /* poison stands where it belongs, or it was not combined */
};

enum hop_evidence {
    EVIDENCE_NONE,  /* it is not known what the rank has there */
    EVIDENCE_RIGHT, /* what belongs there */
    EVIDENCE_WRONG, /* the wrong value */
};

/* Elements of a reduction that are wrong, and on which ranks. */
struct hop_question {
    const struct choice *choice;
    const struct problem *problem; /* with the root of the iteration */
    int channels;
    const struct inputs *inputs;
    const struct finding *finding; /* its first element, and those that no hypothesis fits */
    enum hop_fault fault;
    const enum hop_evidence *evidence; /* by rank */
    const struct tick *tick;           /* called now and then; false ends the search. May be NULL */
};

struct suspect_hop {
    int from; /* HOP_LOCAL: not a message, but what `to` has combined and did not send on */
    int to, step;
    int bit; /* HOP_FLIPPED: of the element, from its lowest */
};
#define HOP_LOCAL (-1)

struct hop_answer {
    int count; /* that explain each element; 0: none do, or they are too many to try */
    struct suspect_hop hops[HOPS_MOST];
};

struct hop_answer hop_search(const struct hop_question *question);

#endif
