/*
 * lists.c - what a job goes through, as lists of names or 'all': collectives, datatypes, operators.
 */
#include "cli/options/options.h"

#include <stddef.h>
#include <string.h>

#include "base/log.h"
#include "base/text.h"

/* A table of which a list names some entries. Entries of different tables have different types. */
struct name_table {
    const char *what;                      /* "datatype" */
    const void *(*find)(const char *name); /* the entry; NULL: there is none */
    enum status (*unknown)(const char *name);
    const void *entries; /* `count` pointers to them */
    int count;
    size_t name;   /* where an entry has its name, */
    size_t chosen; /* and struct job the pointers to those of the list, ended by NULL */
};

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

static const struct name_table collective_table = {"collective",
                                                   collective_entry,
                                                   unknown_collective,
                                                   collectives,
                                                   COLLECTIVES,
                                                   offsetof(struct collective, name),
                                                   offsetof(struct request, job.collectives)},
                               datatype_table = {"datatype",
                                                 datatype_entry,
                                                 unknown_datatype,
                                                 datatypes,
                                                 DATATYPES,
                                                 offsetof(struct datatype, name),
                                                 offsetof(struct request, job.datatypes)},
                               reduction_table = {"operation",
                                                  reduction_entry,
                                                  unknown_reduction,
                                                  reductions,
                                                  REDUCTIONS,
                                                  offsetof(struct reduction, name),
                                                  offsetof(struct request, job.reductions)};

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
    for (int i = 0; *all && i < table->count; i++)
        entry_choose(table, request, entry_at(table->entries, i));
    while (!*all && list_next(&text, ',', item)) {
        const void *entry = table->find(item);
        if (!entry && strcmp(item, "all") == 0)
            return fail(STATUS_USAGE, "'all' stands for every %s: write it alone", table->what);
        if (!entry)
            return table->unknown(item);
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

static const struct name_table *table_of(const struct option_row *option)
{
    return option->kind == &kind_datatype ? &datatype_table : &reduction_table;
}

static enum status types_read(const struct argument *argument, struct request *request)
{
    bool all;
    enum status status = list_read(table_of(argument->option), argument->text, request, &all);
    request->job.types_all |= all;
    return status;
}

/* One name, or a list of several; null: none. */
static json_t *types_show(const struct option_row *option, const struct request *request)
{
    const struct name_table *table = table_of(option);
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

const struct option_kind kind_datatype = {.parse = types_read, .show = types_show};
const struct option_kind kind_reduction = {.parse = types_read, .show = types_show};
