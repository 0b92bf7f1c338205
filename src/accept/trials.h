/*
 * trials.h - small jobs that run side by side in a stage, and what came of each.
 */
#ifndef CCTEST_ACCEPT_TRIALS_H
#define CCTEST_ACCEPT_TRIALS_H

#include "accept/acceptance.h"
#include "accept/judge/reading.h"

extern const char *const reading_outcome_names[]; /* "ok", "error", "late", "lost", "wrong-data" */

/* What came of a job. */
struct trial {
    enum reading_outcome outcome; /* READING_VALUE: it ended well, with right data */
    int culprit;                  /* the agent whose worker is the reason; -1: not known */
    char why[300];                /* of any other outcome: a clause; "" */
    bool cut; /* it is late, and had too little time, since that of its stage was over: no fault */
    char *result;     /* that rank 0 of the job wrote; NULL: nothing */
    size_t size;      /* bytes of it */
    json_t *document; /* the result, if it is JSON; else NULL */
};

struct trials {
    struct acceptance *acceptance;
    enum accept_stage stage;
    bool aside;            /* they do not belong to the results of the stage */
    const char *transport; /* of jobs that are added, which copy it; NULL: as the user gave it */
    int count, room;
    struct fleet_job *jobs;
    struct trial *of; /* once it has run */
};

void trials_open(struct trials *trials, struct acceptance *acceptance, enum accept_stage stage);

/* Adds a job on `agents`, which are copied: a command, followed by --transport, the options of all
 * jobs and the seed. */
enum status trials_add(struct trials *trials, const int *agents, int count, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Runs all of them, for `seconds` at most, and not longer than the stage may take, and keeps
 * their JSON with the results of the stage. */
enum status trials_run(struct trials *trials, double seconds);
void trials_close(struct trials *trials);

/* Does a job say something against this host (-1: against any)? It failed, not for want of time, and the
 * host is there: a loss is a finding of its own. */
bool trial_accuses(const struct trials *trials, int job, int host);

/* Adds the finding of a job of many hosts that failed: a worker that died accuses its host. */
enum status trials_find_failure(const struct trials *trials, int job);

/* Tells of a NIC port that is not measured, since most "pairs" or "hosts" cannot use it: why this job
 * failed. Where the user has named no transport, a NIC may be there that is not meant for this. */
enum status trials_refuse_port(const struct trials *trials, int job, const char *port,
                               const char *whose);

/* The line of a job's results for a collective, an algorithm (NULL: any) and a size, the first of
 * at least `bytes`; NULL: there is none. */
const json_t *trials_line(const struct trials *trials, int job, const char *collective,
                          const char *algorithm, size_t bytes);

/* Do two lines of results have the same collective and size? */
bool lines_are_alike(const json_t *line, const json_t *other);

/* A number of a line: "time_us.p50", "busbw_GBps"; 0: it has none. */
double line_number(const json_t *line, const char *name);

#endif
