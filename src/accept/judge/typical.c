/*
 * typical.c - what all of some hosts have, as lines of a profile.
 */
#include "accept/judge/judge.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>


#define MIB (1024.0 * 1024)

/* What the facts of a rule have in common. */
struct common {
    const struct fact_rule *rule;
    const char *text; /* of the first */
    double least;
    int hosts; /* that have such facts */
    bool alike;
};

static void common_take(struct common *common, const struct inventory_host *host)
{
    bool has = false;
    for (int i = 0; i < host->inventory->count; i++) {
        const struct inventory_fact *fact = &host->inventory->facts[i];
        if (fact->rule != common->rule)
            continue;
        bool first = !common->text;
        if (first)
            *common = (struct common){common->rule, fact->text, fact->number, 0, true};
        common->alike &= strcmp(fact->text, common->text) == 0 && fact->number == common->least;
        common->least = fmin(common->least, fact->number);
        has = true;
    }
    common->hosts += has;
}

/* A number of bytes is cut to whole MiB, as it is read. */
static void whole_bytes_put(FILE *out, double bytes)
{
    if (isinf(bytes))
        fputs("unlimited", out);
    else if (bytes < MIB)
        fprintf(out, "%.0f", floor(bytes));
    else
        fprintf(out, "%.0fM", floor(bytes / MIB));
}

static void common_put(FILE *out, const struct common *common)
{
    const struct fact_rule *rule = common->rule;
    char name[RULE_KEY_MOST], value[VALUE_TEXT_MOST];
    bool least = rule->comparison == COMPARE_LEAST;
    double number = common->least * (1 - rule->tolerance);
    bool nothing = least ? number <= 0 : !common->alike || strcmp(common->text, NOT_LOADED) == 0;
    if (nothing)
        return;
    fprintf(out, "%s %s ", fact_rule_name(rule, name),
            profile_operator_names[least ? PROFILE_LEAST : PROFILE_EQUAL]);
    if (rule->unit == VALUE_TEXT)
        fprintf(out, "%s\n", common->text);
    else if (rule->unit == VALUE_BYTES)
        whole_bytes_put(out, number), fputc('\n', out);
    else
        fprintf(out, "%s\n", value_text(rule->unit, number, value));
}

bool inventory_typical_put(const struct inventory_host *hosts, int count, FILE *out)
{
    for (const struct fact_rule *rule = fact_rules; rule->key; rule++) {
        struct common common = {.rule = rule};
        if (rule->comparison != COMPARE_SAME && rule->comparison != COMPARE_LEAST)
            continue;
        for (int h = 0; h < count; h++)
            if (hosts[h].inventory)
                common_take(&common, &hosts[h]);
        if (common.hosts == count)
            common_put(out, &common);
    }
    return ferror(out) == 0;
}
