/*
 * values.c - option values that are numbers, sizes, words or files.
 *
 * Reading is strict: no sign, space, fraction or trailing junk where none belongs. A refusal is one
 * sentence: the option, the value, the reason, and what is valid.
 */

#include "base/log.h"
#include "base/text.h"
#include "cli/options/internal.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *argument_label(const struct argument *argument, char text[LABEL_MOST])
{
    char variable[VARIABLE_MOST];
    const char *format = "--%s '%.*s'", *name = argument->option->name;
    if (argument->source == SOURCE_ENVIRONMENT) {
        format = "%s='%.*s'";
        name = option_variable(argument->option, variable);
    }
    snprintf(text, LABEL_MOST, format, name, ITEM_MOST / 2, argument->text);
    return text;
}

enum status argument_refuse(const struct argument *argument, const char *why, const char *advice)
{
    char label[LABEL_MOST];
    return fail(STATUS_USAGE, "%s %s: %s", argument_label(argument, label), why, advice);
}

/* Numbers. */

static void field_store(const struct option_row *option, struct request *request, long long value)
{
    char *field = (char *)request + option->field;
    bool yes = value != 0;
    int number = (int)value;
    const void *from = option->width == sizeof yes      ? (const void *)&yes
                       : option->width == sizeof number ? (const void *)&number
                                                        : (const void *)&value;
    memcpy(field, from, option->width);
}

static long long field_load(const struct option_row *option, const struct request *request)
{
    const char *field = (const char *)request + option->field;
    if (option->width == sizeof(bool))
        return *(const bool *)field;
    if (option->width == sizeof(int)) {
        int number;
        memcpy(&number, field, sizeof number);
        return number;
    }
    long long value;
    memcpy(&value, field, sizeof value);
    return value;
}

/* Is the value the row's word? */
static bool is_word(const struct argument *argument)
{
    return argument->option->word && strcmp(argument->text, argument->option->word) == 0;
}

/* `range`: the numbers that the option takes, for the usual advice. */
static enum status number_refuse(const struct argument *argument, const char *why,
                                 const char *range)
{
    const struct option_row *option = argument->option;
    char advice[128];
    snprintf(advice, sizeof advice, option->word ? "%s, or '%s'" : "%s", range, option->word);
    return argument_refuse(argument, why, option->advice ? option->advice : advice);
}

static enum status whole_read(const struct argument *argument, struct request *request)
{
    const struct option_row *option = argument->option;
    long long value = option->word_value;
    const char *why =
        is_word(argument) ? NULL : whole_parse(argument->text, option->least, option->most, &value);
    if (why) {
        char range[96];
        snprintf(range, sizeof range, "give a whole number from %lld to %lld", option->least,
                 option->most);
        return number_refuse(argument, why, range);
    }
    field_store(option, request, value);
    return STATUS_OK;
}

/* A value that no user could have given: the option was not given. */
static json_t *number_show(const struct option_row *option, const struct request *request)
{
    long long value = field_load(option, request);
    if (option->word && value == option->word_value)
        return json_string(option->word);
    return value < option->least ? json_null() : json_integer(value);
}

static enum status size_read(const struct argument *argument, struct request *request)
{
    const struct option_row *option = argument->option;
    size_t bytes = (size_t)option->word_value;
    const char *why = is_word(argument) ? NULL : size_parse(argument->text, &bytes);
    if (!why && !is_word(argument) && bytes > (size_t)option->most)
        why = "is too large";
    if (!why && bytes < (size_t)option->least)
        why = "is too small";
    if (why) {
        char least[SIZE_TEXT_MOST], most[SIZE_TEXT_MOST], range[96];
        snprintf(range, sizeof range, "give bytes from %s to %s, such as 512, 4K or 64M",
                 size_format((size_t)option->least, least),
                 size_format((size_t)option->most, most));
        return number_refuse(argument, why, range);
    }
    field_store(option, request, (long long)bytes);
    return STATUS_OK;
}

/* Reads a number; *end: what stands behind it. NULL, or why it is none. */
static const char *real_parse(const struct argument *argument, double *value, char **end)
{
    const char *text = argument->text;
    *value = strtod(text, end);
    if (*text == '\0')
        return "is empty";
    if (*text == '-')
        return "is negative";
    if ((!isdigit((unsigned char)*text) && *text != '.') || *end == text)
        return "is not a number";
    return NULL;
}

static const char *real_bounds(const struct argument *argument, double value)
{
    if (!(value > 0))
        return "is too small";
    return value > (double)argument->option->most ? "is too large" : NULL;
}

static enum status duration_read(const struct argument *argument, struct request *request)
{
    static const char units[] = "smhd";
    static const double seconds[] = {1, 60, 3600, 86400};
    double value;
    char *end, advice[96];
    const char *why = real_parse(argument, &value, &end);
    const char *unit = why || !*end ? NULL : strchr(units, *end);
    if (!why && *end && (!unit || end[1]))
        why = "has trailing junk";
    value *= unit ? seconds[unit - units] : 1;
    why = why ? why : real_bounds(argument, value);
    if (why) {
        snprintf(advice, sizeof advice, "give a time of at most %lldd, such as 90s, 30m or 2h",
                 argument->option->most / 86400);
        return argument_refuse(argument, why, advice);
    }
    memcpy((char *)request + argument->option->field, &value, sizeof value);
    return STATUS_OK;
}

static enum status real_read(const struct argument *argument, struct request *request)
{
    double value;
    char *end;
    const char *why = real_parse(argument, &value, &end);
    if (!why && *end != '\0')
        why = "has trailing junk";
    why = why ? why : real_bounds(argument, value);
    if (why) {
        char advice[96];
        snprintf(advice, sizeof advice, "give a number above 0, at most %lld",
                 argument->option->most);
        return argument_refuse(argument, why, advice);
    }
    memcpy((char *)request + argument->option->field, &value, sizeof value);
    return STATUS_OK;
}

static json_t *real_show(const struct option_row *option, const struct request *request)
{
    double value;
    memcpy(&value, (const char *)request + option->field, sizeof value);
    return value > 0 ? json_real(value) : json_null();
}

/* Words. */

static enum status switch_read(const struct argument *argument, struct request *request)
{
    static const char *const words[] = {"0", "1", "no", "yes", "off", "on", "false", "true", NULL};
    for (int i = 0; words[i]; i++) {
        if (strcasecmp(argument->text, words[i]) == 0) {
            field_store(argument->option, request, i % 2);
            return STATUS_OK;
        }
    }
    return argument_refuse(argument, "is neither yes nor no", "give 1 or 0");
}

static json_t *switch_show(const struct option_row *option, const struct request *request)
{
    return json_boolean(field_load(option, request) != 0);
}

static enum status words_read(const struct argument *argument, struct request *request)
{
    const struct option_row *option = argument->option;
    for (int i = 0; option->words[i]; i++) {
        if (strcmp(argument->text, option->words[i]) == 0) {
            field_store(option, request, i);
            return STATUS_OK;
        }
    }
    char what[64];
    snprintf(what, sizeof what, "value of --%s", option->name);
    return unknown_name(argument->text, what, option->words, NULL);
}

static json_t *words_show(const struct option_row *option, const struct request *request)
{
    return json_string(option->words[field_load(option, request)]);
}

/* `auto` has a most, too, so it is a member of its own. */
static enum status iterations_read(const struct argument *argument, struct request *request)
{
    request->job.iterations = ITERATIONS_AUTO_MOST;
    request->job.iterations_auto = is_word(argument);
    return request->job.iterations_auto ? STATUS_OK : whole_read(argument, request);
}

static json_t *iterations_show(const struct option_row *option, const struct request *request)
{
    return request->job.iterations_auto ? json_string("auto") : number_show(option, request);
}

/* Text. */

static enum status text_read(const struct argument *argument, struct request *request)
{
    if (*argument->text == '\0')
        return argument_refuse(argument, "is empty", "leave it out, or give a value");
    memcpy((char *)request + argument->option->field, &argument->text, sizeof argument->text);
    return STATUS_OK;
}

const char *option_text(const struct option_row *option, const struct request *request)
{
    const char *text;
    memcpy(&text, (const char *)request + option->field, sizeof text);
    return text;
}

static json_t *text_show(const struct option_row *option, const struct request *request)
{
    const char *text = option_text(option, request);
    return text ? json_string(text) : json_null();
}

static enum status file_read(const struct argument *argument, struct request *request)
{
    const char *text = argument->text;
    if (*text == '\0')
        return argument_refuse(argument, "is empty", "give a file's name");
    if (text[0] == '-' && text[1] != '\0')
        return argument_refuse(
            argument, "looks like an option",
            "give a file's name (./-x if it begins so), or - for standard output");
    static const char *const names[] = {"/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"};
    struct argument stdout_argument = *argument;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(text, names[i]) == 0)
            stdout_argument.text = "-";
    /* cctest opens files of its own later, which would get that number. */
    int fd;
    if ((sscanf(text, "/dev/fd/%d", &fd) == 1 || sscanf(text, "/proc/self/fd/%d", &fd) == 1) &&
        fcntl(fd, F_GETFD) < 0)
        return argument_refuse(argument, "is not open", "open it in the shell, as by 3>FILE");
    return text_read(&stdout_argument, request);
}

static enum status address_read(const struct argument *argument, struct request *request)
{
    const char *colon = strrchr(argument->text, ':');
    long long port;
    if (!colon || colon == argument->text)
        return argument_refuse(argument, "is not HOST:PORT", "give both, such as node1:7777");
    if (whole_parse(colon + 1, 1, 65535, &port))
        return argument_refuse(argument, "has no valid port", "give one from 1 to 65535");
    return text_read(argument, request);
}

static enum status memory_devices_read(const struct argument *argument, struct request *request)
{
    struct device_choice choice;
    if (!device_choice_at(argument->text, 0, &choice))
        return argument_refuse(argument, "is no list of GPUs",
                               "give numbers or PCI addresses, such as 1,0 or 0000:3b:00.0 "
                               "(UUIDs: CUDA_VISIBLE_DEVICES takes them)");
    return text_read(argument, request);
}

static enum status nothing_read(const struct argument *argument, struct request *request)
{
    (void)argument;
    (void)request;
    return STATUS_OK;
}

const struct option_kind kind_switch = {
    .parse = switch_read, .show = switch_show, .type = "switch"};
const struct option_kind kind_whole = {.parse = whole_read, .show = number_show};
const struct option_kind kind_size = {.parse = size_read, .show = number_show};
const struct option_kind kind_duration = {
    .parse = duration_read, .show = real_show, .type = "quantity_or_null"};
const struct option_kind kind_real = {
    .parse = real_read, .show = real_show, .type = "quantity_or_null"};
const struct option_kind kind_device = {
    .parse = text_read, .show = text_show, .type = "text_or_null"};
const struct option_kind kind_file = {
    .parse = file_read, .show = text_show, .type = "text_or_null"};
const struct option_kind kind_words = {.parse = words_read, .show = words_show};
const struct option_kind kind_iterations = {.parse = iterations_read, .show = iterations_show};
const struct option_kind kind_address = {
    .parse = address_read, .show = text_show, .type = "text_or_null"};
const struct option_kind kind_memory_devices = {
    .parse = memory_devices_read, .show = text_show, .type = "text_or_null"};
const struct option_kind kind_command = {.parse = nothing_read};

/*
 * The value of --stages: a list of stages of `cctest accept`.
 */
#define SECONDS_MOST 86400

static enum status stage_unknown(const char *name)
{
    char all[200];
    struct text text = text_in(all, sizeof all);
    const char *nearest = name_nearest(name, accept_stage_names);
    for (int i = 0; i < STAGE_SOAK; i++)
        text_add(&text, "%s%s", i ? ", " : "", accept_stage_names[i]);
    return fail(STATUS_USAGE, "'%s' is no stage: %s%s%sthere are %s", name,
                nearest ? "did you mean '" : "", nearest ? nearest : "", nearest ? "'? " : "", all);
}

static bool seconds_read(const char *text, double *seconds)
{
    char *end;
    *seconds = isdigit((unsigned char)*text) ? strtod(text, &end) : -1;
    return *seconds >= 0 && *end == '\0' && *seconds <= SECONDS_MOST;
}

static enum status stages_read(const struct argument *argument, struct request *request)
{
    const char *list = argument->text;
    char item[ITEM_MOST];
    request->accept.stages = 1u << STAGE_START;
    while (list_next(&list, ',', item)) {
        char *colon = strchr(item, ':');
        int stage = 0;
        if (colon)
            *colon = '\0';
        while (accept_stage_names[stage] && strcmp(accept_stage_names[stage], item) != 0)
            stage++;
        if (stage == ACCEPT_STAGES)
            return stage_unknown(item);
        if (stage == STAGE_SOAK)
            return fail(STATUS_USAGE,
                        "soak is no stage to choose: --duration TIME repeats those that "
                        "are chosen for so long");
        request->accept.stages |= 1u << stage;
        if (colon && !seconds_read(colon + 1, &request->accept.seconds[stage]))
            return fail_option(
                STATUS_USAGE, "stages",
                "'%s:%s' in --stages: write the seconds that the stage may take, up to a day", item,
                colon + 1);
        if (colon && request->accept.seconds[stage] < accept_stages[stage].least)
            return fail_option(STATUS_USAGE, "stages",
                               "'%s:%s' in --stages is too short: %s needs %g s", item, colon + 1,
                               item, accept_stages[stage].least);
    }
    return STATUS_OK;
}

static json_t *stages_show(const struct option_row *option, const struct request *request)
{
    json_t *names = json_array();
    (void)option;
    for (int i = 0; i < ACCEPT_STAGES; i++)
        if (request->accept.stages & (1u << i))
            json_array_append_new(names, request->accept.seconds[i] > 0
                                             ? json_sprintf("%s:%g", accept_stage_names[i],
                                                            request->accept.seconds[i])
                                             : json_string(accept_stage_names[i]));
    return names;
}

const struct option_kind kind_stages = {
    .parse = stages_read, .show = stages_show, .type = "timed_stages"};

/*
 * The value of --inject: faults as kind:key=value:key=value.
 */
/* A kind of fault, as --inject takes it. */
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
    fail_within(&(struct failure_place){.options = "inject"});
    enum status status = unknown_name(name, "fault for --inject", names, NULL);
    fail_within(NULL);
    return status;
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
        return fail_option(STATUS_USAGE, "inject",
                           "'%s' of --inject %s is not one of its keys: write %s:rank=R:%s=N", text,
                           name, name, second);
    unsigned bit = is_rank ? 1 : 2;
    if (*seen & bit)
        return fail_option(STATUS_USAGE, "inject",
                           "'%s' of --inject %s is given twice: give it once", text, name);
    *seen |= bit;
    long long most = is_rank                                    ? RANK_MOST
                     : faults[injection->kind].has_microseconds ? MICROSECONDS_MOST
                                                                : ITERATION_MOST;
    long long value;
    const char *why = whole_parse(equals + 1, 0, most, &value);
    if (why)
        return fail_option(STATUS_USAGE, "inject",
                           "'%s' of --inject %s %s: give a whole number from 0 to %lld", text, name,
                           why, most);
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
        return fail_option(STATUS_USAGE, "inject",
                           "--inject %s needs two keys: write %s:rank=R:%s=N",
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
        TRY(injection_read(item, &injection));
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

const struct option_kind kind_inject = {
    .parse = inject_read, .show = inject_show, .type = "injections"};
