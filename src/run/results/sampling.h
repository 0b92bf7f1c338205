/*
 * sampling.h - how many iterations of a line are timed, and why no more.
 *
 * With `-n auto` a line runs in batches, each as long as all before it together. After each, rank 0
 * looks at the interval of the median, and tells all ranks how many iterations follow. The line ends
 * when the interval is narrow. Looking until it is narrow costs coverage, but none in the limit (J. C.
 * Geertsema, Annals of Mathematical Statistics 41, 1970), and as batches double, looks are few.
 */
#ifndef CCTEST_RUN_RESULTS_SAMPLING_H
#define CCTEST_RUN_RESULTS_SAMPLING_H

#include "base/stats/median_interval.h"
#include "run/job.h"

enum sampling_end {
    SAMPLING_COUNT,    /* as many as -n asks for */
    SAMPLING_INTERVAL, /* -n auto: the median is known well enough */
    SAMPLING_BUDGET,   /* -n auto: the time left is too short for a batch that would tell more */
    SAMPLING_MOST,     /* -n auto: ITERATIONS_AUTO_MOST */
    SAMPLING_ENDS
};
extern const char *const sampling_end_names[SAMPLING_ENDS];

/* Iterations of the first batch, whatever the budget. Where the root rotates, each of the `roots`
 * has its turn equally often in a batch of -n auto, unless it ends at the most. */
long sampling_first(const struct job *job, int roots);

/* Iterations of the next batch of -n auto, after `done` in `seconds`; 0: the line has ended, and
 * *end is the reason. */
long sampling_next(const struct job *job, int roots, long done, double seconds,
                   const struct median_interval *interval, enum sampling_end *end);

#endif
