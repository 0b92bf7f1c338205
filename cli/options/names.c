/*
 * names.c - refusals of unknown names: the valid names, and the nearest; and kinds of memory.
 */
#include "cli/options/names.h"

#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/name_match.h"
#include "base/text.h"

#define NAMES_MOST 256

/* Names of a table: for the list, and aliases for the nearest name. */
struct names {
    const char *valid[NAMES_MOST + 1];
    const char *aliases[NAMES_MOST + 1];
    int valid_count, alias_count;
};

/* For the nearest name only. */
static void names_add_more(struct names *names, const char *const *more, int most)
{
    for (int i = 0; i < most && more[i]; i++)
        if (names->alias_count < NAMES_MOST)
            names->aliases[names->alias_count++] = more[i];
}

static void names_add(struct names *names, const char *name, const char *const *aliases, int most)
{
    if (names->valid_count < NAMES_MOST)
        names->valid[names->valid_count++] = name;
    if (aliases)
        names_add_more(names, aliases, most);
}

enum status unknown_name(const char *subject, const char *what, const char *const *valid,
                         const char *const *more)
{
    const char *candidates[2 * NAMES_MOST + 1];
    int count = 0;
    for (int i = 0; valid[i] && count < NAMES_MOST; i++)
        candidates[count++] = valid[i];
    for (int i = 0; more && more[i] && count < 2 * NAMES_MOST; i++)
        candidates[count++] = more[i];
    candidates[count] = NULL;

    const char *article = strchr("aeiou", what[0]) ? "an" : "a";
    const char *nearest = name_nearest(subject, candidates);
    char guess[128] = "", list[768];
    if (nearest)
        snprintf(guess, sizeof guess, "did you mean '%s'? ", nearest);
    struct text text = text_in(list, sizeof list);
    for (int i = 0; valid[i]; i++)
        text_add(&text, "%s%s", i ? ", " : "", valid[i]);
    return fail(STATUS_USAGE, "'%.*s' is not %s %s: %svalid are %s", ITEM_MOST / 2, subject,
                article, what, guess, list);
}

static enum status names_refuse(const char *subject, const char *what, const struct names *names)
{
    return unknown_name(subject, what, names->valid, names->aliases);
}

#define LENGTH(array) ((int)(sizeof(array) / sizeof *(array)))

bool is_algorithm(const char *name)
{
    for (int i = 0; collectives[i]; i++)
        if (algorithm_find(collectives[i]->id, name))
            return true;
    return false;
}

static struct names collective_names(void)
{
    struct names names = {.valid_count = 0};
    for (int i = 0; collectives[i]; i++)
        names_add(&names, collectives[i]->name, collectives[i]->aliases,
                  LENGTH(collectives[i]->aliases));
    return names;
}

enum status unknown_collective(const char *subject)
{
    const struct names names = collective_names();
    return names_refuse(subject, "collective", &names);
}

/* The nearest may be an algorithm, but they are too many for the list. */
enum status unknown_listed(const char *subject)
{
    struct names names = collective_names();
    for (int i = 0; algorithms[i]; i++) {
        names_add_more(&names, &algorithms[i]->name, 1);
        names_add_more(&names, algorithms[i]->aliases, LENGTH(algorithms[i]->aliases));
    }
    return names_refuse(subject, "collective, nor an algorithm of one", &names);
}

static bool names_have(const struct names *names, const char *name)
{
    for (int i = 0; i < names->valid_count; i++)
        if (strcmp(names->valid[i], name) == 0)
            return true;
    return false;
}

enum status unknown_algorithm(const char *subject, const struct collective *const *served)
{
    struct names names = {.valid_count = 0};
    char what[COLLECTIVES_TEXT_MOST + 16];
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
    return names_refuse(subject, what, &names);
}

enum status unknown_part(const char *subject, const struct algorithm *algorithm,
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

enum status unknown_transport(const char *subject)
{
    struct names names = {.valid_count = 0};
    names_add(&names, "auto", NULL, 0);
    for (int i = 0; transports[i]; i++)
        names_add(&names, transports[i]->name, NULL, 0);
    return names_refuse(subject, "transport", &names);
}

static enum status unknown_memory(const char *subject)
{
    static const char *const words[] = {"gpu", "gpus", "device"};
    struct names names = {.valid_count = 0};
    for (int i = 0; i < LENGTH(words); i++)
        if (name_equal(subject, words[i]))
            return fail(STATUS_USAGE, "'%s' is not a kind of memory: the memory of GPUs is -m cuda",
                        subject);
    for (int i = 0; memory_kinds[i]; i++)
        names_add(&names, memory_kinds[i]->name, NULL, 0);
    return names_refuse(subject, "kind of memory", &names);
}

enum status unknown_datatype(const char *subject)
{
    struct names names = {.valid_count = 0};
    for (int i = 0; datatypes[i]; i++)
        names_add(&names, datatypes[i]->name, datatypes[i]->aliases, LENGTH(datatypes[i]->aliases));
    return names_refuse(subject, "datatype", &names);
}

enum status unknown_reduction(const char *subject)
{
    struct names names = {.valid_count = 0};
    for (int i = 0; reductions[i]; i++)
        names_add(&names, reductions[i]->name, NULL, 0);
    return names_refuse(subject, "operation", &names);
}

static enum status memory_read(const struct argument *argument, struct job *job)
{
    job->memory = memory_find(argument->text);
    return job->memory ? STATUS_OK : unknown_memory(argument->text);
}

static json_t *memory_show(const struct option_row *option, const struct job *job)
{
    (void)option;
    return json_string(job->memory->name);
}

const struct option_kind kind_memory = {.parse = memory_read, .show = memory_show};
