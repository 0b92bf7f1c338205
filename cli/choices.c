/*
 * choices.c - option values that are lists: algorithms with their own options, and transports.
 */
#include <stdio.h>
#include <string.h>

#include "log.h"
#include "options.h"

bool list_next(const char **list, char item[ITEM_MOST])
{
    if (!*list)
        return false;
    size_t length = strcspn(*list, ",");
    snprintf(item, ITEM_MOST, "%.*s", (int)length, *list);
    *list = (*list)[length] == ',' ? *list + length + 1 : NULL;
    return true;
}

/* Algorithms: name[:key=value]... */

static void choice_standard(const struct algorithm *algorithm, struct choice *choice)
{
    choice->algorithm = algorithm;
    for (int i = 0; i < ALGORITHM_OPTIONS_MOST && algorithm->options[i].name; i++)
        choice->options[i] = algorithm->options[i].standard;
}

static enum status choice_add(struct job *job, const struct choice *choice, const char *text)
{
    if (job->choice_count == CHOICES_MOST)
        return fail(STATUS_USAGE,
                    "--algorithm names more than %d algorithms: compare fewer at once",
                    CHOICES_MOST);
    size_t length = strlen(text);
    if (length >= sizeof *job->choice_text)
        return fail(STATUS_USAGE, "'%s' is too long: leave out what is the default anyway", text);
    int index = job->choice_count++;
    job->choices[index] = *choice;
    memcpy(job->choice_text[index], text, length + 1);
    return STATUS_OK;
}

static enum status option_unknown(const struct algorithm *algorithm, const char *key)
{
    const char *names[ALGORITHM_OPTIONS_MOST + 1];
    int count = 0;
    while (count < ALGORITHM_OPTIONS_MOST && algorithm->options[count].name) {
        names[count] = algorithm->options[count].name;
        count++;
    }
    names[count] = NULL;
    if (count == 0)
        return fail(STATUS_USAGE, "algorithm %s has no option '%s', nor any other: leave it out",
                    algorithm->name, key);
    char what[96];
    snprintf(what, sizeof what, "option of algorithm %s", algorithm->name);
    return unknown_name(key, what, names, NULL);
}

/* One "radix=4". Sets the bit of the option in *seen. */
static enum status choice_option(struct choice *choice, const char *text, unsigned *seen)
{
    const struct algorithm *algorithm = choice->algorithm;
    const char *equals = strchr(text, '=');
    if (!equals)
        return fail(STATUS_USAGE,
                    "'%s' behind algorithm %s is not KEY=VALUE: write it like %s:%s=%ld", text,
                    algorithm->name, algorithm->name,
                    algorithm->options[0].name ? algorithm->options[0].name : "key",
                    algorithm->options[0].standard);
    char key[ITEM_MOST];
    snprintf(key, sizeof key, "%.*s", (int)(equals - text), text);
    for (int i = 0; i < ALGORITHM_OPTIONS_MOST && algorithm->options[i].name; i++) {
        const struct algorithm_option *option = &algorithm->options[i];
        if (strcmp(option->name, key) != 0)
            continue;
        if (*seen >> i & 1)
            return fail(STATUS_USAGE, "option %s of algorithm %s is given twice: give it once", key,
                        algorithm->name);
        *seen |= 1u << i;
        long long value;
        const char *why = whole_parse(equals + 1, option->least, option->most, &value);
        if (why)
            return fail(STATUS_USAGE,
                        "%s '%s' of algorithm %s %s: give a whole number from %ld to %ld", key,
                        equals + 1, algorithm->name, why, option->least, option->most);
        choice->options[i] = (long)value;
        return STATUS_OK;
    }
    return option_unknown(algorithm, key);
}

static enum status choice_read(struct job *job, char *text)
{
    char shown[ITEM_MOST];
    char *colon = strchr(text, ':');
    if (colon)
        *colon = '\0';
    const struct algorithm *algorithm = algorithm_find(job->collective->id, text);
    if (!algorithm)
        return unknown_algorithm(text, job->collective);
    struct choice choice = {.algorithm = NULL};
    choice_standard(algorithm, &choice);
    snprintf(shown, sizeof shown, "%s%s%s", algorithm->name, colon ? ":" : "",
             colon ? colon + 1 : "");
    unsigned seen = 0;
    while (colon) {
        char *option = colon + 1;
        colon = strchr(option, ':');
        if (colon)
            *colon = '\0';
        enum status status = choice_option(&choice, option, &seen);
        if (status != STATUS_OK)
            return status;
    }
    return choice_add(job, &choice, shown);
}

static enum status choices_all(struct job *job, bool only_first)
{
    for (int i = 0; algorithms[i]; i++) {
        if (algorithms[i]->collective != job->collective->id)
            continue;
        struct choice choice = {.algorithm = NULL};
        choice_standard(algorithms[i], &choice);
        enum status status = choice_add(job, &choice, algorithms[i]->name);
        if (status != STATUS_OK || only_first)
            return status;
    }
    return STATUS_OK;
}

enum status choices_default(struct job *job)
{
    return choices_all(job, true);
}

static enum status algorithm_read(const struct argument *argument, struct job *job)
{
    if (strcmp(argument->text, "all") == 0) {
        job->choices_all = true;
        return choices_all(job, false);
    }
    const char *list = argument->text;
    char item[ITEM_MOST];
    while (list_next(&list, item)) {
        enum status status = choice_read(job, item);
        if (status != STATUS_OK)
            return status;
    }
    return STATUS_OK;
}

static json_t *algorithm_show(const struct option_row *option, const struct job *job)
{
    (void)option;
    json_t *names = json_array();
    for (int i = 0; i < job->choice_count; i++)
        json_array_append_new(names, json_string(job->choice_text[i]));
    return names;
}

/* Transports. */

static enum status transport_add(const struct argument *argument, struct job *job, const char *name,
                                 int *count)
{
    const struct transport *transport = transport_find(name);
    if (!transport)
        return unknown_transport(name);
    for (int i = 0; i < *count; i++)
        if (job->transports[i] == transport)
            return argument_refuse(argument, "names a transport twice", "name each once");
    const char *why = transport->unavailable ? transport->unavailable() : NULL;
    if (why)
        return fail(STATUS_UNAVAILABLE, "transport %s cannot be used here: %s", name, why);
    job->transports[(*count)++] = transport;
    return STATUS_OK;
}

static enum status transport_read(const struct argument *argument, struct job *job)
{
    int count = 0;
    job->transports_auto = strcmp(argument->text, "auto") == 0;
    for (int i = 0; job->transports_auto && transports[i] && count < TRANSPORTS_MOST; i++)
        job->transports[count++] = transports[i];
    const char *list = job->transports_auto ? NULL : argument->text;
    char item[ITEM_MOST];
    while (list_next(&list, item)) {
        enum status status = count < TRANSPORTS_MOST
                                 ? transport_add(argument, job, item, &count)
                                 : argument_refuse(argument, "is too long", "name fewer");
        if (status != STATUS_OK)
            return status;
    }
    job->transports[count] = NULL;
    return STATUS_OK;
}

static json_t *transport_show(const struct option_row *option, const struct job *job)
{
    (void)option;
    if (job->transports_auto)
        return json_string("auto");
    json_t *names = json_array();
    for (int i = 0; job->transports[i]; i++)
        json_array_append_new(names, json_string(job->transports[i]->name));
    return names;
}

const struct option_kind kind_algorithm = {.parse = algorithm_read, .show = algorithm_show};
const struct option_kind kind_transport = {.parse = transport_read, .show = transport_show};
