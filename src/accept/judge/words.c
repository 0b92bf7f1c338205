/*
 * words.c - a finding as one sentence.
 */
#include "accept/judge/judge.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

/* "n17: mlx5_2 ", or "n17 " where the fact is the host's own. */
static void subject_put(struct text *text, const char *host, const char *part)
{
    text_add(text, "%s%s%s ", host, part[0] ? ": " : "", part);
}

/* "runs at 200 Gb/s", "has 7 GPUs" */
static void value_put(struct text *text, const struct inventory_fact *fact)
{
    char value[VALUE_TEXT_MOST];
    const struct fact_rule *rule = fact->rule;
    const char *star = strchrnul(rule->after, '*');
    text_add(text, "%s %s%s%.*s", rule->before, fact_text(fact, value), rule->after[0] ? " " : "",
             (int)(star - rule->after), rule->after);
    if (*star)
        text_add(text, "%s%s", fact->number == 1 ? "" : "s", star + 1);
}

/* "63 of 64 hosts have 400": the unit is left out if it was said before. */
static void majority_put(struct text *text, const struct inventory_finding *finding)
{
    char value[VALUE_TEXT_MOST];
    const struct inventory_fact *fact = finding->fact, *majority = finding->majority;
    enum value_unit unit = majority->rule->unit;
    bool says_unit = fact == majority || unit == VALUE_TEXT || unit == VALUE_BYTES ||
                     unit == VALUE_LANES || isinf(fact->number) || isinf(majority->number);
    value_text(says_unit ? unit : VALUE_COUNT, majority->number, value);
    text_add(text, "; %d of %d hosts have %s", finding->holders, finding->total,
             unit == VALUE_TEXT ? majority->text : value);
}

static void differs_put(struct text *text, const struct inventory_finding *finding)
{
    const char *parts = finding->parts;
    value_put(text, finding->fact);
    majority_put(text, finding);
    if (parts[0])
        text_add(text, " (%s %s %s)", parts, strchr(parts, ',') ? "are" : "is",
                 finding->fact->number < finding->majority->number ? "missing" : "only there");
}

/* "n1 and n2 differ in nic.rate of mlx5_2: 200 Gb/s and 400 Gb/s", or of more hosts "4 hosts
 * differ in ... without a majority: 2 have 200 Gb/s (n1, ...), 2 have 400 Gb/s (n3, ...)" */
static void split_put(struct text *text, const struct inventory_finding *finding,
                      const struct inventory_host *hosts)
{
    char name[RULE_KEY_MOST], value[VALUE_TEXT_MOST];
    const struct inventory_fact *fact = finding->fact;
    const struct split_value *values = finding->values;
    bool is_pair = finding->total == 2;
    if (is_pair)
        text_add(text, "%s and %s differ", hosts[values[0].host].name, hosts[values[1].host].name);
    else
        text_add(text, "%d hosts differ", finding->total);
    text_add(text, " in %s%s%s%s:", fact_rule_name(fact->rule, name), fact->part[0] ? " of " : "",
             fact->part, is_pair ? "" : " without a majority");
    for (int i = 0; i < finding->value_count && i < FINDING_VALUES_MOST; i++) {
        const char *said = fact_text(values[i].fact, value);
        if (is_pair)
            text_add(text, "%s %s", i > 0 ? " and" : "", said);
        else
            text_add(text, "%s %d %s %s (%s%s)", i > 0 ? "," : "", values[i].holders,
                     values[i].holders == 1 ? "has" : "have", said, hosts[values[i].host].name,
                     values[i].holders > 1 ? ", ..." : "");
    }
    if (finding->value_count > FINDING_VALUES_MOST)
        text_add(text, ", and %d more values", finding->value_count - FINDING_VALUES_MOST);
}

static void best_put(struct text *text, const struct inventory_finding *finding)
{
    char value[VALUE_TEXT_MOST];
    value_put(text, finding->fact);
    text_add(text, "; its best is %s",
             value_text(finding->fact->rule->unit, finding->fact->best, value));
}

static void unexpected_put(struct text *text, const struct inventory_finding *finding)
{
    const struct profile_line *line = &finding->expectation->line;
    if (finding->fact)
        value_put(text, finding->fact);
    else
        text_add(text, "tells no %s", line->key);
    text_add(text, "; %s:%d expects %s %s %s", line->file, line->number, line->key,
             profile_operator_names[line->operator], line->value);
}

const char *finding_text(const struct inventory_finding *finding,
                         const struct inventory_host *hosts, char text[FINDING_TEXT_MOST])
{
    char every[64], name[RULE_KEY_MOST];
    struct text put = text_in(text, FINDING_TEXT_MOST);
    snprintf(every, sizeof every, "%d of %d hosts", finding->holders, finding->total);
    const char *host = finding->host >= 0 ? hosts[finding->host].name : every;
    bool tells_part = finding->fact && finding->lapse != LAPSE_SILENT;
    if (finding->lapse != LAPSE_SPLIT)
        subject_put(&put, host, tells_part ? finding->fact->part : "");
    switch (finding->lapse) {
    case LAPSE_DIFFERS:
        differs_put(&put, finding);
        break;
    case LAPSE_SPLIT:
        split_put(&put, finding, hosts);
        break;
    case LAPSE_LACKS:
        text_add(&put, "tells no %s", fact_rule_name(finding->fact->rule, name));
        majority_put(&put, finding);
        break;
    case LAPSE_BELOW_BEST:
        best_put(&put, finding);
        break;
    case LAPSE_SILENT:
        text_add(&put, "does not tell of its %s: %s", finding->fact->part, finding->fact->text);
        break;
    case LAPSE_UNEXPECTED:
        unexpected_put(&put, finding);
        break;
    default:
        value_put(&put, finding->fact);
    }
    return text;
}
