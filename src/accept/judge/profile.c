/*
 * profile.c - what hosts are expected to have.
 */
#include "accept/judge/internal.h"

#include "base/log.h"
#include "base/parse.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const profile_operator_names[PROFILE_OPERATORS] = {"=", "!=", ">=", "<="};

static const char *blanks_skip(const char *text)
{
    while (isspace((unsigned char)*text))
        text++;
    return text;
}

static bool operator_read(const char **text, enum profile_operator *operator)
{
    for (int i = 0; i < PROFILE_OPERATORS; i++) {
        size_t length = strlen(profile_operator_names[i]);
        if (strncmp(*text, profile_operator_names[i], length) != 0)
            continue;
        *operator=(enum profile_operator) i;
        *text += length;
        return true;
    }
    return false;
}

enum status profile_line_read(const char *text, const char *file, int number,
                              struct profile_line *line)
{
    *line = (struct profile_line){.file = file, .number = number};
    const char *at = blanks_skip(text);
    if (!*at || *at == '#')
        return STATUS_OK;
    size_t length = strcspn(at, " \t=!<>");
    if (length == 0 || length >= sizeof line->key)
        return fail_line(STATUS_USAGE, file, number,
                         "'%.60s' does not begin with a key: write KEY = VALUE", at);
    memcpy(line->key, at, length);
    at = blanks_skip(at + length);
    if (!operator_read(&at, &line->operator))
        return fail_line(STATUS_USAGE, file, number,
                         "%s has no operator: write =, !=, >= or <= behind it", line->key);
    at = blanks_skip(at);
    size_t size = strlen(at);
    while (size > 0 && isspace((unsigned char)at[size - 1]))
        size--;
    if (size == 0 || size >= sizeof line->value)
        return fail_line(STATUS_USAGE, file, number, "%s has %s", line->key,
                         size == 0 ? "no value" : "a value that is too long");
    memcpy(line->value, at, size);
    return STATUS_OK;
}

static enum status unit_fail(const struct profile_line *line, enum value_unit unit)
{
    const char *word = value_unit_names[unit];
    return fail_line(STATUS_USAGE, line->file, line->number, "%s is %s%s, not '%s'", line->key,
                     word[0] ? "given in " : "a number", word, line->value);
}

/* May this stand behind a number? */
static bool is_unit(const char *text, enum value_unit unit)
{
    return strcmp(text, value_unit_names[unit]) == 0 || (!*text && unit != VALUE_BYTES) ||
           (unit == VALUE_GBITS && strcmp(text, "Gbit/s") == 0);
}

/* "1.9T", "64 GiB". It need not be a whole number of bytes, since hosts are compared with it. */
static bool size_number(const char *value, double *number)
{
    char text[VALUE_TEXT_MOST + 1], *end;
    size_t unit = 0;
    *number = isdigit((unsigned char)*value) ? strtod(value, &end) : -1;
    if (*number >= 0)
        snprintf(text, sizeof text, "1%s", blanks_skip(end));
    bool read = *number >= 0 && isfinite(*number) && !size_parse(text, &unit);
    *number *= (double)unit;
    return read;
}

enum status profile_number(const struct profile_line *line, enum value_unit unit, double *number)
{
    const char *value = line->value;
    char *end = NULL;
    if (strcmp(value, "unlimited") == 0 && (unit == VALUE_BYTES || unit == VALUE_COUNT)) {
        *number = INFINITY;
        return STATUS_OK;
    }
    if (unit == VALUE_BYTES)
        return size_number(value, number) ? STATUS_OK : unit_fail(line, unit);
    value += unit == VALUE_LANES && *value == 'x';
    *number = isdigit((unsigned char)*value) ? strtod(value, &end) : -1;
    bool is_number = *number >= 0 && isfinite(*number) && is_unit(blanks_skip(end), unit);
    return is_number ? STATUS_OK : unit_fail(line, unit);
}

enum status expected_fact_read(const struct profile_line *line, struct expected_fact *expectation)
{
    *expectation = (struct expected_fact){.line = *line, .rule = fact_rule_named(line->key)};
    if (!expectation->rule)
        return fail_line(STATUS_USAGE, line->file, line->number,
                         "%s is no key of a profile: see cctest-accept(1) for all keys", line->key);
    if (expectation->rule->unit != VALUE_TEXT)
        return profile_number(line, expectation->rule->unit, &expectation->number);
    if (line->operator!= PROFILE_EQUAL && line->operator!= PROFILE_NOT_EQUAL)
        return fail_line(STATUS_USAGE, line->file, line->number,
                         "%s is a text: write = or != behind it", line->key);
    return STATUS_OK;
}

bool expected_fact_is_met(const struct expected_fact *expectation,
                          const struct inventory_fact *fact)
{
    bool is_text = expectation->rule->unit == VALUE_TEXT;
    double number = fact->number, expected = expectation->number;
    bool equal = is_text ? strcmp(fact->text, expectation->line.value) == 0 : number == expected;
    switch (expectation->line.operator) {
    case PROFILE_EQUAL:
        return equal;
    case PROFILE_NOT_EQUAL:
        return !equal;
    case PROFILE_LEAST:
        return number >= expected;
    default:
        return number <= expected;
    }
}

/*
 * Facts that some hosts share, as lines of a profile.
 */
#define MIB (1024.0 * 1024)

/* A rule, with all that its facts share. */
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
