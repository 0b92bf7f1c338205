/*
 * choice_text.c - algorithms with their options, as text and as JSON.
 */
#include "collective/formats/formats.h"

#include <string.h>

#include "base/log.h"
#include "base/parse.h"
#include "base/text.h"

bool is_algorithm(const char *name)
{
    for (int i = 0; collectives[i]; i++)
        if (algorithm_find(collectives[i]->id, name))
            return true;
    return false;
}

enum status unknown_algorithm(const char *subject, const struct collective *const *served)
{
    struct names names = {.valid_count = 0};
    char what[COLLECTIVES_TEXT_MOST + 2 * ITEM_MOST];
    struct text text = text_in(what, sizeof what);
    text_add(&text, "algorithm for ");
    for (int c = 0; served[c]; c++) {
        text_add(&text, "%s%s", c ? "," : "", served[c]->name);
        for (int i = 0; algorithms[i]; i++)
            if (algorithm_serves(algorithms[i], served[c]->id) &&
                !names_have(&names, algorithms[i]->name))
                names_add(&names, algorithms[i]->name, algorithms[i]->aliases,
                          LENGTH(algorithms[i]->aliases));
    }
    if (name_equal(subject, "ll"))
        return fail(STATUS_USAGE,
                    "'%s' is not an algorithm but a way over the links, for any "
                    "algorithm: give --copy ll",
                    subject);
    if (is_algorithm(subject))
        text_add(&text, " (`cctest list %s` says which have it)", subject);
    return names_refuse(subject, what, &names);
}

static enum status unknown_part(const char *subject, const struct algorithm *algorithm,
                                const struct algorithm_option *option)
{
    struct names names = {.valid_count = 0};
    char what[96];
    for (int i = 0; algorithms[i]; i++)
        if (algorithm_is_part(algorithms[i], option))
            names_add(&names, algorithms[i]->name, algorithms[i]->aliases,
                      LENGTH(algorithms[i]->aliases));
    snprintf(what, sizeof what, "algorithm for %s of algorithm %s", option->name, algorithm->name);
    return names_refuse(subject, what, &names);
}

/* An option of an algorithm as the user wrote it. */
static struct parameter parameter_of(const struct algorithm *algorithm, const char *key,
                                     const char *value)
{
    return (struct parameter){
        .kind = "algorithm", .owner = algorithm->name, .key = key, .value = value};
}

static enum status option_unknown(const struct algorithm *algorithm, const char *key)
{
    const struct parameter parameter = parameter_of(algorithm, key, NULL);
    const char *names[ALGORITHM_OPTIONS_MOST + 1] = {NULL};
    for (int i = 0; i < ALGORITHM_OPTIONS_MOST && algorithm->options[i].name; i++)
        names[i] = algorithm->options[i].name;
    return parameter_unknown(&parameter, names);
}

static enum status part_read(const struct choice *choice, const struct algorithm_option *option,
                             const char *text, struct part *part)
{
    *part = part_of(option, text);
    return part->algorithm ? STATUS_OK : unknown_part(text, choice->algorithm, option);
}

/* "4": the size of all groups; "2+3": of each. */
static enum status groups_read(const char *text, struct choice *choice)
{
    const char *rest = text;
    char item[ITEM_MOST];
    while (list_next(&rest, '+', item)) {
        long long value;
        const char *why = whole_parse(item, 1, CHOICE_GROUP_MOST, &value);
        if (!why && choice->group_count == CHOICE_GROUPS_MOST)
            why = "is one group too many";
        if (why)
            return fail(STATUS_USAGE,
                        "groups=%s of algorithm %s: '%s' %s: give ranks per group, such as 4, or "
                        "the size of each, such as 2+3",
                        text, choice->algorithm->name, item, why);
        choice->groups[choice->group_count++] = (int)value;
    }
    return STATUS_OK;
}

int choice_option_index(const struct algorithm *algorithm, const char *name, size_t length)
{
    for (int i = 0; i < ALGORITHM_OPTIONS_MOST && algorithm->options[i].name; i++)
        if (strlen(algorithm->options[i].name) == length &&
            strncmp(algorithm->options[i].name, name, length) == 0)
            return i;
    return -1;
}

/* A choice whose options are being read. */
struct choice_reader {
    struct choice choice;
    unsigned seen, part_seen[ALGORITHM_OPTIONS_MOST]; /* bits of the options that were given */
};

/* "inter.radix=4": an option of a part's algorithm. */
static enum status part_option_read(struct choice_reader *reader, const char *key,
                                    const char *value)
{
    struct choice *choice = &reader->choice;
    size_t length = strcspn(key, ".");
    int part_index = choice_option_index(choice->algorithm, key, length);
    if (part_index < 0 || choice->algorithm->options[part_index].kind != OPTION_PART)
        return option_unknown(choice->algorithm, key);
    struct part *part = &choice->parts[part_index];
    const char *name = key + length + 1;
    int index = choice_option_index(part->algorithm, name, strlen(name));
    if (index < 0)
        return option_unknown(part->algorithm, name);
    struct parameter parameter = parameter_of(choice->algorithm, key, value);
    enum status status = parameter_once(&parameter, &reader->part_seen[part_index], index);
    if (status != STATUS_OK)
        return status;
    const struct algorithm_option *option = &part->algorithm->options[index];
    parameter = parameter_of(part->algorithm, name, value);
    if (option->kind == OPTION_WORD)
        return parameter_word(&parameter, option->words, &part->options[index]);
    return parameter_number(&parameter, option->least, option->most, &part->options[index]);
}

static enum status own_option_read(struct choice_reader *reader, const char *key, const char *value)
{
    struct choice *choice = &reader->choice;
    const struct algorithm *algorithm = choice->algorithm;
    int i = choice_option_index(algorithm, key, strlen(key));
    if (i < 0)
        return option_unknown(algorithm, key);
    const struct parameter parameter = parameter_of(algorithm, key, value);
    enum status status = parameter_once(&parameter, &reader->seen, i);
    if (status != STATUS_OK)
        return status;
    const struct algorithm_option *option = &algorithm->options[i];
    switch (option->kind) {
    case OPTION_NUMBER:
        return parameter_number(&parameter, option->least, option->most, &choice->options[i]);
    case OPTION_WORD:
        return parameter_word(&parameter, option->words, &choice->options[i]);
    case OPTION_PART:
        return part_read(choice, option, value, &choice->parts[i]);
    case OPTION_GROUPS:
        return groups_read(value, choice);
    }
    return STATUS_ERROR;
}

/* "radix=4:groups=2". Options of parts are read last, wherever they stand, since they depend on the
 * part's algorithm. */
static enum status options_read(struct choice_reader *reader, const char *text)
{
    const struct algorithm *algorithm = reader->choice.algorithm;
    for (int of_parts = 0; of_parts <= 1; of_parts++) {
        const char *rest = text;
        char key[ITEM_MOST];
        while (list_next(&rest, ':', key)) {
            char *equals = strchr(key, '=');
            if (!equals) {
                const struct parameter parameter = parameter_of(algorithm, key, NULL);
                bool known = choice_option_index(algorithm, key, strlen(key)) >= 0;
                return parameter_incomplete(&parameter, known ? key : algorithm->options[0].name);
            }
            *equals = '\0';
            if ((strchr(key, '.') != NULL) != of_parts)
                continue;
            enum status status = of_parts ? part_option_read(reader, key, equals + 1)
                                          : own_option_read(reader, key, equals + 1);
            if (status != STATUS_OK)
                return status;
        }
    }
    return STATUS_OK;
}

/* "bruck:radix=4", of an algorithm that the collective has. */
enum status choice_text_read(const struct algorithm *algorithm, const char *item,
                             struct choice *choice)
{
    const char *colon = strchr(item, ':');
    struct choice_reader reader = {.choice = choice_of(algorithm)};
    enum status status = colon ? options_read(&reader, colon + 1) : STATUS_OK;
    *choice = reader.choice;
    return status;
}

enum status choice_parse(const struct collective *collective, const char *text,
                         struct choice *choice)
{
    const struct collective *served[] = {collective, NULL};
    char name[ITEM_MOST];
    snprintf(name, sizeof name, "%.*s", (int)strcspn(text, ":"), text);
    const struct algorithm *algorithm = algorithm_find(collective->id, name);
    return algorithm ? choice_text_read(algorithm, text, choice) : unknown_algorithm(name, served);
}

static json_t *groups_json(const struct choice *choice)
{
    json_t *sizes = json_array();
    for (int i = 0; i < choice->group_count; i++)
        json_array_append_new(sizes, json_integer(choice->groups[i]));
    return sizes;
}

/* Parts have numbers and words only. */
static json_t *option_json(const struct algorithm_option *option, long value)
{
    return option->kind == OPTION_WORD ? json_string(option->words[value]) : json_integer(value);
}

static json_t *part_json(const struct part *part)
{
    const struct algorithm *algorithm = part->algorithm;
    json_t *options = json_object();
    for (int i = 0; i < ALGORITHM_OPTIONS_MOST && algorithm->options[i].name; i++)
        json_object_set_new(options, algorithm->options[i].name,
                            option_json(&algorithm->options[i], part->options[i]));
    return json_pack("{s:s, s:o}", "algorithm", part->name, "options", options);
}

json_t *choice_json(const struct choice *choice)
{
    json_t *options = json_object();
    if (choice->file)
        json_object_set_new(options, "path", json_string(choice->file->path));
    for (int i = 0; i < ALGORITHM_OPTIONS_MOST && choice->algorithm->options[i].name; i++) {
        const struct algorithm_option *option = &choice->algorithm->options[i];
        json_t *value = option->kind == OPTION_PART     ? part_json(&choice->parts[i])
                        : option->kind != OPTION_GROUPS ? option_json(option, choice->options[i])
                        : choice->group_count           ? groups_json(choice)
                                                        : json_null();
        json_object_set_new(options, option->name, value);
    }
    return options;
}
