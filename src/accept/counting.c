/*
 * counting.c - what hosts count before and after each stage.
 */
#include "accept/counting.h"

#include <stdlib.h>

#include "accept/host_work.h"
#include "accept/stage.h"
#include "accept/trials.h"
#include "base/log.h"
#include "base/text.h"

#define COUNTING_SECONDS 10.0

/* Notes what a healthy host does not count. */
static enum status growth_note(struct acceptance *acceptance, enum accept_stage stage, int host,
                               const struct device_changes *grown)
{
    struct found found = {.stage = stage, .host = host, .peer = -1};
    struct text text = text_in(found.text, sizeof found.text);
    int named = 0;
    text_add(&text, "%s counted in stage %s: ", host_label(acceptance, host),
             accept_stage_names[stage]);
    for (int d = 0; d < grown->count; d++) {
        char counters[200];
        if (counters_of_class(&grown->of[d].counters, COUNTER_SICK) == 0)
            continue;
        text_add(&text, "%s%s: %s", named++ ? "; " : "", grown->of[d].name,
                 counters_text(&grown->of[d].counters, COUNTER_SICK, counters, sizeof counters));
    }
    return named ? findings_add(&acceptance->findings, &found) : STATUS_OK;
}

static enum status counters_take(struct acceptance *acceptance, enum accept_stage stage, int host,
                                 const struct trial *trial)
{
    struct device_changes now, grown = {.count = 0};
    struct device_changes *before = &acceptance->counted[host];
    struct reader reader = {.at = (const unsigned char *)trial->result, .left = trial->size};
    if (trial->outcome != READING_VALUE || !device_changes_decode(&now, &reader))
        return STATUS_OK; /* stages find what is wrong with such a host */
    device_changes_since(before, &now, &grown);
    enum status status =
        before->count > 0 ? growth_note(acceptance, stage, host, &grown) : STATUS_OK;
    device_changes_free(&grown);
    device_changes_free(before);
    *before = now;
    return status;
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
    if (status == STATUS_OK)
        status = trials_run(&trials, COUNTING_SECONDS);
    for (int i = 0; i < count && status == STATUS_OK; i++)
        status = counters_take(acceptance, stage, hosts[i], &trials.of[i]);
    trials_close(&trials);
    return status;
}

enum status counting_look(struct acceptance *acceptance, enum accept_stage stage)
{
    size_t count = (size_t)acceptance->roster->host_count;
    int *hosts = calloc(count, sizeof *hosts);
    if (!acceptance->counted)
        acceptance->counted = calloc(count, sizeof *acceptance->counted);
    enum status status =
        hosts && acceptance->counted
            ? hosts_look(acceptance, stage, hosts, hosts_left(acceptance, hosts))
            : fail(STATUS_ERROR, "out of memory for the counters of %zu hosts", count);
    free(hosts);
    return status;
}

void counting_free(struct acceptance *acceptance)
{
    for (int h = 0; acceptance->counted && h < acceptance->roster->host_count; h++)
        device_changes_free(&acceptance->counted[h]);
    free(acceptance->counted);
}
