/*
 * rank_result.h - what one line of the table yields on one rank.
 */
#ifndef CCTEST_MEASURE_RANK_RESULT_H
#define CCTEST_MEASURE_RANK_RESULT_H

#include "check/check.h"
#include "measure/link_stats.h"
#include "measure/results.h"
#include "run/runner.h"

/* One rank's part of a line. */
struct rank_result {
    int choice;
    size_t bytes; /* as asked; the table shows what it became */
    struct problem problem;
    long checked;           /* iterations: as asked, but with `-r all` every root at least once */
    uint64_t *samples;      /* ns of each timed iteration on this rank */
    uint64_t *late;         /* ns between release and beginning */
    size_t wrong;           /* elements, over all checked iterations */
    char explanation[768];  /* of the first wrong iteration; empty: all was right */
    int hop_peer, hop_step; /* whom its first wrong element came from, and when; -1: made here */
    struct traffic traffic[TRANSPORTS_MOST]; /* of the timed iterations, by endpoint */
    double shares[ACTIVITIES]; /* of their time, summed over them; all 0: not asked for */
    const char *transport[TRANSPORTS_MOST];
    int transports;
    bool used[TRANSPORTS_MOST]; /* endpoints that serve the line's peers */
    struct link_stats *flows;   /* between this rank and its peers; NULL: nobody asked */
};

enum status rank_result_create(const struct job *job, const struct test_case *test_case, int choice,
                               size_t bytes, struct runner *runner,
                               struct rank_result **rank_result);
void rank_result_free(struct rank_result *rank_result); /* NULL is allowed */

/* What the checks of an iteration found; the first thing that is wrong is kept as the story. */
void rank_result_note_finding(struct rank_result *rank_result, const struct finding *finding,
                              const struct schedule *schedule, long iteration);
void rank_result_note_source(struct rank_result *rank_result, size_t changed, long iteration);
void rank_result_note_overrun(struct rank_result *rank_result, const char *overrun, long iteration);

/* Around the timed iterations: counts the bytes that moved between the two, by transport, and
 * where the time went, both without the start barriers. */
void rank_result_begin(struct rank_result *rank_result, struct runner *runner);
void rank_result_end(struct rank_result *rank_result, const struct runner *runner);

/* A way that was forced by --copy and not taken is an error, not a silence. */
enum status rank_result_check_copy(const struct rank_result *rank_result, const struct job *job);

/* Called by all ranks together: rank 0 adds the line to its ledger, says which ranks hold wrong
 * data, and reports the result. */
enum status rank_result_gather(struct rank_result *rank_result, struct results *results,
                               struct control *control, const struct job *job,
                               struct report *report);

#endif
