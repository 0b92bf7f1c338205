/*
 * accept_files.c - what others read of an acceptance run: lists of hosts for Slurm, JUnit XML, and
 * JSON.
 */
#include "cli/accept/internal.h"

#include "accept/judge/judge.h"
#include "base/clock.h"
#include "base/host_list.h"
#include "base/io/io.h"
#include "base/log.h"
#include "cli/accept/accept.h"
#include "cli/run/run.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define REASON_MOST 160 /* bytes of a reason: Slurm shows one line of it */

/* ---- lists ---- */

char *accept_host_list(const struct acceptance *acceptance, enum health health)
{
    int hosts = acceptance->roster->host_count, count = 0;
    const char **names = new_array((size_t)hosts, sizeof *names);
    enum health *healths = acceptance_healths(acceptance);
    for (int h = 0; h < hosts; h++)
        if (healths[h] == health)
            names[count++] = acceptance->labels[h];
    char *list = host_list_sorted(names, count);
    free(healths);
    free(names);
    return list;
}

/* `path` NULL: nothing is asked for. */
static enum status list_write(const struct acceptance *acceptance, enum health health,
                              const char *path)
{
    struct draft text;
    if (!path)
        return STATUS_OK;
    char *list = accept_host_list(acceptance, health);
    fprintf(draft_open(&text), "%s\n", list);
    free(list);
    return draft_put(&text, STATUS_OK, path);
}

/* ---- Slurm ---- */

/* The worst finding of a host that is bad; NULL: it is not. */
static const struct found *host_finding(const struct acceptance *acceptance, int host)
{
    const struct findings *findings = &acceptance->findings;
    const struct found *worst = NULL;
    for (int i = 0; i < findings->count; i++) {
        const struct found *found = &findings->items[i];
        if (found->host == host && found->health == HEALTH_BAD &&
            (!worst || findings_compare(found, worst) < 0))
            worst = found;
    }
    return worst;
}

bool accept_drain_line(const struct acceptance *acceptance, int host, char line[DRAIN_LINE_MOST])
{
    const struct found *found = host_finding(acceptance, host);
    if (!found)
        return false;
    const char *name = acceptance->labels[host], *why = found->text;
    size_t length = strlen(name);
    struct text text = text_in(line, DRAIN_LINE_MOST);
    if (strncmp(why, name, length) == 0 && why[length] == ':')
        why += length + 2; /* Slurm names it */
    text_add(&text, "scontrol update NodeName=%s State=DRAIN Reason=\"cctest: ", name);
    for (int i = 0; why[i] && i < REASON_MOST; i++)
        text_add(&text, "%c", strchr("\"\\`$", why[i]) ? '\'' : why[i]);
    text_add(&text, "\"");
    return true;
}

/* ---- JUnit ---- */

#define FLEET (-1) /* in the place of a host */

/* Is a finding a failure of this host, or of the fleet? */
static bool is_failure_of(const struct found *found, int host)
{
    return host == FLEET ? found->host < 0 && found->status != STATUS_OK
                         : (found->health >= HEALTH_SUSPECT || found->kind == FOUND_ABSENT) &&
                               (found->host == host || found->peer == host);
}

/* "cable: reseat or replace ..." */
static void action_put(FILE *out, const struct found *found)
{
    const char *advice = found_advice(found->kind);
    if (!advice)
        return;
    fprintf(out, "%s: ", action_words[found_action(found->kind)]);
    markup_put(out, advice);
}

/* The failures that a stage found of a host and of the links that end there; `out` (NULL: none)
 * gets them as XML. Returns how many. */
static int case_failures(FILE *out, const struct acceptance *acceptance, enum accept_stage stage,
                         int host)
{
    int failures = 0;
    for (int i = 0; i < acceptance->findings.count; i++) {
        const struct found *found = &acceptance->findings.items[i];
        if (found->stage != stage || !is_failure_of(found, host))
            continue;
        failures++;
        if (!out)
            continue;
        fprintf(out, "      <failure type=\"%s\" message=\"",
                host == FLEET ? status_word(found->status) : health_words[found->health]);
        markup_put(out, found->text);
        fputs("\">", out);
        action_put(out, found);
        fputs("</failure>\n", out);
    }
    return failures;
}

/* Why a host had no part in a stage; NULL: it had. */
static const char *case_skipped(const struct acceptance *acceptance,
                                const struct stage_result *result, const enum health *healths,
                                int host)
{
    if (host == FLEET)
        return NULL;
    const struct fleet_host *one = &acceptance->roster->hosts[host];
    int lost = STAGE_START;
    while (one->stage[0] && lost < ACCEPT_STAGES &&
           strcmp(accept_stage_names[lost], one->stage) != 0)
        lost++;
    if (result->state == STAGE_LEFT_OUT)
        return result->why;
    if (healths[host] == HEALTH_UNKNOWN)
        return "the host could not be judged";
    return one->lost && lost < (int)result->stage ? "the host was lost before" : NULL;
}

static void case_put(FILE *out, const struct acceptance *acceptance,
                     const struct stage_result *result, const enum health *healths, int host)
{
    fprintf(out, "    <testcase classname=\"cctest.accept.%s\" name=\"",
            accept_stage_names[result->stage]);
    markup_put(out, host == FLEET ? "(all hosts)" : acceptance->labels[host]);
    fprintf(out, "\" time=\"%.3f\">\n", result->seconds);
    const char *skipped = case_skipped(acceptance, result, healths, host);
    if (skipped) {
        fputs("      <skipped message=\"", out);
        markup_put(out, skipped);
        fputs("\"/>\n", out);
    }
    case_failures(out, acceptance, result->stage, host);
    fputs("    </testcase>\n", out);
}

static void suite_put(FILE *out, const struct acceptance *acceptance,
                      const struct stage_result *result)
{
    int hosts = acceptance->roster->host_count, failed = 0, skipped = 0;
    int first = case_failures(NULL, acceptance, result->stage, FLEET) > 0 ? FLEET : 0;
    enum health *healths = acceptance_healths(acceptance);
    for (int h = first; h < hosts; h++) {
        failed += case_failures(NULL, acceptance, result->stage, h) > 0;
        skipped += case_skipped(acceptance, result, healths, h) != NULL;
    }
    fprintf(out,
            "  <testsuite name=\"%s\" tests=\"%d\" failures=\"%d\" skipped=\"%d\" time=\"%.3f\">\n",
            accept_stage_names[result->stage], hosts - first, failed, skipped, result->seconds);
    for (int h = first; h < hosts; h++)
        case_put(out, acceptance, result, healths, h);
    fputs("  </testsuite>\n", out);
    free(healths);
}

static enum status junit_put(const struct acceptance *acceptance, FILE *out)
{
    fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"cctest accept\">\n", out);
    for (int s = 0; s < acceptance->stage_count; s++)
        suite_put(out, acceptance, &acceptance->stages[s]);
    fputs("</testsuites>\n", out);
    return STATUS_OK;
}

/* ---- files ---- */

bool accept_any(const struct acceptance *acceptance, enum health health)
{
    int hosts = acceptance->roster->host_count;
    enum health *healths = acceptance_healths(acceptance);
    bool any = false;
    for (int h = 0; h < hosts; h++)
        any |= healths[h] == health;
    free(healths);
    return any;
}

/* Writes what `put` puts, whole or not at all. `path` NULL: nothing is asked for. */
static enum status file_write(const struct acceptance *acceptance, const char *path,
                              enum status (*put)(const struct acceptance *acceptance, FILE *out))
{
    struct draft text;
    if (!path)
        return STATUS_OK;
    enum status made = put(acceptance, draft_open(&text));
    return draft_put(&text, made, path);
}

enum status accept_files_write(const struct acceptance *acceptance)
{
    const struct accept_options *options = acceptance->asked;
    bool whole = acceptance->judged;
    const char *made = whole ? options->write_profile : NULL;
    if (made && !accept_any(acceptance, HEALTH_GOOD)) {
        say("the profile %s is not written: no host is good", made);
        made = NULL;
    }
    enum status good = list_write(acceptance, HEALTH_GOOD, whole ? options->good : NULL);
    enum status bad = list_write(acceptance, HEALTH_BAD, options->bad);
    enum status profile = file_write(acceptance, made, written_profile_put);
    enum status junit = file_write(acceptance, options->junit, junit_put);
    return status_worse(status_worse(good, bad), status_worse(profile, junit));
}

/*
 * An acceptance run as a JSON document.
 */
static json_t *fact_name(const void *object, const void *context)
{
    char name[RULE_KEY_MOST];
    const struct inventory_fact *fact = object;
    (void)context;
    return json_string(fact_rule_name(fact->rule, name));
}

static json_t *fact_value(const void *object, const void *context)
{
    char value[VALUE_TEXT_MOST];
    (void)context;
    return json_string(fact_text(object, value));
}

const struct json_field host_fact_fields[] = {
    {"part", "string", "empty: the host", JSON_MEMBER(struct inventory_fact, part)},
    {"fact", "name", "name of the fact, such as nic.rate", JSON_MADE(fact_name)},
    {"value", "name", "value of the fact, with its unit", JSON_MADE(fact_value)},
    {0},
};

struct accepted_host {
    int number;
    const char *name, *leaf; /* NULL: the switch is not known */
    enum health health;
    struct fleet_host at;
    const struct inventory *inventory; /* NULL: not known */
};

static json_t *host_agents(const void *object, const void *context)
{
    const struct accepted_host *host = object;
    json_t *agents = json_array();
    (void)context;
    for (int a = 0; a < host->at.count; a++)
        json_array_append_new(agents, json_integer(host->at.agents[a]));
    return agents;
}

static json_t *host_inventory(const void *object, const void *context)
{
    const struct inventory *inventory = ((const struct accepted_host *)object)->inventory;
    if (!inventory || inventory->count == 0)
        return json_null();
    return json_list_of(host_fact_fields, inventory->facts, sizeof *inventory->facts,
                        (size_t)inventory->count, context);
}

const struct json_field accepted_host_fields[] = {
    {"host", "host_index", NULL, JSON_MEMBER(struct accepted_host, number)},
    {"name", "name", "name of the host; (rank R): the agent of rank R never called",
     JSON_MEMBER(struct accepted_host, name)},
    {"health", "health", NULL, JSON_WORDS(struct accepted_host, health, health_words)},
    {"lost", "boolean", "did an agent of it die or fall silent?",
     JSON_MEMBER(struct accepted_host, at.lost)},
    {"stopped_seconds", "amount", "in which its agent did not run, in pieces of 0.2 s and more",
     JSON_SCALED(struct accepted_host, at.gaps.stopped_us, 1e-6)},
    {"unheard_seconds", "amount",
     "in which it ran and heard no word of rank 0, in pieces of 0.25 s and more",
     JSON_SCALED(struct accepted_host, at.gaps.unheard_us, 1e-6)},
    {"agents", "[rank]{1,0}", "ranks of its agents", JSON_MADE(host_agents)},
    {"switch", "name?", "that it is cabled to, by --switches; null: not known",
     JSON_MEMBER(struct accepted_host, leaf)},
    {"inventory", "[host_fact]{1,0}?", "what it has; null: not known", JSON_MADE(host_inventory)},
    {0},
};

static json_t *hosts_json(const void *object, const void *context)
{
    const struct acceptance *acceptance = context;
    const struct switch_level *leaves = &acceptance->leaves;
    json_t *hosts = json_array();
    int count = acceptance->roster ? acceptance->roster->host_count : 0;
    enum health *healths = acceptance_healths(acceptance);
    (void)object;
    for (int h = 0; h < count; h++) {
        bool known = leaves->count > 0 && leaves->switches[h] >= 0 && !leaves->inferred;
        const struct accepted_host host = {
            .number = h,
            .name = acceptance->labels[h],
            .leaf = known ? leaves->name[leaves->switches[h]] : NULL,
            .health = healths[h],
            .at = acceptance->roster->hosts[h],
            .inventory = acceptance->inventories ? &acceptance->inventories[h] : NULL};
        json_array_append_new(hosts, json_object_of(accepted_host_fields, &host, NULL));
    }
    free(healths);
    return hosts;
}

static json_t *stages_json(const void *object, const void *context)
{
    const struct acceptance *acceptance = context;
    (void)object;
    return json_list_of(stage_result_fields, acceptance->stages, sizeof *acceptance->stages,
                        (size_t)acceptance->stage_count, context);
}

/* A reading with what it measured, in words. */
struct shown_reading {
    struct reading is; /* value: NAN: there is none */
    const char *metric, *unit, *part;
};

const struct json_field host_number_fields[] = {
    {"stage", "stage", "stage that measured the number",
     JSON_WORDS(struct shown_reading, is.stage, accept_stage_names)},
    {"host", "host_index", NULL, JSON_MEMBER(struct shown_reading, is.from)},
    {"metric", "name", "in words", JSON_MEMBER(struct shown_reading, metric)},
    {"part", "name?",
     "the CPU or GPU that has this value, the worst of the host; null: the metric is of the whole "
     "host, or of the port that it names",
     JSON_MEMBER(struct shown_reading, part)},
    {"unit", "name", "of the value, as GB/s (10^9 bytes a second) or us",
     JSON_MEMBER(struct shown_reading, unit)},
    {"value", "number", "the number, in that unit", JSON_MEMBER(struct shown_reading, is.value)},
    {0},
};

const struct json_field pair_reading_fields[] = {
    {"stage", "pairs|isolate", "stage that measured the pair",
     JSON_WORDS(struct shown_reading, is.stage, accept_stage_names)},
    {"from", "host_index", NULL, JSON_MEMBER(struct shown_reading, is.from)},
    {"to", "host_index", NULL, JSON_MEMBER(struct shown_reading, is.to)},
    {"rail", "count", "index of the rail, from 0", JSON_MEMBER(struct shown_reading, is.rail)},
    {"part", "name?", "the NIC port of the rail; null: the transports as they were given",
     JSON_MEMBER(struct shown_reading, part)},
    {"metric", "latency|alone|both|loss",
     "latency, bandwidth alone, or of both directions at once, or the packets that are sent again",
     JSON_MEMBER(struct shown_reading, metric)},
    {"unit", "us|GB/s|%", "unit of the value: us, GB/s (10^9 bytes a second), % of the packets",
     JSON_MEMBER(struct shown_reading, unit)},
    {"outcome", "outcome", NULL,
     JSON_WORDS(struct shown_reading, is.outcome, reading_outcome_names)},
    {"value", "amount?", "null: the outcome is not ok",
     JSON_MEMBER(struct shown_reading, is.value)},
    {0},
};

/* Readings of hosts by themselves, or those of pairs. */
static json_t *readings_json(const struct acceptance *acceptance, bool of_pairs)
{
    json_t *list = json_array();
    for (int i = 0; i < acceptance->readings.count; i++) {
        struct shown_reading shown = {.is = acceptance->readings.items[i]};
        const struct host_number *number = shown.is.number;
        if (of_pairs != !number)
            continue;
        if (number) {
            shown.metric = number->name;
            shown.unit = value_unit_names[number->measured->unit];
            shown.part = shown.is.part;
        } else {
            shown.metric = measured_numbers[MEASURED_PAIRS + shown.is.metric].name;
            shown.unit = metric_unit(shown.is.metric);
            shown.part = acceptance->rails.names[shown.is.rail];
            shown.is.value = shown.is.outcome == READING_VALUE ? shown.is.value : NAN;
        }
        json_array_append_new(
            list, json_object_of(number ? host_number_fields : pair_reading_fields, &shown, NULL));
    }
    return list;
}

static json_t *numbers_json(const void *object, const void *context)
{
    (void)object;
    return readings_json(context, false);
}

static json_t *pairs_json(const void *object, const void *context)
{
    (void)object;
    return readings_json(context, true);
}

static json_t *growth_faults(const void *object, const void *context)
{
    const struct counter_growth *growth = object;
    (void)context;
    return counters_object(&growth->device.counters, COUNTER_FAULTY);
}

static json_t *growth_congested(const void *object, const void *context)
{
    const struct counter_growth *growth = object;
    (void)context;
    return counters_object(&growth->device.counters, COUNTER_CONGESTED);
}

const struct json_field counter_growth_fields[] = {
    {"stage", "stage", "stage in which it was counted",
     JSON_WORDS(struct counter_growth, stage, accept_stage_names)},
    {"rotation", "count", "of the soak; 0: none", JSON_MEMBER(struct counter_growth, rotation)},
    {"host", "host_index", NULL, JSON_MEMBER(struct counter_growth, host)},
    {"name", "name", "of the device", JSON_MEMBER(struct counter_growth, device.name)},
    {"faults", "counters", NULL, JSON_MADE(growth_faults)},
    {"congested", "counters", NULL, JSON_MADE(growth_congested)},
    {0},
};

static json_t *counters_json(const void *object, const void *context)
{
    const struct acceptance *acceptance = context;
    (void)object;
    return json_list_of(counter_growth_fields, acceptance->growth.items,
                        sizeof *acceptance->growth.items, (size_t)acceptance->growth.count,
                        context);
}

static const char *const references[REFERENCES] = {
    [REFERENCE_FLEET] = "fleet",     [REFERENCE_RATE] = "rate",     [REFERENCE_EARLIER] = "earlier",
    [REFERENCE_PROFILE] = "profile", [REFERENCE_FAILURE] = "fleet", [REFERENCE_RAILS] = "rails"};

const struct json_field reason_fields[] = {
    {"value", "number", "measured value of the host or link",
     JSON_MEMBER(struct found, reason.value)},
    {"unit", "name", "of all of them", JSON_MEMBER(struct found, unit)},
    {"median", "number", "of the fleet", JSON_MEMBER(struct found, reason.median)},
    {"spread", "amount", "the standard deviation as the median absolute deviation estimates it",
     JSON_MEMBER(struct found, reason.deviation)},
    {"threshold", "number", "limit beyond which a value is taken for a fault",
     JSON_MEMBER(struct found, reason.threshold)},
    {"compared_with", "fleet|rate|earlier|profile|rails", "what the threshold comes from",
     JSON_WORDS(struct found, reason.reference, references)},
    {0},
};

struct advised {
    enum action action;
    const char *sentence;
};

const struct json_field finding_action_fields[] = {
    {"name", "cable|reseat|replace|firmware|reconfigure|load|diagnose|reboot|start|take-out|switch",
     "kind of action", JSON_WORDS(struct advised, action, action_words)},
    {"sentence", "name", "the action in words", JSON_MEMBER(struct advised, sentence)},
    {0},
};

static json_t *finding_status(const void *object, const void *context)
{
    const struct found *found = object;
    (void)context;
    return json_string(status_word(found->status));
}

static json_t *finding_action(const void *object, const void *context)
{
    const struct found *found = object;
    const struct advised advised = {found_action(found->kind), found_advice(found->kind)};
    return advised.sentence ? json_object_of(finding_action_fields, &advised, context)
                            : json_null();
}

static json_t *finding_reason(const void *object, const void *context)
{
    const struct found *found = object;
    return found->unit ? json_object_of(reason_fields, found, context) : json_null();
}

const struct json_field finding_fields[] = {
    {"stage", "stage", "stage that found it", JSON_WORDS(struct found, stage, accept_stage_names)},
    {"health", "health", NULL, JSON_WORDS(struct found, health, health_words)},
    {"host", "count?", "null: of none alone", JSON_MEMBER(struct found, host)},
    {"peer", "count?", "the other end of a link, or null", JSON_MEMBER(struct found, peer)},
    {"status", "status", "that the finding gives the run", JSON_MADE(finding_status)},
    {"message", "name", "the sentence", JSON_MEMBER(struct found, text)},
    {"action", "finding_action?", "what to do about it; null: nothing follows from what was seen",
     JSON_MADE(finding_action)},
    {"reason", "reason?",
     "the number that is the reason, beside the fleet's; null: it is no number",
     JSON_MADE(finding_reason)},
    {"rotation", "count", "of a soak in which it was found first; 0: before, or of all",
     JSON_MEMBER(struct found, rotation)},
    {"rotations", "count", "in which it was found again", JSON_MEMBER(struct found, rotations)},
    {0},
};

static json_t *findings_json(const void *object, const void *context)
{
    const struct findings *findings = &((const struct acceptance *)context)->findings;
    (void)object;
    return json_list_of(finding_fields, findings->items, sizeof *findings->items,
                        (size_t)findings->count, context);
}

static json_t *missed_json(const void *object, const void *context)
{
    const struct acceptance *acceptance = context;
    (void)object;
    if (!acceptance->judged)
        return json_null();
    struct missed missed = missed_by(acceptance);
    return json_object_of(missed_fields, &missed, context);
}

/* The lines that take bad hosts out of Slurm. */
static json_t *drain_json(const void *object, const void *context)
{
    const struct acceptance *acceptance = context;
    json_t *lines = json_array();
    (void)object;
    for (int h = 0; acceptance->roster && h < acceptance->roster->host_count; h++) {
        char line[DRAIN_LINE_MOST];
        if (accept_drain_line(acceptance, h, line))
            json_array_append_new(lines, json_string(line));
    }
    return lines;
}

struct accept_error {
    int rank;
    const char *host, *phase;
    struct failure failure;
};

const struct json_field accept_error_fields[] = {
    {"rank", "rank", NULL, JSON_MEMBER(struct accept_error, rank)},
    {"host", "string", "always empty", JSON_MEMBER(struct accept_error, host)},
    {"phase", "accept_word", "always accept", JSON_MEMBER(struct accept_error, phase)},
    {"message", "name", "the sentence", JSON_MEMBER(struct accept_error, failure.text)},
    {0},
};

/* The failure of rank 0, if it has one. */
static json_t *errors_json(const void *object, const void *context)
{
    struct accept_error error = {.host = "", .phase = "accept"};
    bool failed = log_failure(log_current(), &error.failure);
    (void)object;
    return json_list_of(accept_error_fields, &error, sizeof error, failed, context);
}

struct accept_document {
    json_t *command_line, *began, *options, *rotations;
    double seconds;
    const char *command, *status, *bootstrap;
};

/* Their context is the acceptance. */
const struct json_field accept_fields[] = {
    JSON_DOCUMENT,
    {"command_line", "name", "of rank 0, with what its environment gave",
     JSON_MEMBER(struct accept_document, command_line)},
    {"began", "date", "when the run began, in UTC: 2026-11-29T05:38:04Z",
     JSON_MEMBER(struct accept_document, began)},
    {"seconds", "amount", "since then", JSON_MEMBER(struct accept_document, seconds)},
    {"command", "accept_word", "command that wrote the document",
     JSON_MEMBER(struct accept_document, command)},
    {"status", "status", NULL, JSON_MEMBER(struct accept_document, status)},
    {"bootstrap", "name", "how the agents met", JSON_MEMBER(struct accept_document, bootstrap)},
    {"options", "accept_options", "options of the run",
     JSON_MEMBER(struct accept_document, options)},
    {"hosts", "[accepted_host]", "in the order of their numbers", JSON_MADE(hosts_json)},
    {"stages", "[stage_result]", "that were run or left out, in order", JSON_MADE(stages_json)},
    {"counters", "[counter_growth]", "of errors and of a busy network, that have grown",
     JSON_MADE(counters_json)},
    {"numbers", "[host_number]", "of single hosts", JSON_MADE(numbers_json)},
    {"pairs", "[pair_reading]", "measurements of pairs of hosts", JSON_MADE(pairs_json)},
    {"rotations", "[rotation]{1,0}?", "of a soak, or null: there is none",
     JSON_MEMBER(struct accept_document, rotations)},
    {"findings", "[finding]", "faults and notes, in the order of discovery",
     JSON_MADE(findings_json)},
    {"could_have_missed", "missed?",
     "the largest faults that this run may not have seen; null: it goes on, or ended early",
     JSON_MADE(missed_json)},
    {"drain", "names", "a command for each bad host that takes it out of Slurm",
     JSON_MADE(drain_json)},
    {"errors", "[accept_error]", "why the run itself failed", JSON_MADE(errors_json)},
    {0},
};

json_t *accept_json(const struct acceptance *acceptance, const struct accept_origin *origin,
                    const enum status *status)
{
    const struct accept_document head = {
        .command_line = command_line_json(origin->request),
        .began = json_date(origin->date),
        .options = json_options(origin->request, FOR_ACCEPT),
        .rotations = acceptance->rotations,
        .seconds = clock_seconds() - origin->began,
        .command = "accept",
        .status = status ? status_word(*status) : "running",
        .bootstrap = acceptance->bootstrap,
    };
    json_t *document = json_object_of(accept_fields, &head, acceptance);
    json_decref(head.command_line);
    json_decref(head.began);
    json_decref(head.options);
    return document;
}
