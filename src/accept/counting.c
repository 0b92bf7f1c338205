/*
 * counting.c - what hosts have, as facts, and what they count before and after each stage.
 */
#include "accept/internal.h"

#include "base/clock.h"
#include "base/stats/stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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
    struct found found = {.stage = stage, .host = host, .peer = -1};
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
    stage_finds(acceptance, stage, host, HEALTH_SUSPECT, outcome_status(trial->outcome),
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
 * Network interfaces that lose their carrier.
 */
#define CARRIER_COUNTER "carrier_lost"
#define CARRIER_LEAST   2 /* times: once, somebody may have pulled a cable */

static uint64_t carriers_lost(const struct counter_growth *growth)
{
    const struct counter_list *list = &growth->device.counters;
    for (int i = 0; i < list->count; i++)
        if (strcmp(list->counters[i].name, CARRIER_COUNTER) == 0)
            return list->counters[i].value;
    return 0;
}

/* The same interface of the same host, in all stages; of another host with `any_host`. */
static bool is_same_device(const struct counter_growth *a, const struct counter_growth *b,
                           bool any_host)
{
    return (any_host || a->host == b->host) && strcmp(a->device.name, b->device.name) == 0;
}

/* The growths in which carriers were lost. */
struct carrier_growths {
    const struct counter_growth **items;
    int count;
};

static struct carrier_growths carriers_collect(const struct acceptance *acceptance)
{
    struct carrier_growths growths = {.items = NULL};
    for (int i = 0; i < acceptance->growth.count; i++)
        if (carriers_lost(&acceptance->growth.items[i]) > 0)
            *LIST_ADD(growths.items, growths.count) = &acceptance->growth.items[i];
    return growths;
}

/* On how many hosts did this interface lose its carrier? */
static int hosts_of_device(const struct carrier_growths *growths, const struct counter_growth *one,
                           int hosts)
{
    int count = 0;
    bool *counted = new_array((size_t)hosts, sizeof *counted);
    for (int i = 0; i < growths->count; i++)
        if (is_same_device(growths->items[i], one, true) && !counted[growths->items[i]->host]) {
            counted[growths->items[i]->host] = true;
            count++;
        }
    free(counted);
    return count;
}

/* Where most hosts lost it, the switch did. */
static void carrier_find(struct acceptance *acceptance, const struct carrier_growths *growths,
                         int index)
{
    const struct counter_growth *one = growths->items[index];
    int hosts = acceptance->roster->host_count, losers = hosts_of_device(growths, one, hosts);
    bool most = hosts > 1 && 2 * losers > hosts;
    unsigned long long losses = 0;
    for (int i = 0; i < growths->count; i++) {
        bool same = is_same_device(growths->items[i], one, most);
        if (same && i < index)
            return; /* found already */
        losses += same ? carriers_lost(growths->items[i]) : 0;
    }
    double seconds = clock_seconds() - acceptance->began;
    if (most)
        stage_finds(acceptance, one->stage, -1, HEALTH_GOOD, STATUS_SLOW,
                    "all: %s lost its carrier on %d of %d hosts, %llu times in %.0f s: the switch "
                    "that they are cabled to",
                    one->device.name, losers, hosts, losses, seconds);
    else
        stage_finds(acceptance, one->stage, one->host,
                    losses >= CARRIER_LEAST ? HEALTH_BAD : HEALTH_SUSPECT, STATUS_SLOW,
                    "%s: %s lost its carrier %llu time%s in %.0f s: its cable, its transceiver, or "
                    "the port at the other end",
                    acceptance->labels[one->host], one->device.name, losses, plural(losses),
                    seconds);
}

void carriers_judge(struct acceptance *acceptance)
{
    struct carrier_growths growths = carriers_collect(acceptance);
    for (int i = 0; i < growths.count; i++)
        carrier_find(acceptance, &growths, i);
    free(growths.items);
}

/* A link that goes down lets no packet through, either. */
static bool host_lost_carrier(const struct acceptance *acceptance, int host)
{
    struct carrier_growths growths = carriers_collect(acceptance);
    bool lost = false;
    for (int i = 0; i < growths.count; i++)
        lost |= growths.items[i]->host == host;
    free(growths.items);
    return lost;
}

/*
 * Hosts that stand still now and then. Each of them is compared with the others by its time in all.
 */
#define GAPS_LEAST  0.4   /* seconds, and */
#define GAPS_SHARE  0.015 /* of the run: less, above the fleet's median, is no fault; */
#define ROOT_FACTOR 2 /* likewise for rank 0's host: where a slow network is full, its words wait */
#define GAPS_FEW    3 /* times as much where few hosts are compared, which have no spread */

enum gap {
    GAP_STOPPED, /* its agent did not run */
    GAP_UNHEARD, /* it ran, and heard no word of rank 0 */
    GAPS
};

static enum accept_stage last_stage(const struct acceptance *acceptance)
{
    int count = acceptance->stage_count;
    return count > 0 ? acceptance->stages[count - 1].stage : STAGE_START;
}

static void gap_find(struct acceptance *acceptance, int host, enum gap gap, enum health health,
                     const struct reason *reason)
{
    static const char *const clauses[GAPS][2] = {
        [GAP_STOPPED] = {"did not run", "its processes were stopped, or other processes had its "
                                        "cores"},
        [GAP_UNHEARD] = {"stood still for rank 0", "its link, or the network before it, let no "
                                                   "packet through"}};
    const struct host_gaps *gaps = &acceptance->roster->hosts[host].gaps;
    unsigned long long times = gap == GAP_STOPPED ? gaps->stops : gaps->unheard;
    stage_finds(acceptance, last_stage(acceptance), host, health, STATUS_SLOW,
                "%s: %s %llu time%s, for %.2f s in all of %.0f s (the fleet's median: %.2f s, "
                "threshold %.2f s): %s%s",
                acceptance->labels[host], clauses[gap][0], times, plural(times), reason->value,
                clock_seconds() - acceptance->began, reason->median, reason->threshold,
                clauses[gap][1], health == HEALTH_SUSPECT ? ", or that of rank 0 did not" : "");
}

/* The link of rank 0's host stands still for all others, two at least. */
static bool root_gaps_find(struct acceptance *acceptance, double median, double least, int others)
{
    int root = acceptance->roster->agents[0].host;
    if (others < 2 || median < ROOT_FACTOR * least || host_lost_carrier(acceptance, root))
        return false;
    stage_finds(acceptance, last_stage(acceptance), root, HEALTH_BAD, STATUS_SLOW,
                "%s: stood still for all other hosts, for %.2f s in all of %.0f s (their median): "
                "its link, or the network before it, let no packet through",
                acceptance->labels[root], median, clock_seconds() - acceptance->began);
    return true;
}

/* Seconds of each host in all; NAN: it has none. Rank 0's host hears rank 0, and while rank 0 is
 * stopped, no host does. */
static double gap_seconds(const struct roster *roster, int host, enum gap gap)
{
    int root = roster->agents[0].host;
    double stopped = 1e-6 * (double)roster->hosts[root].gaps.stopped_us;
    const struct host_gaps *gaps = &roster->hosts[host].gaps;
    if (roster->hosts[host].lost || (gap == GAP_UNHEARD && host == root))
        return NAN;
    return gap == GAP_STOPPED ? 1e-6 * (double)gaps->stopped_us
                              : fmax(1e-6 * (double)gaps->unheard_us - stopped, 0);
}

static void gap_judge(struct acceptance *acceptance, enum gap gap, double *scratch)
{
    const struct roster *roster = acceptance->roster;
    double seconds = clock_seconds() - acceptance->began;
    double least = fmax(GAPS_LEAST, GAPS_SHARE * seconds);
    size_t count = 0;
    for (int h = 0; h < roster->host_count; h++)
        if (!isnan(gap_seconds(roster, h, gap)))
            scratch[count++] = gap_seconds(roster, h, gap);
    least *= count < HOSTS_COMPARED ? GAPS_FEW : 1;
    struct reason reason = gaps_limit(scratch, count, least, GAPS * (double)roster->host_count);
    if (count == 0 || (count == 1 && gap == GAP_STOPPED)) /* it is compared with nothing */
        return;
    if (gap == GAP_UNHEARD && root_gaps_find(acceptance, reason.median, least, (int)count))
        return;
    for (int h = 0; h < roster->host_count; h++) {
        reason.value = gap_seconds(roster, h, gap);
        if (reason.value > reason.threshold &&
            !(gap == GAP_UNHEARD && host_lost_carrier(acceptance, h)))
            gap_find(acceptance, h, gap, count == 1 ? HEALTH_SUSPECT : HEALTH_BAD, &reason);
    }
}

void gaps_judge(struct acceptance *acceptance)
{
    double *scratch = new_array((size_t)acceptance->roster->host_count, sizeof *scratch);
    for (enum gap gap = 0; gap < GAPS; gap++)
        gap_judge(acceptance, gap, scratch);
    free(scratch);
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
    if (!failed && inventory_decode(inventory, &reader))
        return;
    inventory_free(inventory);
    if (!failed || trial_is_evidence(trials, job))
        stage_finds(acceptance, STAGE_INVENTORY, host, HEALTH_SUSPECT,
                    failed ? outcome_status(trial->outcome) : STATUS_ERROR,
                    "%s: its inventory could not be taken: %s", acceptance->labels[host],
                    trial->why[0] ? trial->why : "what it sent is invalid");
}

static enum status inventories_take(struct acceptance *acceptance)
{
    const struct roster *roster = acceptance->roster;
    struct trials trials;
    acceptance->inventories =
        arena_new(acceptance->memory, (size_t)roster->host_count, sizeof *acceptance->inventories);
    trials_open(&trials, acceptance, STAGE_INVENTORY);
    for (int h = 0; h < roster->host_count; h++)
        if (!roster->hosts[h].lost)
            trials_add(&trials, roster->hosts[h].agents, 1, WORK_INVENTORY);
    enum status status = trials_run(&trials, INVENTORY_SECONDS);
    for (int j = 0; j < trials.count && status == STATUS_OK; j++)
        inventory_take(acceptance, &trials, j);
    trials_close(&trials);
    return status;
}

static void finding_report(struct acceptance *acceptance, const struct inventory_finding *finding)
{
    static const enum health healths[SEVERITIES] = {[SEVERITY_NOTE] = HEALTH_GOOD,
                                                    [SEVERITY_SUSPECT] = HEALTH_SUSPECT,
                                                    [SEVERITY_BAD] = HEALTH_BAD};
    bool blames = finding->host >= 0 && finding->severity != SEVERITY_NOTE;
    stage_finds(acceptance, STAGE_INVENTORY, finding->host,
                blames ? healths[finding->severity] : HEALTH_GOOD, blames ? STATUS_SLOW : STATUS_OK,
                "%s", finding->text);
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
    stage_says(result, "%d host%s: %d difference%s, and %d note%s", taken, plural(taken),
               differences, plural(differences), notes, plural(notes));
    inventory_findings_free(&findings);
    return STATUS_OK;
}
