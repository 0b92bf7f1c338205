/*
 * transport.c - common to all transports: names, the queue of a channel, and the rule that
 * transfers stay inside the regions of their endpoint.
 *
 * The rule is checked for each transfer that is posted: about 10 ns, and 3 to 5 ns for each further
 * piece (measured on a Zen 4, five regions), where to move a posted message takes microseconds.
 */

#include "base/list.h"
#include "base/log.h"
#include "dataplane/transport/internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

/*
 * The sentence about garbage in memory that ranks share.
 */
enum status fail_garbage(int peer, const char *what)
{
    return fail_peer(
        REASON_PEER_INVALID, peer,
        "the memory that rank %d and this rank share holds %s that no rank writes: another process "
        "writes there, or memory fails; look for memory errors in the kernel's log (dmesg), and "
        "compare with -x tcp",
        peer, what);
}

/*
 * The NIC ports that a transport may use.
 */
/* "mlx5_0+mlx5_1:2", as the user gave it; NULL: nothing. */
static const char *nics_given(const struct transport_choice *choice)
{
    const struct transport_option *options = choice->transport->options;
    for (int i = 0; options && i < TRANSPORT_OPTIONS_MOST && options[i].name; i++)
        if (strcmp(options[i].name, "nic") == 0 && choice->settings[i].given)
            return choice->settings[i].text;
    return NULL;
}

/* Does an entry of nic= name this port? "mlx5_0" names all ports of the NIC, and an inventory calls
 * port 1 so. */
static bool entry_names(const char *entry, size_t length, const char *nic)
{
    size_t name = strcspn(nic, ":");
    if (length < name || strncmp(entry, nic, name) != 0)
        return false;
    const char *port = nic[name] ? nic + name : ":1";
    return length == name ||
           (length == name + strlen(port) && strncmp(entry + name, port, strlen(port)) == 0);
}

bool choice_allows_nic(const struct transport_choice *choice, const char *nic)
{
    const char *list = nics_given(choice);
    for (const char *entry = list; entry && *entry; entry += *entry == '+') {
        size_t length = strcspn(entry, "+");
        if (entry_names(entry, length, nic))
            return true;
        entry += length;
    }
    return !list;
}

/*
 * The offer of a rank for one of its transports: its address, or why it cannot be used.
 */
void offer_code(struct codec codec, struct transport_offer *offer)
{
    code_u32(codec, &offer->kind, OFFER_ADDRESS, OFFERS - 1);
    code_u32(codec, &offer->size, 0, sizeof offer->data);
    code_bytes(codec, offer->data, offer->size);
}

void offers_open(struct offers *offers, int rank, int ranks, int count)
{
    size_t all = (size_t)ranks * (size_t)count;
    *offers = (struct offers){.rank = rank,
                              .ranks = ranks,
                              .count = count,
                              .mine = new_array((size_t)count + 1, sizeof *offers->mine),
                              .theirs = new_array(all + 1, sizeof *offers->theirs),
                              .addresses = new_array((size_t)count + 1, sizeof *offers->addresses)};
}

void offers_take(struct offers *offers, int rank, int i, const struct transport_offer *offer,
                 bool is_peer)
{
    offers->addresses[i] += offer->kind == OFFER_ADDRESS;
    if (rank == offers->rank || !is_peer)
        return;
    struct transport_offer **kept =
        &offers->theirs[(size_t)rank * (size_t)offers->count + (size_t)i];
    size_t size = offsetof(struct transport_offer, data) + offer->size;
    free(*kept);
    *kept = memcpy(new_array(1, size), offer, size);
}

const struct transport_offer *offers_of(const struct offers *offers, int rank, int i)
{
    static const struct transport_offer none = {.kind = OFFER_NONE};
    const struct transport_offer *kept =
        offers->theirs[(size_t)rank * (size_t)offers->count + (size_t)i];
    return rank == offers->rank ? &offers->mine[i] : kept ? kept : &none;
}

void offers_close(struct offers *offers)
{
    size_t all = (size_t)offers->ranks * (size_t)offers->count;
    for (size_t i = 0; offers->theirs && i < all; i++)
        free(offers->theirs[i]);
    free(offers->theirs);
    free(offers->mine);
    free(offers->addresses);
    *offers = (struct offers){0};
}
