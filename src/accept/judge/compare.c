/*
 * compare.c - in what hosts differ from the majority, and fall short of their own best.
 *
 * The facts of all hosts are sorted, so that those of one part and key follow each other. More than
 * half of sorted values agree only if the middle one is among them, so it is the candidate.
 */
#include "accept/judge/judge.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/numbers.h"

#define FLEET_LEAST 3 /* hosts of which a majority that falls short alike is a way of building */

struct entry {
    const struct inventory_fact *fact;
    int host;
};

/* The facts of one rule and part, in the order of their values. */
struct fact_group {
    const struct entry *entries;
    int count;
};

/* Parts that some hosts lack are few, and asked for again and again. */
#define PARTS_KEPT 32
struct part_counts {
    struct {
        enum part_kind kind;
        char part[PART_NAME_MOST];
        int hosts;
    } counts[PARTS_KEPT];
    int count;
};

struct comparing {
    const struct inventory_host *hosts;
    int host_count, present; /* hosts that have an inventory */
    struct entry *entries;
    int count;
    struct inventory_findings *findings;
    struct part_counts *parts;
};

static void finding_add(struct inventory_findings *findings,
                        const struct inventory_finding *finding)
{
    *LIST_ADD(findings->items, findings->count) = *finding;
}

static int entries_order(const void *x, const void *y)
{
    const struct entry *a = x, *b = y;
    return COMPARE(a->fact->rule, b->fact->rule) ?: strcmp(a->fact->part, b->fact->part) ?:
           strcmp(a->fact->text, b->fact->text) ?: COMPARE(a->fact->number, b->fact->number) ?:
           COMPARE(a->host, b->host);
}

static bool facts_agree(const struct inventory_fact *a, const struct inventory_fact *b)
{
    if (a->rule->unit == VALUE_TEXT)
        return strcmp(a->text, b->text) == 0;
    if (isinf(a->number) || isinf(b->number))
        return a->number == b->number;
    return fabs(a->number - b->number) <= a->rule->tolerance * fmax(a->number, b->number);
}

/* How many of the group agree with a fact. */
static int group_holders(const struct fact_group *group, const struct inventory_fact *fact)
{
    int holders = 0;
    for (int i = 0; i < group->count; i++)
        holders += facts_agree(group->entries[i].fact, fact);
    return holders;
}

/* Parts. */

static bool has_part(const struct inventory *inventory, enum part_kind kind, const char *part)
{
    for (int i = 0; inventory && i < inventory->count; i++)
        if (inventory->facts[i].rule->kind == kind && strcmp(inventory->facts[i].part, part) == 0)
            return true;
    return false;
}

static int hosts_with_part(const struct comparing *comparing, enum part_kind kind, const char *part)
{
    struct part_counts *parts = comparing->parts;
    for (int i = 0; i < parts->count; i++)
        if (parts->counts[i].kind == kind && strcmp(parts->counts[i].part, part) == 0)
            return parts->counts[i].hosts;
    int count = 0;
    for (int i = 0; i < comparing->host_count; i++)
        count += has_part(comparing->hosts[i].inventory, kind, part);
    if (parts->count < PARTS_KEPT) {
        parts->counts[parts->count].kind = kind;
        parts->counts[parts->count].hosts = count;
        snprintf(parts->counts[parts->count++].part, PART_NAME_MOST, "%s", part);
    }
    return count;
}

/* Adds the parts of a kind of `from`, each once, that `other` lacks, if most hosts have them, or
 * most do not. */
static void parts_add(const struct comparing *comparing, enum part_kind kind,
                      const struct inventory *from, const struct inventory *other, bool most_have,
                      struct text *text)
{
    const char *last = "";
    for (int i = 0; i < from->count; i++) {
        const struct inventory_fact *fact = &from->facts[i];
        if (fact->rule->kind != kind || strcmp(fact->part, last) == 0)
            continue;
        last = fact->part;
        if (other && has_part(other, kind, last))
            continue;
        bool most = 2 * hosts_with_part(comparing, kind, last) > comparing->present;
        if (most != most_have)
            continue;
        text_add(text, "%s%s", text->used ? ", " : "", last);
    }
}

/* "nic.count" counts parts; PART_HOST: another fact. */
static enum part_kind kind_counted(const struct fact_rule *rule)
{
    for (int kind = PART_HOST + 1; kind < PART_KINDS; kind++) {
        size_t length = strlen(part_kind_names[kind]);
        if (rule->kind == PART_HOST && strncmp(rule->key, part_kind_names[kind], length) == 0 &&
            strcmp(rule->key + length, ".count") == 0)
            return (enum part_kind)kind;
    }
    return PART_HOST;
}

/* Which parts a host has too few, or too many. `like`: a host of the majority. */
static void parts_name(const struct comparing *comparing, const struct inventory_finding *finding,
                       int like, char parts[FINDING_PARTS_MOST])
{
    struct text text = text_in(parts, FINDING_PARTS_MOST);
    enum part_kind kind = kind_counted(finding->fact->rule);
    const struct inventory *own = comparing->hosts[finding->host].inventory;
    const struct inventory *other = comparing->hosts[like].inventory;
    if (kind == PART_HOST)
        return;
    if (finding->fact->number < finding->majority->number)
        parts_add(comparing, kind, other, own, true, &text);
    else
        parts_add(comparing, kind, own, NULL, false, &text);
}

/* The majority. */

static enum severity severity_of(const struct inventory_fact *fact,
                                 const struct inventory_fact *majority)
{
    const struct fact_rule *rule = fact->rule;
    bool better = rule->comparison == COMPARE_LEAST && fact->number > majority->number;
    better |= rule->right && strcmp(fact->text, rule->right) == 0;
    return better ? SEVERITY_NOTE : rule->severity;
}

static void differences_add(const struct comparing *comparing, const struct fact_group *group,
                            const struct entry *majority, int holders)
{
    for (int i = 0; i < group->count; i++) {
        const struct entry *entry = &group->entries[i];
        if (facts_agree(entry->fact, majority->fact))
            continue;
        struct inventory_finding finding = {.lapse = LAPSE_DIFFERS,
                                            .severity = severity_of(entry->fact, majority->fact),
                                            .host = entry->host,
                                            .fact = entry->fact,
                                            .majority = majority->fact,
                                            .holders = holders,
                                            .total = group->count};
        parts_name(comparing, &finding, majority->host, finding.parts);
        finding_add(comparing->findings, &finding);
    }
}

static bool is_seen(const struct fact_group *group, int index)
{
    for (int i = 0; i < index; i++)
        if (facts_agree(group->entries[i].fact, group->entries[index].fact))
            return true;
    return false;
}

static void split_add(const struct comparing *comparing, const struct fact_group *group)
{
    const struct fact_rule *rule = group->entries[0].fact->rule;
    struct inventory_finding finding = {
        .lapse = LAPSE_SPLIT,
        .severity = rule->severity < SEVERITY_SUSPECT ? rule->severity : SEVERITY_SUSPECT,
        .host = -1,
        .fact = group->entries[0].fact,
        .total = group->count};
    for (int i = 0; i < group->count; i++) {
        if (is_seen(group, i))
            continue;
        if (finding.value_count < FINDING_VALUES_MOST)
            finding.values[finding.value_count] =
                (struct split_value){.host = group->entries[i].host,
                                     .holders = group_holders(group, group->entries[i].fact),
                                     .fact = group->entries[i].fact};
        finding.value_count++;
    }
    finding_add(comparing->findings, &finding);
}

/* Hosts that have the part, and not the fact. */
static void lacks_add(const struct comparing *comparing, const struct fact_group *group,
                      const struct entry *majority, int holders)
{
    const struct inventory_fact *fact = majority->fact;
    const struct fact_rule *rule = fact->rule;
    for (int host = 0; host < comparing->host_count; host++) {
        const struct inventory *inventory = comparing->hosts[host].inventory;
        if (!inventory || !has_part(inventory, rule->kind, fact->part) ||
            inventory_find(inventory, rule->kind, fact->part, rule->key))
            continue;
        const struct inventory_finding finding = {.lapse = LAPSE_LACKS,
                                                  .severity = SEVERITY_NOTE,
                                                  .host = host,
                                                  .fact = fact,
                                                  .majority = fact,
                                                  .holders = holders,
                                                  .total = group->count};
        finding_add(comparing->findings, &finding);
    }
}

static void majority_compare(const struct comparing *comparing, const struct fact_group *group)
{
    const struct entry *candidate = &group->entries[group->count / 2];
    int holders = group_holders(group, candidate->fact);
    if (2 * holders > group->count && holders >= 2) {
        differences_add(comparing, group, candidate, holders);
        if (2 * group->count > comparing->present && group->count < comparing->present)
            lacks_add(comparing, group, candidate, holders);
    } else if (group->count > 1) {
        split_add(comparing, group);
    }
}

/* A host alone. */

static bool is_below_best(const struct inventory_fact *fact)
{
    return fact->rule->best_share > 0 && fact->best > 0 &&
           fact->number < fact->rule->best_share * fact->best;
}

static void best_compare(const struct comparing *comparing, const struct fact_group *group)
{
    int below = 0;
    const struct inventory_fact *middle = group->entries[group->count / 2].fact;
    for (int i = 0; i < group->count; i++)
        below +=
            is_below_best(group->entries[i].fact) && facts_agree(group->entries[i].fact, middle);
    bool is_built_so = group->count >= FLEET_LEAST && 2 * below > group->count;
    struct inventory_finding finding = {.lapse = LAPSE_BELOW_BEST,
                                        .severity = SEVERITY_NOTE,
                                        .host = -1,
                                        .fact = middle,
                                        .holders = below,
                                        .total = group->count};
    if (is_built_so)
        finding_add(comparing->findings, &finding);
    for (int i = 0; i < group->count; i++) {
        const struct entry *entry = &group->entries[i];
        if (!is_below_best(entry->fact) || (is_built_so && facts_agree(entry->fact, middle)))
            continue;
        finding.host = entry->host;
        finding.severity = entry->fact->rule->best_severity;
        finding.fact = entry->fact;
        finding_add(comparing->findings, &finding);
    }
}

static void each_add(const struct comparing *comparing, const struct fact_group *group,
                     enum lapse lapse)
{
    for (int i = 0; i < group->count; i++) {
        const struct entry *entry = &group->entries[i];
        const struct inventory_finding finding = {.lapse = lapse,
                                                  .severity = entry->fact->rule->severity,
                                                  .host = entry->host,
                                                  .fact = entry->fact,
                                                  .total = group->count};
        if (lapse == LAPSE_SILENT || entry->fact->number > 0)
            finding_add(comparing->findings, &finding);
    }
}

static void group_compare(const struct comparing *comparing, const struct fact_group *group)
{
    switch (group->entries[0].fact->rule->comparison) {
    case COMPARE_SILENCE:
        each_add(comparing, group, LAPSE_SILENT);
        return;
    case COMPARE_ZERO:
        each_add(comparing, group, LAPSE_COUNTED);
        return;
    case COMPARE_NOTHING:
        break;
    default:
        majority_compare(comparing, group);
    }
    best_compare(comparing, group);
}

/* A host that has every entry twice would count twice; inventories have each fact once. */
static void entries_take(struct comparing *comparing)
{
    int count = 0;
    for (int i = 0; i < comparing->host_count; i++)
        count += comparing->hosts[i].inventory ? comparing->hosts[i].inventory->count : 0;
    comparing->entries = new_array((size_t)count, sizeof *comparing->entries);
    for (int i = 0; i < comparing->host_count; i++) {
        const struct inventory *inventory = comparing->hosts[i].inventory;
        comparing->present += inventory != NULL;
        for (int f = 0; inventory && f < inventory->count; f++)
            comparing->entries[comparing->count++] =
                (struct entry){.fact = &inventory->facts[f], .host = i};
    }
    if (count > 1)
        qsort(comparing->entries, (size_t)count, sizeof *comparing->entries, entries_order);
}

static int findings_order(const void *x, const void *y)
{
    const struct inventory_finding *a = x, *b = y;
    int order = COMPARE(a->host, b->host) ?: COMPARE(b->severity, a->severity);
    if (order || !a->fact || !b->fact)
        return order ?: !a->fact - !b->fact;
    return COMPARE(a->fact->rule, b->fact->rule) ?: strcmp(a->fact->part, b->fact->part);
}

static void findings_sort(struct inventory_findings *findings)
{
    if (findings->count > 1)
        qsort(findings->items, (size_t)findings->count, sizeof *findings->items, findings_order);
}

void inventory_compare(const struct inventory_host *hosts, int count,
                       struct inventory_findings *findings)
{
    struct part_counts parts = {.count = 0};
    struct comparing comparing = {
        .hosts = hosts, .host_count = count, .findings = findings, .parts = &parts};
    *findings = (struct inventory_findings){0};
    entries_take(&comparing);
    for (int i = 0, end; i < comparing.count; i = end) {
        const struct inventory_fact *first = comparing.entries[i].fact;
        for (end = i + 1; end < comparing.count; end++)
            if (comparing.entries[end].fact->rule != first->rule ||
                strcmp(comparing.entries[end].fact->part, first->part) != 0)
                break;
        const struct fact_group group = {.entries = comparing.entries + i, .count = end - i};
        group_compare(&comparing, &group);
    }
    free(comparing.entries);
    findings_sort(findings);
}

/* An expectation of parts holds for each of them; one that no part has a fact of is not met. */
static void host_expect(const struct inventory_host *host, int index,
                        const struct expected_fact *expectation,
                        struct inventory_findings *findings)
{
    struct inventory_finding finding = {.lapse = LAPSE_UNEXPECTED,
                                        .severity = SEVERITY_BAD,
                                        .host = index,
                                        .expectation = expectation};
    bool has = false;
    for (int i = 0; i < host->inventory->count; i++) {
        const struct inventory_fact *fact = &host->inventory->facts[i];
        if (fact->rule != expectation->rule)
            continue;
        has = true;
        finding.fact = fact;
        if (!expected_fact_is_met(expectation, fact))
            finding_add(findings, &finding);
    }
    finding.fact = NULL;
    if (!has)
        finding_add(findings, &finding);
}

void inventory_expect(const struct inventory_host *hosts, int count,
                      const struct expected_fact *expectations, int expected,
                      struct inventory_findings *findings)
{
    for (int host = 0; host < count; host++)
        for (int i = 0; i < expected && hosts[host].inventory; i++)
            host_expect(&hosts[host], host, &expectations[i], findings);
    findings_sort(findings);
}

void inventory_findings_free(struct inventory_findings *findings)
{
    free(findings->items);
    *findings = (struct inventory_findings){0};
}
