/*
 * algorithm.c - from an algorithm that the user chose to a schedule.
 */
#include "builder_internal.h"

#include <string.h>

#include "log.h"

enum status schedule_build(const struct choice *choice, const struct problem *problem, int rank,
                           int channels, struct schedule **schedule)
{
    const struct algorithm *algorithm = choice->algorithm;
    char why[200];
    const char *refusal = algorithm->refuses
                              ? algorithm->refuses(problem->ranks, choice->options, why, sizeof why)
                              : NULL;
    if (refusal)
        return fail(STATUS_USAGE, "%s %s: %s", problem->collective->name, algorithm->name, refusal);
    struct builder *b = builder_create(problem, rank);
    if (!b)
        return STATUS_ERROR;

    const struct collective *collective = problem->collective;
    struct view source = builder_view(b, BUFFER_SOURCE,
                                      collective_blocks(collective, BUFFER_SOURCE, problem->ranks));
    struct view destination = builder_view(
        b, BUFFER_DESTINATION, collective_blocks(collective, BUFFER_DESTINATION, problem->ranks));
    /* All lanes first: a channel's rounds are counted from 0, not from where another's ended. */
    struct group *groups = builder_draft(b, (size_t)channels * sizeof *groups);
    for (int c = 0; c < channels && groups; c++)
        groups[c] = c == 0 ? builder_group(b) : group_on_lane(b, &groups[0]);
    for (int c = 0; c < channels && b->status == STATUS_OK; c++) {
        struct call call = {
            .group = &groups[c],
            .source = channels == 1 ? source : view_channel(b, &source, c, channels),
            .destination = channels == 1 ? destination : view_channel(b, &destination, c, channels),
            .root = problem->root,
            .in_place = problem->in_place,
            .algorithm = algorithm,
            .options = choice->options,
        };
        algorithm->write(b, &call);
    }
    return builder_finish(b, schedule);
}

long call_option(const struct call *call, const char *name)
{
    for (int i = 0; i < ALGORITHM_OPTIONS_MOST && call->algorithm->options[i].name; i++)
        if (strcmp(call->algorithm->options[i].name, name) == 0)
            return call->options[i];
    return 0;
}

const struct algorithm *algorithm_find(enum collective_id collective, const char *name)
{
    for (int i = 0; algorithms[i]; i++) {
        if (algorithms[i]->collective != collective)
            continue;
        if (strcmp(algorithms[i]->name, name) == 0)
            return algorithms[i];
        for (int a = 0; a < 6 && algorithms[i]->aliases[a]; a++)
            if (strcmp(algorithms[i]->aliases[a], name) == 0)
                return algorithms[i];
    }
    return NULL;
}
