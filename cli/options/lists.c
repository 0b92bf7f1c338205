/*
 * lists.c - what a job goes through, as lists of names or 'all': collectives, datatypes, operators.
 */
#include "cli/options/lists.h"

#include <string.h>

#include "base/log.h"
#include "base/text.h"
#include "cli/options/names.h"
#include "cli/options/values.h"

/* A table of which a list names some entries. */
struct name_table {
    const char *what;              /* "datatype" */
    int (*find)(const char *name); /* the index of the entry; -1: there is none */
    enum status (*unknown)(const char *name);
    int count;
};

static int collective_index(const char *name)
{
    const struct collective *found = collective_find(name);
    int i = 0;
    while (found && collectives[i] != found)
        i++;
    return found ? i : -1;
}

static int datatype_index(const char *name)
{
    const struct datatype *found = datatype_find(name);
    int i = 0;
    while (found && datatypes[i] != found)
        i++;
    return found ? i : -1;
}

static int reduction_index(const char *name)
{
    const struct reduction *found = reduction_find(name);
    int i = 0;
    while (found && reductions[i] != found)
        i++;
    return found ? i : -1;
}

static const struct name_table collective_table = {"collective", collective_index,
                                                   unknown_collective, COLLECTIVES},
                               datatype_table = {"datatype", datatype_index, unknown_datatype,
                                                 DATATYPES},
                               reduction_table = {"operation", reduction_index, unknown_reduction,
                                                  REDUCTIONS};

#define LIST_MOST 32 /* entries of a table */
_Static_assert(LIST_MOST >= COLLECTIVES && LIST_MOST >= DATATYPES && LIST_MOST >= REDUCTIONS,
               "a table is longer than a list of all of it");

/* *all: the list is 'all'. */
static enum status list_read(const struct name_table *table, const char *text,
                             int indices[LIST_MOST], int *count, bool *all)
{
    char item[ITEM_MOST];
    bool seen[LIST_MOST] = {false};
    *all = strcmp(text, "all") == 0;
    for (*count = 0; *all && *count < table->count; (*count)++)
        indices[*count] = *count;
    while (!*all && list_next(&text, ',', item)) {
        int index = table->find(item);
        if (index < 0 && strcmp(item, "all") == 0)
            return fail(STATUS_USAGE, "'all' stands for every %s: write it alone", table->what);
        if (index < 0)
            return table->unknown(item);
        if (seen[index])
            return fail(STATUS_USAGE, "%s '%s' is named twice: name it once", table->what, item);
        seen[index] = true;
        indices[(*count)++] = index;
    }
    return STATUS_OK;
}

enum status collectives_read(const char *text, struct job *job)
{
    int indices[LIST_MOST], count;
    enum status status = list_read(&collective_table, text, indices, &count, &job->collectives_all);
    for (int i = 0; status == STATUS_OK && i < count; i++)
        job->collectives[i] = collectives[indices[i]];
    return status;
}

const char *collectives_text(const struct job *job, char text[COLLECTIVES_TEXT_MOST])
{
    struct text names = text_in(text, COLLECTIVES_TEXT_MOST);
    for (int i = 0; job->collectives[i]; i++)
        text_add(&names, "%s%s", i ? "," : "", job->collectives[i]->name);
    return text;
}

static enum status datatype_read(const struct argument *argument, struct job *job)
{
    int indices[LIST_MOST], count;
    bool all;
    enum status status = list_read(&datatype_table, argument->text, indices, &count, &all);
    for (int i = 0; status == STATUS_OK && i < count; i++)
        job->datatypes[i] = datatypes[indices[i]];
    job->types_all |= all;
    return status;
}

/* One name, or a list of several; null: none. */
static json_t *names_show(json_t *list)
{
    json_t *shown = json_array_size(list) > 1   ? json_incref(list)
                    : json_array_size(list) > 0 ? json_incref(json_array_get(list, 0))
                                                : json_null();
    json_decref(list);
    return shown;
}

static json_t *datatype_show(const struct option_row *option, const struct job *job)
{
    (void)option;
    json_t *list = json_array();
    for (int i = 0; job->datatypes[i]; i++)
        json_array_append_new(list, json_string(job->datatypes[i]->name));
    return names_show(list);
}

static enum status reduction_read(const struct argument *argument, struct job *job)
{
    int indices[LIST_MOST], count;
    bool all;
    enum status status = list_read(&reduction_table, argument->text, indices, &count, &all);
    for (int i = 0; status == STATUS_OK && i < count; i++)
        job->reductions[i] = reductions[indices[i]];
    job->types_all |= all;
    return status;
}

static json_t *reduction_show(const struct option_row *option, const struct job *job)
{
    (void)option;
    json_t *list = json_array();
    for (int i = 0; job->reductions[i]; i++)
        json_array_append_new(list, json_string(job->reductions[i]->name));
    return names_show(list);
}

const struct option_kind kind_datatype = {.parse = datatype_read, .show = datatype_show};
const struct option_kind kind_reduction = {.parse = reduction_read, .show = reduction_show};
