/*
 * group_results.c - the times of each group of a line, and which group is the slowest.
 *
 * The time of an iteration of a group is that of its slowest rank, or half of it where an iteration
 * goes there and back. Percentiles are taken over iterations.
 */
#include "run/results/internal.h"

#include "base/list.h"
#include "base/log.h"

#include <stdlib.h>
#include <string.h>

/*
 * The slowest rank of each timed iteration of a line, in each group.
 */
/* A duration and the rank below it, in one word: the greatest word is the slowest rank's. */
#define RANK_BITS     20
#define DURATION_MOST (UINT64_MAX >> RANK_BITS) /* ns: 4.8 hours */
_Static_assert(JOB_RANKS_MOST <= 1 << RANK_BITS, "a rank fits below its duration");

static uint64_t word_of(uint64_t duration, int rank)
{
    uint64_t most = duration < DURATION_MOST ? duration : DURATION_MOST;
    return most << RANK_BITS | (uint64_t)rank;
}

size_t slowest_bytes(const struct job *job, const struct split *split, int rank)
{
    size_t iterations = (size_t)job->iterations;
    size_t words = iterations * (size_t)split->groups->groups;
    size_t piece = words < CONTROL_WORDS_MOST ? words : CONTROL_WORDS_MOST;
    return (rank == 0 ? words + iterations : piece) * sizeof(uint64_t);
}

enum status slowest_open(struct slowest *slowest, const struct split *split, int rank)
{
    const struct shape *groups = split->groups;
    *slowest = (struct slowest){.split = split};
    if (rank > 0)
        return STATUS_OK;
    slowest->ranks = new_array((size_t)groups->groups, sizeof *slowest->ranks);
    slowest->often = new_array((size_t)groups->ranks, sizeof *slowest->often);
    for (int g = 0; g < groups->groups; g++)
        slowest->ranks[g].rank = -1;
    return STATUS_OK;
}

/* Counts how often each rank was the slowest, and keeps the durations. From iteration `first` on.
 */
static enum status slowest_unpack(struct slowest *slowest, size_t first)
{
    const struct shape *shape = slowest->split->groups;
    size_t groups = (size_t)shape->groups;
    for (size_t w = first * groups; w < slowest->count * groups; w++) {
        int rank = (int)(slowest->duration[w] & ((1u << RANK_BITS) - 1));
        struct slowest_rank *often = &slowest->ranks[w % groups];
        if (rank >= shape->ranks || shape->group[rank] != (int)(w % groups))
            return fail(STATUS_ERROR, "a rank sent invalid samples: check that all ranks run the "
                                      "same version of cctest");
        slowest->duration[w] >>= RANK_BITS;
        if (++slowest->often[rank] > often->times)
            *often = (struct slowest_rank){rank, slowest->often[rank]};
    }
    return STATUS_OK;
}

/* The samples that a rank adds, among those of all groups. */
struct added_samples {
    const uint64_t *samples;
    bool names_rank; /* the rank stands below each */
    int rank, group, groups;
};

/* Nothing stands where other groups have their words. */
static void added_samples_lay(const void *argument, size_t first, size_t count, uint64_t *to)
{
    const struct added_samples *added = argument;
    size_t groups = (size_t)added->groups, own = (size_t)added->group;
    size_t iteration = first / groups + (first % groups > own);
    memset(to, 0, count * sizeof *to);
    for (size_t w = iteration * groups + own; w < first + count; w += groups, iteration++)
        to[w - first] = added->names_rank ? word_of(added->samples[iteration], added->rank)
                                          : added->samples[iteration];
}

/* *words: at rank 0, with those of `before` iterations in front; grows by those of `more`. */
static enum status words_add(struct control *control, const struct added_samples *added,
                             size_t before, size_t more, const char *what, uint64_t **words)
{
    size_t groups = (size_t)added->groups, held = (before + more) * groups;
    uint64_t *grown = added->rank == 0 ? realloc(*words, held * sizeof *grown) : NULL;
    if (added->rank == 0 && !grown)
        return fail(STATUS_ERROR, "out of memory for %zu samples: ask for fewer iterations (-n)",
                    held);
    *words = grown;
    return exchange_maximum(control, added_samples_lay, added, more * groups, what,
                            grown ? grown + before * groups : NULL);
}

enum status slowest_add(struct control *control, const struct rank_result *rank_result,
                        struct slowest *slowest)
{
    const struct shape *shape = slowest->split->groups;
    int rank = control_rank(control);
    size_t first = slowest->count, more = (size_t)rank_result->iterations - first;
    struct added_samples added = {.samples = rank_result->samples + first,
                                  .names_rank = true,
                                  .rank = rank,
                                  .group = shape->group[rank],
                                  .groups = shape->groups};
    if (more == 0)
        return STATUS_OK;
    enum status status = words_add(control, &added, first, more, "sample", &slowest->duration);
    if (status == STATUS_OK && rank_result->device_samples) {
        added.samples = rank_result->device_samples + first;
        added.names_rank = false;
        status = words_add(control, &added, first, more, "sample of devices", &slowest->device);
    }
    slowest->count += more;
    return status == STATUS_OK && rank == 0 ? slowest_unpack(slowest, first) : status;
}

void slowest_copy(const struct slowest *slowest, const uint64_t *words, int group, uint64_t trips,
                  uint64_t *to)
{
    size_t groups = (size_t)slowest->split->groups->groups;
    for (size_t i = 0; i < slowest->count; i++)
        to[i] = words[i * groups + (size_t)group] / trips;
}

enum status slowest_interval(const struct slowest *slowest, uint64_t trips, const struct tick *tick,
                             struct median_interval *interval)
{
    uint64_t *sorted = malloc((slowest->count + 1) * sizeof *sorted);
    if (!sorted)
        return fail(STATUS_ERROR, "out of memory for %zu samples: ask for fewer iterations (-n)",
                    slowest->count);
    for (int g = 0; g < slowest->split->groups->groups; g++) {
        slowest_copy(slowest, slowest->duration, g, trips, sorted);
        times_sort(sorted, slowest->count, tick);
        struct median_interval own = median_interval_of(sorted, slowest->count);
        if (g == 0 || median_interval_margin(&own) > median_interval_margin(interval))
            *interval = own;
    }
    free(sorted);
    return STATUS_OK;
}

void slowest_close(struct slowest *slowest)
{
    free(slowest->duration);
    free(slowest->device);
    free(slowest->ranks);
    free(slowest->often);
    *slowest = (struct slowest){0};
}

/*
 * The times of each group of a line.
 */
/* `samples`: room for the iterations. */
static void group_time(const struct line *line, int number, uint64_t *samples,
                       struct timing *timing)
{
    const struct slowest *slowest = line->slowest;
    size_t count = slowest->count;
    if (slowest->device) {
        slowest_copy(slowest, slowest->device, number, line_trips(line), samples);
        timing->device_us = statistics_of(samples, count, line->tick);
    }
    slowest_copy(slowest, slowest->duration, number, line_trips(line), samples);
    timing->trend = trend_of(samples, count, line->tick); /* before they are sorted */
    timing->time_us = statistics_of(samples, count, line->tick);
    timing->p50_interval = median_interval_of(samples, count);
    timing->modes = modes_of(samples, count);
    timing->slowest = slowest->ranks[number];
}

static void group_make(struct result *result, const struct line *line, int number,
                       uint64_t *samples)
{
    const struct rank_group group = split_group(line->split, number);
    struct group_result *made = &result->groups[number];
    struct timing *timing = &made->timing;
    group_time(line, number, samples, timing);
    timing->algbw = bandwidth_algorithm(result->bytes, timing->time_us.p50);
    timing->busbw =
        timing->algbw * collective_bus_factor(line_candidate(line)->collective, group.ranks);
    for (int r = 0; r < group.ranks; r++)
        made->wrong += line->summaries->items[group.members[r]].wrong;
    result->wrong += made->wrong;
}

/* A group, on its way into the order of the times. */
struct timed_group {
    double time;
    int number;
};

static int timed_group_compare(const void *a, const void *b)
{
    const struct timed_group *x = a, *y = b;
    return x->time != y->time ? (x->time > y->time) - (x->time < y->time) : x->number - y->number;
}

enum status group_results_compare(struct result *result, const struct split_spec *spec,
                                  const struct split *split, const struct member *members)
{
    int count = result->group_count;
    struct timed_group *groups = new_array((size_t)count, sizeof *groups);
    for (int g = 0; g < count; g++)
        groups[g] = (struct timed_group){result->groups[g].timing.time_us.p50, g};
    qsort(groups, (size_t)count, sizeof *groups, timed_group_compare);
    int slowest = count - 1;
    while (slowest > 0 && groups[slowest - 1].time == groups[slowest].time)
        slowest--;
    result->fastest_group = groups[0].number;
    result->median_group = groups[(count - 1) / 2].number; /* of two the faster */
    result->slowest_group = groups[slowest].number;
    result->median_us = groups[(count - 1) / 2].time;
    result->fastest_us = groups[0].time;
    free(groups);
    const struct rank_group named = split_group(split, result->slowest_group);
    if (spec->kind != SPLIT_NONE)
        split_name(spec, &named, members, result->slowest_name);
    result->timing = result->groups[result->slowest_group].timing;
    return STATUS_OK;
}

enum status group_results_make(struct result *result, const struct line *line)
{
    int count = line->split->groups->groups;
    uint64_t *samples = malloc((line->slowest->count + 1) * sizeof *samples);
    result->groups = calloc((size_t)count, sizeof *result->groups);
    if (!samples || !result->groups) {
        free(samples);
        return fail(STATUS_ERROR, "out of memory for the results of %d groups", count);
    }
    result->group_count = count;
    for (int g = 0; g < count; g++)
        group_make(result, line, g, samples);
    free(samples);
    return group_results_compare(result, &line->job->split, line->split, line->members);
}
