/*
 * accept.c - which hosts, links, NICs and GPUs are sick: stages on a fleet that outlives them.
 */
#include "accept/internal.h"

#include "accept/accept.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"
#include "controlplane/agents/agents.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * The names of the stages of `cctest accept`.
 */
const char *const accept_stage_names[ACCEPT_STAGES + 1] = {
    [STAGE_START] = "start",   [STAGE_INVENTORY] = "inventory",
    [STAGE_SELF] = "self",     [STAGE_NODE] = "node",
    [STAGE_PAIRS] = "pairs",   [STAGE_ISOLATE] = "isolate",
    [STAGE_HALVES] = "halves", [STAGE_ALL] = "all",
    [STAGE_SOAK] = "soak",     [ACCEPT_STAGES] = NULL,
};

/* The soak has the time of --duration. */
const struct stage_time stage_times[ACCEPT_STAGES] = {
    [STAGE_START] = {1, 20, 20},   [STAGE_INVENTORY] = {2, 30, 15}, [STAGE_SELF] = {2, 40, 15},
    [STAGE_NODE] = {2, 60, 20},    [STAGE_PAIRS] = {3, 900, 60},    [STAGE_ISOLATE] = {3, 900, 60},
    [STAGE_HALVES] = {5, 180, 30}, [STAGE_ALL] = {3, 120, 30},      [STAGE_SOAK] = {0, 0, 0},
};

/*
 * The stages of a run, one after the other.
 */
#define START_SECONDS 20.0
#define QUICK_KEPT    0.25 /* of its time: so much of it a stage has, whatever those before it took */

/* ---- start ---- */

/* Can each agent start a worker? */
static enum status start_stage_run(struct acceptance *acceptance, struct stage_result *result)
{
    const struct roster *roster = acceptance->roster;
    struct trials trials;
    char hosts[COUNTED_MOST], agents[COUNTED_MOST];
    int *left = malloc((size_t)roster->host_count * sizeof *left), count = 0;
    if (!left)
        return fail(STATUS_ERROR, "out of memory for the hosts");
    enum status status = STATUS_OK;
    trials_open(&trials, acceptance, STAGE_START);
    for (int i = 0, n = count = hosts_left(acceptance, left); i < n; i++)
        for (int a = 0; a < roster->hosts[left[i]].count && status == STATUS_OK; a++)
            status = trials_add(&trials, &roster->hosts[left[i]].agents[a], 1, WORK_NOTHING);
    if (status == STATUS_OK)
        status = trials_run(&trials, START_SECONDS);
    for (int j = 0; j < trials.count && status == STATUS_OK; j++) {
        int host = roster->agents[trials.jobs[j].agents[0]].host;
        if (trial_accuses(&trials, j, host))
            status = stage_finds(acceptance, STAGE_START, host, -1, HEALTH_BAD,
                                 outcome_status(trials.of[j].outcome), "%s: %s",
                                 host_label(acceptance, host), trials.of[j].why);
    }
    stage_says(result, "%s on %s", counted(trials.count, "agent", agents),
               counted(count, "host", hosts));
    trials_close(&trials);
    free(left);
    return status;
}

/* ---- stages ---- */

static enum status rotation_stage(struct acceptance *acceptance, struct stage_result *result);

/* Pairs accuse nobody before isolate, which may be left out. */
static enum status pairs_run(struct acceptance *acceptance, struct stage_result *result)
{
    enum status status = pairs_stage_run(acceptance, result);
    bool alone = !(acceptance->asked->stages & (1u << STAGE_ISOLATE));
    return status == STATUS_OK && alone ? isolate_stage_miss(acceptance, result) : status;
}

static enum status stage_dispatch(struct acceptance *acceptance, struct stage_result *result)
{
    switch (result->stage) {
    case STAGE_START:
        return start_stage_run(acceptance, result);
    case STAGE_INVENTORY:
        return inventory_stage_run(acceptance, result);
    case STAGE_SELF:
        return self_stage_run(acceptance, result);
    case STAGE_NODE:
        return node_stage_run(acceptance, result);
    case STAGE_PAIRS:
        return pairs_run(acceptance, result);
    case STAGE_ISOLATE:
        return isolate_stage_run(acceptance, result);
    case STAGE_HALVES:
        return halves_stage_run(acceptance, result);
    case STAGE_SOAK:
        return soak_stage_run(acceptance, result, rotation_stage);
    default:
        return all_stage_run(acceptance, result);
    }
}

/* Seconds of --quick that are kept for the stages behind this one. */
static double later_seconds(const struct acceptance *acceptance, enum accept_stage stage)
{
    double seconds = 0;
    for (int s = (int)stage + 1; s < STAGE_SOAK; s++)
        if (acceptance->asked->stages & (1u << s))
            seconds += QUICK_KEPT * stage_times[s].quick;
    return seconds;
}

/* When the stage's time is over. */
static double stage_end(const struct acceptance *acceptance, enum accept_stage stage)
{
    const struct accept_options *options = acceptance->asked;
    const struct stage_time *time = &stage_times[stage];
    double asked = options->seconds[stage];
    double end = clock_seconds() + (asked > 0 ? asked : options->quick ? time->quick : time->usual);
    return fmin(end, acceptance->end - later_seconds(acceptance, stage));
}

/* Runs a stage in its time. */
static enum status stage_run(struct acceptance *acceptance, struct stage_result *result)
{
    char jobs[COUNTED_MOST];
    acceptance->progress = (struct stage_progress){.began = clock_seconds()};
    acceptance->until = stage_end(acceptance, result->stage);
    int before = acceptance->cut; /* of other stages of a rotation */
    acceptance->cut = 0;
    enum status status = stage_dispatch(acceptance, result);
    if (acceptance->cut > 0)
        stage_lacks(result, STAGE_PARTLY, "its time was over before %s had ended",
                    counted(acceptance->cut, "job", jobs));
    acceptance->cut += before;
    return status;
}

/* Of the soak. */
static enum status rotation_stage(struct acceptance *acceptance, struct stage_result *result)
{
    enum status status = stage_run(acceptance, result), noted = losses_find(acceptance);
    return status == STATUS_OK ? noted : status;
}

static enum status stage_miss(struct acceptance *acceptance, struct stage_result *result)
{
    stage_lacks(result, STAGE_LEFT_OUT, "the %g s of --quick are over", QUICK_SECONDS);
    return result->stage == STAGE_ISOLATE ? isolate_stage_miss(acceptance, result) : STATUS_OK;
}

static enum status stages_run(struct acceptance *acceptance)
{
    enum status status = STATUS_OK;
    const struct accept_options *options = acceptance->asked;
    bool ends = options->quick && options->duration <= 0;
    acceptance->began = clock_seconds();
    acceptance->end = ends ? acceptance->began + QUICK_SECONDS : INFINITY;
    for (int s = 0; s < ACCEPT_STAGES && status == STATUS_OK; s++) {
        if (!(acceptance->asked->stages & (1u << s)))
            continue;
        struct stage_result *result = &acceptance->stages[acceptance->stage_count];
        double began = clock_seconds();
        *result = (struct stage_result){.stage = (enum accept_stage)s, .jobs = json_array()};
        if (acceptance->end - began >= stage_times[s].least)
            status = stage_run(acceptance, result);
        else
            status = stage_miss(acceptance, result);
        result->seconds = clock_seconds() - began;
        acceptance->cut = 0;
        if (status == STATUS_OK && s != STAGE_SOAK)
            status = counting_look(acceptance, result->stage);
        enum status noted = losses_find(acceptance); /* also of a run that ends here */
        status = status == STATUS_OK ? noted : status;
        if (status != STATUS_OK)
            stage_lacks(result, STAGE_PARTLY, "it was ended: %s", log_current()->failure.text);
        acceptance->stage_count++;
        acceptance->report->stage(acceptance->report, acceptance);
    }
    return status;
}

/* ---- the run ---- */

/* How sentences call each host. */
static enum status labels_make(struct acceptance *acceptance)
{
    const struct roster *roster = acceptance->roster;
    size_t count = (size_t)roster->host_count;
    acceptance->labels = calloc(count, sizeof *acceptance->labels);
    acceptance->label_pointers = calloc(count, sizeof *acceptance->label_pointers);
    acceptance->losses_found = calloc(count, sizeof *acceptance->losses_found);
    if (!acceptance->labels || !acceptance->label_pointers || !acceptance->losses_found)
        return fail(STATUS_ERROR, "out of memory for %zu hosts", count);
    for (size_t h = 0; h < count; h++) {
        char *label = acceptance->labels[h];
        if (roster->hosts[h].name[0])
            memcpy(label, roster->hosts[h].name, HOST_NAME_BYTES);
        else
            snprintf(label, HOST_NAME_BYTES, "(rank %d)", roster->hosts[h].agents[0]);
        acceptance->label_pointers[h] = label;
    }
    return STATUS_OK;
}

static int names_compare(const void *a, const void *b)
{
    const struct fleet_host *const *left = a, *const *right = b;
    return strcmp((*left)->name, (*right)->name);
}

/* Findings and lists name hosts. */
static enum status names_check(const struct roster *roster)
{
    const struct fleet_host **sorted = calloc((size_t)roster->host_count, sizeof *sorted);
    enum status status = sorted ? STATUS_OK : fail(STATUS_ERROR, "out of memory for the hosts");
    for (int h = 0; h < roster->host_count && sorted; h++)
        sorted[h] = &roster->hosts[h];
    if (sorted)
        qsort(sorted, (size_t)roster->host_count, sizeof *sorted, names_compare);
    for (int h = 1; h < roster->host_count && status == STATUS_OK; h++)
        if (sorted[h]->name[0] && strcmp(sorted[h]->name, sorted[h - 1]->name) == 0)
            status = fail(STATUS_USAGE,
                          "the hosts of rank %d and of rank %d are both called %s: give each a "
                          "host name of its own, or SLURMD_NODENAME",
                          sorted[h - 1]->agents[0], sorted[h]->agents[0], sorted[h]->name);
    free(sorted);
    return status;
}

/* Hosts that are compared with each other have as many agents each; of one that is lost it is not
 * known how many it had. */
static enum status hosts_check(const struct acceptance *acceptance)
{
    const struct roster *roster = acceptance->roster;
    char text[COUNTED_MOST];
    enum status status = names_check(roster);
    if (status != STATUS_OK)
        return status;
    for (int h = 1; h < roster->host_count && roster->lost == 0; h++)
        if (roster->hosts[h].count != roster->hosts[0].count)
            return fail(STATUS_USAGE,
                        "host %s has %s and host %s has %d: start as many on each host (srun "
                        "--ntasks-per-node)",
                        roster->hosts[0].name, counted(roster->hosts[0].count, "agent", text),
                        roster->hosts[h].name, roster->hosts[h].count);
    return STATUS_OK;
}

/* What hosts are held against besides each other. */
static enum status yardsticks_read(struct acceptance *acceptance)
{
    const struct accept_options *options = acceptance->asked;
    struct baseline *baseline = &acceptance->baseline;
    int hosts = acceptance->roster->host_count;
    enum status status = STATUS_OK;
    if (options->profile)
        status = host_profile_read(options->profile, &acceptance->profile);
    if (status == STATUS_OK && options->baseline)
        status = baseline_read(options->baseline, acceptance->label_pointers, hosts, baseline);
    if (status == STATUS_OK && options->baseline && baseline->common < hosts)
        status = stage_finds(acceptance, STAGE_START, -1, -1, HEALTH_GOOD, STATUS_OK,
                             "all: the earlier run %s knows %d of these %d hosts",
                             options->baseline, baseline->common, hosts);
    return status;
}

/* Names of hosts as the file has them: none of a host that never called. */
static enum status switches_find(struct acceptance *acceptance)
{
    const char *path = acceptance->asked->switches;
    const struct roster *roster = acceptance->roster;
    if (!path)
        return STATUS_OK;
    const char **names = calloc((size_t)roster->host_count, sizeof *names);
    if (!names)
        return fail(STATUS_ERROR, "out of memory for %d hosts", roster->host_count);
    for (int h = 0; h < roster->host_count; h++)
        names[h] = roster->hosts[h].name;
    enum status status =
        switch_file_read(path, names, roster->host_count, &acceptance->leaves, &acceptance->above);
    free(names);
    return status;
}

/* Tells, as a note, if all sick hosts are behind one switch. */
static enum status switches_judge(struct acceptance *acceptance)
{
    int hosts = acceptance->roster->host_count, count = 0, last = STAGE_START;
    if (acceptance->leaves.count == 0)
        return STATUS_OK;
    bool *sick = calloc((size_t)hosts, sizeof *sick);
    if (!sick)
        return fail(STATUS_ERROR, "out of memory for %d hosts", hosts);
    for (int h = 0; h < hosts; h++) {
        enum health health = findings_health(&acceptance->findings, h);
        sick[h] = health == HEALTH_BAD || health == HEALTH_SUSPECT;
        count += sick[h];
    }
    int common = switches_common(&acceptance->leaves, hosts, sick);
    free(sick);
    if (common < 0)
        return STATUS_OK;
    for (int s = 0; s < STAGE_SOAK; s++)
        if (acceptance->asked->stages & (1u << s))
            last = s;
    return stage_finds(acceptance, (enum accept_stage)last, -1, -1, HEALTH_GOOD, STATUS_OK,
                       "all: all %d hosts that are bad or suspect are behind switch %.64s", count,
                       acceptance->leaves.name[common]);
}

/* Has any host, or pair of hosts, a measurement of this? */
static bool is_measured(const struct acceptance *acceptance, const char *key)
{
    for (int i = 0; i < acceptance->number_count; i++)
        if (strcmp(acceptance->numbers[i].key, key) == 0)
            return true;
    for (int m = 0; m < METRICS; m++)
        if (strcmp(reading_metric_keys[m], key) == 0)
            return acceptance->fleet && fleet_median(acceptance->fleet, (enum metric)m) > 0;
    return false;
}

/* What a profile asks and no stage has measured is not met. */
static enum status profile_judge(struct acceptance *acceptance)
{
    const struct host_profile *profile = &acceptance->profile;
    char keys[FOUND_TEXT_MOST / 2] = "";
    struct text text = text_in(keys, sizeof keys);
    if (profile->fact_count > 0 && !acceptance->inventories)
        text_add(&text, "what hosts have");
    for (int i = 0; measured_numbers[i].key; i++)
        if (profile->asked[i] > 0 && !is_measured(acceptance, measured_numbers[i].key))
            text_add(&text, "%s%s", keys[0] ? ", " : "", measured_numbers[i].key);
    if (!keys[0])
        return STATUS_OK;
    return stage_finds(acceptance, STAGE_START, -1, -1, HEALTH_GOOD, STATUS_SLOW,
                       "all: %s asks for %s, which no stage of this run has measured",
                       acceptance->asked->profile, keys);
}

static void acceptance_close(struct acceptance *acceptance)
{
    for (int s = 0; s < ACCEPT_STAGES; s++)
        json_decref(acceptance->stages[s].jobs);
    json_decref(acceptance->rotations);
    host_profile_free(&acceptance->profile);
    baseline_free(&acceptance->baseline);
    findings_free(&acceptance->findings);
    readings_free(&acceptance->paired);
    readings_free(&acceptance->isolated);
    readings_free(&acceptance->resent);
    free(acceptance->loses_packets);
    fleet_free(acceptance->fleet);
    free(acceptance->numbers);
    counting_free(acceptance);
    for (int h = 0; acceptance->inventories && h < acceptance->roster->host_count; h++)
        inventory_free(&acceptance->inventories[h]);
    free(acceptance->inventories);
    free(acceptance->labels);
    free(acceptance->label_pointers);
    free(acceptance->losses_found);
    switch_level_free(&acceptance->leaves);
    switch_level_free(&acceptance->above);
}

static enum status coordinate(const struct membership *membership,
                              const struct accept_arguments *arguments)
{
    struct accept_report *report = arguments->report;
    struct acceptance acceptance = {.job = arguments->job,
                                    .asked = arguments->asked,
                                    .options = arguments->options,
                                    .seed = arguments->job->seed,
                                    .bootstrap = membership->bootstrap,
                                    .report = report};
    enum status status = coordinator_open(membership, &arguments->agents, &acceptance.coordinator);
    if (status == STATUS_OK) {
        acceptance.roster = coordinator_roster(acceptance.coordinator);
        status = labels_make(&acceptance);
    }
    if (status == STATUS_OK)
        status = hosts_check(&acceptance);
    if (status == STATUS_OK)
        status = yardsticks_read(&acceptance);
    if (status == STATUS_OK)
        status = switches_find(&acceptance);
    if (status == STATUS_OK)
        status = report->begin(report, &acceptance);
    if (status == STATUS_OK)
        status = stages_run(&acceptance);
    acceptance.ended_early = status != STATUS_OK;
    if (status == STATUS_OK)
        status = losses_judge(&acceptance);
    if (status == STATUS_OK)
        status = profile_judge(&acceptance);
    if (status == STATUS_OK)
        status = switches_judge(&acceptance);
    if (status == STATUS_OK)
        status = findings_status(&acceptance.findings);
    else
        log_print_failure(log_current());
    status = report->end(report, &acceptance, status);
    acceptance_close(&acceptance); /* before the roster goes */
    coordinator_close(acceptance.coordinator, status);
    return status;
}

enum status accept_run(const struct membership *membership, void *argument)
{
    const struct accept_arguments *arguments = argument;
    if (membership->rank == 0)
        return coordinate(membership, arguments);
    enum status status = follower_run(membership, &arguments->agents);
    log_print_failure(log_current());
    return status;
}
