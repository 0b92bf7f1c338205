/*
 * race.c - which algorithms are measured again, and which is the winner.
 */

#include "base/io/io.h"
#include "base/list.h"
#include "base/log.h"
#include "base/stats/stats.h"
#include "tune/internal.h"

#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * One round of one race: a small job, and its results.
 */
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

/* All racers of a job have as many iterations: by the time of the slowest, so that a round is
 * short. */
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
    double time = number_of(times, "p50");
    algorithm_text(result, name);
    struct racer *racer = race_racer(race, name);
    if (!racer)
        return fail(STATUS_ERROR, "out of memory for the algorithms of %s", race->collective->name);
    snprintf(race->transport, sizeof race->transport, "%s", word_of(result, "transport"));
    race->bytes = (size_t)whole_of(result, "bytes");
    if (whole_of(result, "wrong") != 0) {
        tuner->wrong++;
        racer->wrong = racer->out = true;
        say("%s %s at %zu bytes on %d ranks has wrong data: it is left out", race->collective->name,
            name, race->bytes, race->ranks);
    } else if (time > 0 && racer->rounds == race->rounds && !racer->out) {
        racer_round_add(racer, time, number_of(times, "min"));
    }
    return STATUS_OK;
}

/* Keeps why the first job failed. */
static void failure_keep(struct tuner *tuner, const struct race *race, const json_t *document,
                         const struct worker_end *end)
{
    const json_t *error = json_array_get(json_object_get(document, "errors"), 0);
    const char *message = word_of(error, "message");
    const char *tail = strstr(end->tail, "cctest: ");
    if (tuner->failed++ > 0)
        return;
    snprintf(tuner->why, sizeof tuner->why, "%s of %zu bytes on %d ranks: %.300s",
             race->collective->name, race->asked, race->ranks,
             *message ? message
             : tail   ? tail + strlen("cctest: ")
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
    int *agents = new_array((size_t)race->ranks, sizeof *agents);
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

/*
 * The order of the rounds, and the winner.
 */
#define FAR_FIRST    1.0  /* behind the best by more than this share: out after the first round; */
#define FAR_LATER    0.25 /* and after later ones */
#define TIE          0.03 /* within this share none is out: the halves are noise */
#define TRUST_LEAST  2    /* rounds, up to which one is in whose best iteration is that fast */
#define LEFT_LEAST   2
#define ROUNDS_LEAST 3   /* even of one racer that is left: its time is worth knowing */
#define ROUND_TIME   2e4 /* us: of the iterations of one racer */
#define ROUND_LEAST  5
#define ROUND_MOST   200
#define NEAR         1.25 /* times as slow as the best: a slow job at the next size puts none out */
#define HOPELESS     3.0  /* times as slow as the best, by the trend or a model */
#define LIKELY_LEAST 3    /* algorithms that no prediction leaves out */

struct racer *race_racer(struct race *race, const char *text)
{
    for (int i = 0; i < race->count; i++)
        if (strcmp(race->racers[i].text, text) == 0)
            return &race->racers[i];
    if (race->count == RACERS_MOST)
        return NULL;
    struct racer *racer = LIST_ADD(race->racers, race->count);
    snprintf(racer->text, sizeof racer->text, "%s", text);
    return racer;
}

void racer_round_add(struct racer *racer, double time, double least)
{
    racer->times[racer->rounds++] = time;
    if (least > 0 && (racer->least <= 0 || least < racer->least))
        racer->least = least;
}

void race_free(struct race *race)
{
    free(race->racers);
    race->racers = NULL;
    race->count = 0;
    free(race->pruned);
    race->pruned = NULL;
    race->pruned_count = 0;
}

void entrants_prune(struct entrant *entrants, int count)
{
    for (int i = 0; i < count; i++) {
        int faster = 0; /* algorithms that are predicted to be so */
        double best = entrants[i].predicted;
        for (int k = 0; k < count; k++)
            if (entrants[k].predicted > 0 && entrants[k].predicted < entrants[i].predicted) {
                faster++;
                best = fmin(best, entrants[k].predicted);
            }
        entrants[i].far = faster >= LIKELY_LEAST && entrants[i].predicted > HOPELESS * best;
    }
}

static double rounds_median(const struct racer *racer)
{
    double times[ROUNDS_MOST];
    memcpy(times, racer->times, sizeof times);
    return median_of(times, (size_t)racer->rounds);
}

static double level_of(const struct race *race, int round)
{
    double ratios[RACERS_MOST];
    size_t count = 0;
    for (int i = 0; i < race->count; i++) {
        const struct racer *racer = &race->racers[i];
        if (racer->rounds == race->rounds && !racer->wrong)
            ratios[count++] = racer->times[round] / rounds_median(racer);
    }
    return count > 0 ? median_of(ratios, count) : 1;
}

void race_times(struct race *race)
{
    double slowest = 0; /* of those that are left */
    for (int i = 0; i < race->count; i++) {
        struct racer *racer = &race->racers[i];
        double times[ROUNDS_MOST];
        for (int r = 0; r < racer->rounds; r++)
            times[r] = racer->times[r] / level_of(race, r);
        racer->time = median_of(times, (size_t)racer->rounds);
        if (!racer->out)
            slowest = fmax(slowest, racer->time);
    }
    for (int i = 0; i < race->count; i++)
        if (race->racers[i].out && race->racers[i].rounds > 0)
            race->racers[i].time = fmax(race->racers[i].time, slowest);
}

void racer_interval(const struct racer *racer, double *low, double *high)
{
    *low = *high = racer->time;
    for (int r = 0; r < racer->rounds; r++) {
        double scaled = racer->times[r] * racer->time / rounds_median(racer);
        *low = fmin(*low, scaled);
        *high = fmax(*high, scaled);
    }
}

/* Racers that count before those that do not; then the faster; then by name. */
static int racer_compare(const void *a, const void *b)
{
    const struct racer *x = a, *y = b;
    double mine = x->time, other = y->time;
    bool counts = !x->wrong && mine > 0, other_counts = !y->wrong && other > 0;
    if (counts != other_counts)
        return counts ? -1 : 1;
    if (x->out != y->out)
        return x->out ? 1 : -1;
    if (mine != other)
        return mine < other ? -1 : 1;
    return strcmp(x->text, y->text);
}

void race_sort(struct race *race)
{
    if (race->count > 0)
        qsort(race->racers, (size_t)race->count, sizeof *race->racers, racer_compare);
}

int race_left(const struct race *race)
{
    int left = 0;
    for (int i = 0; i < race->count; i++)
        left += !race->racers[i].out;
    return left;
}

bool race_is_settled(const struct race *race)
{
    int left = race_left(race);
    return race->rounds >= ROUNDS_MOST || left == 0 || (left == 1 && race->rounds >= ROUNDS_LEAST);
}

double race_margin(const struct race *race)
{
    double first = race->count > 1 ? race->racers[0].time : 0;
    double second = race->count > 1 ? race->racers[1].time : 0;
    return first > 0 && !race->racers[1].wrong ? second / first : 0;
}

long round_iterations(double time)
{
    double count = time > 0 ? ROUND_TIME / time : ROUND_MOST;
    return (long)fmin(fmax(count, ROUND_LEAST), ROUND_MOST);
}

/* The best of its iterations over the best median of the race: noise must not end a hope. 0: it has
 * no time. */
static double slowness_of(const char *text, const struct race *race)
{
    double best = INFINITY, mine = 0;
    for (int i = 0; race && i < race->count; i++) {
        const struct racer *racer = &race->racers[i];
        double time = racer->time;
        if (time > 0 && !racer->wrong)
            best = fmin(best, time);
        if (strcmp(racer->text, text) == 0)
            mine = racer->least;
    }
    return mine / best;
}

static bool was_near(const char *text, const struct race *last)
{
    double slowness = slowness_of(text, last);
    return slowness > 0 && slowness <= NEAR;
}

void race_prune(struct race *race, const struct race *last)
{
    double far = race->rounds <= 1 ? FAR_FIRST : FAR_LATER;
    for (int i = 0; i < race->count; i++) /* it was not measured: it refuses, or failed */
        race->racers[i].out |= race->racers[i].rounds < race->rounds;
    race_times(race);
    race_sort(race);
    int left = race_left(race), half = (left + 1) / 2;
    double best = race->count > 0 ? race->racers[0].time : 0;
    for (int i = LEFT_LEAST; i < left; i++) {
        struct racer *racer = &race->racers[i];
        /* A median of one or two rounds may be that of a slow start. */
        double optimistic = race->rounds <= TRUST_LEAST ? racer->least : racer->time;
        bool ties = optimistic <= (1 + TIE) * best;
        bool stays = race->rounds <= TRUST_LEAST && was_near(racer->text, last);
        racer->out = !ties && !stays && (i >= half || racer->least > (1 + far) * best);
    }
}

bool racer_is_hopeful(const char *text, const struct race *before, const struct race *last)
{
    double earlier = slowness_of(text, before), now = slowness_of(text, last);
    if (earlier == 0 || now == 0)
        return true; /* nothing is known of its trend */
    return now <= HOPELESS || earlier <= NEAR || now * (now / earlier) <= HOPELESS;
}
