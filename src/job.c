/*
 * job.c - what can be said about a job without running it: its sizes, whether a number of ranks
 * suits it, and whether its results were fast enough.
 */
#include "job.h"

#include "log.h"
#include "report.h"

#include <string.h>

size_t job_next_size(const struct job *job, size_t bytes)
{
    size_t next;
    if (job->increment) {
        if (__builtin_add_overflow(bytes, job->increment, &next))
            return 0;
    } else if (bytes == 0) {
        next = job->datatype->size;
    } else if (__builtin_mul_overflow(bytes, job->factor, &next)) {
        return 0;
    }
    return next > bytes && next <= job->largest ? next : 0;
}

static const char *choice_refusal(const struct choice *choice, int ranks, char *why, size_t size)
{
    const struct algorithm *algorithm = choice->algorithm;
    return algorithm->refuses ? algorithm->refuses(ranks, choice->options, why, size) : NULL;
}

/* Takes out what refuses, where the user asked for whatever there is. */
static enum status check_choices(struct job *job, int ranks)
{
    const char *name = job->collective->name;
    int kept = 0;
    for (int i = 0; i < job->choice_count; i++) {
        char text[256];
        const char *why = choice_refusal(&job->choices[i], ranks, text, sizeof text);
        if (why && !job->choices_all)
            return fail(STATUS_USAGE, "%s %s: %s", name, job->choice_text[i], why);
        if (why) {
            say_verbose(1, "%s %s is left out: %s", name, job->choice_text[i], why);
            continue;
        }
        if (kept != i) {
            job->choices[kept] = job->choices[i];
            memcpy(job->choice_text[kept], job->choice_text[i], sizeof job->choice_text[kept]);
        }
        kept++;
    }
    if (kept == 0)
        return fail(STATUS_USAGE, "no algorithm for %s accepts %d ranks: choose another number",
                    name, ranks);
    job->choice_count = kept;
    return STATUS_OK;
}

enum status job_check_ranks(struct job *job, int ranks)
{
    if (job->collective->rooted && job->root != ROOT_ALL && job->root >= ranks)
        return fail(STATUS_USAGE, "root %d is not among the %d ranks: choose one from 0 to %d",
                    job->root, ranks, ranks - 1);
    for (int i = 0; i < job->injection_count; i++)
        if (job->injections[i].rank >= ranks)
            return fail(STATUS_USAGE,
                        "rank %d of --inject is not among the %d ranks: choose one from 0 to %d",
                        job->injections[i].rank, ranks, ranks - 1);
    return check_choices(job, ranks);
}

bool job_fast_enough(const struct job *job, const struct result *results, int count, double *best)
{
    size_t largest = 0;
    *best = 0;
    for (int i = 0; i < count; i++)
        if (results[i].bytes > largest)
            largest = results[i].bytes;
    for (int i = 0; i < count; i++)
        if (results[i].bytes == largest && results[i].wrong == 0 && results[i].busbw > *best)
            *best = results[i].busbw;
    return job->min_busbw <= 0 || *best >= job->min_busbw;
}
