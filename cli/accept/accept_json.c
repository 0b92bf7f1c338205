/*
 * accept_json.c - an acceptance run as a JSON document.
 */
#include "cli/accept/internal.h"

#include "accept/accept.h"
#include "base/log.h"
#include "cli/options/options.h"
#include "cli/run/run.h"
#include "base/io/io.h"
#include "accept/judge/judge.h"

/* What a host has; null: that is not known. */
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

/* That the host is cabled to; NULL: not known. */
static const char *switch_of(const struct acceptance *acceptance, int host)
{
    const struct switch_level *leaves = &acceptance->leaves;
    bool known = leaves->count > 0 && leaves->of[host] >= 0;
    return known ? leaves->name[leaves->of[host]] : NULL;
}

static json_t *hosts_json(const struct acceptance *acceptance)
{
    json_t *hosts = json_array();
    for (int h = 0; acceptance->roster && h < acceptance->roster->host_count; h++) {
        const struct fleet_host *host = &acceptance->roster->hosts[h];
        json_t *agents = json_array();
        for (int a = 0; a < host->count; a++)
            json_array_append_new(agents, json_integer(host->agents[a]));
        json_array_append_new(
            hosts, json_pack("{s:i, s:s, s:s, s:b, s:o, s:s?, s:o}", "host", h, "name",
                             host_label(acceptance, h), "health",
                             health_words[findings_health(&acceptance->findings, h)], "lost",
                             host->lost, "agents", agents, "switch", switch_of(acceptance, h),
                             "inventory", inventory_json(acceptance, h)));
    }
    return hosts;
}

static json_t *stages_json(const struct acceptance *acceptance)
{
    json_t *stages = json_array();
    for (int s = 0; s < acceptance->stage_count; s++) {
        const struct stage_result *result = &acceptance->stages[s];
        json_array_append_new(stages, json_pack("{s:s, s:s, s:s, s:s, s:f, s:O}", "stage",
                                                accept_stage_names[result->stage], "state",
                                                stage_state_names[result->state], "why",
                                                result->why, "result", result->text, "seconds",
                                                result->seconds, "jobs", result->jobs));
    }
    return stages;
}

static json_t *numbers_json(const struct acceptance *acceptance)
{
    json_t *numbers = json_array();
    for (int i = 0; i < acceptance->number_count; i++) {
        const struct host_number *number = &acceptance->numbers[i];
        json_t *part = number->part[0] ? json_string(number->part) : json_null();
        json_array_append_new(numbers,
                              json_pack("{s:s, s:i, s:s, s:o, s:s, s:f}", "stage",
                                        accept_stage_names[number->stage], "host", number->host,
                                        "metric", number->metric, "part", part, "unit",
                                        number->unit, "value", number->value));
    }
    return numbers;
}

static void pairs_add(json_t *pairs, const struct acceptance *acceptance,
                      const struct readings *readings, enum accept_stage stage)
{
    for (size_t i = 0; i < readings->count; i++) {
        const struct reading *reading = &readings->of[i];
        json_array_append_new(
            pairs,
            json_pack("{s:s, s:i, s:i, s:i, s:s?, s:s, s:s, s:s, s:o}", "stage",
                      accept_stage_names[stage], "from", reading->from, "to", reading->to, "rail",
                      reading->rail, "part", acceptance->rails.names[reading->rail], "metric",
                      reading_metric_names[reading->metric], "unit", metric_unit(reading->metric),
                      "outcome", reading_outcome_names[reading->outcome], "value",
                      reading->outcome == READING_VALUE ? json_real(reading->value) : json_null()));
    }
}

static json_t *pairs_json(const struct acceptance *acceptance)
{
    json_t *pairs = json_array();
    pairs_add(pairs, acceptance, &acceptance->paired, STAGE_PAIRS);
    pairs_add(pairs, acceptance, &acceptance->isolated, STAGE_ISOLATE);
    return pairs;
}

static json_t *counters_json(const struct acceptance *acceptance)
{
    json_t *all = json_array();
    for (int i = 0; i < acceptance->growth_count; i++) {
        const struct counter_growth *growth = &acceptance->growth[i];
        const struct counter_list *counters = &growth->device.counters;
        json_array_append_new(all, json_pack("{s:s, s:i, s:i, s:s, s:o, s:o}", "stage",
                                             accept_stage_names[growth->stage], "rotation",
                                             growth->rotation, "host", growth->host, "name",
                                             growth->device.name, "faults",
                                             counters_object(counters, COUNTER_SICK), "congested",
                                             counters_object(counters, COUNTER_CONGESTED)));
    }
    return all;
}

/* The number that is the reason, beside the fleet's; null: there is none. */
static json_t *reason_json(const struct found *found)
{
    static const char *const yardsticks[YARDSTICKS] = {
        [YARDSTICK_FLEET] = "fleet",     [YARDSTICK_RATE] = "rate",
        [YARDSTICK_EARLIER] = "earlier", [YARDSTICK_PROFILE] = "profile",
        [YARDSTICK_FAILURE] = "fleet",   [YARDSTICK_RAILS] = "rails"};
    const struct reason *reason = &found->reason;
    if (!found->unit)
        return json_null();
    return json_pack("{s:f, s:s, s:f, s:f, s:f, s:s}", "value", reason->value, "unit", found->unit,
                     "median", reason->median, "spread", reason->deviation, "threshold",
                     reason->threshold, "compared_with", yardsticks[reason->yardstick]);
}

static json_t *findings_json(const struct findings *findings)
{
    json_t *all = json_array();
    for (int i = 0; i < findings->count; i++) {
        const struct found *found = &findings->of[i];
        json_array_append_new(
            all, json_pack("{s:s, s:s, s:o, s:o, s:s, s:s, s:o, s:i, s:i}", "stage",
                           accept_stage_names[found->stage], "health", health_words[found->health],
                           "host", found->host < 0 ? json_null() : json_integer(found->host),
                           "peer", found->peer < 0 ? json_null() : json_integer(found->peer),
                           "status", status_word(found->status), "message", found->text, "reason",
                           reason_json(found), "rotation", found->rotation, "rotations",
                           found->rotations));
    }
    return all;
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

json_t *accept_json(const struct acceptance *acceptance, const struct request *request,
                    const enum status *status)
{
    json_t *document = json_document();
    if (!document)
        return NULL;
    json_object_set_new(document, "command", json_string("accept"));
    json_object_set_new(document, "status", json_string(status ? status_word(*status) : "running"));
    json_object_set_new(document, "bootstrap", json_string(acceptance->bootstrap));
    json_object_set_new(document, "options", json_options(request, FOR_ACCEPT));
    json_object_set_new(document, "hosts", hosts_json(acceptance));
    json_object_set_new(document, "stages", stages_json(acceptance));
    json_object_set_new(document, "counters", counters_json(acceptance));
    json_object_set_new(document, "numbers", numbers_json(acceptance));
    json_object_set_new(document, "pairs", pairs_json(acceptance));
    json_object_set(document, "rotations",
                    acceptance->rotations ? acceptance->rotations : json_null());
    json_object_set_new(document, "findings", findings_json(&acceptance->findings));
    json_object_set_new(document, "errors", errors_json());
    return document;
}
