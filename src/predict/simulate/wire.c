/*
 * wire.c - pieces of messages on the wires of their channels, one after the other on each.
 */
#include "predict/simulate/internal.h"

#include <stdlib.h>

/* Bytes arrive, after those before them. */
static void wire_deliver(struct sim_engine *engine, uint32_t number, size_t bytes, double latency)
{
    struct sim_channel *channel = &engine->channels[number];
    double at = engine->now + latency + channel->route_latency;
    at = at > channel->last_arrival ? at : channel->last_arrival;
    channel->last_arrival = at;
    engine_add(engine, at, EVENT_ARRIVED, number, bytes);
}

static void wire_begin(struct sim_engine *engine, uint32_t number)
{
    const struct sim_channel *channel = &engine->channels[number];
    const struct sim_piece *piece = &engine->pieces[channel->first_piece];
    if (!flows_start(engine->flows, engine->now, piece->load, 1 / piece->wire,
                     engine->routes + channel->first_resource, channel->resources, number))
        engine->failed = true;
}

static bool pieces_grow(struct sim_engine *engine)
{
    uint32_t room = engine->piece_room ? 2 * engine->piece_room : 256;
    struct sim_piece *pieces = realloc(engine->pieces, room * sizeof *pieces);
    if (!pieces)
        return false;
    for (uint32_t i = engine->piece_room; i < room; i++)
        pieces[i].next = i + 1 < room ? i + 1 : NONE;
    engine->free_piece = engine->piece_room;
    engine->pieces = pieces;
    engine->piece_room = room;
    return true;
}

void wire_send(struct sim_engine *engine, uint32_t number, size_t bytes,
               const struct path_cost *cost, bool begins)
{
    struct sim_channel *channel = &engine->channels[number];
    if (cost->wire == 0) {
        wire_deliver(engine, number, bytes, cost->latency);
        return;
    }
    if (engine->free_piece == NONE && !pieces_grow(engine)) {
        engine->failed = true;
        return;
    }
    uint32_t piece = engine->free_piece;
    engine->free_piece = engine->pieces[piece].next;
    engine->pieces[piece] =
        (struct sim_piece){.bytes = bytes,
                           .load = (double)bytes + (begins ? cost->gap / cost->wire : 0),
                           .wire = cost->wire,
                           .latency = cost->latency,
                           .next = NONE};
    bool idle = channel->first_piece == NONE;
    *(idle ? &channel->first_piece : &engine->pieces[channel->last_piece].next) = piece;
    channel->last_piece = piece;
    if (idle)
        wire_begin(engine, number);
}

void wire_end(struct sim_engine *engine)
{
    uint32_t number = flows_end(engine->flows);
    struct sim_channel *channel = &engine->channels[number];
    uint32_t piece = channel->first_piece;
    channel->first_piece = engine->pieces[piece].next;
    wire_deliver(engine, number, engine->pieces[piece].bytes, engine->pieces[piece].latency);
    engine->pieces[piece].next = engine->free_piece;
    engine->free_piece = piece;
    if (channel->first_piece != NONE)
        wire_begin(engine, number);
}
