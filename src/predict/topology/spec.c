/*
 * spec.c - the text of a topology, by a table of keys.
 */
#include "predict/topology/internal.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/failure.h"
#include "base/log.h"
#include "base/parse.h"
#include "base/text.h"

enum status spec_refuse(const struct spec *spec, const char *format, ...)
{
    char sentence[MESSAGE_MOST];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(sentence, sizeof sentence, format, arguments);
    va_end(arguments);
    return fail(STATUS_USAGE, "topology '%.200s': %s", spec->text, sentence);
}

/* False: there is no such key. */
static bool key_find(const struct spec *spec, const char *name, int *table, int *index)
{
    for (*table = 0; *table < 2; ++*table)
        for (*index = 0; spec->tables[*table] && spec->tables[*table][*index].name; ++*index)
            if (name_equal(spec->tables[*table][*index].name, name))
                return true;
    return false;
}

double spec_value(const struct spec *spec, const char *key)
{
    int table, index;
    return key_find(spec, key, &table, &index) ? spec->values[table][index] : NAN;
}

bool spec_given(const struct spec *spec, const char *key)
{
    int table, index;
    return key_find(spec, key, &table, &index) && spec->given[table][index];
}

static enum status key_unknown(const struct spec *spec, const char *name)
{
    char list[400];
    struct text text = text_in(list, sizeof list);
    for (int t = 0; t < 2; t++)
        for (const struct spec_key *key = spec->tables[t]; key && key->name; key++)
            text_add(&text, "%s%s=", text.used ? ", " : "", key->name);
    return spec_refuse(spec, "'%.60s' is none of its keys: give %s", name, list);
}

static bool word_read(const struct spec_key *key, const char *text, double *value)
{
    for (int w = 0; key->words[w]; w++)
        if (name_equal(key->words[w], text)) {
            *value = w;
            return true;
        }
    return false;
}

static enum status word_refuse(const struct spec *spec, const struct spec_key *key,
                               const char *text)
{
    char list[200];
    struct text words = text_in(list, sizeof list);
    for (int w = 0; key->words[w]; w++)
        text_add(&words, "%s%s", w ? ", " : "", key->words[w]);
    return spec_refuse(spec, "%s=%.60s: give one of %s", key->name, text, list);
}

static enum status value_read(const struct spec *spec, const struct spec_key *key, const char *text,
                              double *value)
{
    if (key->words)
        return word_read(key, text, value) ? STATUS_OK : word_refuse(spec, key, text);
    char *end = NULL;
    *value = strtod(text, &end);
    bool plain = strspn(text, "0123456789.eE+-") == strlen(text); /* no hexadecimal, inf or nan */
    if (!plain || end == text || *end || (!key->is_real && *value != floor(*value)))
        return spec_refuse(spec, "%s=%.60s is no %snumber", key->name, text,
                           key->is_real ? "" : "whole ");
    if (*value < key->least || *value > key->most)
        return spec_refuse(spec, "%s=%.60s: give %.10g to %.10g", key->name, text, key->least,
                           key->most);
    return STATUS_OK;
}

static enum status part_read(struct spec *spec, char *part)
{
    char *equals = strchr(part, '=');
    int table, index;
    if (!equals) {
        if (*part == '\0')
            return spec_refuse(spec, "a part between colons is empty");
        if (spec->shape)
            return spec_refuse(spec, "'%.60s' has no '=': give KEY=VALUE", part);
        spec->shape = part;
        return STATUS_OK;
    }
    *equals = '\0';
    if (!key_find(spec, part, &table, &index))
        return key_unknown(spec, part);
    if (spec->given[table][index])
        return spec_refuse(spec, "%s= stands twice", part);
    spec->given[table][index] = true;
    return value_read(spec, &spec->tables[table][index], equals + 1, &spec->values[table][index]);
}

enum status spec_read(struct spec *spec, const char *parts, const struct spec_key *own,
                      const struct spec_key *common)
{
    spec->tables[0] = own;
    spec->tables[1] = common;
    for (int t = 0; t < 2; t++)
        for (int k = 0; spec->tables[t] && spec->tables[t][k].name; k++)
            spec->values[t][k] = spec->tables[t][k].standard;
    if (strlen(parts) >= sizeof spec->parts)
        return spec_refuse(spec, "is longer than %zu bytes", sizeof spec->parts - 1);
    strcpy(spec->parts, parts);
    char *rest = spec->parts[0] == ':' ? spec->parts + 1 : NULL;
    enum status status = STATUS_OK;
    while (rest && status == STATUS_OK)
        status = part_read(spec, strsep(&rest, ":"));
    return status;
}
