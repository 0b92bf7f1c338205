/*
 * sickness_text.c - sentences about sicknesses.
 */
#include "accept/judge/judge.h"

#include <math.h>
#include <string.h>

#define WITNESSES_NAMED 3

const char *metric_unit(enum metric metric)
{
    return metric == METRIC_LATENCY ? "us" : "GB/s";
}

static void put_rail(int rail, const struct fleet_names *names, struct text *text)
{
    if (names->rails)
        text_add(text, "%s", names->rails[rail]);
    else
        text_add(text, "rail %d", rail);
}

/* Does the sentence about a host begin with what it does? */
static bool is_deed(const struct sickness *s)
{
    return s->kind == SICKNESS_FAILURE ? s->worst->outcome == READING_WRONG
                                       : s->kind != SICKNESS_LATENCY;
}

/* "n17: ", "n17: mlx5_2 ", "n17: mlx5_2: ", "link n3-n9 on mlx5_2: " */
static void put_place(const struct sickness *s, const struct fleet_names *names, struct text *text)
{
    bool of_host = s->place == PLACE_HOST;
    if (of_host)
        text_add(text, "%s", names->hosts[s->host]);
    else if (s->place == PLACE_LINK)
        text_add(text, "link %s-%s", names->hosts[s->host], names->hosts[s->peer]);
    else
        text_add(text, "%s, %s or the link between them", names->hosts[s->host],
                 names->hosts[s->peer]);
    if (s->rail >= 0) {
        text_add(text, of_host ? ": " : " on ");
        put_rail(s->rail, names, text);
    }
    text_add(text, s->rail >= 0 && of_host && is_deed(s) ? " " : ": ");
}

const char *const threshold_words[YARDSTICKS] = {
    [YARDSTICK_FLEET] = "threshold",
    [YARDSTICK_RATE] = "threshold by the link's rate",
    [YARDSTICK_EARLIER] = "threshold by the earlier run",
    [YARDSTICK_PROFILE] = "threshold by the profile",
    [YARDSTICK_FAILURE] = "threshold",
    [YARDSTICK_RAILS] = "threshold by the other rails",
};

static void put_reason(const struct reason *reason, struct text *text)
{
    text_add(text, "%.3g %s, the fleet's median is %.3g (spread %.2g, ", reason->value,
             metric_unit(reason->metric), reason->median, reason->deviation);
    text_add(text, "%s %.3g)", threshold_words[reason->yardstick], reason->threshold);
}

static const char *const host_deeds[] = {[DIRECTION_SEND] = "sends",
                                         [DIRECTION_RECEIVE] = "receives",
                                         [DIRECTION_ANY] = "sends and receives"};

static void put_slow(const struct sickness *s, const struct fleet_names *names, struct text *text)
{
    static const char *const meanwhile[] = {[DIRECTION_SEND] = " while it receives",
                                            [DIRECTION_RECEIVE] = " while it sends",
                                            [DIRECTION_ANY] = " at once"};
    bool is_both = s->reason.metric == METRIC_BOTH;
    const char *both = is_both ? meanwhile[s->direction] : "";
    if (s->place == PLACE_HOST)
        text_add(text, "%s%s at ", host_deeds[s->direction], both);
    else if (s->direction == DIRECTION_SEND)
        text_add(text, "%s sends to %s%s at ", names->hosts[s->host], names->hosts[s->peer], both);
    else
        text_add(text, "each sends to the other%s at ", is_both ? " at the same time" : "");
    put_reason(&s->reason, text);
}

static void put_failure(const struct sickness *s, const struct fleet_names *names,
                        struct text *text)
{
    enum reading_outcome outcome = s->worst->outcome;
    if (outcome == READING_LOST)
        text_add(text, "a worker was lost");
    else if (outcome == READING_LATE)
        text_add(text, "a measurement did not end in its time");
    else if (outcome == READING_ERROR)
        text_add(text, "a measurement failed");
    else if (s->place == PLACE_HOST)
        text_add(text, "%s wrong data", host_deeds[s->direction]);
    else if (s->direction == DIRECTION_SEND)
        text_add(text, "%s receives wrong data from %s", names->hosts[s->peer],
                 names->hosts[s->host]);
    else
        text_add(text, "wrong data");
}

static bool is_named_before(const struct suspect *suspect, int witness)
{
    for (int w = 0; w < witness; w++)
        if (suspect->witnesses[w] == suspect->witnesses[witness])
            return true;
    return false;
}

/* "n02", "n02 and n31", "n02, n31, n40 and others". */
static void put_witnesses(const struct suspect *suspect, const struct fleet_names *names,
                          struct text *text)
{
    int partners = 0, named = 0;
    for (int w = 0; w < suspect->witness_count; w++)
        partners += !is_named_before(suspect, w);
    int most = partners <= WITNESSES_NAMED + 1 ? partners : WITNESSES_NAMED;
    for (int w = 0; w < suspect->witness_count && named < most; w++) {
        if (is_named_before(suspect, w))
            continue;
        const char *before = named == 0 ? "" : named == partners - 1 ? " and " : ", ";
        text_add(text, "%s%s", before, names->hosts[suspect->witnesses[w]]);
        named++;
    }
    if (partners > named)
        text_add(text, " and others");
}

static void put_evidence(const struct sickness *s, const struct fleet_names *names,
                         struct text *text)
{
    const struct suspect *worst = s->worst;
    if (s->confirmed && s->place == PLACE_HOST && worst->witness_count > 0) {
        text_add(text, ": confirmed with ");
        put_witnesses(worst, names, text);
    } else if (s->confirmed || worst->tries > 0)
        text_add(text, ": %s in %d of %d measurements", s->confirmed ? "confirmed" : "seen again",
                 worst->hits, worst->tries);
    else
        text_add(text, s->ended_early ? ": not tried again"
                                      : ": not confirmed, since no good partner is there");
}

void sickness_put(const struct sickness *sickness, const struct fleet_names *names,
                  struct text *text)
{
    put_place(sickness, names, text);
    if (sickness->kind == SICKNESS_FAILURE)
        put_failure(sickness, names, text);
    else if (sickness->kind == SICKNESS_LATENCY) {
        text_add(text, "latency ");
        put_reason(&sickness->reason, text);
    } else
        put_slow(sickness, names, text);
    put_evidence(sickness, names, text);
}

void series_name_put(const struct fleet *fleet, int series, const struct fleet_names *names,
                     struct text *text)
{
    static const char *const what[] = {[METRIC_LATENCY] = "latency",
                                       [METRIC_ALONE] = "bandwidth one way",
                                       [METRIC_BOTH] = "bandwidth in both directions at once"};
    const struct series *rest = &fleet->series[series];
    text_add(text, "%s", what[rest->metric]);
    if (fleet->config.rails > 1) {
        text_add(text, " of ");
        put_rail(rest->rail, names, text);
    }
    if (rest->metric != METRIC_LATENCY)
        text_add(text, " (%s)", rest->direction == DIRECTION_SEND ? "sent" : "received");
}

void fleet_note_put(const struct fleet_note *note, const struct fleet *fleet,
                    const struct fleet_names *names, struct text *text)
{
    const struct series *series = &fleet->series[note->series];
    static const char *const asked[YARDSTICKS] = {
        [YARDSTICK_RATE] = "70% of the link's rate",
        [YARDSTICK_EARLIER] = "what the earlier run had, less what a run may lose,",
        [YARDSTICK_PROFILE] = "what the profile asks",
        [YARDSTICK_RAILS] = "what the other rails have, worse by 15%,",
    };
    const char *unit = metric_unit(series->metric);
    text_add(text, "all hosts: the median of their ");
    series_name_put(fleet, note->series, names, text);
    text_add(text, " is %.3g %s; %s is %.3g %s", note->value, unit,
             asked[note->yardstick] ? asked[note->yardstick] : "the threshold", note->threshold,
             unit);
}

const char *fleet_size_remark(int hosts)
{
    switch (hosts) {
    case 1:
        return "one host: stages between hosts are left out";
    case 2:
        return "2 hosts: only a link's rate, a profile or an earlier run can show that they are "
               "slow, "
               "and neither host can be told from the other or from the link between them";
    case 3:
        return "3 hosts: one sick host or link can be told from the others, two cannot";
    default:
        return NULL;
    }
}
