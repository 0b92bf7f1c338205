/*
 * values.c - option values that are numbers, sizes, words or files.
 *
 * Reading is strict: no sign, space, fraction or trailing junk where none belongs. A refusal is one
 * sentence: the option, the value, the reason, and what is valid.
 */
#include "cli/options/options.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/size.h"

const char *argument_label(const struct argument *argument, char text[LABEL_MOST])
{
    char variable[64];
    const char *format = "--%s '%.*s'";
    const char *name = argument->option->name;
    if (argument->source == SOURCE_ENVIRONMENT) {
        format = "CCTEST_%s='%.*s'";
        size_t i = 0;
        for (; name[i] && i + 1 < sizeof variable; i++)
            variable[i] = name[i] == '-' ? '_' : (char)toupper((unsigned char)name[i]);
        variable[i] = '\0';
        name = variable;
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

static enum status whole_read(const struct argument *argument, struct request *request)
{
    const struct option_row *option = argument->option;
    long long value;
    const char *why = whole_parse(argument->text, option->least, option->most, &value);
    if (why) {
        char advice[96];
        snprintf(advice, sizeof advice, "give a whole number from %lld to %lld%s", option->least,
                 option->most,
                 option->kind == &kind_channels     ? ", or 'auto'"
                 : option->kind == &kind_iterations ? ", or 'auto'"
                 : option->kind == &kind_check      ? ", or 'all'"
                                                    : "");
        return argument_refuse(argument, why, advice);
    }
    field_store(option, request, value);
    return STATUS_OK;
}

/* A value that no user could have given: the option was not given. */
static json_t *whole_show(const struct option_row *option, const struct request *request)
{
    long long value = field_load(option, request);
    return value < option->least ? json_null() : json_integer(value);
}

static enum status size_read_into(const struct argument *argument, size_t *bytes)
{
    const struct option_row *option = argument->option;
    const char *why = size_parse(argument->text, bytes);
    if (!why && *bytes > (size_t)option->most)
        why = "is too large";
    if (!why && *bytes < (size_t)option->least)
        why = "is too small";
    if (!why)
        return STATUS_OK;
    char least[SIZE_TEXT_MOST], most[SIZE_TEXT_MOST], advice[96];
    snprintf(advice, sizeof advice, "give bytes from %s to %s, such as 512, 4K or 64M%s",
             size_format((size_t)option->least, least), size_format((size_t)option->most, most),
             option->kind == &kind_chunk ? ", or 'auto'" : "");
    return argument_refuse(argument, why, advice);
}

static enum status size_read(const struct argument *argument, struct request *request)
{
    size_t bytes;
    enum status status = size_read_into(argument, &bytes);
    if (status == STATUS_OK)
        field_store(argument->option, request, (long long)bytes);
    return status;
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

static enum status root_read(const struct argument *argument, struct request *request)
{
    long long root = ROOT_ALL;
    const char *why = NULL;
    if (strcmp(argument->text, "all") != 0)
        why = whole_parse(argument->text, 0, argument->option->most, &root);
    if (why)
        return argument_refuse(argument, why, "give a rank's number, counted from 0, or 'all'");
    request->job.root = (int)root;
    return STATUS_OK;
}

static json_t *root_show(const struct option_row *option, const struct request *request)
{
    (void)option;
    return request->job.root == ROOT_ALL ? json_string("all") : json_integer(request->job.root);
}

static enum status chunk_read(const struct argument *argument, struct request *request)
{
    request->job.chunk = GRAIN_AUTO;
    return strcmp(argument->text, "auto") == 0 ? STATUS_OK
                                               : size_read_into(argument, &request->job.chunk);
}

static json_t *chunk_show(const struct option_row *option, const struct request *request)
{
    return request->job.chunk == GRAIN_AUTO ? json_string("auto") : whole_show(option, request);
}

static enum status channels_read(const struct argument *argument, struct request *request)
{
    request->job.channels = CHANNELS_AUTO;
    return strcmp(argument->text, "auto") == 0 ? STATUS_OK : whole_read(argument, request);
}

static json_t *channels_show(const struct option_row *option, const struct request *request)
{
    return request->job.channels == CHANNELS_AUTO ? json_string("auto")
                                                  : whole_show(option, request);
}

static enum status iterations_read(const struct argument *argument, struct request *request)
{
    request->job.iterations = ITERATIONS_AUTO_MOST;
    request->job.iterations_auto = strcmp(argument->text, "auto") == 0;
    return request->job.iterations_auto ? STATUS_OK : whole_read(argument, request);
}

static json_t *iterations_show(const struct option_row *option, const struct request *request)
{
    return request->job.iterations_auto ? json_string("auto") : whole_show(option, request);
}

static enum status check_read(const struct argument *argument, struct request *request)
{
    request->job.checked = CHECKED_ALL;
    return strcmp(argument->text, "all") == 0 ? STATUS_OK : whole_read(argument, request);
}

static json_t *check_show(const struct option_row *option, const struct request *request)
{
    return request->job.checked == CHECKED_ALL ? json_string("all") : whole_show(option, request);
}

/* Text. */

static enum status text_read(const struct argument *argument, struct request *request)
{
    if (*argument->text == '\0')
        return argument_refuse(argument, "is empty", "leave it out, or give a value");
    memcpy((char *)request + argument->option->field, &argument->text, sizeof argument->text);
    return STATUS_OK;
}

static json_t *text_show(const struct option_row *option, const struct request *request)
{
    const char *text;
    memcpy(&text, (const char *)request + option->field, sizeof text);
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

const struct option_kind kind_switch = {.parse = switch_read, .show = switch_show};
const struct option_kind kind_whole = {.parse = whole_read, .show = whole_show};
const struct option_kind kind_size = {.parse = size_read, .show = whole_show};
const struct option_kind kind_duration = {.parse = duration_read, .show = real_show};
const struct option_kind kind_real = {.parse = real_read, .show = real_show};
const struct option_kind kind_device = {.parse = text_read, .show = text_show};
const struct option_kind kind_file = {.parse = file_read, .show = text_show};
const struct option_kind kind_words = {.parse = words_read, .show = words_show};
const struct option_kind kind_chunk = {.parse = chunk_read, .show = chunk_show};
const struct option_kind kind_channels = {.parse = channels_read, .show = channels_show};
const struct option_kind kind_iterations = {.parse = iterations_read, .show = iterations_show};
const struct option_kind kind_check = {.parse = check_read, .show = check_show};
const struct option_kind kind_root = {.parse = root_read, .show = root_show};
const struct option_kind kind_address = {.parse = address_read, .show = text_show};
const struct option_kind kind_memory_devices = {.parse = memory_devices_read, .show = text_show};
const struct option_kind kind_command = {.parse = nothing_read};
