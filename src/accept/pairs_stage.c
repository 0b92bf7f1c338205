/*
 * pairs_stage.c - the stages pairs and isolate.
 */
#include "accept/pairs_stage.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "accept/stage.h"
#include "base/log.h"
#include "screening/sickness.h"

#define ROUND_SECONDS   30.0
#define ROUND_QUICK     12.0
#define ISOLATIONS_MOST 64 /* rounds: more than any fleet needs */

void pairs_state_free(struct pairs_state *state)
{
    readings_free(&state->readings);
}

/* ---- pairs ---- */

/* The hosts that are left, as the plan of rounds sees them. */
static int present_find(const struct acceptance *acceptance, bool *present)
{
    int count = 0;
    for (int h = 0; h < acceptance->roster->host_count; h++)
        count += present[h] = !acceptance->roster->hosts[h].lost;
    return count;
}

/* Hosts with few others cannot be told from their links. */
static void say_few(struct stage_result *result, int hosts)
{
    if (hosts == 2)
        stage_is_partial(result, "two hosts: either of them, or the link between them, cannot be "
                                 "told apart");
    else if (hosts == 3)
        stage_is_partial(result,
                         "three hosts: each has two others to be compared with, so two that "
                         "are sick cannot be told from one that is good");
}

static enum status rounds_run(struct pairs_state *state, const struct rounds *plan, int rounds,
                              bool *present, struct host_pair *pairs)
{
    struct acceptance *acceptance = state->jobs.acceptance;
    enum status status = STATUS_OK;
    for (int r = 0; r < rounds && status == STATUS_OK; r++) {
        present_find(acceptance, present);
        int count = rounds_pairs(plan, r, present, pairs);
        status = pair_jobs_run(&state->jobs, STAGE_PAIRS, pairs, count, &state->readings);
        state->rounds++;
    }
    return status;
}

/* The medians of the three metrics. */
static void pairs_summarize(const struct pairs_state *state, struct stage_result *result)
{
    double medians[METRICS], *room = malloc((state->readings.count + 1) * sizeof *room);
    for (int m = 0; m < METRICS && room; m++) {
        size_t known = 0;
        for (size_t i = 0; i < state->readings.count; i++)
            if ((int)state->readings.of[i].metric == m &&
                state->readings.of[i].outcome == READING_VALUE)
                room[known++] = state->readings.of[i].value;
        medians[m] = median_of(room, known);
    }
    if (room)
        stage_says(result,
                   "%d rounds, medians: %.3g us, one way %.3g GB/s, both ways at once %.3g GB/s "
                   "each; %d jobs failed",
                   state->rounds, medians[METRIC_LATENCY], medians[METRIC_ALONE],
                   medians[METRIC_BOTH], state->jobs.failures);
    free(room);
}

enum status pairs_stage_run(struct acceptance *acceptance, struct pairs_state *state,
                            struct stage_result *result)
{
    int hosts = acceptance->roster->host_count;
    const struct job *job = acceptance->job;
    bool *present = calloc((size_t)hosts, sizeof *present);
    struct host_pair *pairs = calloc((size_t)hosts, sizeof *pairs);
    int rounds = job->accept.all_pairs ? rounds_all(hosts) : rounds_enough(hosts);
    struct rounds *plan = rounds_plan(hosts, rounds, job->seed);
    state->jobs = (struct pair_jobs){.acceptance = acceptance,
                                     .seconds = job->accept.quick ? ROUND_QUICK : ROUND_SECONDS};
    enum status status = present && pairs && plan
                             ? STATUS_OK
                             : fail(STATUS_ERROR, "out of memory for %d hosts", hosts);
    int left = status == STATUS_OK ? present_find(acceptance, present) : 0;
    if (status == STATUS_OK && left < 2)
        stage_leave_out(result, "there is one host: pairs need two");
    else if (status == STATUS_OK) {
        say_few(result, left);
        status = rounds_run(state, plan, rounds, present, pairs);
        pairs_summarize(state, result);
    }
    rounds_free(plan);
    free(present);
    free(pairs);
    return status;
}

/* ---- isolate ---- */

static enum status sickness_status(const struct sickness *sickness)
{
    switch (sickness->kind) {
    case SICKNESS_WRONG:
        return STATUS_WRONG_DATA;
    case SICKNESS_LOST:
    case SICKNESS_LATE:
        return STATUS_TIMEOUT;
    case SICKNESS_ERROR:
        return STATUS_ERROR;
    default:
        return STATUS_SLOW;
    }
}

static enum status sicknesses_report(struct acceptance *acceptance,
                                     const struct sicknesses *sicknesses)
{
    enum status status = STATUS_OK;
    for (int i = 0; i < sicknesses->count && status == STATUS_OK; i++) {
        const struct sickness *sickness = &sicknesses->of[i];
        const struct spot *spot = &sickness->spot;
        char text[FOUND_TEXT_MOST];
        snprintf(text, sizeof text, "%s: kind %d, direction %d, %.3g beside %.3g (threshold %.3g)",
                 host_label(acceptance, spot->host), (int)sickness->kind, (int)spot->direction,
                 sickness->reason.value, sickness->reason.median, sickness->reason.threshold);
        enum health health =
            spot->kind == SPOT_HOST && sickness->confirmed ? HEALTH_BAD : HEALTH_SUSPECT;
        status = stage_finds(acceptance, STAGE_ISOLATE, spot->host,
                             spot->kind == SPOT_HOST ? -1 : spot->peer, health,
                             sickness_status(sickness), "%s", text);
    }
    return status;
}

/* A run of isolation. */
struct isolating {
    struct acceptance *acceptance;
    struct pairs_state *state;
    struct isolation *isolation;
    bool *present;
    struct host_pair *pairs;
    int rounds;
};

static enum status isolate_rounds(struct isolating *it)
{
    enum status status = STATUS_OK;
    struct readings round = {0};
    while (status == STATUS_OK && it->rounds < ISOLATIONS_MOST) {
        present_find(it->acceptance, it->present);
        int count = isolation_pairs(it->isolation, it->present, it->pairs);
        if (count == 0)
            break;
        it->rounds++;
        round.count = 0;
        status = pair_jobs_run(&it->state->jobs, STAGE_ISOLATE, it->pairs, count, &round);
        if (status == STATUS_OK && !isolation_add(it->isolation, round.of, round.count))
            status = fail(STATUS_ERROR, "out of memory for the suspects");
    }
    readings_free(&round);
    return status;
}

static enum status isolate_go(struct isolating *it, const struct fleet *fleet,
                              const struct limits *limits, struct stage_result *result)
{
    struct acceptance *acceptance = it->acceptance;
    const struct readings *readings = &it->state->readings;
    it->isolation =
        isolation_create(fleet, limits, readings->of, readings->count, acceptance->job->seed);
    if (!it->isolation)
        return fail(STATUS_ERROR, "out of memory for the suspects");
    int suspects = isolation_suspicion(it->isolation)->count;
    enum status status = isolate_rounds(it);
    struct sicknesses *sicknesses =
        status == STATUS_OK ? sicknesses_find(fleet, it->isolation) : NULL;
    if (status == STATUS_OK)
        status = sicknesses ? sicknesses_report(acceptance, sicknesses)
                            : fail(STATUS_ERROR, "out of memory for the findings");
    if (sicknesses)
        stage_says(result, "%d suspects, %d rounds, %d findings", suspects, it->rounds,
                   sicknesses->count);
    sicknesses_free(sicknesses);
    isolation_free(it->isolation);
    return status;
}

enum status isolate_stage_run(struct acceptance *acceptance, struct pairs_state *state,
                              struct stage_result *result)
{
    int hosts = acceptance->roster->host_count;
    const struct fleet_config config = {.hosts = hosts, .rails = 1};
    const struct yardsticks yardsticks = yardsticks_default();
    const struct readings *readings = &state->readings;
    if (readings->count == 0) {
        stage_leave_out(result, "no pairs were measured");
        return STATUS_OK;
    }
    struct isolating it = {.acceptance = acceptance,
                           .state = state,
                           .present = calloc((size_t)hosts, sizeof *it.present),
                           .pairs = calloc((size_t)hosts, sizeof *it.pairs)};
    struct fleet *fleet = fleet_create(&config, readings->of, readings->count);
    struct limits *limits =
        fleet ? limits_create(fleet, &yardsticks, readings->of, readings->count) : NULL;
    enum status status = it.present && it.pairs && limits
                             ? isolate_go(&it, fleet, limits, result)
                             : fail(STATUS_ERROR, "out of memory for %d hosts", hosts);
    limits_free(limits);
    fleet_free(fleet);
    free(it.present);
    free(it.pairs);
    return status;
}
