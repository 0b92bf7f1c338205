/*
 * counting.c - what hosts count before and after each stage.
 */
#include "accept/internal.h"

#include "accept/judge/judge.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/stats/stats.h"
#include "base/text.h"

#include <math.h>
#include <stdlib.h>

#define COUNTING_SECONDS 10.0
#define LOOKS_MOST       2 /* that fail: the host is not asked again */

/* Keeps what a device has counted that tells of errors, or of a busy network, and takes its counters
 * over. False: out of memory. */
static bool growth_keep(struct acceptance *acceptance, enum accept_stage stage, int host,
                        struct device_change *grown)
{
    if (counters_of_class(&grown->counters, COUNTER_SICK) == 0 &&
        counters_of_class(&grown->counters, COUNTER_CONGESTED) == 0)
        return true;
    if (acceptance->growth_count == acceptance->growth_room) {
        int room = 2 * acceptance->growth_room + 16;
        struct counter_growth *growth = realloc(acceptance->growth, (size_t)room * sizeof *growth);
        if (!growth)
            return false;
        acceptance->growth = growth;
        acceptance->growth_room = room;
    }
    acceptance->growth[acceptance->growth_count++] = (struct counter_growth){
        .stage = stage, .rotation = acceptance->findings.rotation, .host = host, .device = *grown};
    grown->counters = (struct counter_list){.counters = NULL};
    return true;
}

/* Notes what a healthy host does not count. */
static enum status growth_note(struct acceptance *acceptance, enum accept_stage stage, int host,
                               struct device_changes *grown)
{
    struct found found = {.stage = stage, .host = host, .peer = -1};
    struct text text = text_in(found.text, sizeof found.text);
    int named = 0;
    text_add(&text, "%s counted in stage %s: ", host_label(acceptance, host),
             accept_stage_names[stage]);
    for (int d = 0; d < grown->count; d++) {
        char counters[200];
        if (counters_of_class(&grown->of[d].counters, COUNTER_SICK) > 0)
            text_add(
                &text, "%s%s: %s", named++ ? "; " : "", grown->of[d].name,
                counters_text(&grown->of[d].counters, COUNTER_SICK, counters, sizeof counters));
        if (!growth_keep(acceptance, stage, host, &grown->of[d]))
            return fail(STATUS_ERROR, "out of memory for the counters of the hosts");
    }
    return named ? findings_add(&acceptance->findings, &found) : STATUS_OK;
}

/* Tells of a host whose counters could not be read several times; once, another process may have taken
 * its time. */
static enum status failure_note(struct acceptance *acceptance, enum accept_stage stage, int host,
                                const struct trial *trial)
{
    if (++acceptance->uncounted[host] < LOOKS_MOST)
        return STATUS_OK;
    return stage_finds(acceptance, stage, host, -1, HEALTH_SUSPECT, outcome_status(trial->outcome),
                       "%s: its counters could not be read %d times, and are not asked again: %s",
                       host_label(acceptance, host), LOOKS_MOST, trial->why);
}

static enum status counters_take(struct acceptance *acceptance, enum accept_stage stage, int host,
                                 const struct trials *trials, int job)
{
    const struct trial *trial = &trials->of[job];
    struct device_changes now = {.count = 0}, grown = {.count = 0};
    struct device_changes *before = &acceptance->counted[host];
    struct reader reader = {.at = (const unsigned char *)trial->result, .left = trial->size};
    if (trial->outcome != READING_VALUE)
        return trial_accuses(trials, job, host) ? failure_note(acceptance, stage, host, trial)
                                                : STATUS_OK;
    if (!device_changes_decode(&now, &reader)) {
        device_changes_free(&now);
        return fail(STATUS_ERROR, "host %s sent counters that are invalid, or memory ran out",
                    host_label(acceptance, host));
    }
    device_changes_since(before, &now, &grown);
    enum status status =
        before->count > 0 ? growth_note(acceptance, stage, host, &grown) : STATUS_OK;
    acceptance->uncounted[host] = 0;
    device_changes_free(&grown);
    device_changes_free(before);
    *before = now;
    return status;
}

/* The hosts whose counters can be read. */
static int hosts_asked(const struct acceptance *acceptance, int *hosts)
{
    int left = hosts_left(acceptance, hosts), count = 0;
    for (int i = 0; i < left; i++)
        if (acceptance->uncounted[hosts[i]] < LOOKS_MOST)
            hosts[count++] = hosts[i];
    return count;
}

static enum status hosts_look(struct acceptance *acceptance, enum accept_stage stage,
                              const int *hosts, int count)
{
    struct trials trials;
    enum status status = STATUS_OK;
    trials_open(&trials, acceptance, stage);
    trials.aside = true;
    for (int i = 0; i < count && status == STATUS_OK; i++)
        status = trials_add(&trials, acceptance->roster->hosts[hosts[i]].agents, 1, WORK_COUNTERS);
    double until = acceptance->until; /* the stage has ended: this has a time of its own */
    acceptance->until = clock_seconds() + COUNTING_SECONDS;
    if (status == STATUS_OK)
        status = trials_run(&trials, COUNTING_SECONDS);
    acceptance->until = until;
    for (int i = 0; i < count && status == STATUS_OK; i++)
        status = counters_take(acceptance, stage, hosts[i], &trials, i);
    trials_close(&trials);
    return status;
}

enum status counting_look(struct acceptance *acceptance, enum accept_stage stage)
{
    size_t count = (size_t)acceptance->roster->host_count;
    int *hosts = calloc(count, sizeof *hosts);
    if (!acceptance->counted)
        acceptance->counted = calloc(count, sizeof *acceptance->counted);
    if (!acceptance->uncounted)
        acceptance->uncounted = calloc(count, sizeof *acceptance->uncounted);
    enum status status =
        hosts && acceptance->counted && acceptance->uncounted
            ? hosts_look(acceptance, stage, hosts, hosts_asked(acceptance, hosts))
            : fail(STATUS_ERROR, "out of memory for the counters of %zu hosts", count);
    free(hosts);
    return status;
}

void counting_free(struct acceptance *acceptance)
{
    for (int h = 0; acceptance->counted && h < acceptance->roster->host_count; h++)
        device_changes_free(&acceptance->counted[h]);
    free(acceptance->counted);
    free(acceptance->uncounted);
    for (int i = 0; i < acceptance->growth_count; i++)
        counter_list_free(&acceptance->growth[i].device.counters);
    free(acceptance->growth);
}

/*
 * Which hosts lose packets.
 */
#define FLOOR 9 /* ten times the fleet's: a full queue drops packets, too */

enum status resent_packets_take(struct acceptance *acceptance, const struct host_pair *pair,
                                const json_t *document)
{
    struct reading resent = {.from = pair->a, .to = pair->b, .metric = METRIC_BOTH};
    size_t l, s, p;
    json_t *line, *sample, *peer;
    json_array_foreach(json_object_get(document, "results"), l, line)
        json_array_foreach(json_object_get(line, "samples"), s, sample)
            json_array_foreach(json_object_get(sample, "peers"), p, peer)
                resent.value += line_number(peer, "resent");
    return readings_add(&acceptance->resent, &resent);
}

/* The lower median of a host's pairs, and one, since logarithms are compared; 0: it has none.
 * `sums` has room for all hosts. */
static double host_value(const struct acceptance *acceptance, int host, double *sums)
{
    const struct readings *resent = &acceptance->resent;
    size_t pairs = 0;
    for (int h = 0; h < acceptance->roster->host_count; h++)
        sums[h] = -1;
    for (size_t i = 0; i < resent->count; i++) {
        const struct reading *job = &resent->of[i];
        if (job->from != host && job->to != host)
            continue;
        double *sum = &sums[job->from == host ? job->to : job->from];
        *sum = fmax(*sum, 0) + job->value;
    }
    for (int h = 0; h < acceptance->roster->host_count; h++)
        if (sums[h] >= 0)
            sums[pairs++] = sums[h];
    return pairs > 0 ? 1 + select_value(sums, pairs, (pairs - 1) / 2) : 0;
}

static enum status hosts_accuse(struct acceptance *acceptance, const struct reason *reasons)
{
    enum status status = STATUS_OK;
    for (int h = 0; h < acceptance->roster->host_count && status == STATUS_OK; h++)
        if (acceptance->loses_packets[h])
            status = stage_finds(acceptance, STAGE_PAIRS, h, -1, HEALTH_BAD, STATUS_SLOW,
                                 "%s: loses packets: with its median partner TCP sends %.0f again, "
                                 "the fleet's median is %.0f (threshold %.0f)",
                                 host_label(acceptance, h), reasons[h].value - 1,
                                 reasons[h].median - 1, reasons[h].threshold - 1);
    return status;
}

enum status resent_packets_judge(struct acceptance *acceptance)
{
    int hosts = acceptance->roster->host_count;
    const struct value_rule rule = {.less_is_better = true, .floor = FLOOR, .judged = hosts};
    if (hosts < HOSTS_COMPARED)
        return STATUS_OK;
    double *sums = calloc((size_t)hosts, sizeof *sums);
    double *values = calloc((size_t)hosts, sizeof *values);
    bool *outliers = acceptance->loses_packets = calloc((size_t)hosts, sizeof *outliers);
    struct reason *reasons = calloc((size_t)hosts, sizeof *reasons);
    bool room = sums && values && outliers && reasons;
    for (int h = 0; h < hosts && room; h++)
        values[h] = host_value(acceptance, h, sums);
    room = room && host_values_judge(&rule, values, hosts, outliers, reasons) >= 0;
    enum status status = room ? hosts_accuse(acceptance, reasons)
                              : fail(STATUS_ERROR, "out of memory for %d hosts", hosts);
    free(sums);
    free(values);
    free(reasons);
    return status;
}
