/*
 * rank_result.h - what one line of the table yields on one rank.
 */
#ifndef CCTEST_RUN_RESULTS_RANK_RESULT_H
#define CCTEST_RUN_RESULTS_RANK_RESULT_H

#include "run/check/finding.h"
#include "run/results/device_watch.h"
#include "run/results/link_stats.h"
#include "run/results/step_times.h"
#include "run/test_case.h"

/* One rank's part of a line. */
struct rank_result {
    int choice;
    size_t bytes; /* as asked; the table shows what it became */
    struct problem problem;
    int channels;             /* 0: a vendor's library has its own */
    long checked;             /* iterations that were checked */
    long iterations;          /* that were timed */
    uint64_t *samples;        /* ns of each timed iteration on this rank */
    uint64_t *late;           /* ns between release and beginning */
    uint64_t *device_samples; /* ns that a device took for each; NULL: none ran them */
    size_t wrong;             /* elements, over all checked iterations */
    struct finding finding;   /* of the first wrong iteration */
    struct traffic traffic[TRANSPORTS_MOST]; /* of the timed iterations */
    double shares[ACTIVITIES]; /* of their time, summed over them; all 0: not asked for */
    const char *transport[TRANSPORTS_MOST]; /* the names, static */
    int transports;
    const struct test_case_way *way; /* the test case's */
    bool stages, direct; /* links to peers go through rings in memory of the host; others do not */
    bool used[TRANSPORTS_MOST];    /* it serves peers of the line */
    struct link_stats *links;      /* with each peer; NULL: not asked for */
    struct step_times *steps;      /* likewise, when they end */
    struct device_changes changes; /* what devices have counted; of those that this rank reads */
};

/* Bytes of host memory that the samples of a line take at most where no device runs it. */
size_t rank_result_bytes(const struct job *job);

enum status rank_result_create(const struct job *job, const struct test_case *test_case, int choice,
                               size_t bytes, struct runner *runner,
                               struct rank_result **rank_result);
void rank_result_free(struct rank_result *rank_result); /* NULL is allowed */

/* Each notes what the check of an iteration found. The first finding is kept; the number of wrong
 * elements is summed. */
void rank_result_note_finding(struct rank_result *rank_result, const struct finding *finding,
                              const struct schedule *schedule);
void rank_result_note_source(struct rank_result *rank_result, size_t changed, uint64_t iteration);
void rank_result_note_overrun(struct rank_result *rank_result, const struct overrun *overrun,
                              uint64_t iteration);

/* Makes room for so many more timed iterations. */
enum status rank_result_reserve(struct rank_result *rank_result, long more);

/* Notes the times of the next timed iteration, for which there is room. */
void rank_result_note_times(struct rank_result *rank_result, const struct iteration_times *times);

/* Around each series of timed iterations: counts the bytes that moved between the two, by transport, and
 * where the time went, both without the start barriers. */
void rank_result_begin(struct rank_result *rank_result, struct runner *runner);
void rank_result_end(struct rank_result *rank_result, const struct runner *runner);

/* Fails if --copy forced a way and bytes went another one. */
enum status rank_result_check_copy(const struct rank_result *rank_result, const struct job *job);

#endif
