/*
 * names.c - refusals of unknown names: the valid names, and the nearest; and kinds of memory.
 */
#include "cli/options/options.h"

#include "base/log.h"
#include "base/parse.h"

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

static enum status memory_read(const struct argument *argument, struct request *request)
{
    request->job.memory = memory_find(argument->text);
    return request->job.memory ? STATUS_OK : unknown_memory(argument->text);
}

static json_t *memory_show(const struct option_row *option, const struct request *request)
{
    (void)option;
    return json_string(request->job.memory->name);
}

const struct option_kind kind_memory = {.parse = memory_read, .show = memory_show};
