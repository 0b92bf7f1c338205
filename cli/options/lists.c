/*
 * lists.c - what a job goes through, as lists of names or 'all': collectives, datatypes, operators.
 */
#include "cli/options/options.h"

#include "base/log.h"
#include "base/text.h"
#include "collective/formats/formats.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* Pointer i of an array of pointers to entries. */
static const void *entry_at(const void *array, int i)
{
    const void *entry;
    memcpy(&entry, (const char *)array + (size_t)i * sizeof entry, sizeof entry);
    return entry;
}

static const char *entry_name(const struct name_table *table, const void *entry)
{
    const char *name;
    memcpy(&name, (const char *)entry + table->name, sizeof name);
    return name;
}

struct names table_names(const struct name_table *table)
{
    struct names names = {.valid_count = 0};
    const void *entry;
    for (int i = 0; (entry = entry_at(table->entries, i)) != NULL; i++) {
        const void *aliases = (const char *)entry + table->aliases;
        names_add(&names, entry_name(table, entry), aliases, table->alias_most);
    }
    return names;
}

static const void *collective_entry(const char *name)
{
    return collective_find(name);
}

static const void *datatype_entry(const char *name)
{
    return datatype_find(name);
}

static const void *reduction_entry(const char *name)
{
    return reduction_find(name);
}

#define ALIASES(type) .aliases = offsetof(type, aliases), .alias_most = LENGTH(((type *)0)->aliases)

const struct name_table collective_table = {.what = "collective",
                                            .entries = collectives,
                                            .name = offsetof(struct collective, name),
                                            ALIASES(struct collective),
                                            .find = collective_entry,
                                            .chosen = offsetof(struct request, job.collectives)};
const struct name_table datatype_table = {.what = "datatype",
                                          .entries = datatypes,
                                          .name = offsetof(struct datatype, name),
                                          ALIASES(struct datatype),
                                          .find = datatype_entry,
                                          .chosen = offsetof(struct request, job.datatypes)};
const struct name_table reduction_table = {.what = "operation",
                                           .entries = reductions,
                                           .name = offsetof(struct reduction, name),
                                           .find = reduction_entry,
                                           .chosen = offsetof(struct request, job.reductions)};
const struct name_table memory_table = {
    .what = "kind of memory", .entries = memory_kinds, .name = offsetof(struct memory_kind, name)};
const struct name_table transport_table = {
    .what = "transport", .entries = transports, .name = offsetof(struct transport, name)};

/* Fails with "<subject> is not a datatype; valid are ...; did you mean ...?". */
static enum status unknown_entry(const struct name_table *table, const char *subject)
{
    const struct names names = table_names(table);
    return names_refuse(subject, table->what, &names);
}

/* The nearest may be an algorithm, but they are too many for the list. */
enum status unknown_listed(const char *subject)
{
    struct names names = table_names(&collective_table);
    for (int i = 0; algorithms[i]; i++) {
        names_add_more(&names, &algorithms[i]->name, 1);
        names_add_more(&names, algorithms[i]->aliases, LENGTH(algorithms[i]->aliases));
    }
    return names_refuse(subject, "collective, nor an algorithm of one", &names);
}

static enum status memory_read(const struct argument *argument, struct request *request)
{
    static const char *const words[] = {"gpu", "gpus", "device"};
    request->job.memory = memory_find(argument->text);
    for (int i = 0; i < LENGTH(words); i++)
        if (name_equal(argument->text, words[i]))
            return fail(STATUS_USAGE, "'%s' is not a kind of memory: the memory of GPUs is -m cuda",
                        argument->text);
    return request->job.memory ? STATUS_OK : unknown_entry(argument->option->table, argument->text);
}

static json_t *memory_show(const struct option_row *option, const struct request *request)
{
    (void)option;
    return json_string(request->job.memory->name);
}

const struct option_kind kind_memory = {.parse = memory_read, .show = memory_show, .type = "name"};

/*
 * The lists that a job goes through.
 */
/* One more of the list; false: it is there already. */
static bool entry_choose(const struct name_table *table, struct request *request, const void *entry)
{
    char *chosen = (char *)request + table->chosen;
    int i = 0;
    for (const void *earlier; (earlier = entry_at(chosen, i)) != NULL; i++)
        if (earlier == entry)
            return false;
    memcpy(chosen + (size_t)i * sizeof entry, &entry, sizeof entry);
    return true;
}

/* *all: the list is 'all'. */
static enum status list_read(const struct name_table *table, const char *text,
                             struct request *request, bool *all)
{
    char item[ITEM_MOST];
    *all = strcmp(text, "all") == 0;
    for (int i = 0; *all && entry_at(table->entries, i); i++)
        entry_choose(table, request, entry_at(table->entries, i));
    while (!*all && list_next(&text, ',', item)) {
        const void *entry = table->find(item);
        if (!entry && strcmp(item, "all") == 0)
            return fail(STATUS_USAGE, "'all' stands for every %s: write it alone", table->what);
        if (!entry)
            return unknown_entry(table, item);
        if (!entry_choose(table, request, entry))
            return fail(STATUS_USAGE, "%s '%s' is named twice: name it once", table->what, item);
    }
    return STATUS_OK;
}

enum status collectives_read(const char *text, struct request *request)
{
    return list_read(&collective_table, text, request, &request->job.collectives_all);
}

const char *collectives_text(const struct request *request, char text[COLLECTIVES_TEXT_MOST])
{
    struct text names = text_in(text, COLLECTIVES_TEXT_MOST);
    for (int i = 0; request->job.collectives[i]; i++)
        text_add(&names, "%s%s", i ? "," : "", request->job.collectives[i]->name);
    return text;
}

static enum status types_read(const struct argument *argument, struct request *request)
{
    bool all;
    enum status status = list_read(argument->option->table, argument->text, request, &all);
    request->job.types_all |= all;
    return status;
}

/* One name, or a list of several; null: none. */
static json_t *types_show(const struct option_row *option, const struct request *request)
{
    const struct name_table *table = option->table;
    const char *chosen = (const char *)request + table->chosen;
    json_t *list = json_array();
    for (int i = 0; entry_at(chosen, i); i++)
        json_array_append_new(list, json_string(entry_name(table, entry_at(chosen, i))));
    json_t *shown = json_array_size(list) > 1   ? json_incref(list)
                    : json_array_size(list) > 0 ? json_incref(json_array_get(list, 0))
                                                : json_null();
    json_decref(list);
    return shown;
}

const struct option_kind kind_list = {
    .parse = types_read, .show = types_show, .type = "one_or_more"};

/*
 * Items of --algorithm that are files with schedules: file:PATH. They are read with
 * the other options, and proven when all options are known, before any rank is started.
 */
const char *file_item_path(const char *item)
{
    size_t length = strlen(FILE_PREFIX);
    return strncmp(item, FILE_PREFIX, length) == 0 ? item + length : NULL;
}

enum status file_item_read(struct request *request, const struct collective *collective,
                           const char *path, struct choice *choice)
{
    const struct schedule_file *file;
    struct file_plan *plan = NULL;
    *choice = (struct choice){.algorithm = NULL};
    enum status status = schedule_file_read(path, &request->job.files, &file);
    if (status == STATUS_OK)
        status = schedule_file_plan(file, collective, &plan);
    if (plan)
        *choice = file_plan_choice(plan);
    return status;
}

enum status files_settle(struct request *request)
{
    enum status status = STATUS_OK;
    for (int i = 0; i < request->job.candidate_count && status == STATUS_OK; i++) {
        const struct candidate *candidate = &request->job.candidates[i];
        struct file_plan *plan = candidate->choice.file;
        if (!plan)
            continue;
        if (candidate->collective->rooted && request->job.root == ROOT_ALL)
            return fail_option(STATUS_USAGE, "root",
                               "%.200s is written for root %d: give --root %d instead of all",
                               plan->path, plan->problem.root, plan->problem.root);
        status = file_plan_prove(plan, request->job.in_place);
    }
    return status;
}

bool files_named(const char *list, const char *path,
                 bool (*same)(const char *one, const char *other))
{
    char item[ITEM_MOST];
    while (list_next(&list, ',', item))
        if (file_item_path(item) && same(path, file_item_path(item)))
            return true;
    return false;
}
