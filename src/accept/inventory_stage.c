/*
 * inventory_stage.c - what each host has, beside the others and beside what its parts could do.
 */
#include "accept/internal.h"

#include <stdlib.h>

#include "base/log.h"
#include "accept/judge/judge.h"

#define INVENTORY_SECONDS 30.0

static enum status inventory_take(struct acceptance *acceptance, const struct trials *trials,
                                  int job, int host)
{
    const struct trial *trial = &trials->of[job];
    struct inventory *inventory = &acceptance->inventories[host];
    struct reader reader = {.at = (const unsigned char *)trial->result, .left = trial->size};
    bool good = trial->outcome == READING_VALUE && inventory_decode(inventory, &reader);
    if (good)
        return STATUS_OK;
    inventory_free(inventory);
    bool failed = trial->outcome != READING_VALUE;
    if (failed && !trial_accuses(trials, job, host))
        return STATUS_OK;
    return stage_finds(acceptance, STAGE_INVENTORY, host, -1, HEALTH_SUSPECT,
                       failed ? outcome_status(trial->outcome) : STATUS_ERROR,
                       "%s: its inventory could not be taken: %s", host_label(acceptance, host),
                       trial->why[0] ? trial->why : "what it sent is invalid");
}

static enum status inventories_collect(struct acceptance *acceptance, const int *hosts, int count)
{
    struct trials trials;
    enum status status = STATUS_OK;
    trials_open(&trials, acceptance, STAGE_INVENTORY);
    for (int i = 0; i < count && status == STATUS_OK; i++)
        status = trials_add(&trials, acceptance->roster->hosts[hosts[i]].agents, 1, WORK_INVENTORY);
    if (status == STATUS_OK)
        status = trials_run(&trials, INVENTORY_SECONDS);
    for (int i = 0; i < count && status == STATUS_OK; i++)
        status = inventory_take(acceptance, &trials, i, hosts[i]);
    trials_close(&trials);
    return status;
}

static enum status finding_report(struct acceptance *acceptance,
                                  const struct inventory_finding *finding,
                                  const struct inventory_host *hosts)
{
    static const enum health healths[SEVERITIES] = {[SEVERITY_NOTE] = HEALTH_GOOD,
                                                    [SEVERITY_SUSPECT] = HEALTH_SUSPECT,
                                                    [SEVERITY_BAD] = HEALTH_BAD};
    char text[FINDING_TEXT_MOST];
    bool blames = finding->host >= 0 && finding->severity != SEVERITY_NOTE;
    return stage_finds(acceptance, STAGE_INVENTORY, finding->host, -1,
                       blames ? healths[finding->severity] : HEALTH_GOOD,
                       blames ? STATUS_SLOW : STATUS_OK, "%s", finding_text(finding, hosts, text));
}

static enum status inventories_judge(struct acceptance *acceptance, int taken,
                                     struct stage_result *result)
{
    int count = acceptance->roster->host_count, graver = 0;
    struct inventory_findings findings;
    struct inventory_host *hosts = calloc((size_t)count, sizeof *hosts);
    char text[COUNTED_MOST], differences[COUNTED_MOST], notes[COUNTED_MOST];
    if (!hosts)
        return fail(STATUS_ERROR, "out of memory for %d hosts", count);
    for (int h = 0; h < count; h++)
        hosts[h] = (struct inventory_host){
            .name = host_label(acceptance, h),
            .inventory = acceptance->inventories[h].count > 0 ? &acceptance->inventories[h] : NULL};
    inventory_compare(hosts, count, &findings);
    inventory_expect(hosts, count, acceptance->profile.facts, acceptance->profile.fact_count,
                     &findings);
    enum status status =
        findings.failed ? fail(STATUS_ERROR, "out of memory for the inventories") : STATUS_OK;
    for (int i = 0; i < findings.count && status == STATUS_OK; i++) {
        graver += findings.list[i].severity != SEVERITY_NOTE;
        status = finding_report(acceptance, &findings.list[i], hosts);
    }
    stage_says(result, "%s: %s, and %s", counted(taken, "host", text),
               counted(graver, "difference", differences),
               counted(findings.count - graver, "note", notes));
    inventory_findings_free(&findings);
    free(hosts);
    return status;
}

enum status inventory_stage_run(struct acceptance *acceptance, struct stage_result *result)
{
    size_t count = (size_t)acceptance->roster->host_count;
    int *hosts = calloc(count, sizeof *hosts), taken = 0;
    acceptance->inventories = calloc(count, sizeof *acceptance->inventories);
    enum status status = STATUS_OK;
    if (!hosts || !acceptance->inventories)
        status = fail(STATUS_ERROR, "out of memory for %zu hosts", count);
    else
        status = inventories_collect(acceptance, hosts, hosts_left(acceptance, hosts));
    for (size_t h = 0; h < count && status == STATUS_OK; h++)
        taken += acceptance->inventories[h].count > 0;
    if (taken == 1)
        stage_lacks(result, STAGE_PARTLY,
                    "one host: it is compared with nothing but its own best%s",
                    acceptance->asked->profile ? " and the profile" : "");
    if (status == STATUS_OK)
        status = inventories_judge(acceptance, taken, result);
    free(hosts);
    return status;
}
