/*
 * transport.c - common to all transports: names, the queue of a channel, and the rule that
 * transfers stay inside the regions of their endpoint.
 *
 * The rule is checked for each transfer that is posted: about 10 ns, and 3 to 5 ns for each further
 * piece (measured on a Zen 4, five regions), where to move a posted message takes microseconds.
 */
#include "dataplane/transport/transport.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"

const char *const copy_names[] = {
    [COPY_AUTO] = "auto", [COPY_BCOPY] = "bcopy", [COPY_ZCOPY] = "zcopy", [COPY_LL] = "ll", NULL,
};

const char *const path_names[PATHS + 1] = {
    [PATH_LINE] = "line",
    [PATH_BCOPY] = "bcopy",
    [PATH_ZCOPY] = "zcopy",
    [PATH_LL] = "ll",
};

const struct transport *transport_find(const char *name)
{
    for (const struct transport *const *transport = transports; *transport; transport++) {
        if (!strcmp((*transport)->name, name))
            return *transport;
    }
    return NULL;
}

enum path transport_path(const struct transport *transport, const struct path_query *query)
{
    if (transport->path_of)
        return transport->path_of(query);
    return query->copy == COPY_BCOPY ? PATH_BCOPY : PATH_ZCOPY;
}

bool transport_moves_whole(const struct transport *transport, enum path path, size_t bytes)
{
    bool whole = false;
    for (int i = 0; i < transport->path_range_count; i++)
        if (transport->path_ranges[i].path == path && transport->path_ranges[i].least <= bytes)
            whole = transport->path_ranges[i].whole;
    return whole;
}

bool endpoint_reaches(const struct endpoint *endpoint, const struct memory_kind *kind, char *reason)
{
    if (endpoint->transport->reaches)
        return endpoint->transport->reaches(endpoint, kind, reason);
    if (!kind->host_reads)
        snprintf(reason, TRANSPORT_REASON_MOST, "it does not reach %s memory", kind->name);
    return kind->host_reads;
}

bool endpoint_serves(const struct endpoint *endpoint, const struct memory_kind *kind, bool combines,
                     char *reason)
{
    if (!combines || kind->host_reads || endpoint->transport->combines_anywhere)
        return endpoint_reaches(endpoint, kind, reason);
    snprintf(reason, TRANSPORT_REASON_MOST, "it does not combine in %s memory", kind->name);
    return false;
}

bool endpoint_stages(const struct endpoint *endpoint)
{
    const struct transport_config *config = &endpoint->config;
    char reason[TRANSPORT_REASON_MOST];
    bool reaches = true;
    for (int i = 0; i < config->region_count && config->stages; i++) {
        const struct region *region = &config->regions[i];
        reaches &= region->bytes == 0 || region->kind->host_reads ||
                   endpoint_reaches(endpoint, region->kind, reason);
    }
    return !reaches;
}

static bool piece_lies_in(const struct piece *piece, const struct region *region)
{
    size_t at = (uintptr_t)piece->base - (uintptr_t)region->base, bytes;
    return !__builtin_mul_overflow(piece->times - 1, piece->stride, &bytes) &&
           !__builtin_add_overflow(bytes, piece->run, &bytes) && at <= region->bytes &&
           bytes <= region->bytes - at;
}

static void layout_require_regions(const struct transport_config *config,
                                   const struct layout *layout)
{
    for (size_t p = 0; p < layout->count; p++) {
        const struct piece *piece = &layout->pieces[p];
        int i = 0;
        while (i < config->region_count && !piece_lies_in(piece, &config->regions[i]))
            i++;
        if (i < config->region_count)
            continue;
        say("a transfer names %zu runs of %zu bytes from %p on, stride %zu, outside of this rank's "
            "%d regions: this is a fault of cctest, please report it",
            piece->times, piece->run, (void *)piece->base, piece->stride, config->region_count);
        abort();
    }
}

void channel_require_regions(const struct channel *channel, const struct transfer *transfer)
{
    const struct transport_config *config = &channel->endpoint->config;
    layout_require_regions(config, channel->sends ? &transfer->from : &transfer->to);
    if (transfer->kind == TRANSFER_RECV_REDUCE)
        layout_require_regions(config, &transfer->with);
}

void transport_settings_put(const struct transport_choice *choice,
                            bool (*keeps)(const struct transport_option *option), struct text *text)
{
    const struct transport_option *options = choice->transport->options;
    for (int i = 0; options && i < TRANSPORT_OPTIONS_MOST && options[i].name; i++) {
        const struct transport_setting *setting = &choice->settings[i];
        if (!setting->given || (keeps && !keeps(&options[i])))
            continue;
        text_add(text, ":%s=", options[i].name);
        if (options[i].kind == TRANSPORT_OPTION_NUMBER)
            text_add(text, "%ld", setting->number);
        else
            text_add(text, "%s",
                     options[i].kind == TRANSPORT_OPTION_WORD ? options[i].words[setting->number]
                                                              : setting->text);
    }
}

void channel_post(struct channel *channel, struct transfer *transfer)
{
    if (transfer->length == 0)
        return;
    channel_require_regions(channel, transfer);
    transfer->next = NULL;
    transfer->issued = 0;
    cursor_start(&transfer->cursor, channel->sends ? transfer->from : transfer->to);
    if (transfer->kind == TRANSFER_RECV_REDUCE)
        cursor_start(&transfer->with_cursor, transfer->with);
    if (channel->last)
        channel->last->next = transfer;
    else
        channel->first = transfer;
    channel->last = transfer;
    channel->endpoint->transport->activate(channel);
}

void channel_pop(struct channel *channel)
{
    struct transfer *transfer = channel->first;
    channel->first = transfer->next;
    if (!channel->first)
        channel->last = NULL;
    transfer->next = NULL;
}

void traffic_add(struct traffic *sum, const struct traffic *more, int sign)
{
    for (int path = 0; path < PATHS; path++) {
        sum->received[path] += sign > 0 ? more->received[path] : -more->received[path];
        sum->sent[path] += sign > 0 ? more->sent[path] : -more->sent[path];
    }
    sum->copied_sending += sign > 0 ? more->copied_sending : -more->copied_sending;
    sum->copied_receiving += sign > 0 ? more->copied_receiving : -more->copied_receiving;
}
