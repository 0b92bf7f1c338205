/*
 * names.c - which algorithms a round of a race has, as a small job takes them.
 */
#include "tune/internal.h"

#include "base/clock.h"
#include "base/list.h"
#include "base/text.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FORECAST_SHARE 0.1 /* of the budget, that all predictions may take */

/* Adds a name to a list; one that does not fit any more is left out. */
static void name_add(struct text *names, const char *name)
{
    int count = 1;
    for (const char *at = names->at; (at = strchr(at, ',')) != NULL; at++)
        count++;
    if (count < ALGORITHMS_MOST && names->used + strlen(name) + 2 < names->size)
        text_add(names, "%s%s", names->used > 0 ? "," : "", name);
}

void names_left(const struct race *race, char names[NAMES_MOST])
{
    struct text text = text_in(names, NAMES_MOST);
    for (int i = 0; i < race->count; i++) {
        int at = race->rounds % 2 ? race->count - 1 - i : i;
        if (!race->racers[at].out)
            name_add(&text, race->racers[at].text);
    }
}

const struct race *race_before(const struct tuner *tuner, const struct race *race, int by)
{
    if (race - tuner->races < by || race[-by].collective != race->collective ||
        race[-by].ranks != race->ranks)
        return NULL;
    return &race[-by];
}

/* A racer has its options behind the name: "bruck:radix=2". An entrant may have none, and a
 * collective runs an algorithm once. */
static const struct racer *racer_of(const struct race *race, const char *text)
{
    size_t length = strcspn(text, ":");
    for (int i = 0; race && i < race->count; i++)
        if (strcspn(race->racers[i].text, ":") == length &&
            strncmp(race->racers[i].text, text, length) == 0)
            return &race->racers[i];
    return NULL;
}

enum outlook { OUTLOOK_UNKNOWN, OUTLOOK_HOPEFUL, OUTLOOK_HOPELESS };

/* An algorithm that the last size left out may be of use again: nothing was measured of it
 * there. */
static enum outlook outlook_of(const struct tuner *tuner, const struct race *race, const char *text)
{
    const struct race *last = race_before(tuner, race, 1), *before = race_before(tuner, race, 2);
    const struct racer *racer = racer_of(last, text);
    if (!last || !before)
        return OUTLOOK_UNKNOWN;
    if (!racer) {
        racer = racer_of(before, text);
        last = before;
        before = race_before(tuner, race, 3);
    }
    if (!racer)
        return OUTLOOK_UNKNOWN;
    return !racer->wrong && racer_is_hopeful(racer->text, before, last) ? OUTLOOK_HOPEFUL
                                                                        : OUTLOOK_HOPELESS;
}

static void entrant_add(struct entrant entrants[RACERS_MOST], int *count, const char *text)
{
    if (*count < RACERS_MOST) {
        entrants[*count] = (struct entrant){.predicted = 0};
        snprintf(entrants[(*count)++].text, RACER_TEXT_MOST, "%s", text);
    }
}

/* The racers of the two next smaller sizes; none unless both are there. */
static int entrants_measured(const struct tuner *tuner, const struct race *race,
                             struct entrant entrants[RACERS_MOST])
{
    const struct race *last = race_before(tuner, race, 1), *before = race_before(tuner, race, 2);
    int count = 0;
    for (int i = 0; last && before && i < last->count; i++)
        entrant_add(entrants, &count, last->racers[i].text);
    for (int i = 0; last && before && i < before->count; i++)
        if (!racer_of(last, before->racers[i].text))
            entrant_add(entrants, &count, before->racers[i].text);
    return count;
}

/* By the model, as long as its share of the budget lasts. */
static enum status entrants_predict(struct tuner *tuner, const struct race *race,
                                    struct entrant entrants[RACERS_MOST], int *count)
{
    double began = clock_seconds();
    double left = FORECAST_SHARE * tuner->job->budget - tuner->forecast_seconds;
    enum status status = forecast_predict(tuner->forecast, race, tuner->roster->agents,
                                          fmin(began + left, tuner->end), entrants, count);
    tuner->forecast_seconds += clock_seconds() - began;
    for (int i = 0; i < *count; i++)
        tuner->unpredicted += entrants[i].predicted == 0;
    entrants_prune(entrants, *count);
    return status;
}

enum status names_first(struct tuner *tuner, struct race *race, char names[NAMES_MOST])
{
    struct text text = text_in(names, NAMES_MOST);
    int count = 0;
    enum status status = STATUS_OK;
    struct entrant *entrants = new_array(RACERS_MOST, sizeof *entrants);
    if (tuner->forecast)
        status = entrants_predict(tuner, race, entrants, &count);
    if (count == 0)
        count = entrants_measured(tuner, race, entrants);
    for (int i = 0; i < count && status == STATUS_OK; i++) {
        enum outlook outlook = outlook_of(tuner, race, entrants[i].text);
        if (outlook == OUTLOOK_HOPEFUL || (outlook == OUTLOOK_UNKNOWN && !entrants[i].far))
            name_add(&text, entrants[i].text);
        else if (outlook == OUTLOOK_UNKNOWN)
            *LIST_ADD(race->pruned, race->pruned_count) = entrants[i];
    }
    free(entrants);
    if (text.used == 0) { /* the trend rules out the ones, and the model the others */
        snprintf(names, NAMES_MOST, "all");
        race->pruned_count = 0;
    }
    return status;
}

/*
 * The algorithm of a result in JSON, as -a takes it.
 */
void text_tame(char *text)
{
    for (; *text; text++)
        if (iscntrl((unsigned char)*text))
            *text = '?';
}

const char *algorithm_text(const json_t *result, char to[ALGORITHM_TEXT_MOST])
{
    struct text text = text_in(to, ALGORITHM_TEXT_MOST);
    const char *name = json_string_value(json_object_get(result, "algorithm")), *key;
    json_t *value;
    text_add(&text, "%s", name ? name : "");
    json_object_foreach(json_object_get(result, "algorithm_options"), key, value)
    {
        const char *part = json_string_value(json_object_get(value, "algorithm"));
        if (strcmp(key, "path") == 0 && json_is_string(value)) /* file:PATH */
            text_add(&text, ":%s", json_string_value(value));
        else if (json_is_integer(value))
            text_add(&text, ":%s=%lld", key, (long long)json_integer_value(value));
        else if (json_is_string(value) || part)
            text_add(&text, ":%s=%s", key, part ? part : json_string_value(value));
    }
    text_tame(to);
    return to;
}
