/*
 * accept.c - which hosts, links, NICs and GPUs are faulty: stages on a fleet that survives them.
 */
#include "accept/internal.h"

#include "base/clock.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define START_SECONDS 20.0
#define QUICK_KEPT    0.25 /* share of a stage's --quick time that earlier stages cannot use up */

const char *const accept_stage_names[ACCEPT_STAGES + 1] = {
    [STAGE_START] = "start",   [STAGE_INVENTORY] = "inventory",
    [STAGE_SELF] = "self",     [STAGE_NODE] = "node",
    [STAGE_PAIRS] = "pairs",   [STAGE_ISOLATE] = "isolate",
    [STAGE_HALVES] = "halves", [STAGE_ALL] = "all",
    [STAGE_SOAK] = "soak",     [ACCEPT_STAGES] = NULL,
};

/* ---- start ---- */

/* Can each agent start a worker? */
static enum status start_run(struct acceptance *acceptance, struct stage_result *result)
{
    const struct roster *roster = acceptance->roster;
    struct trials trials;
    int count = 0;
    trials_open(&trials, acceptance, STAGE_START);
    for (int h = 0; h < roster->host_count; h++) {
        const struct fleet_host *host = &roster->hosts[h];
        count += !host->lost;
        for (int a = 0; a < host->count && !host->lost; a++)
            trials_add(&trials, &host->agents[a], 1, WORK_NOTHING);
    }
    enum status status = trials_run(&trials, START_SECONDS);
    for (int j = 0; j < trials.count && status == STATUS_OK; j++) {
        int host = trial_host(&trials, j);
        if (trial_is_evidence(&trials, j))
            stage_finds(acceptance, STAGE_START, outcome_kind(trials.outcomes[j].outcome), host,
                        HEALTH_BAD, outcome_status(trials.outcomes[j].outcome), "%s: %s",
                        acceptance->labels[host], trials.outcomes[j].why);
    }
    if (status == STATUS_OK)
        stage_says(result, "%d agent%s on %d host%s", trials.count, plural(trials.count), count,
                   plural(count));
    trials_close(&trials);
    return status;
}

/* ---- the table ---- */

/* The soak has the time of --duration. */
const struct stage_row accept_stages[ACCEPT_STAGES] = {
    [STAGE_START] = {1, 20, 20, start_run},    [STAGE_INVENTORY] = {2, 30, 15, inventory_run},
    [STAGE_SELF] = {2, 40, 15, metrics_run},   [STAGE_NODE] = {2, 60, 20, metrics_run},
    [STAGE_PAIRS] = {3, 900, 60, pairs_run},   [STAGE_ISOLATE] = {3, 900, 60, isolate_run},
    [STAGE_HALVES] = {5, 180, 30, halves_run}, [STAGE_ALL] = {3, 120, 30, all_run},
    [STAGE_SOAK] = {.run = soak_run},
};

/* ---- the loop ---- */

/* Seconds of --quick that are kept for the stages behind this one. */
static double later_seconds(const struct acceptance *acceptance, enum accept_stage stage)
{
    double seconds = 0;
    for (int s = (int)stage + 1; s < STAGE_SOAK; s++)
        if (acceptance->asked->stages & (1u << s))
            seconds += QUICK_KEPT * accept_stages[s].quick;
    return seconds;
}

/* When the stage's time is over. */
static double stage_end(const struct acceptance *acceptance, enum accept_stage stage)
{
    const struct accept_options *options = acceptance->asked;
    const struct stage_row *row = &accept_stages[stage];
    double asked = options->seconds[stage];
    double end = clock_seconds() + (asked > 0 ? asked : options->quick ? row->quick : row->usual);
    return fmin(end, acceptance->end - later_seconds(acceptance, stage));
}

/* Runs a stage in its time. */
static enum status stage_run(struct acceptance *acceptance, struct stage_result *result)
{
    struct arena *memory = acceptance->stage_memory; /* the soak's, around a rotation */
    int before = acceptance->cut;                    /* of other stages of a rotation */
    acceptance->progress = (struct stage_progress){.began = clock_seconds()};
    acceptance->until = stage_end(acceptance, result->stage);
    acceptance->stage_memory = arena_create();
    acceptance->cut = 0;
    enum status status = accept_stages[result->stage].run(acceptance, result);
    if (acceptance->cut > 0)
        stage_lacks(result, STAGE_PARTLY, "its time was over before %d job%s had ended",
                    acceptance->cut, plural(acceptance->cut));
    acceptance->cut += before;
    arena_free(acceptance->stage_memory);
    acceptance->stage_memory = memory;
    return status;
}

static enum status stage_miss(struct acceptance *acceptance, struct stage_result *result)
{
    stage_lacks(result, STAGE_LEFT_OUT, "the %g s of --quick are over", QUICK_SECONDS);
    return result->stage == STAGE_ISOLATE ? isolate_miss(acceptance, result) : STATUS_OK;
}

/* A stage of the run has ended: what its hosts counted, and its result. */
static enum status stage_conclude(struct acceptance *acceptance, struct stage_result *result,
                                  enum status status)
{
    acceptance->cut = 0;
    if (status == STATUS_OK && result->stage != STAGE_SOAK)
        status = counting_look(acceptance, result->stage);
    losses_find(acceptance); /* also of a run that ends here */
    if (status != STATUS_OK)
        stage_lacks(result, STAGE_PARTLY, "it was ended: %s", log_current()->failure.text);
    acceptance->stage_count++;
    acceptance->report->stage(acceptance->report, acceptance);
    return status;
}

static const char *const stage_state_names[] = {
    [STAGE_DONE] = "done", [STAGE_PARTLY] = "partly", [STAGE_LEFT_OUT] = "left-out"};

/* clang-format off */
#define STAGE_ROWS \
    {"stage", "stage", "name of the stage", \
     JSON_WORDS(struct stage_result, stage, accept_stage_names)}, \
    {"state", "done|partly|left-out", "state of the stage: done, done in part, or left out", \
     JSON_WORDS(struct stage_result, state, stage_state_names)}, \
    {"why", "string", "why partly or left out, or empty", JSON_MEMBER(struct stage_result, why)}, \
    {"result", "string", "the line of the table", JSON_MEMBER(struct stage_result, text)}, \
    {"seconds", "amount", "that it took", JSON_MEMBER(struct stage_result, seconds)}
/* clang-format on */

const struct json_field rotation_stage_fields[] = {STAGE_ROWS, {0}};

const struct json_field stage_result_fields[] = {
    STAGE_ROWS,
    {"jobs", "[stage_job]", "small jobs of the stage", JSON_MEMBER(struct stage_result, jobs)},
    {0},
};

enum status stages_run(struct acceptance *acceptance, int first, int end, json_t *rotation)
{
    enum status status = STATUS_OK;
    for (int s = first; s < end && status == STATUS_OK; s++) {
        struct stage_result again,
            *result = rotation ? &again : &acceptance->stages[acceptance->stage_count];
        double began = clock_seconds();
        if (!(acceptance->asked->stages & (1u << s)))
            continue;
        *result = (struct stage_result){.stage = (enum accept_stage)s};
        result->jobs = rotation ? NULL : json_array();
        bool fits = acceptance->end - began >= accept_stages[s].least;
        status = fits ? stage_run(acceptance, result) : stage_miss(acceptance, result);
        result->seconds = clock_seconds() - began;
        if (rotation) {
            losses_find(acceptance);
            json_array_append_new(rotation, json_object_of(rotation_stage_fields, result, NULL));
        } else {
            status = stage_conclude(acceptance, result, status);
        }
    }
    return status;
}

static enum status all_stages_run(struct acceptance *acceptance)
{
    const struct accept_options *options = acceptance->asked;
    bool ends = options->quick && options->duration <= 0;
    acceptance->began = clock_seconds();
    acceptance->end = ends ? acceptance->began + QUICK_SECONDS : INFINITY;
    return stages_run(acceptance, STAGE_START, ACCEPT_STAGES, NULL);
}

/* ---- the run ---- */

/* How sentences call each host. */
static void labels_make(struct acceptance *acceptance)
{
    const struct roster *roster = acceptance->roster;
    size_t count = (size_t)roster->host_count;
    struct arena *memory = acceptance->memory;
    acceptance->labels = arena_new(memory, count, sizeof *acceptance->labels);
    acceptance->losses_found = arena_new(memory, count, sizeof *acceptance->losses_found);
    for (size_t h = 0; h < count; h++) {
        char *nameless = arena_new(memory, HOST_NAME_BYTES, 1);
        snprintf(nameless, HOST_NAME_BYTES, "(rank %d)", roster->hosts[h].agents[0]);
        acceptance->labels[h] = roster->hosts[h].name[0] ? roster->hosts[h].name : nameless;
    }
}

static int names_compare(const void *a, const void *b)
{
    const struct fleet_host *const *left = a, *const *right = b;
    return strcmp((*left)->name, (*right)->name);
}

/* Findings and lists name hosts. */
static enum status names_check(const struct roster *roster)
{
    const struct fleet_host **sorted = new_array((size_t)roster->host_count, sizeof *sorted);
    enum status status = STATUS_OK;
    for (int h = 0; h < roster->host_count; h++)
        sorted[h] = &roster->hosts[h];
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
    const struct fleet_host *hosts = roster->hosts;
    TRY(names_check(roster));
    for (int h = 1; h < roster->host_count && roster->lost == 0; h++) {
        const struct fleet_host *more = hosts[h].count > hosts[0].count ? &hosts[h] : &hosts[0];
        if (hosts[h].count != hosts[0].count)
            return fail(STATUS_USAGE,
                        "host %s has %d agent%s and host %s has %d: start as many on each host "
                        "(srun --ntasks-per-node); if ranks %d and %d, which both call their host "
                        "%s, are on two hosts, give each a host name of its own",
                        hosts[0].name, hosts[0].count, plural(hosts[0].count), hosts[h].name,
                        hosts[h].count, more->agents[0], more->agents[1], more->name);
    }
    return STATUS_OK;
}

/* References that hosts are compared with, besides each other. */
static enum status references_read(struct acceptance *acceptance)
{
    const struct accept_options *options = acceptance->asked;
    struct baseline *baseline = &acceptance->baseline;
    int hosts = acceptance->roster->host_count;
    if (options->profile)
        TRY(host_profile_read(options->profile, &acceptance->profile));
    if (options->baseline)
        TRY(baseline_read(options->baseline, acceptance->labels, hosts, baseline));
    if (options->baseline && baseline->common < hosts)
        stage_finds(acceptance, STAGE_START, FOUND_NOTE, -1, HEALTH_GOOD, STATUS_OK,
                    "all: the earlier run %s knows %d of these %d hosts", options->baseline,
                    baseline->common, hosts);
    return STATUS_OK;
}

/* Names of hosts as the file has them: none of a host that never called. */
static enum status switches_find(struct acceptance *acceptance)
{
    const char *path = acceptance->asked->switches;
    const struct roster *roster = acceptance->roster;
    if (!path)
        return STATUS_OK;
    const char **names = arena_new(acceptance->memory, (size_t)roster->host_count, sizeof *names);
    for (int h = 0; h < roster->host_count; h++)
        names[h] = roster->hosts[h].name;
    return switch_file_read(path, names, roster->host_count, &acceptance->leaves,
                            &acceptance->above);
}

/* Tells, as a note, if all faulty hosts are behind one switch. */
static void switches_judge(struct acceptance *acceptance)
{
    int hosts = acceptance->roster->host_count, count = 0, last = STAGE_START;
    if (acceptance->leaves.count == 0 || acceptance->leaves.inferred)
        return;
    bool *faulty = new_array((size_t)hosts, sizeof *faulty);
    enum health *healths = findings_healths(&acceptance->findings, hosts);
    for (int h = 0; h < hosts; h++) {
        faulty[h] = healths[h] == HEALTH_BAD || healths[h] == HEALTH_SUSPECT;
        count += faulty[h];
    }
    free(healths);
    int common = switches_common(&acceptance->leaves, hosts, faulty);
    free(faulty);
    if (common < 0)
        return;
    for (int s = 0; s < STAGE_SOAK; s++)
        if (acceptance->asked->stages & (1u << s))
            last = s;
    stage_finds(acceptance, (enum accept_stage)last, FOUND_NETWORK, -1, HEALTH_GOOD, STATUS_OK,
                "all: all %d hosts that are bad or suspect are behind switch %.64s", count,
                acceptance->leaves.name[common]);
}

/* Has any host, or pair of hosts, a measurement of this? */
static bool is_measured(const struct acceptance *acceptance, int number)
{
    const struct readings *readings = &acceptance->readings;
    if (number >= MEASURED_PAIRS)
        return acceptance->fleet &&
               fleet_knows(acceptance->fleet, (enum metric)(number - MEASURED_PAIRS));
    for (int i = 0; i < readings->count; i++)
        if (readings->items[i].number &&
            readings->items[i].number->measured == &measured_numbers[number])
            return true;
    return false;
}

/* A number that a profile asks for and no stage has measured is not met. */
static void profile_judge(struct acceptance *acceptance)
{
    const struct host_profile *profile = &acceptance->profile;
    char keys[FOUND_TEXT_MOST / 2] = "";
    struct text text = text_in(keys, sizeof keys);
    if (profile->facts.count > 0 && !acceptance->inventories)
        text_add(&text, "what hosts have");
    for (int i = 0; i < MEASURED; i++)
        if (profile->asked[i] > 0 && !is_measured(acceptance, i))
            text_add(&text, "%s%s", keys[0] ? ", " : "", measured_numbers[i].key);
    if (keys[0])
        stage_finds(acceptance, STAGE_START, FOUND_NOTE, -1, HEALTH_GOOD, STATUS_SLOW,
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
    free(acceptance->readings.items);
    fleet_free(acceptance->fleet);
    counting_free(acceptance);
    for (int h = 0; acceptance->inventories && h < acceptance->roster->host_count; h++)
        inventory_free(&acceptance->inventories[h]);
    switch_level_free(&acceptance->leaves);
    switch_level_free(&acceptance->above);
    arena_free(acceptance->memory);
}

/* All that comes before and between the first and the last stage. */
static enum status acceptance_run(struct acceptance *acceptance)
{
    labels_make(acceptance);
    TRY(hosts_check(acceptance));
    TRY(references_read(acceptance));
    TRY(switches_find(acceptance));
    TRY(acceptance->report->begin(acceptance->report, acceptance));
    return all_stages_run(acceptance);
}

static enum status coordinate(const struct membership *membership,
                              const struct accept_arguments *arguments)
{
    struct accept_report *report = arguments->report;
    struct acceptance acceptance = {.memory = arena_create(),
                                    .job = arguments->job,
                                    .asked = arguments->asked,
                                    .options = arguments->options,
                                    .seed = arguments->job->seed,
                                    .bootstrap = membership->bootstrap,
                                    .report = report};
    enum status status = coordinator_open(membership, &arguments->agents, &acceptance.coordinator);
    if (status == STATUS_OK) {
        acceptance.roster = coordinator_roster(acceptance.coordinator);
        status = acceptance_run(&acceptance);
    }
    acceptance.ended = status == STATUS_OK;
    acceptance.judged = acceptance.ended && acceptance_looked(&acceptance);
    if (acceptance.roster)
        losses_judge(&acceptance);
    if (status == STATUS_OK) {
        carriers_judge(&acceptance);
        gaps_judge(&acceptance);
        links_judge(&acceptance);
        doubles_judge(&acceptance);
        profile_judge(&acceptance);
        switches_judge(&acceptance);
        status = findings_status(&acceptance.findings);
    } else {
        log_print_failure(log_current());
    }
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
