/*
 * accept_files.c - what others read of an acceptance run: lists of hosts for Slurm, and JUnit XML.
 */
#include "cli/accept/internal.h"

#include "accept/judge/judge.h"
#include "base/clock.h"
#include "base/host_list.h"
#include "base/io/io.h"
#include "base/log.h"
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
/* The inventory of a host; null: it is not known. */
static json_t *inventory_json(const struct acceptance *acceptance, int host)
{
    const struct inventory *inventory =
        acceptance->inventories ? &acceptance->inventories[host] : NULL;
    if (!inventory || inventory->count == 0)
        return json_null();
    json_t *facts = json_array();
    for (int i = 0; i < inventory->count; i++) {
        const struct inventory_fact *fact = &inventory->facts[i];
        char value[VALUE_TEXT_MOST], name[RULE_KEY_MOST];
        json_array_append_new(facts, json_pack("{s:s, s:s, s:s}", "part", fact->part, "fact",
                                               fact_rule_name(fact->rule, name), "value",
                                               fact_text(fact, value)));
    }
    return facts;
}

/* The switch that the host is cabled to; NULL: it is not known. */
static const char *switch_of(const struct acceptance *acceptance, int host)
{
    const struct switch_level *leaves = &acceptance->leaves;
    bool known = leaves->count > 0 && leaves->switches[host] >= 0 && !leaves->inferred;
    return known ? leaves->name[leaves->switches[host]] : NULL;
}

static json_t *hosts_json(const struct acceptance *acceptance)
{
    json_t *hosts = json_array();
    int count = acceptance->roster ? acceptance->roster->host_count : 0;
    enum health *healths = acceptance_healths(acceptance);
    for (int h = 0; h < count; h++) {
        const struct fleet_host *host = &acceptance->roster->hosts[h];
        json_t *agents = json_array();
        for (int a = 0; a < host->count; a++)
            json_array_append_new(agents, json_integer(host->agents[a]));
        json_array_append_new(
            hosts,
            json_pack("{s:i, s:s, s:s, s:b, s:f, s:f, s:o, s:s?, s:o}", "host", h, "name",
                      acceptance->labels[h], "health", health_words[healths[h]], "lost", host->lost,
                      "stopped_seconds", 1e-6 * (double)host->gaps.stopped_us, "unheard_seconds",
                      1e-6 * (double)host->gaps.unheard_us, "agents", agents, "switch",
                      switch_of(acceptance, h), "inventory", inventory_json(acceptance, h)));
    }
    free(healths);
    return hosts;
}

static json_t *stages_json(const struct acceptance *acceptance)
{
    json_t *stages = json_array();
    for (int s = 0; s < acceptance->stage_count; s++) {
        const struct stage_result *result = &acceptance->stages[s];
        json_t *stage = stage_json(result);
        json_object_set(stage, "jobs", result->jobs);
        json_array_append_new(stages, stage);
    }
    return stages;
}

/* Numbers of hosts by themselves. */
static json_t *numbers_json(const struct acceptance *acceptance)
{
    json_t *numbers = json_array();
    for (int i = 0; i < acceptance->readings.count; i++) {
        const struct reading *reading = &acceptance->readings.items[i];
        if (!reading->number)
            continue;
        json_t *part = reading->part[0] ? json_string(reading->part) : json_null();
        json_array_append_new(
            numbers,
            json_pack("{s:s, s:i, s:s, s:o, s:s, s:f}", "stage", accept_stage_names[reading->stage],
                      "host", reading->from, "metric", reading->number->name, "part", part, "unit",
                      value_unit_names[reading->number->measured->unit], "value", reading->value));
    }
    return numbers;
}

/* Readings of pairs of hosts. */
static json_t *pairs_json(const struct acceptance *acceptance)
{
    json_t *pairs = json_array();
    for (int i = 0; i < acceptance->readings.count; i++) {
        const struct reading *reading = &acceptance->readings.items[i];
        if (reading->number)
            continue;
        json_array_append_new(
            pairs,
            json_pack("{s:s, s:i, s:i, s:i, s:s?, s:s, s:s, s:s, s:o}", "stage",
                      accept_stage_names[reading->stage], "from", reading->from, "to", reading->to,
                      "rail", reading->rail, "part", acceptance->rails.names[reading->rail],
                      "metric", measured_numbers[MEASURED_PAIRS + reading->metric].name, "unit",
                      metric_unit(reading->metric), "outcome",
                      reading_outcome_names[reading->outcome], "value",
                      reading->outcome == READING_VALUE ? json_real(reading->value) : json_null()));
    }
    return pairs;
}

static json_t *counters_json(const struct acceptance *acceptance)
{
    json_t *all = json_array();
    for (int i = 0; i < acceptance->growth.count; i++) {
        const struct counter_growth *growth = &acceptance->growth.items[i];
        const struct counter_list *counters = &growth->device.counters;
        json_array_append_new(all, json_pack("{s:s, s:i, s:i, s:s, s:o, s:o}", "stage",
                                             accept_stage_names[growth->stage], "rotation",
                                             growth->rotation, "host", growth->host, "name",
                                             growth->device.name, "faults",
                                             counters_object(counters, COUNTER_FAULTY), "congested",
                                             counters_object(counters, COUNTER_CONGESTED)));
    }
    return all;
}

/* The number that is the reason, beside the fleet's; null: there is none. */
static json_t *reason_json(const struct found *found)
{
    static const char *const references[REFERENCES] = {
        [REFERENCE_FLEET] = "fleet",     [REFERENCE_RATE] = "rate",
        [REFERENCE_EARLIER] = "earlier", [REFERENCE_PROFILE] = "profile",
        [REFERENCE_FAILURE] = "fleet",   [REFERENCE_RAILS] = "rails"};
    const struct reason *reason = &found->reason;
    if (!found->unit)
        return json_null();
    return json_pack("{s:f, s:s, s:f, s:f, s:f, s:s}", "value", reason->value, "unit", found->unit,
                     "median", reason->median, "spread", reason->deviation, "threshold",
                     reason->threshold, "compared_with", references[reason->reference]);
}

/* The action of a finding; null: it asks for none. */
static json_t *action_json(const struct found *found)
{
    const char *advice = found_advice(found->kind);
    return advice ? json_pack("{s:s, s:s}", "name", action_words[found_action(found->kind)],
                              "sentence", advice)
                  : json_null();
}

static json_t *findings_json(const struct findings *findings)
{
    json_t *all = json_array();
    for (int i = 0; i < findings->count; i++) {
        const struct found *found = &findings->items[i];
        json_array_append_new(
            all, json_pack("{s:s, s:s, s:o, s:o, s:s, s:s, s:o, s:o, s:i, s:i}", "stage",
                           accept_stage_names[found->stage], "health", health_words[found->health],
                           "host", found->host < 0 ? json_null() : json_integer(found->host),
                           "peer", found->peer < 0 ? json_null() : json_integer(found->peer),
                           "status", status_word(found->status), "message", found->text, "action",
                           action_json(found), "reason", reason_json(found), "rotation",
                           found->rotation, "rotations", found->rotations));
    }
    return all;
}

static json_t *finite_json(double number)
{
    return isfinite(number) ? json_real(number) : json_null();
}

/* Null: not all stages ran. */
static json_t *missed_json(const struct acceptance *acceptance)
{
    if (!acceptance->judged)
        return json_null();
    struct missed missed = missed_by(acceptance);
    return json_pack("{s:o, s:o, s:o, s:o, s:f, s:f}", "host_bandwidth_share",
                     finite_json(missed.host_bandwidth), "link_bandwidth_share",
                     finite_json(missed.link_bandwidth), "latency_us", finite_json(missed.latency),
                     "loss_percent", finite_json(missed.loss), "standstill_seconds",
                     missed.standstill, "interval_seconds", missed.interval);
}

/* The failure of rank 0, if it has one. */
static json_t *errors_json(void)
{
    struct failure failure;
    json_t *errors = json_array();
    if (log_failure(log_current(), &failure))
        json_array_append_new(errors, json_pack("{s:i, s:s, s:s, s:s}", "rank", 0, "host", "",
                                                "phase", "accept", "message", failure.text));
    return errors;
}

/* The lines that take bad hosts out of Slurm. */
static json_t *drain_json(const struct acceptance *acceptance)
{
    json_t *lines = json_array();
    for (int h = 0; acceptance->roster && h < acceptance->roster->host_count; h++) {
        char line[DRAIN_LINE_MOST];
        if (accept_drain_line(acceptance, h, line))
            json_array_append_new(lines, json_string(line));
    }
    return lines;
}

json_t *accept_json(const struct acceptance *acceptance, const struct accept_origin *origin,
                    const enum status *status)
{
    json_t *document = json_document();
    if (!document)
        return NULL;
    json_object_set_new(document, "command_line", command_line_json(origin->request));
    json_object_set_new(document, "began", json_date(origin->date));
    json_object_set_new(document, "seconds", json_real(clock_seconds() - origin->began));
    json_object_set_new(document, "command", json_string("accept"));
    json_object_set_new(document, "status", json_string(status ? status_word(*status) : "running"));
    json_object_set_new(document, "bootstrap", json_string(acceptance->bootstrap));
    json_object_set_new(document, "options", json_options(origin->request, FOR_ACCEPT));
    json_object_set_new(document, "hosts", hosts_json(acceptance));
    json_object_set_new(document, "stages", stages_json(acceptance));
    json_object_set_new(document, "counters", counters_json(acceptance));
    json_object_set_new(document, "numbers", numbers_json(acceptance));
    json_object_set_new(document, "pairs", pairs_json(acceptance));
    json_object_set(document, "rotations",
                    acceptance->rotations ? acceptance->rotations : json_null());
    json_object_set_new(document, "findings", findings_json(&acceptance->findings));
    json_object_set_new(document, "could_have_missed", missed_json(acceptance));
    json_object_set_new(document, "drain", drain_json(acceptance));
    json_object_set_new(document, "errors", errors_json());
    return document;
}
