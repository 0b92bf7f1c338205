/*
 * race.c - which algorithms are measured again, and which is the winner.
 */
#include "tune/tune.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/stats/stats.h"

#define FAR_FIRST    1.0  /* behind the best by more than this share: out after the first round; */
#define FAR_LATER    0.25 /* and after later ones */
#define TIE          0.03 /* within this share none is out: the halves are noise */
#define TRUST_LEAST  2    /* rounds, up to which one is in whose best iteration is that fast */
#define LEFT_LEAST   2
#define ROUNDS_LEAST 3   /* even of one racer that is left: its time is worth knowing */
#define ROUND_TIME   2e4 /* us: of the iterations of one racer */
#define ROUND_LEAST  5
#define ROUND_MOST   200
#define NEAR         1.25 /* times as slow as the best: not put out by one slow job at the next size */
#define HOPELESS     3.0 /* times as slow as the best, by the trend or a model */
#define LIKELY_LEAST 3   /* algorithms that no prediction leaves out */

struct racer *race_racer(struct race *race, const char *text)
{
    for (int i = 0; i < race->count; i++)
        if (strcmp(race->racers[i].text, text) == 0)
            return &race->racers[i];
    if (race->count == RACERS_MOST)
        return NULL;
    if (race->count == race->room) {
        int room = 2 * race->room + 16;
        struct racer *more = realloc(race->racers, (size_t)room * sizeof *more);
        if (!more)
            return NULL;
        race->racers = more;
        race->room = room;
    }
    struct racer *racer = &race->racers[race->count++];
    *racer = (struct racer){.rounds = 0};
    snprintf(racer->text, sizeof racer->text, "%s", text);
    return racer;
}

void race_free(struct race *race)
{
    free(race->racers);
    race->racers = NULL;
    race->count = race->room = 0;
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
        const struct racer *it = &race->racers[i];
        if (it->rounds == race->rounds && !it->wrong)
            ratios[count++] = it->times[round] / rounds_median(it);
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

/* Those that count before those that do not; then the faster; then by name. */
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

/* The best of its iterations over the best median of the race: noise must not end a hope. 0: it has no
 * time. */
static double slowness_of(const char *text, const struct race *race)
{
    double best = INFINITY, mine = 0;
    for (int i = 0; race && i < race->count; i++) {
        const struct racer *it = &race->racers[i];
        double time = it->time;
        if (time > 0 && !it->wrong)
            best = fmin(best, time);
        if (strcmp(it->text, text) == 0)
            mine = it->least;
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
