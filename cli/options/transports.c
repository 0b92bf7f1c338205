/*
 * transports.c - the value of --transport: a list of transports, each with its options.
 *
 * A value may contain a ':', as in nic=mlx5_0:1+mlx5_1:gid=3. So a part without a '=' continues the
 * text in front of it.
 */
#include "cli/options/options.h"

#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/text.h"

/* The options of `transport`, ended by a NULL name. */
static const struct transport_option *options_of(const struct transport *transport)
{
    static const struct transport_option none = {.name = NULL};
    return transport->options ? transport->options : &none;
}

int transport_option_index(const struct transport *transport, const char *name, size_t length)
{
    const struct transport_option *options = options_of(transport);
    for (int i = 0; i < TRANSPORT_OPTIONS_MOST && options[i].name; i++)
        if (strlen(options[i].name) == length && strncmp(options[i].name, name, length) == 0)
            return i;
    return -1;
}

static enum status option_unknown(const struct transport *transport,
                                  const struct parameter *parameter)
{
    const char *names[TRANSPORT_OPTIONS_MOST + 1] = {NULL};
    const struct transport_option *options = options_of(transport);
    for (int i = 0; i < TRANSPORT_OPTIONS_MOST && options[i].name; i++)
        names[i] = options[i].name;
    return parameter_unknown(parameter, names);
}

static enum status setting_read(const struct parameter *parameter,
                                const struct transport_option *option,
                                struct transport_setting *setting)
{
    setting->given = true;
    switch (option->kind) {
    case TRANSPORT_OPTION_NUMBER:
        return parameter_number(parameter, option->least, option->most, &setting->number);
    case TRANSPORT_OPTION_WORD:
        return parameter_word(parameter, option->words, &setting->number);
    case TRANSPORT_OPTION_TEXT:
        setting->text = parameter->value;
        return *parameter->value ? STATUS_OK
                                 : fail(STATUS_USAGE, "%s of transport %s is empty: give %s",
                                        option->name, parameter->owner, option->values);
    }
    return STATUS_ERROR;
}

static enum status transport_unknown(const char *name)
{
    struct names names = {.valid_count = 0};
    names_add(&names, "auto", NULL, 0);
    for (int i = 0; transports[i]; i++)
        names_add(&names, transports[i]->name, NULL, 0);
    return names_refuse(name, "transport", &names);
}

/* Cuts the first part off `text`, up to a ':' or the end. Returns the rest; NULL: there is none. */
static char *part_cut(char *text)
{
    char *colon = strchr(text, ':');
    if (colon)
        *colon++ = '\0';
    return colon;
}

/* Has the part that begins here a '='? */
static bool is_assignment(const char *part)
{
    return part[strcspn(part, ":=")] == '=';
}

/* "gid=3:nic=mlx5_0:1". Cuts `text` into values, which the settings keep. */
static enum status settings_read(struct transport_choice *choice, char *text)
{
    const struct transport *transport = choice->transport;
    unsigned seen = 0;
    for (char *key = text, *next; key; key = next) {
        struct parameter parameter = {.kind = "transport", .owner = transport->name, .key = key};
        bool complete = is_assignment(key);
        next = part_cut(key);
        if (!complete) {
            bool known = transport_option_index(transport, key, strlen(key)) >= 0;
            return parameter_incomplete(&parameter, known ? key : options_of(transport)->name);
        }
        char *value = strchr(key, '=');
        *value++ = '\0';
        parameter.value = value;
        int index = transport_option_index(transport, key, strlen(key));
        if (index < 0)
            return option_unknown(transport, &parameter);
        const struct transport_option *option = &transport->options[index];
        while (option->kind == TRANSPORT_OPTION_TEXT && next && !is_assignment(next)) {
            next[-1] = ':';
            next = part_cut(next);
        }
        enum status status = parameter_once(&parameter, &seen, index);
        if (status == STATUS_OK)
            status = setting_read(&parameter, option, &choice->settings[index]);
        if (status != STATUS_OK)
            return status;
    }
    return STATUS_OK;
}

/* "verbs:gid=3". */
static enum status transport_add(const struct argument *argument, struct request *request,
                                 char *text, int count)
{
    struct transport_choice *choice = &request->job.transports[count];
    char *settings = part_cut(text);
    *choice = (struct transport_choice){.transport = transport_find(text), .named = true};
    if (strcmp(text, "auto") == 0)
        return argument_refuse(argument, "names others or options beside auto, which allows any",
                               "write auto alone, or leave it out");
    if (!choice->transport)
        return transport_unknown(text);
    for (int i = 0; i < count; i++)
        if (request->job.transports[i].transport == choice->transport)
            return argument_refuse(argument, "names a transport twice", "name each once");
    return settings ? settings_read(choice, settings) : STATUS_OK;
}

static enum status transport_read(const struct argument *argument, struct request *request)
{
    int count = 0;
    request->job.transports_text = argument->text;
    memset(request->job.transports, 0, sizeof request->job.transports);
    if (strcmp(argument->text, "auto") == 0) {
        for (; transports[count] && count < TRANSPORTS_MOST; count++)
            request->job.transports[count].transport = transports[count];
        return STATUS_OK;
    }
    if (strlen(argument->text) >= sizeof request->job.transport_values)
        return fail_option(STATUS_USAGE, "transport",
                           "--transport '%.60s...' is longer than %zu characters: shorten it",
                           argument->text, sizeof request->job.transport_values - 1);
    snprintf(request->job.transport_values, sizeof request->job.transport_values, "%s",
             argument->text);
    for (char *item = request->job.transport_values, *next; item; item = next) {
        next = strchr(item, ',');
        if (next)
            *next++ = '\0';
        if (count == TRANSPORTS_MOST)
            return argument_refuse(argument, "is too long", "name fewer");
        TRY(transport_add(argument, request, item, count++));
    }
    return STATUS_OK;
}

/* Leaves out transports that are not made for the job's memory. */
static enum status transports_suit(struct request *request)
{
    int count = 0;
    for (int i = 0; request->job.transports[i].transport; i++) {
        const struct transport_choice *choice = &request->job.transports[i];
        const struct transport *transport = choice->transport;
        bool suits = !transport->carries || transport->carries(request->job.memory);
        if (!suits && choice->named)
            return fail(STATUS_USAGE,
                        "transport %s does not move %s memory: ask for memory of a GPU (-m cuda), "
                        "or leave %s out of -x",
                        transport->name, request->job.memory->name, transport->name);
        if (suits && count++ != i)
            request->job.transports[count - 1] = *choice;
    }
    request->job.transports[count].transport = NULL;
    return STATUS_OK;
}

enum status transports_settle(struct request *request)
{
    char reason[TRANSPORT_REASON_MOST];
    TRY(transports_suit(request));
    for (const struct transport_choice *choice = request->job.transports; choice->transport;
         choice++) {
        const struct transport *transport = choice->transport;
        if (transport->accepts &&
            !transport->accepts(choice->settings, request->job.bootstrap.timeout, reason))
            return fail(STATUS_USAGE, "transport %s: %s", transport->name, reason);
    }
    for (const struct transport_choice *choice = request->job.transports; choice->transport;
         choice++) {
        const struct transport *transport = choice->transport;
        const char *why = choice->named && transport->unavailable ? transport->unavailable() : NULL;
        if (why)
            return fail(STATUS_UNAVAILABLE, "transport %s cannot be used here: %s", transport->name,
                        why);
    }
    return STATUS_OK;
}

static bool option_is_common(const struct transport_option *option)
{
    return !option->per_rank;
}

/* `auto` allows the same as a list of all transports, so these are compared. */
static json_t *transport_compare(const struct option_row *option, const struct request *request)
{
    (void)option;
    json_t *items = json_array();
    for (int i = 0; request->job.transports[i].transport; i++) {
        char item[TRANSPORT_LIST_MOST + 64];
        struct text text = text_in(item, sizeof item);
        text_add(&text, "%s", request->job.transports[i].transport->name);
        transport_settings_put(&request->job.transports[i], option_is_common,
                               &text); /* all must agree */
        json_array_append_new(items, json_string(item));
    }
    return items;
}

static json_t *transport_show(const struct option_row *option, const struct request *request)
{
    (void)option;
    if (strcmp(request->job.transports_text, "auto") == 0)
        return json_string("auto");
    json_t *items = json_array();
    for (const char *item = request->job.transports_text; *item; item += *item == ',') {
        size_t length = strcspn(item, ",");
        json_array_append_new(items, json_stringn(item, length));
        item += length;
    }
    return items;
}

const struct option_kind kind_transport = {.parse = transport_read,
                                           .show = transport_show,
                                           .compare = transport_compare,
                                           .type = "transports"};
