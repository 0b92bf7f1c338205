/*
 * step_times.c - when the steps of a line end on a rank.
 */
#include "run/results/results.h"

#include <stdlib.h>

#include "base/log.h"
#include "base/stats/stats.h"

struct step_times {
    const struct step_clock *clock;
    size_t count, most; /* iterations */
    uint64_t *since;    /* ns from the release to the end: `most` of each step */
};

enum status step_times_create(const struct step_clock *clock, struct step_times **made)
{
    *made = NULL;
    if (clock->steps == 0)
        return STATUS_OK;
    size_t most = STEP_TIMES_BYTES / ((size_t)clock->steps * sizeof(uint64_t));
    struct step_times *times = malloc(sizeof *times);
    uint64_t *since = calloc((size_t)clock->steps * most, sizeof *since);
    if (!times || !since) {
        free(times);
        free(since);
        return fail(STATUS_ERROR, "out of memory for the times of %d steps", clock->steps);
    }
    *times = (struct step_times){.clock = clock, .most = most, .since = since};
    *made = times;
    return STATUS_OK;
}

void step_times_free(struct step_times *times)
{
    if (times)
        free(times->since);
    free(times);
}

void step_times_note(struct step_times *times, uint64_t released)
{
    if (!times || times->count == times->most)
        return;
    for (int s = 0; s < times->clock->steps; s++) {
        uint64_t ended = times->clock->ended[s];
        times->since[(size_t)s * times->most + times->count] =
            ended > released ? ended - released : 0;
    }
    times->count++;
}

int step_times_count(const struct step_times *times)
{
    return times ? times->clock->steps : 0;
}

double step_times_median(struct step_times *times, int step, const struct tick *tick)
{
    uint64_t *of = times->since + (size_t)step * times->most;
    if (times->count == 0)
        return 0;
    times_sort(of, times->count, tick);
    return (double)of[times->count / 2] / 1000;
}
