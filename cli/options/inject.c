/*
 * inject.c - the value of --inject: faults as kind:key=value:key=value.
 */
#include "cli/options/options.h"

#include <stdio.h>
#include <string.h>

#include "base/log.h"

/* What --inject knows of a kind of fault. */
struct fault_form {
    const char *name;
    bool has_microseconds; /* besides a rank; else an iteration */
};

static const struct fault_form faults[] = {
    [INJECT_CORRUPT] = {.name = "corrupt"},
    [INJECT_DROP] = {.name = "drop"},
    [INJECT_DELAY] = {.name = "delay", .has_microseconds = true},
    [INJECT_KILL] = {.name = "kill"},
    [INJECT_STOP] = {.name = "stop"},
    [INJECT_SILENT] = {.name = "silent"},
};
#define FAULTS ((int)(sizeof faults / sizeof *faults))

#define RANK_MOST         65535
#define ITERATION_MOST    1000000000
#define MICROSECONDS_MOST 60000000

static enum status fault_find(const char *name, enum injection_kind *kind)
{
    const char *names[FAULTS + 1] = {NULL};
    for (int i = 0; i < FAULTS; i++) {
        names[i] = faults[i].name;
        if (strcmp(name, faults[i].name) == 0) {
            *kind = (enum injection_kind)i;
            return STATUS_OK;
        }
    }
    return unknown_name(name, "fault for --inject", names, NULL);
}

static const char *second_key(enum injection_kind kind)
{
    return faults[kind].has_microseconds ? "us" : "iteration";
}

const char *inject_fault(int index, const char **second)
{
    if (index >= FAULTS)
        return NULL;
    *second = second_key((enum injection_kind)index);
    return faults[index].name;
}

/* Reads one "rank=2", and sets its bit in *seen. */
static enum status value_read(const char *text, struct injection *injection, unsigned *seen)
{
    const char *name = faults[injection->kind].name, *second = second_key(injection->kind);
    const char *equals = strchr(text, '=');
    size_t length = equals ? (size_t)(equals - text) : strlen(text);
    bool is_rank = length == 4 && strncmp(text, "rank", length) == 0;
    bool is_second = length == strlen(second) && strncmp(text, second, length) == 0;
    if (!equals || (!is_rank && !is_second))
        return fail(STATUS_USAGE,
                    "'%s' of --inject %s is not one of its keys: write %s:rank=R:%s=N", text, name,
                    name, second);
    unsigned bit = is_rank ? 1 : 2;
    if (*seen & bit)
        return fail(STATUS_USAGE, "'%s' of --inject %s is given twice: give it once", text, name);
    *seen |= bit;
    long long most = is_rank                                    ? RANK_MOST
                     : faults[injection->kind].has_microseconds ? MICROSECONDS_MOST
                                                                : ITERATION_MOST;
    long long value;
    const char *why = whole_parse(equals + 1, 0, most, &value);
    if (why)
        return fail(STATUS_USAGE, "'%s' of --inject %s %s: give a whole number from 0 to %lld",
                    text, name, why, most);
    if (is_rank)
        injection->rank = (int)value;
    else if (faults[injection->kind].has_microseconds)
        injection->microseconds = (long)value;
    else
        injection->iteration = (long)value;
    return STATUS_OK;
}

static enum status injection_read(char *text, struct injection *injection)
{
    unsigned seen = 0;
    char *next, *word = strtok_r(text, ":", &next);
    enum status status = fault_find(word ? word : "", &injection->kind);
    while (status == STATUS_OK && (word = strtok_r(NULL, ":", &next)))
        status = value_read(word, injection, &seen);
    if (status == STATUS_OK && seen != 3)
        return fail(STATUS_USAGE, "--inject %s needs two keys: write %s:rank=R:%s=N",
                    faults[injection->kind].name, faults[injection->kind].name,
                    second_key(injection->kind));
    return status;
}

static enum status inject_read(const struct argument *argument, struct request *request)
{
    const char *list = argument->text;
    char item[ITEM_MOST];
    while (list_next(&list, ',', item)) {
        if (request->job.injection_count == INJECTIONS_MOST)
            return argument_refuse(argument, "has too many faults", "inject at most 8 at once");
        struct injection injection = {.kind = INJECT_CORRUPT};
        enum status status = injection_read(item, &injection);
        if (status != STATUS_OK)
            return status;
        request->job.injections[request->job.injection_count++] = injection;
    }
    return STATUS_OK;
}

static json_t *inject_show(const struct option_row *option, const struct request *request)
{
    (void)option;
    json_t *list = json_array();
    for (int i = 0; i < request->job.injection_count; i++) {
        const struct injection *injection = &request->job.injections[i];
        json_t *item = json_object();
        json_object_set_new(item, "fault", json_string(faults[injection->kind].name));
        json_object_set_new(item, "rank", json_integer(injection->rank));
        json_object_set_new(item, second_key(injection->kind),
                            json_integer(faults[injection->kind].has_microseconds
                                             ? injection->microseconds
                                             : injection->iteration));
        json_array_append_new(list, item);
    }
    return list;
}

const struct option_kind kind_inject = {.parse = inject_read, .show = inject_show};
