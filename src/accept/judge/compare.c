/*
 * compare.c - in what hosts differ from the majority, and fall short of their own best.
 *
 * The facts of all hosts are sorted, so that those of one part and key follow each other. More than
 * half of sorted values agree only if the middle one is among them, so it is the candidate.
 */
#include "accept/judge/internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/numbers.h"

#define VALUES_MOST 3  /* of a fact without a majority, that are told */
#define PARTS_MOST  96 /* bytes of a list of parts */
#define FLEET_LEAST 3  /* hosts of which a majority that falls short alike is a way of building */

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

/* ---- sentences ---- */

/* Begins a finding: "n17: mlx5_2 ", or "n17 " where the part is "", or nothing where the subject is
 * NULL. `fact`: one that it is about; NULL: there is none. */
static struct text finding_begin(struct inventory_findings *findings, enum severity severity,
                                 int host, const struct inventory_fact *fact, const char *subject,
                                 const char *part)
{
    struct inventory_finding *finding = LIST_ADD(findings->items, findings->count);
    finding->severity = severity;
    finding->host = host;
    finding->fact = fact;
    struct text text = text_in(finding->text, sizeof finding->text);
    if (subject)
        text_add(&text, "%s%s%s ", subject, part[0] ? ": " : "", part);
    return text;
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

/* "63 of 64 hosts have 400": the unit is left out if it was said before, of another fact. */
static void majority_put(struct text *text, const struct inventory_fact *fact,
                         const struct inventory_fact *majority, int holders, int total)
{
    char value[VALUE_TEXT_MOST];
    enum value_unit unit = majority->rule->unit;
    bool says_unit = fact == majority || unit == VALUE_TEXT || unit == VALUE_BYTES ||
                     unit == VALUE_LANES || isinf(fact->number) || isinf(majority->number);
    value_text(says_unit ? unit : VALUE_COUNT, majority->number, value);
    text_add(text, "; %d of %d hosts have %s", holders, total,
             unit == VALUE_TEXT ? majority->text : value);
}

/* ---- facts ---- */

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

/* Adds the parts that a host has too few, or too many. `majority`: an entry of a host of it. */
static void parts_put(const struct comparing *comparing, const struct entry *entry,
                      const struct entry *majority, struct text *text)
{
    char parts[PARTS_MOST] = "";
    struct text list = text_in(parts, sizeof parts);
    enum part_kind kind = kind_counted(entry->fact->rule);
    const struct inventory *own = comparing->hosts[entry->host].inventory;
    const struct inventory *other = comparing->hosts[majority->host].inventory;
    bool lacks = entry->fact->number < majority->fact->number;
    if (kind == PART_HOST)
        return;
    if (lacks)
        parts_add(comparing, kind, other, own, true, &list);
    else
        parts_add(comparing, kind, own, NULL, false, &list);
    if (parts[0])
        text_add(text, " (%s %s %s)", parts, strchr(parts, ',') ? "are" : "is",
                 lacks ? "missing" : "only there");
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

static const char *name_of(const struct comparing *comparing, const struct entry *entry)
{
    return comparing->hosts[entry->host].name;
}

static void differences_add(const struct comparing *comparing, const struct fact_group *group,
                            const struct entry *majority, int holders)
{
    for (int i = 0; i < group->count; i++) {
        const struct entry *entry = &group->entries[i];
        if (facts_agree(entry->fact, majority->fact))
            continue;
        struct text text =
            finding_begin(comparing->findings, severity_of(entry->fact, majority->fact),
                          entry->host, entry->fact, name_of(comparing, entry), entry->fact->part);
        value_put(&text, entry->fact);
        majority_put(&text, entry->fact, majority->fact, holders, group->count);
        parts_put(comparing, entry, majority, &text);
    }
}

static bool is_seen(const struct fact_group *group, int index)
{
    for (int i = 0; i < index; i++)
        if (facts_agree(group->entries[i].fact, group->entries[index].fact))
            return true;
    return false;
}

/* "n1 and n2 differ in nic.rate of mlx5_2: 200 Gb/s and 400 Gb/s", or of more hosts "4 hosts
 * differ in ... without a majority: 2 have 200 Gb/s (n1, ...), 2 have 400 Gb/s (n3, ...)" */
static void split_add(const struct comparing *comparing, const struct fact_group *group)
{
    char name[RULE_KEY_MOST], value[VALUE_TEXT_MOST];
    const struct entry *entries = group->entries;
    const struct inventory_fact *fact = entries[0].fact;
    enum severity own = fact->rule->severity;
    bool is_pair = group->count == 2;
    int values = 0;
    struct text text = finding_begin(
        comparing->findings, own < SEVERITY_SUSPECT ? own : SEVERITY_SUSPECT, -1, fact, NULL, "");
    if (is_pair)
        text_add(&text, "%s and %s differ", name_of(comparing, &entries[0]),
                 name_of(comparing, &entries[1]));
    else
        text_add(&text, "%d hosts differ", group->count);
    text_add(&text, " in %s%s%s%s:", fact_rule_name(fact->rule, name), fact->part[0] ? " of " : "",
             fact->part, is_pair ? "" : " without a majority");
    for (int i = 0; i < group->count; i++) {
        if (is_seen(group, i) || values++ >= VALUES_MOST)
            continue;
        const char *said = fact_text(entries[i].fact, value);
        int holders = group_holders(group, entries[i].fact);
        if (is_pair)
            text_add(&text, "%s %s", values > 1 ? " and" : "", said);
        else
            text_add(&text, "%s %d %s %s (%s%s)", values > 1 ? "," : "", holders,
                     holders == 1 ? "has" : "have", said, name_of(comparing, &entries[i]),
                     holders > 1 ? ", ..." : "");
    }
    if (values > VALUES_MOST)
        text_add(&text, ", and %d more values", values - VALUES_MOST);
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
        char name[RULE_KEY_MOST];
        struct text text = finding_begin(comparing->findings, SEVERITY_NOTE, host, fact,
                                         comparing->hosts[host].name, fact->part);
        text_add(&text, "tells no %s", fact_rule_name(rule, name));
        majority_put(&text, fact, fact, holders, group->count);
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

static void best_add(const struct comparing *comparing, enum severity severity, int host,
                     const struct inventory_fact *fact, const char *subject)
{
    char value[VALUE_TEXT_MOST];
    struct text text =
        finding_begin(comparing->findings, severity, host, fact, subject, fact->part);
    value_put(&text, fact);
    text_add(&text, "; its best is %s", value_text(fact->rule->unit, fact->best, value));
}

/* Where most hosts fall short alike, they are built so: a note. */
static void best_compare(const struct comparing *comparing, const struct fact_group *group)
{
    char most[64];
    int below = 0;
    const struct inventory_fact *middle = group->entries[group->count / 2].fact;
    for (int i = 0; i < group->count; i++)
        below +=
            is_below_best(group->entries[i].fact) && facts_agree(group->entries[i].fact, middle);
    bool is_built_so = group->count >= FLEET_LEAST && 2 * below > group->count;
    snprintf(most, sizeof most, "%d of %d hosts", below, group->count);
    if (is_built_so)
        best_add(comparing, SEVERITY_NOTE, -1, middle, most);
    for (int i = 0; i < group->count; i++) {
        const struct entry *entry = &group->entries[i];
        if (is_below_best(entry->fact) && !(is_built_so && facts_agree(entry->fact, middle)))
            best_add(comparing, entry->fact->rule->best_severity, entry->host, entry->fact,
                     name_of(comparing, entry));
    }
}

/* A source that has not answered. */
static void silence_add(const struct comparing *comparing, const struct entry *entry)
{
    const struct inventory_fact *fact = entry->fact;
    struct text text = finding_begin(comparing->findings, fact->rule->severity, entry->host, fact,
                                     name_of(comparing, entry), "");
    text_add(&text, "does not tell of its %s: %s", fact->part, fact->text);
}

/* A number of what should not happen. */
static void count_add(const struct comparing *comparing, const struct entry *entry)
{
    const struct inventory_fact *fact = entry->fact;
    if (fact->number <= 0)
        return;
    struct text text = finding_begin(comparing->findings, fact->rule->severity, entry->host, fact,
                                     name_of(comparing, entry), fact->part);
    value_put(&text, fact);
}

static void group_compare(const struct comparing *comparing, const struct fact_group *group)
{
    enum fact_comparison comparison = group->entries[0].fact->rule->comparison;
    for (int i = 0; i < group->count && comparison == COMPARE_SILENCE; i++)
        silence_add(comparing, &group->entries[i]);
    for (int i = 0; i < group->count && comparison == COMPARE_ZERO; i++)
        count_add(comparing, &group->entries[i]);
    if (comparison == COMPARE_SILENCE || comparison == COMPARE_ZERO)
        return;
    if (comparison != COMPARE_NOTHING)
        majority_compare(comparing, group);
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

/* A fact that the profile does not expect. `fact` NULL: the host has none. */
static void unexpected_add(const struct inventory_host *host, int index,
                           const struct expected_fact *expectation,
                           const struct inventory_fact *fact, struct inventory_findings *findings)
{
    const struct profile_line *line = &expectation->line;
    struct text text =
        finding_begin(findings, SEVERITY_BAD, index, fact, host->name, fact ? fact->part : "");
    if (fact)
        value_put(&text, fact);
    else
        text_add(&text, "tells no %s", line->key);
    text_add(&text, "; %s:%d expects %s %s %s", line->file, line->number, line->key,
             profile_operator_names[line->operator], line->value);
}

/* An expectation of parts holds for each of them; one that no part has a fact of is not met. */
static void host_expect(const struct inventory_host *host, int index,
                        const struct expected_fact *expectation,
                        struct inventory_findings *findings)
{
    bool has = false;
    for (int i = 0; i < host->inventory->count; i++) {
        const struct inventory_fact *fact = &host->inventory->facts[i];
        if (fact->rule != expectation->rule)
            continue;
        has = true;
        if (!expected_fact_is_met(expectation, fact))
            unexpected_add(host, index, expectation, fact, findings);
    }
    if (!has)
        unexpected_add(host, index, expectation, NULL, findings);
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
