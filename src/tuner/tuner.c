/*
 * tuner.c - which algorithm is the fastest: the order of the races and their rounds.
 */
#include "tuner/tuner.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"
#include "fleet/follower.h"
#include "run/candidates.h"
#include "tuner/round.h"

#define NAMES_MOST 2048 /* of the list of a job, which has to fit its command */
#define PREDICTED_FAR                                                                              \
    4.0 /* times the least predicted time: so much slower ones are not measured, */
#define PREDICTED_LEAST 3 /* but so many are in any case */

/* ---- the grid ---- */

static enum status race_add(struct tuner *tuner, const struct candidate *of, int ranks,
                            size_t asked)
{
    if (tuner->race_count == tuner->race_room) {
        int room = 2 * tuner->race_room + 64;
        struct race *more = realloc(tuner->races, (size_t)room * sizeof *more);
        if (!more)
            return fail(STATUS_ERROR, "out of memory for %d sizes", room);
        tuner->races = more;
        tuner->race_room = room;
    }
    int nodes = 0, last = -1;
    for (int r = 0; r < ranks; r++) {
        nodes += tuner->roster->agents[r].host != last;
        last = tuner->roster->agents[r].host;
    }
    tuner->races[tuner->race_count++] =
        (struct race){.collective = of->collective, .ranks = ranks, .nodes = nodes, .asked = asked};
    return STATUS_OK;
}

/* All sizes of a collective on so many ranks, ascending. */
static enum status sizes_add(struct tuner *tuner, const struct collective *collective, int ranks)
{
    const struct job *job = tuner->job;
    const struct candidate of = {.collective = collective, .datatype = job->datatypes[0]};
    enum status status = STATUS_OK;
    for (size_t bytes = job_first_size(job, &of), next = 1; next != 0 && status == STATUS_OK;
         bytes = next) {
        status = race_add(tuner, &of, ranks, bytes);
        next = job_next_size(job, &of, bytes);
    }
    return status;
}

/* Powers of two, what lies halfway between two of them, and all ranks: 2, 3, 4, 6, 8, 12 ... */
static int ranks_default(int all, int ranks[TUNE_RANKS_MOST])
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
    const struct tune_options *options = &tuner->job->tune;
    int ranks[TUNE_RANKS_MOST], all = tuner->roster->ranks;
    int count = options->rank_count;
    memcpy(ranks, options->ranks, sizeof ranks);
    if (count == 0)
        count = ranks_default(all, ranks);
    if (all < 2 || ranks[count - 1] > all)
        return fail(STATUS_USAGE,
                    "--rank-counts asks for %d ranks, and there are %d: start as many (--np)",
                    all < 2 ? 2 : ranks[count - 1], all);
    if (job_traits(tuner->job).rooted && tuner->job->root >= ranks[0])
        return fail(STATUS_USAGE, "root %d is not among %d ranks: choose one from 0 to %d, or --rank-counts",
                    tuner->job->root, ranks[0], ranks[0] - 1);
    enum status status = STATUS_OK;
    for (int c = 0; tuner->job->collectives[c]; c++)
        for (int r = 0; r < count && status == STATUS_OK; r++)
            status = sizes_add(tuner, tuner->job->collectives[c], ranks[r]);
    return status;
}

/* ---- which algorithms a round has ---- */

/* Adds a name to a list; one that does not fit any more is left out. */
static void name_add(struct text *names, const char *name)
{
    int count = 1;
    for (const char *at = names->at; (at = strchr(at, ',')) != NULL; at++)
        count++;
    if (count < ALGORITHMS_MOST && names->used + strlen(name) + 2 < names->size)
        text_add(names, "%s%s", names->used > 0 ? "," : "", name);
}

/* The racers that are left. The order changes from round to round, so that none always follows the
 * same one. */
static void names_left(const struct race *race, char names[NAMES_MOST])
{
    struct text text = text_in(names, NAMES_MOST);
    for (int i = 0; i < race->count; i++) {
        int at = race->rounds % 2 ? race->count - 1 - i : i;
        if (!race->racers[at].out)
            name_add(&text, race->racers[at].text);
    }
}

/* The two races of the next smaller sizes; NULL: there is none. */
static const struct race *race_before(const struct tuner *tuner, const struct race *race, int by)
{
    if (race - tuner->races < by || race[-by].collective != race->collective ||
        race[-by].ranks != race->ranks)
        return NULL;
    return &race[-by];
}

/* A line of a model for this race. The size that was asked for is the one before rounding. */
static bool is_predicted(const struct tuner *tuner, const struct race *race,
                         const struct timed_line *line)
{
    return line->collective == race->collective && line->ranks == race->ranks &&
           line->element == tuner->job->datatypes[0]->size && line->bytes >= race->asked &&
           line->bytes < race->asked + line->element * (size_t)line->ranks + 1;
}

/* The likely winners by a model, the fastest first. False: it says nothing. */
static bool names_predicted(const struct tuner *tuner, const struct race *race,
                            char names[NAMES_MOST])
{
    struct text text = text_in(names, NAMES_MOST);
    double least = 0, last = 0;
    for (int taken = 0;; taken++) {
        const struct timed_line *next = NULL;
        for (size_t i = 0; i < tuner->predicted_count; i++) {
            const struct timed_line *line = &tuner->predicted[i];
            if (is_predicted(tuner, race, line) && line->time > last &&
                (!next || line->time < next->time))
                next = line;
        }
        if (!next || (taken >= PREDICTED_LEAST && next->time > PREDICTED_FAR * least))
            return taken > 0;
        least = taken == 0 ? next->time : least;
        last = next->time;
        name_add(&text, next->algorithm);
    }
}

/* Of the first round: what a model or the trend of smaller sizes leaves hope; else all. */
static void names_first(const struct tuner *tuner, const struct race *race, char names[NAMES_MOST])
{
    const struct race *last = race_before(tuner, race, 1), *before = race_before(tuner, race, 2);
    struct text text = text_in(names, NAMES_MOST);
    if (names_predicted(tuner, race, names))
        return;
    text = text_in(names, NAMES_MOST);
    for (int i = 0; last && before && i < last->count; i++)
        if (racer_is_hopeful(last->racers[i].text, before, last) && !last->racers[i].wrong)
            name_add(&text, last->racers[i].text);
    /* What the last size left out may be of use again: nothing was measured of it there. */
    for (int i = 0; last && before && i < before->count; i++) {
        bool known = false;
        for (int k = 0; k < last->count; k++)
            known |= strcmp(last->racers[k].text, before->racers[i].text) == 0;
        if (!known && !before->racers[i].wrong &&
            racer_is_hopeful(before->racers[i].text, race_before(tuner, race, 3), before))
            name_add(&text, before->racers[i].text);
    }
    if (text.used == 0)
        snprintf(names, NAMES_MOST, "all");
}

/* ---- rounds ---- */

static bool has_time(const struct tuner *tuner, const struct race *race)
{
    return clock_seconds() + round_seconds(race) < tuner->end;
}

/* By the best of the next smaller size, as if it took as long for each byte. */
static double guess_of(const struct race *race, const struct race *last)
{
    double best = last && last->count > 0 ? racer_time(&last->racers[0]) : 0;
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
        names_first(tuner, race, names);
        race->guess = guess_of(race, race_before(tuner, race, 1));
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

/* A job that failed is an error, too; the winners of the others are there. */
static enum status races_judge(const struct tuner *tuner)
{
    int measured = 0;
    for (int i = 0; i < tuner->race_count; i++)
        measured += tuner->races[i].bytes > 0 || tuner->races[i].count > 0;
    if (measured == 0)
        return fail(STATUS_ERROR, "nothing was measured: %s",
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
                          .options = arguments->options,
                          .bootstrap = membership->bootstrap,
                          .report = report,
                          .predicted = arguments->predicted,
                          .predicted_count = arguments->predicted_count};
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
        status = races_judge(&tuner);
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
