/*
 * tuner.c - which algorithm is the fastest: the order of the races and their rounds.
 */
#include "tune/internal.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/list.h"
#include "base/log.h"

/* ---- the grid ---- */

static enum status race_add(struct tuner *tuner, const struct collective *collective, int ranks,
                            size_t asked)
{
    int nodes = 0, last = -1;
    if (!list_reserve(&tuner->races, (size_t)tuner->race_count, sizeof *tuner->races))
        return fail(STATUS_ERROR, "out of memory for %d sizes", tuner->race_count);
    for (int r = 0; r < ranks; r++) {
        nodes += tuner->roster->agents[r].host != last;
        last = tuner->roster->agents[r].host;
    }
    tuner->races[tuner->race_count++] =
        (struct race){.collective = collective, .ranks = ranks, .nodes = nodes, .asked = asked};
    return STATUS_OK;
}

/* All sizes of a collective on so many ranks, ascending. */
static enum status sizes_add(struct tuner *tuner, const struct collective *collective, int ranks)
{
    const struct job *job = tuner->job;
    const struct candidate candidate = {.collective = collective, .datatype = job->datatypes[0]};
    for (size_t bytes = job_first_size(job, &candidate), next = 1; next != 0; bytes = next) {
        TRY(race_add(tuner, collective, ranks, bytes));
        next = job_next_size(job, &candidate, bytes);
    }
    return STATUS_OK;
}

int tuner_ranks_default(int all, int ranks[TUNE_RANKS_MOST])
{
    int count = 0;
    for (int r = 2; r < all; r *= 2) {
        ranks[count++] = r;
        if (r / 2 * 3 > r && r / 2 * 3 < all)
            ranks[count++] = r / 2 * 3;
    }
    ranks[count++] = all;
    return count;
}

static enum status grid_make(struct tuner *tuner)
{
    const struct tune_options *options = tuner->asked;
    int ranks[TUNE_RANKS_MOST], all = tuner->roster->ranks;
    int count = options->rank_count;
    memcpy(ranks, options->ranks, sizeof ranks);
    if (count == 0)
        count = tuner_ranks_default(all, ranks);
    if (all < 2 || ranks[count - 1] > all)
        return fail_option(
            STATUS_USAGE, "rank-counts np",
            "--rank-counts asks for %d ranks, and there are %d: start as many (--np)",
            all < 2 ? 2 : ranks[count - 1], all);
    if (job_traits(tuner->job).rooted && tuner->job->root >= ranks[0])
        return fail_option(
            STATUS_USAGE, "rank-counts",
            "root %d is not among %d ranks: choose one from 0 to %d, or --rank-counts",
            tuner->job->root, ranks[0], ranks[0] - 1);
    for (int c = 0; tuner->job->collectives[c]; c++)
        for (int r = 0; r < count; r++)
            TRY(sizes_add(tuner, tuner->job->collectives[c], ranks[r]));
    return STATUS_OK;
}

/* ---- rounds ---- */

static bool has_time(const struct tuner *tuner, const struct race *race)
{
    return clock_seconds() + round_seconds(race) < tuner->end;
}

/* By the best of the next smaller size, as if it took as long for each byte. */
static double guess_of(const struct race *race, const struct race *last)
{
    double best = last && last->count > 0 ? last->racers[0].time : 0;
    return best > 0 && last->asked > 0 ? best * (double)race->asked / (double)last->asked : 0;
}

static enum status first_rounds(struct tuner *tuner)
{
    enum status status = STATUS_OK;
    char names[NAMES_MOST];
    for (int i = 0; i < tuner->race_count && status == STATUS_OK; i++) {
        struct race *race = &tuner->races[i];
        if (!has_time(tuner, race)) {
            tuner->unmeasured++;
            continue;
        }
        race->guess = guess_of(race, race_before(tuner, race, 1));
        status = names_first(tuner, race, names);
        if (status == STATUS_OK)
            status = round_run(tuner, race, names, true);
    }
    return status;
}

/* *more: some race had a round. */
static enum status next_rounds(struct tuner *tuner, bool *more)
{
    enum status status = STATUS_OK;
    char names[NAMES_MOST];
    *more = false;
    for (int i = 0; i < tuner->race_count && status == STATUS_OK; i++) {
        struct race *race = &tuner->races[i];
        if (race->rounds == 0 || race_is_settled(race) || !has_time(tuner, race))
            continue;
        names_left(race, names);
        status = round_run(tuner, race, names, false);
        *more = true;
    }
    return status;
}

static enum status races_run(struct tuner *tuner)
{
    bool more = true;
    tuner->began = clock_seconds();
    tuner->end = tuner->began + tuner->job->budget;
    enum status status = first_rounds(tuner);
    while (status == STATUS_OK && more) {
        tuner->report->round(tuner->report, tuner);
        status = next_rounds(tuner, &more);
    }
    for (int i = 0; i < tuner->race_count; i++)
        race_sort(&tuner->races[i]);
    return status;
}

enum status tuner_judge(const struct tuner *tuner)
{
    int measured = 0;
    for (int i = 0; i < tuner->race_count; i++)
        measured += tuner->races[i].bytes > 0 || tuner->races[i].count > 0;
    if (measured == 0)
        return fail_option(STATUS_ERROR, tuner->failed ? "" : "budget", "nothing was measured: %s",
                           tuner->failed ? tuner->why : "--budget is too short: give more seconds");
    if (tuner->failed > 0)
        return fail(
            STATUS_ERROR,
            "%d of %d small jobs failed, and their algorithms are not among the winners; the "
            "first: %s",
            tuner->failed, tuner->jobs, tuner->why);
    return tuner->wrong > 0 ? STATUS_WRONG_DATA : STATUS_OK;
}

/* ---- the run ---- */

static enum status coordinate(const struct membership *membership,
                              const struct tuner_arguments *arguments)
{
    struct tune_report *report = arguments->report;
    struct tuner tuner = {.job = arguments->job,
                          .asked = arguments->asked,
                          .options = arguments->options,
                          .bootstrap = membership->bootstrap,
                          .report = report,
                          .forecast = arguments->forecast};
    enum status status = coordinator_open(membership, &arguments->agents, &tuner.coordinator);
    if (status == STATUS_OK) {
        tuner.roster = coordinator_roster(tuner.coordinator);
        status = grid_make(&tuner);
    }
    if (status == STATUS_OK)
        status = report->begin(report, &tuner);
    if (status == STATUS_OK)
        status = races_run(&tuner);
    if (status == STATUS_OK)
        status = tuner_judge(&tuner);
    if (status != STATUS_OK && status != STATUS_WRONG_DATA)
        log_print_failure(log_current());
    status = report->end(report, &tuner, status);
    for (int i = 0; i < tuner.race_count; i++)
        race_free(&tuner.races[i]);
    free(tuner.races);
    coordinator_close(tuner.coordinator, status);
    return status;
}

enum status tuner_run(const struct membership *membership, void *argument)
{
    const struct tuner_arguments *arguments = argument;
    if (membership->rank == 0)
        return coordinate(membership, arguments);
    enum status status = follower_run(membership, &arguments->agents);
    log_print_failure(log_current());
    return status;
}
