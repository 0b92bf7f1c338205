/*
 * transport.c - common to all transports: names, and the queue of a channel.
 */
#include "transport/transport.h"

#include <string.h>

const char *const copy_names[] = {
    [COPY_AUTO] = "auto", [COPY_BCOPY] = "bcopy", [COPY_ZCOPY] = "zcopy", [COPY_LL] = "ll", NULL,
};

const char *const path_names[PATHS] = {
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

void channel_post(struct channel *channel, struct transfer *transfer)
{
    if (transfer->length == 0)
        return;
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
