/*
 * resent_packets.c - which hosts lose packets.
 */
#include "accept/internal.h"

#include <math.h>
#include <stdlib.h>

#include "base/log.h"
#include "accept/judge/judge.h"
#include "base/stats/stats.h"

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
