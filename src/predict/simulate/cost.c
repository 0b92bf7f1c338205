/*
 * cost.c - how much of an operation a core moves in one turn, and how long that takes.
 */
#include "predict/simulate/internal.h"

#include <math.h>

#include "collective/collective.h"

#define PIECE_LEAST ((size_t)16 << 10) /* a slot of shm; about a call of tcp */

static const struct transport *send_transport(const struct sim_engine *engine, uint32_t operation)
{
    const struct sim_operation *it = &engine->operations[operation];
    return transport_find(engine->channels[it->channel].link->transport);
}

static enum path send_path(const struct sim_engine *engine, uint32_t operation)
{
    const struct simulation *simulation = engine->simulation;
    const struct collective *collective = simulation->problem->collective;
    const struct program_operation *program = engine_operation(engine, operation);
    const struct sim_operation *it = &engine->operations[operation];
    const struct link_model *link = engine->channels[it->channel].link;
    const struct sim_rank *rank = &engine->rank[it->rank];
    const struct path_query query = {
        .copy = simulation->copy,
        .bytes = program->length * engine->element,
        .run = program->run * engine->element,
        .shared = simulation->shared,
        .combines = collective->reduces,
        .one_way = collective->rooted,
        .has_core = engine->has_cores,
        .is_far = link->distance != DISTANCE_CACHE,
        .only_sends = rank->sends == 1 && rank->recvs == 0,
    };
    return transport_path(send_transport(engine, operation), &query);
}

const struct path_cost *cost_of_send(const struct sim_engine *engine, uint32_t operation)
{
    const struct sim_operation *it = &engine->operations[operation];
    return link_path(engine->channels[it->channel].link, send_path(engine, operation),
                     engine_length(engine, operation));
}

static bool operation_is_whole(const struct sim_engine *engine, uint32_t operation)
{
    const struct sim_operation *it = &engine->operations[operation];
    size_t length = engine_length(engine, operation);
    bool sends = engine_operation(engine, operation)->kind == OPERATION_SEND;
    uint32_t send = sends ? operation : it->partner;
    if (length > cost_grain(engine, operation))
        return false;
    if (send == NONE)
        return true;
    size_t window = cost_of_send(engine, send)->window;
    return (window == 0 || length <= window) &&
           transport_moves_whole(send_transport(engine, send), send_path(engine, send), length);
}

bool cost_rank_is_whole(const struct sim_engine *engine, const struct sim_rank *rank)
{
    if (engine->simulation->pieces == 1)
        return true;
    for (uint32_t i = 0; i < rank->program->count; i++)
        if (!operation_is_whole(engine, rank->first + i))
            return false;
    return true;
}

/* Pieces grow from the smallest to the largest and shrink again, so that the two ends of a long message
 * work at the same time for nearly all of it, with few pieces. */
size_t cost_piece(const struct sim_engine *engine, uint32_t operation, size_t bytes)
{
    const struct sim_operation *it = &engine->operations[operation];
    size_t length = engine_length(engine, operation);
    size_t gone = it->done > it->issued ? it->done : it->issued, left = length - gone;
    size_t most = length / (size_t)engine->simulation->pieces;
    most = most < gone ? most : gone;
    most = most < left / 2 ? most : left / 2;
    most = most > PIECE_LEAST ? most : PIECE_LEAST;
    if (engine->rank[it->rank].is_whole || bytes <= most)
        return bytes;
    return most - most % engine->element;
}

size_t cost_grain(const struct sim_engine *engine, uint32_t operation)
{
    const struct simulation *simulation = engine->simulation;
    size_t length = engine_length(engine, operation);
    if (!engine_operation(engine, operation)->awaited)
        return length;
    return grain_of(simulation->chunk, length, simulation->memory->grain_least,
                    simulation->memory->grain_most);
}

/* What a byte costs an operation's core: it may wait for memory that all cores of the host use. */
static double byte_cost(const struct sim_engine *engine, const struct sim_operation *operation,
                        const struct curve *curve)
{
    const struct sim_rank *rank = &engine->rank[operation->rank];
    const struct sim_core *core = &engine->cores[rank->core]; /* whose ranks share a cache */
    double all = (double)(rank->program->elements * engine->element * core->ranks);
    double own = curve_at(curve, all); /* 0: a NIC moves it */
    return own > 0 ? fmax(own, core->busy * curve_at(&engine->simulation->model->bus, all)) : 0;
}

double cost_time(const struct sim_engine *engine, uint32_t operation, size_t bytes)
{
    const struct model *model = engine->simulation->model;
    const struct sim_operation *it = &engine->operations[operation];
    const struct program_operation *program = engine_operation(engine, operation);
    const struct path_cost *cost = it->partner == NONE ? NULL
                                   : it->cost          ? it->cost
                                                       : engine->operations[it->partner].cost;
    bool shared = engine->cores[engine->rank[it->rank].core].ranks > 1;
    bool begins = it->done == 0 && it->issued == 0;
    double count = (double)bytes, copy, combine;
    double moved = cost && shared && cost->sharing > 0 ? count * cost->sharing : count;
    double local = begins ? model->copy_overhead : 0;
    switch ((enum operation_kind)program->kind) {
    case OPERATION_COPY:
    case OPERATION_FINISH:
        return local + count * byte_cost(engine, it, &model->copy);
    case OPERATION_REDUCE:
        return local + (engine->combine ? count * byte_cost(engine, it, engine->combine) : 0);
    case OPERATION_SEND:
        if (cost->movement == MOVEMENT_PULL)
            return begins ? cost->send_overhead : 0;
        return (begins ? cost->send_overhead : 0) + moved * byte_cost(engine, it, &cost->send_byte);
    case OPERATION_RECV:
    case OPERATION_RECV_REDUCE:
        break;
    }
    double time =
        (begins ? cost->receive_overhead : 0) + moved * byte_cost(engine, it, &cost->receive_byte);
    if (program->kind == OPERATION_RECV || !engine->combine)
        return time;
    /* A path that combines out of what has arrived does so in the place of a copy. */
    combine = byte_cost(engine, it, engine->combine);
    copy = cost->combines_apart ? 0 : byte_cost(engine, it, &model->copy);
    return time + count * fmax(combine - copy, 0);
}
