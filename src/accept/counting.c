/*
 * counting.c - what hosts have, as facts, and what they count before and after each stage.
 */
#include "accept/internal.h"

#include "base/clock.h"
#include "base/stats/stats.h"

#include <math.h>
#include <stdlib.h>

#define COUNTING_SECONDS 10.0
#define LOOKS_MOST       2 /* that fail: the host is not asked again */

/* Keeps what a device has counted that tells of errors, or of a busy network, and takes its
 * counters over. */
static void growth_keep(struct acceptance *acceptance, enum accept_stage stage, int host,
                        struct device_change *grown)
{
    if (counters_of_class(&grown->counters, COUNTER_FAULTY) == 0 &&
        counters_of_class(&grown->counters, COUNTER_CONGESTED) == 0)
        return;
    *LIST_ADD(acceptance->growth.items, acceptance->growth.count) = (struct counter_growth){
        .stage = stage, .rotation = acceptance->findings.rotation, .host = host, .device = *grown};
    grown->counters = (struct counter_list){.counters = NULL};
}

/* Notes what a healthy host does not count. */
static void growth_note(struct acceptance *acceptance, enum accept_stage stage, int host,
                        struct device_changes *grown)
{
    struct found found = {.stage = stage, .kind = counters_kind(grown), .host = host, .peer = -1};
    struct text text = text_in(found.text, sizeof found.text);
    int named = 0;
    text_add(&text, "%s counted in stage %s: ", acceptance->labels[host],
             accept_stage_names[stage]);
    for (int d = 0; d < grown->count; d++) {
        char counters[200];
        if (counters_of_class(&grown->devices[d].counters, COUNTER_FAULTY) > 0)
            text_add(&text, "%s%s: %s", named++ ? "; " : "", grown->devices[d].name,
                     counters_text(&grown->devices[d].counters, COUNTER_FAULTY, counters,
                                   sizeof counters));
        growth_keep(acceptance, stage, host, &grown->devices[d]);
    }
    if (named > 0)
        findings_add(&acceptance->findings, &found);
}

/* Tells of a host whose counters could not be read several times; once, another process may have
 * taken its time. */
static void failure_note(struct acceptance *acceptance, enum accept_stage stage, int host,
                         const struct trial *trial)
{
    if (++acceptance->uncounted[host] < LOOKS_MOST)
        return;
    stage_finds(acceptance, stage, FOUND_FAILED, host, HEALTH_SUSPECT,
                outcome_status(trial->outcome),
                "%s: its counters could not be read %d times, and are not asked again: %s",
                acceptance->labels[host], LOOKS_MOST, trial->why);
}

static enum status counters_take(struct acceptance *acceptance, enum accept_stage stage,
                                 const struct trials *trials, int job)
{
    int host = trial_host(trials, job);
    const struct trial *trial = &trials->outcomes[job];
    struct device_changes now = {.count = 0}, grown = {.count = 0};
    struct device_changes *before = &acceptance->counted[host];
    struct reader reader = {.at = (const unsigned char *)trial->result, .left = trial->size};
    if (trial->outcome != READING_VALUE) {
        if (trial_is_evidence(trials, job))
            failure_note(acceptance, stage, host, trial);
        return STATUS_OK;
    }
    if (!device_changes_decode(&now, &reader)) {
        device_changes_free(&now);
        return fail(STATUS_ERROR, "host %s sent counters that are invalid, or memory ran out",
                    acceptance->labels[host]);
    }
    device_changes_since(before, &now, &grown);
    if (before->count > 0)
        growth_note(acceptance, stage, host, &grown);
    acceptance->uncounted[host] = 0;
    device_changes_free(&grown);
    device_changes_free(before);
    *before = now;
    return STATUS_OK;
}

enum status counting_look(struct acceptance *acceptance, enum accept_stage stage)
{
    struct trials trials;
    size_t count = (size_t)acceptance->roster->host_count;
    if (!acceptance->counted) {
        struct arena *memory = acceptance->memory;
        acceptance->counted = arena_new(memory, count, sizeof *acceptance->counted);
        acceptance->uncounted = arena_new(memory, count, sizeof *acceptance->uncounted);
    }
    trials_open(&trials, acceptance, stage);
    trials.aside = true;
    for (size_t h = 0; h < count; h++) {
        const struct fleet_host *host = &acceptance->roster->hosts[h];
        if (!host->lost && acceptance->uncounted[h] < LOOKS_MOST)
            trials_add(&trials, host->agents, 1, WORK_COUNTERS);
    }
    double until = acceptance->until; /* the stage has ended: this has a time of its own */
    acceptance->until = clock_seconds() + COUNTING_SECONDS;
    enum status status = trials_run(&trials, COUNTING_SECONDS);
    acceptance->until = until;
    for (int j = 0; j < trials.count && status == STATUS_OK; j++)
        status = counters_take(acceptance, stage, &trials, j);
    trials_close(&trials);
    return status;
}

void counting_free(struct acceptance *acceptance)
{
    for (int h = 0; acceptance->counted && h < acceptance->roster->host_count; h++)
        device_changes_free(&acceptance->counted[h]);
    for (int i = 0; i < acceptance->growth.count; i++)
        counter_list_free(&acceptance->growth.items[i].device.counters);
    free(acceptance->growth.items);
}

/*
 * The stage inventory: the facts of each host, compared with the others', and with what its parts
 * could do at their best.
 */
#define INVENTORY_SECONDS 30.0

static void inventory_take(struct acceptance *acceptance, const struct trials *trials, int job)
{
    int host = trial_host(trials, job);
    const struct trial *trial = &trials->outcomes[job];
    struct inventory *inventory = &acceptance->inventories[host];
    struct reader reader = {.at = (const unsigned char *)trial->result, .left = trial->size};
    bool failed = trial->outcome != READING_VALUE;
    acceptance->clocks[host] = failed ? 0 : 1e-9 * (double)read_u64(&reader);
    if (!failed && inventory_decode(inventory, &reader))
        return;
    acceptance->clocks[host] = 0;
    inventory_free(inventory);
    if (!failed || trial_is_evidence(trials, job))
        stage_finds(acceptance, STAGE_INVENTORY, FOUND_FAILED, host, HEALTH_SUSPECT,
                    failed ? outcome_status(trial->outcome) : STATUS_ERROR,
                    "%s: its inventory could not be taken: %s", acceptance->labels[host],
                    trial->why[0] ? trial->why : "it sent invalid data");
}

static enum status inventories_take(struct acceptance *acceptance)
{
    const struct roster *roster = acceptance->roster;
    struct trials trials;
    acceptance->inventories =
        arena_new(acceptance->memory, (size_t)roster->host_count, sizeof *acceptance->inventories);
    acceptance->clocks =
        arena_new(acceptance->memory, (size_t)roster->host_count, sizeof *acceptance->clocks);
    trials_open(&trials, acceptance, STAGE_INVENTORY);
    for (int h = 0; h < roster->host_count; h++)
        if (!roster->hosts[h].lost)
            trials_add(&trials, roster->hosts[h].agents, 1, WORK_INVENTORY);
    double began = clock_seconds();
    enum status status = trials_run(&trials, INVENTORY_SECONDS);
    acceptance->clocks_within = clock_seconds() - began;
    for (int j = 0; j < trials.count && status == STATUS_OK; j++)
        inventory_take(acceptance, &trials, j);
    trials_close(&trials);
    return status;
}

/* Beyond the time in which all clocks were read. What checks times, as munge, certificates and file
 * systems do, fails from a few minutes on. */
#define CLOCK_APART 15.0 /* seconds */

/* The clock with which most agree, if more than half do. */
static double clock_of_most(const struct acceptance *acceptance, double apart, bool *agreed)
{
    int hosts = acceptance->roster->host_count;
    double *clocks = new_array((size_t)hosts, sizeof *clocks);
    size_t known = 0, near = 0;
    for (int h = 0; h < hosts; h++)
        if (acceptance->clocks[h] > 0)
            clocks[known++] = acceptance->clocks[h];
    double median = known > 0 ? select_value(clocks, known, (known - 1) / 2) : 0;
    for (size_t i = 0; i < known; i++)
        near += fabs(clocks[i] - median) <= apart;
    free(clocks);
    *agreed = 2 * near > known;
    return median;
}

static void clock_find(struct acceptance *acceptance, int host, double ahead)
{
    char apart[TIME_TEXT_MOST];
    stage_finds(acceptance, STAGE_INVENTORY, FOUND_CLOCK, host, HEALTH_SUSPECT, STATUS_SLOW,
                "%s: its clock is %s %s that of most hosts", acceptance->labels[host],
                time_text(fabs(ahead), apart), ahead > 0 ? "ahead of" : "behind");
}

/* Hosts whose clock is far from that of most; where no majority agrees, none is blamed. */
static int clocks_judge(struct acceptance *acceptance)
{
    int hosts = acceptance->roster->host_count, wrong = 0;
    double apart = CLOCK_APART + acceptance->clocks_within;
    bool agreed;
    double most = clock_of_most(acceptance, apart, &agreed), farthest = 0;
    for (int h = 0; h < hosts; h++) {
        double ahead = acceptance->clocks[h] - most;
        if (acceptance->clocks[h] <= 0 || fabs(ahead) <= apart)
            continue;
        wrong++;
        farthest = fmax(farthest, fabs(ahead));
        if (agreed)
            clock_find(acceptance, h, ahead);
    }
    char text[TIME_TEXT_MOST];
    if (wrong > 0 && !agreed)
        stage_finds(acceptance, STAGE_INVENTORY, FOUND_CLOCK, -1, HEALTH_GOOD, STATUS_SLOW,
                    "all: the clocks of the hosts are up to %s apart, and no majority agrees",
                    time_text(farthest, text));
    return wrong;
}

static void finding_report(struct acceptance *acceptance, const struct inventory_finding *finding)
{
    static const enum health healths[SEVERITIES] = {[SEVERITY_NOTE] = HEALTH_GOOD,
                                                    [SEVERITY_SUSPECT] = HEALTH_SUSPECT,
                                                    [SEVERITY_BAD] = HEALTH_BAD};
    bool blames = finding->host >= 0 && finding->severity != SEVERITY_NOTE;
    stage_finds(acceptance, STAGE_INVENTORY, blames ? fact_kind(finding->fact) : FOUND_NOTE,
                finding->host, blames ? healths[finding->severity] : HEALTH_GOOD,
                blames ? STATUS_SLOW : STATUS_OK, "%s", finding->text);
}

enum status inventory_run(struct acceptance *acceptance, struct stage_result *result)
{
    int count = acceptance->roster->host_count, taken = 0, differences = 0;
    struct inventory_findings findings;
    struct inventory_host *hosts = stage_memory(acceptance, (size_t)count, sizeof *hosts);
    TRY(inventories_take(acceptance));
    for (int h = 0; h < count; h++) {
        const struct inventory *inventory = &acceptance->inventories[h];
        taken += inventory->count > 0;
        hosts[h] = (struct inventory_host){.name = acceptance->labels[h],
                                           .inventory = inventory->count > 0 ? inventory : NULL};
    }
    if (taken == 1)
        stage_lacks(result, STAGE_PARTLY,
                    "one host: it is compared with nothing but its own best%s",
                    acceptance->asked->profile ? " and the profile" : "");
    inventory_compare(hosts, count, &findings);
    inventory_expect(hosts, count, acceptance->profile.facts.items, acceptance->profile.facts.count,
                     &findings);
    for (int i = 0; i < findings.count; i++) {
        differences += findings.items[i].severity != SEVERITY_NOTE;
        finding_report(acceptance, &findings.items[i]);
    }
    int notes = findings.count - differences;
    differences += clocks_judge(acceptance);
    stage_says(result, "%d host%s: %d difference%s, and %d note%s", taken, plural(taken),
               differences, plural(differences), notes, plural(notes));
    inventory_findings_free(&findings);
    return STATUS_OK;
}
