/*
 * stage.c - messages in memory that a link does not reach, by way of rings in memory that it does.
 *
 * A ring's messages follow each other in it, as bytes in a stream: `posted` of them have been given
 * a place, `freed` are no longer needed. Link and engine are the two engines of
 * dataplane/memory/memory.h: the `done` of one is a bound for the `limit` of the other.
 */
#include "dataplane/execute/execute.h"

#include <stdlib.h>

#include "base/log.h"

struct stage_ring {
    const struct channel *channel; /* NULL: free */
    struct staging *staging;
    char *base;
    size_t posted, freed;                 /* bytes since the beginning */
    struct staged_message *first, **last; /* messages that are not complete */
};

struct staging {
    const struct memory *memory;
    size_t bytes; /* of each ring */
    int count;    /* of rings that have a channel */
    int most;
    int active;              /* messages that are not complete */
    struct moved_list moved; /* of both sides: not looked at, since all that are active are */
    struct stage_ring rings[];
};

struct staging *staging_create(const struct memory *memory, char *base, size_t bytes, int channels)
{
    struct staging *staging =
        calloc(1, sizeof *staging + (size_t)channels * sizeof *staging->rings);
    if (!staging)
        return NULL;
    staging->memory = memory;
    staging->bytes = bytes;
    staging->most = channels;
    for (int i = 0; i < channels; i++) {
        struct stage_ring *ring = &staging->rings[i];
        ring->staging = staging;
        ring->base = base + (size_t)i * bytes;
        ring->last = &ring->first;
    }
    return staging;
}

void staging_destroy(struct staging *staging)
{
    free(staging);
}

enum status stage_prepare(struct staging *staging, const struct channel *channel,
                          struct staged_message *message)
{
    int i = 0;
    while (i < staging->count && staging->rings[i].channel != channel)
        i++;
    if (i == staging->most)
        return fail(STATUS_ERROR, "there are no more than %d rings to stage messages", i);
    staging->rings[i].channel = channel;
    staging->count += i == staging->count;
    *message = (struct staged_message){.ring = &staging->rings[i]};
    return STATUS_OK;
}

/* A run of the ring, `times` times the same. */
static void add_piece(struct staged_message *message, struct layout *layout, char *base, size_t run,
                      size_t times)
{
    if (run * times > 0)
        message->pieces[layout->count++] =
            (struct piece){.base = base, .run = run, .stride = times > 1 ? 0 : run, .times = times};
}

/* The place of the message in the ring: it goes round as often as it must. */
static struct layout ring_layout(struct staged_message *message, size_t length)
{
    const struct stage_ring *ring = message->ring;
    size_t bytes = ring->staging->bytes, at = message->begin % bytes;
    size_t first = bytes - at < length ? bytes - at : length, left = length - first;
    struct layout layout = {.pieces = message->pieces};
    add_piece(message, &layout, ring->base + at, first, 1);
    add_piece(message, &layout, ring->base, bytes, left / bytes);
    add_piece(message, &layout, ring->base, left % bytes, 1);
    return layout;
}

void stage_post(struct staged_message *message, struct channel *channel, struct transfer *transfer)
{
    struct stage_ring *ring = message->ring;
    struct staging *staging = ring->staging;
    if (transfer->length == 0)
        return;
    message->transfer = transfer;
    message->begin = ring->posted;
    message->counted = 0;
    message->next = NULL;
    struct layout place = ring_layout(message, transfer->length);
    struct transfer half = {.element = transfer->element,
                            .length = transfer->length,
                            .grain = staging->bytes / 2,
                            .combines = transfer->combines,
                            .one_way = transfer->one_way,
                            .moved = &staging->moved,
                            .profile = transfer->profile};
    half.grain = half.grain < half.length ? half.grain : half.length;
    message->link = message->local = half;
    if (channel->sends) {
        message->local.kind = TRANSFER_COPY;
        message->local.from = transfer->from;
        message->local.to = place;
        message->link.kind = TRANSFER_SEND;
        message->link.from = place;
    } else {
        message->link.kind = TRANSFER_RECV;
        message->link.to = place;
        message->local.kind = transfer->kind == TRANSFER_RECV ? TRANSFER_COPY : TRANSFER_REDUCE;
        message->local.to = transfer->to;
        message->local.from = transfer->kind == TRANSFER_RECV ? place : transfer->with;
        message->local.with = place;
        message->local.reduce = transfer->reduce;
    }
    ring->posted += transfer->length;
    *ring->last = message;
    ring->last = &message->next;
    staging->active++;
    channel_post(channel, &message->link);
    staging->memory->kind->engine_post(staging->memory->engine, &message->local);
}

/* Counts as copied what the engine (to send) or the link (received) has put into the ring. */
static void message_count(struct staged_message *message)
{
    struct traffic *traffic = &message->ring->channel->endpoint->traffic;
    bool sends = message->link.kind == TRANSFER_SEND;
    size_t now = sends ? message->local.done : message->link.done;
    *(sends ? &traffic->copied_sending : &traffic->copied_receiving) += now - message->counted;
    message->counted = now;
}

static size_t whole(const struct transfer *transfer, size_t bytes)
{
    bytes = bytes < transfer->length ? bytes : transfer->length;
    return bytes - bytes % transfer->element;
}

/* How far the ring has room for the message. */
static size_t message_room(const struct staged_message *message)
{
    size_t end = message->ring->freed + message->ring->staging->bytes;
    return whole(message->transfer, end > message->begin ? end - message->begin : 0);
}

/* Passes limits on, and what is done. */
static void message_update(struct staged_message *message)
{
    struct transfer *transfer = message->transfer, *link = &message->link, *local = &message->local;
    size_t room = message_room(message);
    message_count(message);
    if (link->kind == TRANSFER_SEND) {
        local->limit = transfer->limit < room ? transfer->limit : room;
        link->limit = whole(transfer, local->done);
    } else {
        link->limit = room;
        local->limit = whole(transfer, transfer->limit < link->done ? transfer->limit : link->done);
    }
    size_t done = link->kind == TRANSFER_SEND ? link->done : local->done;
    if (done > transfer->done)
        transfer_advance(transfer, done - transfer->done);
}

/* The bytes of the first message that are done free their place; so do those that follow, once it
 * is complete. */
static void ring_progress(struct stage_ring *ring)
{
    for (struct staged_message *message = ring->first; message; message = message->next) {
        if (message->begin >= ring->freed + ring->staging->bytes)
            break; /* no place in the ring yet, nor for those behind it */
        message_update(message);
    }
    for (struct staged_message *message; (message = ring->first);) {
        ring->freed = message->begin + message->transfer->done;
        if (message->transfer->done < message->transfer->length)
            break;
        ring->first = message->next;
        ring->last = ring->first ? ring->last : &ring->first;
        ring->staging->active--;
    }
}

void staging_progress(struct staging *staging)
{
    while (moved_take(&staging->moved))
        continue;
    for (int i = 0; staging->active > 0 && i < staging->count; i++)
        ring_progress(&staging->rings[i]);
}

bool staging_is_active(const struct staging *staging)
{
    return staging->active > 0;
}
