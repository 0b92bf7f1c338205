/*
 * cost.c - the costs of the model that hold for a link and a message, and the time of a core for a
 * piece. engine.c charges latency and wire.
 */
#include "predict/simulate/internal.h"

#include "collective/collective.h"

#include <math.h>
#include <string.h>

/*
 * The numbers of a model that hold for a machine.
 */
const char *const distance_names[] = {[DISTANCE_CACHE] = "same-cache",
                                      [DISTANCE_NODE] = "same-node",
                                      [DISTANCE_NETWORK] = "network",
                                      NULL};
const char *const movement_names[] = {
    [MOVEMENT_PUSH] = "push", [MOVEMENT_PULL] = "pull", [MOVEMENT_GRANT] = "grant", NULL};
const char *const port_names[] = {
    [PORT_NONE] = "none", [PORT_RANK] = "rank", [PORT_NODE] = "node", NULL};

static double curve_at(const struct curve *curve, double bytes)
{
    const struct curve_point *points = curve->points;
    int last = curve->count - 1;
    if (last < 0)
        return 0;
    if (bytes <= points[0].bytes)
        return points[0].value;
    for (int i = 1; i <= last; i++) {
        if (bytes > points[i].bytes)
            continue;
        double along =
            log(bytes / points[i - 1].bytes) / log(points[i].bytes / points[i - 1].bytes);
        return points[i - 1].value + along * (points[i].value - points[i - 1].value);
    }
    return points[last].value;
}

void core_latency_add(struct core_latency *latency, double least, double most)
{
    if (most <= 0)
        return;
    latency->least = latency->most > 0 && latency->least < least ? latency->least : least;
    latency->most = latency->most > most ? latency->most : most;
}

const struct link_model *model_link_moved(const struct model *model)
{
    for (int i = 0; i < model->link_count; i++)
        if (model->links[i].core.most > CORES_MOVED_FACTOR * model->links[i].core.least)
            return &model->links[i];
    return NULL;
}

/* The links of a transport at a distance. Of several those that nic= names, unless it names
 * none. */
struct link_set {
    const struct link_model *links[LINK_MODELS_MOST];
    int count;
};

static struct link_set links_find(const struct model *model, const struct transport_choice *choice,
                                  enum rank_distance distance)
{
    struct link_set all = {.count = 0}, named = {.count = 0};
    for (int i = 0; i < model->link_count; i++) {
        const struct link_model *link = &model->links[i];
        if (link->distance != distance || strcmp(link->transport, choice->transport->name) != 0)
            continue;
        all.links[all.count++] = link;
        if (link->rail[0] && choice_allows_nic(choice, link->rail))
            named.links[named.count++] = link;
    }
    return named.count > 0 ? named : all;
}

/* The links that ranks at this distance use; of no transport, if the model has none. */
static struct link_set model_links(const struct model *model,
                                   const struct transport_choice *choices,
                                   enum rank_distance distance)
{
    struct link_set links = {.count = 0};
    for (const struct transport_choice *choice = choices; choice->transport && links.count == 0;
         choice++) {
        links = links_find(model, choice, distance);
        /* A model of one host may have only one of the two distances within it. */
        if (links.count == 0 && distance != DISTANCE_NETWORK)
            links = links_find(model, choice,
                               distance == DISTANCE_CACHE ? DISTANCE_NODE : DISTANCE_CACHE);
    }
    return links;
}

const struct link_model *model_link(const struct model *model,
                                    const struct transport_choice *choices,
                                    enum rank_distance distance, int rail)
{
    struct link_set links = model_links(model, choices, distance);
    return links.count > 0 ? links.links[rail % links.count] : NULL;
}

int model_rails(const struct model *model, const struct transport_choice *choices)
{
    int count = model_links(model, choices, DISTANCE_NETWORK).count;
    return count > 1 ? count : 1;
}

const struct path_cost *link_path(const struct link_model *link, enum path path, size_t bytes)
{
    const struct path_cost *found = NULL, *nearest = &link->paths[0];
    for (int i = 0; i < link->path_count; i++) {
        const struct path_cost *row = &link->paths[i];
        if (row->path == path && (row->least <= bytes || !found))
            found = row;
        if (row->path <= path && (row->least <= bytes || row->path > nearest->path))
            nearest = row;
    }
    return found ? found : nearest;
}

const struct curve *model_combine(const struct model *model, const struct datatype *datatype,
                                  const struct reduction *reduction)
{
    const struct combine_cost *best = NULL;
    int likeness = -1;
    for (int i = 0; i < model->combine_count; i++) {
        const struct combine_cost *row = &model->combines[i];
        int like = 2 * (strcmp(row->datatype, datatype->name) == 0) +
                   (strcmp(row->reduction, reduction->name) == 0);
        if (like > likeness) {
            likeness = like;
            best = row;
        }
    }
    return best ? &best->byte : NULL;
}

/*
 * How much of an operation a core moves in one turn.
 */
#define PIECE_LEAST ((size_t)16 << 10) /* a slot of shm; about a call of tcp */

static const struct transport *send_transport(const struct sim_engine *engine, uint32_t index)
{
    const struct sim_operation *operation = &engine->operations[index];
    return transport_find(engine->channels[operation->channel].link->transport);
}

static enum path send_path(const struct sim_engine *engine, uint32_t index)
{
    const struct simulation *simulation = engine->simulation;
    const struct collective *collective = simulation->problem->collective;
    const struct program_operation *program = engine_operation(engine, index);
    const struct sim_operation *operation = &engine->operations[index];
    const struct link_model *link = engine->channels[operation->channel].link;
    const struct sim_rank *rank = &engine->rank[operation->rank];
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
    return transport_path(send_transport(engine, index), &query);
}

const struct path_cost *cost_of_send(const struct sim_engine *engine, uint32_t index)
{
    const struct sim_operation *operation = &engine->operations[index];
    return link_path(engine->channels[operation->channel].link, send_path(engine, index),
                     engine_length(engine, index));
}

static bool operation_is_whole(const struct sim_engine *engine, uint32_t index)
{
    const struct sim_operation *operation = &engine->operations[index];
    size_t length = engine_length(engine, index);
    bool sends = engine_operation(engine, index)->kind == OPERATION_SEND;
    uint32_t send = sends ? index : operation->partner;
    if (length > cost_grain(engine, index))
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

/* Pieces grow from the smallest to the largest and shrink again, so that the two ends of a long
 * message work at the same time for nearly all of it, with few pieces. */
size_t cost_piece(const struct sim_engine *engine, uint32_t index, size_t bytes)
{
    const struct sim_operation *operation = &engine->operations[index];
    size_t length = engine_length(engine, index);
    size_t gone = operation->done > operation->issued ? operation->done : operation->issued,
           left = length - gone;
    size_t most = length / (size_t)engine->simulation->pieces;
    most = most < gone ? most : gone;
    most = most < left / 2 ? most : left / 2;
    most = most > PIECE_LEAST ? most : PIECE_LEAST;
    if (engine->rank[operation->rank].is_whole || bytes <= most)
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

/* The cost of a byte for an operation's core, which may wait for memory that all cores of the host
 * use. */
static double byte_cost(const struct sim_engine *engine, const struct sim_operation *operation,
                        const struct curve *curve)
{
    const struct sim_rank *rank = &engine->rank[operation->rank];
    const struct sim_core *core = &engine->cores[rank->core]; /* whose ranks share a cache */
    double all = (double)(rank->program->elements * engine->element * core->ranks);
    double own = curve_at(curve, all); /* 0: a NIC moves it */
    return own > 0 ? fmax(own, core->busy * curve_at(&engine->simulation->model->bus, all)) : 0;
}

double cost_time(const struct sim_engine *engine, uint32_t index, size_t bytes)
{
    const struct model *model = engine->simulation->model;
    const struct sim_operation *operation = &engine->operations[index];
    const struct program_operation *program = engine_operation(engine, index);
    const struct path_cost *cost = operation->partner == NONE ? NULL
                                   : operation->cost          ? operation->cost
                                                     : engine->operations[operation->partner].cost;
    bool shared = engine->cores[engine->rank[operation->rank].core].ranks > 1;
    bool begins = operation->done == 0 && operation->issued == 0;
    double count = (double)bytes, copy, combine;
    double moved = cost && shared && cost->sharing > 0 ? count * cost->sharing : count;
    double local = begins ? model->copy_overhead : 0;
    switch ((enum operation_kind)program->kind) {
    case OPERATION_COPY:
    case OPERATION_FINISH:
        return local + count * byte_cost(engine, operation, &model->copy);
    case OPERATION_REDUCE:
        return local +
               (engine->combine ? count * byte_cost(engine, operation, engine->combine) : 0);
    case OPERATION_SEND:
        if (cost->movement == MOVEMENT_PULL)
            return begins ? cost->send_overhead : 0;
        return (begins ? cost->send_overhead : 0) +
               moved * byte_cost(engine, operation, &cost->send_byte);
    case OPERATION_RECV:
    case OPERATION_RECV_REDUCE:
        break;
    }
    double time = (begins ? cost->receive_overhead : 0) +
                  moved * byte_cost(engine, operation, &cost->receive_byte);
    if (program->kind == OPERATION_RECV || !engine->combine)
        return time;
    /* A path that combines out of what has arrived does so in the place of a copy. */
    combine = byte_cost(engine, operation, engine->combine);
    copy = cost->combines_apart ? 0 : byte_cost(engine, operation, &model->copy);
    return time + count * fmax(combine - copy, 0);
}
