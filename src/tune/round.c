/*
 * round.c - one round of one race: a small job, and what came of it.
 */
#include "tune/internal.h"

#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"

#define START_SECONDS 0.1  /* that a job takes to start and end */
#define JOB_SECONDS   60.0 /* after which a small job is given up, beside its --timeout */
#define FIRST_COUNT   20   /* iterations of the first round, at most */

/* The time of the slowest racer that is left; 0: none is known. */
static double slowest_time(const struct race *race)
{
    double slowest = 0;
    for (int i = 0; i < race->count; i++)
        if (!race->racers[i].out)
            slowest = fmax(slowest, race->racers[i].time);
    return slowest;
}

/* All racers of a job have as many iterations: by the time of the slowest, so that a round is short. */
static long iterations_of(const struct race *race)
{
    double slowest = slowest_time(race);
    if (slowest > 0)
        return round_iterations(slowest);
    long guess = round_iterations(race->guess);
    return guess < FIRST_COUNT ? guess : FIRST_COUNT;
}

double round_seconds(const struct race *race)
{
    double each = (double)(iterations_of(race) + 1) * slowest_time(race) * 1e-6;
    return START_SECONDS + each * race_left(race);
}

static enum status result_enter(struct tuner *tuner, struct race *race, const json_t *result)
{
    char name[ALGORITHM_TEXT_MOST];
    const json_t *times = json_object_get(result, "time_us");
    double time = json_number_value(json_object_get(times, "p50"));
    algorithm_text(result, name);
    struct racer *racer = race_racer(race, name);
    if (!racer)
        return fail(STATUS_ERROR, "out of memory for the algorithms of %s", race->collective->name);
    const char *transport = json_string_value(json_object_get(result, "transport"));
    snprintf(race->transport, sizeof race->transport, "%s", transport ? transport : "");
    race->bytes = (size_t)json_integer_value(json_object_get(result, "bytes"));
    if (json_integer_value(json_object_get(result, "wrong")) != 0) {
        tuner->wrong++;
        racer->wrong = racer->out = true;
        say("%s %s at %zu bytes on %d ranks has wrong data: it is left out", race->collective->name,
            name, race->bytes, race->ranks);
    } else if (time > 0 && racer->rounds == race->rounds && !racer->out) {
        double least = json_number_value(json_object_get(times, "min"));
        racer->times[racer->rounds++] = time;
        racer->least = racer->least > 0 && racer->least < least ? racer->least : least;
    }
    return STATUS_OK;
}

/* Keeps why the first job failed. */
static void failure_keep(struct tuner *tuner, const struct race *race, const json_t *document,
                         const struct worker_end *end)
{
    const json_t *error = json_array_get(json_object_get(document, "errors"), 0);
    const char *message = json_string_value(json_object_get(error, "message"));
    const char *tail = strstr(end->tail, "cctest: ");
    if (tuner->failed++ > 0)
        return;
    snprintf(tuner->why, sizeof tuner->why, "%s of %zu bytes on %d ranks: %.300s",
             race->collective->name, race->asked, race->ranks,
             message ? message
             : tail  ? tail + strlen("cctest: ")
                     : "a process of the job died or did not end in time");
    tuner->why[strcspn(tuner->why, "\n")] = '\0';
}

static enum status outcome_enter(struct tuner *tuner, struct race *race,
                                 const struct fleet_outcome *outcome)
{
    json_t *document = outcome->result ? json_loadb(outcome->result, outcome->size, 0, NULL) : NULL;
    const json_t *result;
    size_t index;
    enum status status = STATUS_OK;
    json_array_foreach(json_object_get(document, "results"), index, result) status =
        status == STATUS_OK ? result_enter(tuner, race, result) : status;
    for (int r = 0; r < race->ranks; r++) {
        const struct worker_end *end = &outcome->ends[r];
        if (end->fate != WORKER_EXITED ||
            (end->code != STATUS_OK && end->code != STATUS_WRONG_DATA)) {
            failure_keep(tuner, race, document, end);
            break;
        }
    }
    json_decref(document);
    return status;
}

/* The race whose job runs, for the progress of the fleet. */
struct running_round {
    struct tuner *tuner;
    const struct race *race;
};

static void round_progress(void *argument, int ended, int count)
{
    const struct running_round *round = argument;
    (void)ended;
    (void)count;
    round->tuner->report->running(round->tuner->report, round->tuner, round->race);
}

enum status round_run(struct tuner *tuner, struct race *race, const char *names, bool first)
{
    char command[COMMAND_MOST];
    struct fleet_outcome *outcomes = NULL;
    int *agents = malloc((size_t)race->ranks * sizeof *agents);
    if (!agents)
        return fail(STATUS_ERROR, "out of memory for a job of %d ranks", race->ranks);
    for (int r = 0; r < race->ranks; r++)
        agents[r] = r;
    snprintf(command, sizeof command,
             "%s -a %s -b %zu -e %zu -n %ld -w 1 -c %d --seed %" PRIu64 "%s",
             race->collective->name, names, race->asked, race->asked, iterations_of(race), first,
             tuner->job->seed, tuner->options);
    const struct fleet_job job = {.command = command, .agents = agents, .ranks = race->ranks};
    struct running_round round = {tuner, race};
    tuner->jobs++;
    enum status status =
        coordinator_run(tuner->coordinator, "tune", &job, 1,
                        tuner->job->bootstrap.timeout + JOB_SECONDS + 10 * round_seconds(race),
                        round_progress, &round, &outcomes);
    if (status == STATUS_OK)
        status = outcome_enter(tuner, race, &outcomes[0]);
    coordinator_outcomes_free(outcomes, 1);
    free(agents);
    if (status == STATUS_OK) {
        race->rounds++;
        race_prune(race, race_before(tuner, race, 1));
    }
    return status;
}
