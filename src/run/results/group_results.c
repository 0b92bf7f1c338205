/*
 * group_results.c - the times of each group of a line, and which group is the slowest.
 *
 * The time of an iteration of a group is that of its slowest rank, or half of it where an iteration
 * goes there and back. Percentiles are taken over iterations.
 */
#include "run/results/results.h"

#include <stdlib.h>

#include "base/log.h"

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
    timing->slowest = slowest->of[number];
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
        made->wrong += line->summaries->of[group.members[r]].wrong;
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
    struct timed_group *groups = malloc((size_t)count * sizeof *groups);
    if (!groups)
        return fail(STATUS_ERROR, "out of memory for %d groups", count);
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
