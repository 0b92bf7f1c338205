/*
 * sampling.c - how many iterations of a line are timed, and why no more.
 */
#include "run/results/results.h"

#define WORTH_WHILE 8 /* a batch adds at least one iteration to so many */

const char *const sampling_end_names[SAMPLING_ENDS] = {
    [SAMPLING_COUNT] = "count",
    [SAMPLING_INTERVAL] = "interval",
    [SAMPLING_BUDGET] = "budget",
    [SAMPLING_MOST] = "most",
};

/* The next multiple. */
static long multiple_of(long roots, long count)
{
    return (count + roots - 1) / roots * roots;
}

long sampling_first(const struct job *job, int roots)
{
    long first = multiple_of(roots, MEDIAN_SAMPLES_LEAST);
    return job->iterations_auto && first < job->iterations ? first : job->iterations;
}

long sampling_next(const struct job *job, int roots, long done, double seconds,
                   const struct median_interval *interval, enum sampling_end *end)
{
    long left = job->iterations - done;
    double affordable =
        seconds > 0 ? (job->budget - seconds) / seconds * (double)done : (double)left;
    long least = multiple_of(roots, 1 + done / WORTH_WHILE);
    *end = median_interval_is_narrow(interval) ? SAMPLING_INTERVAL
           : left == 0                         ? SAMPLING_MOST
           : affordable < (double)least        ? SAMPLING_BUDGET
                                               : SAMPLING_COUNT;
    if (*end != SAMPLING_COUNT)
        return 0;
    long most = done < left ? done : left;
    return affordable < (double)most ? (long)affordable / roots * roots : most;
}
