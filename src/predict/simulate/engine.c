/*
 * engine.c - the state of a simulation moves on: operations become ready, cores serve them piece by
 * piece, and bytes arrive.
 *
 * An operation is ready when it can move: it is open, its limit allows it, and as a message it is
 * the next one on its channel, with room there or with bytes that have arrived. The ready
 * operations of a rank are served in turn, a piece at each turn, as the executor does in its
 * progress(). Ranks that share a core take turns, too: one that finds nothing ready leaves the core
 * to the next, also while none has anything to do. So what arrives waits for its rank's turn.
 */
#include "predict/simulate/internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/list.h"

/*
 * When the start barrier of a run releases the ranks of several hosts.
 */
/* The barrier's message of one byte, from one host to another. */
static double token_time(const struct simulation *simulation)
{
    const struct link_model *link =
        model_link(simulation->model, simulation->transports, DISTANCE_NETWORK, 0);
    if (!link)
        return 0; /* the simulation fails by itself */
    const struct path_cost *cost = link_path(link, PATH_LINE, 1);
    return cost->send_overhead + cost->gap + cost->wire + cost->latency + cost->receive_overhead;
}

static void tokens_pass(double *host, double *next, int hosts, double token)
{
    for (int step = 1; step < hosts; step *= 2) {
        for (int h = 0; h < hosts; h++)
            next[h] = fmax(host[h], host[(h - step + hosts) % hosts] + token);
        memcpy(host, next, (size_t)hosts * sizeof *host);
    }
}

bool release_find(const struct simulation *simulation, const double *came, double *released)
{
    const int ranks = simulation_ranks(simulation), *node = simulation->node;
    double *host = calloc((size_t)ranks, sizeof *host), *next = calloc((size_t)ranks, sizeof *next);
    double first = INFINITY;
    int hosts = 0;
    bool done = host && next;
    for (int r = 0; r < ranks && done; r++) {
        hosts = node[r] >= hosts ? node[r] + 1 : hosts;
        host[node[r]] = fmax(host[node[r]], came[r]);
    }
    if (done)
        tokens_pass(host, next, hosts, token_time(simulation));
    for (int h = 0; h < hosts; h++)
        first = fmin(first, host[h]);
    for (int r = 0; r < ranks && done; r++)
        released[r] = host[node[r]] - first;
    free(host);
    free(next);
    return done;
}

/*
 * Pieces of messages on the wires of their channels, one after the other on each.
 */
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

/* A piece that none uses; NONE: memory ran out. */
static uint32_t piece_take(struct sim_engine *engine)
{
    uint32_t piece = engine->free_piece;
    if (piece != NONE)
        engine->free_piece = engine->pieces[piece].next;
    else if (list_reserve(&engine->pieces, engine->piece_count, sizeof *engine->pieces))
        piece = engine->piece_count++;
    return piece;
}

/* A piece leaves the sender: its bytes will arrive at the receiver (EVENT_ARRIVED). `begins`: these
 * are the first bytes of a message, which take the gap, too. */
static void wire_send(struct sim_engine *engine, uint32_t number, size_t bytes,
                      const struct path_cost *cost, bool begins)
{
    struct sim_channel *channel = &engine->channels[number];
    if (cost->wire == 0) {
        wire_deliver(engine, number, bytes, cost->latency);
        return;
    }
    uint32_t piece = piece_take(engine);
    if (piece == NONE) {
        engine->failed = true;
        return;
    }
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

/* The piece that ends next has passed its wire, now. */
static void wire_end(struct sim_engine *engine)
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

/*
 * The state of a simulation moves on.
 */
#define MOMENT 1e-9 /* us: what happens within it happens at once */

static void core_serve(struct sim_engine *engine, uint32_t number);

/* Queues. */

/* When an idle core comes to a rank: each before it in the round looks first. */
static double rank_turn(const struct sim_engine *engine, uint32_t number)
{
    const struct sim_rank *rank = &engine->rank[number];
    const struct sim_core *core = &engine->cores[rank->core];
    double step = engine->simulation->model->core_switch, round = core->ranks * step;
    uint32_t before = (rank->place + core->ranks - engine->rank[core->rank].place) % core->ranks;
    double at = core->idle_since + (before ? before : core->ranks) * step;
    if (core->ranks == 1 || step == 0)
        return engine->now;
    return at < engine->now ? at + ceil((engine->now - at) / round) * round : at;
}

/* Lets the core of a rank that has something to do serve it, now or in its turn. */
static void rank_queue(struct sim_engine *engine, uint32_t number)
{
    struct sim_core *core = &engine->cores[engine->rank[number].core];
    if (core->is_busy)
        return; /* it looks at all its ranks at the end of the turn */
    double at = rank_turn(engine, number);
    if (at <= engine->now) {
        core->rank = number;
        core_serve(engine, engine->rank[number].core);
    } else if (at < core->wake) {
        core->wake = at;
        core->next = number;
        engine_add(engine, at, EVENT_TURN, engine->rank[number].core, 0);
    }
}

static void operation_queue(struct sim_engine *engine, uint32_t index)
{
    struct sim_operation *operation = &engine->operations[index];
    struct sim_rank *rank = &engine->rank[operation->rank];
    if (operation->is_ready)
        return;
    operation->is_ready = true;
    operation->next_ready = NONE;
    *(rank->ready == NONE ? &rank->ready : &engine->operations[rank->last_ready].next_ready) =
        index;
    rank->last_ready = index;
    rank_queue(engine, operation->rank);
}

/* Bytes that can move. */

static size_t send_movable(struct sim_engine *engine, uint32_t index)
{
    struct sim_operation *operation = &engine->operations[index];
    struct sim_channel *channel = &engine->channels[operation->channel];
    size_t bytes = operation->limit - operation->issued;
    if (channel->send_head != index || bytes == 0)
        return 0;
    if (!operation->cost)
        operation->cost = cost_of_send(engine, index);
    if (operation->cost->movement == MOVEMENT_GRANT) {
        size_t granted = channel->granted - channel->given;
        return bytes < granted ? bytes : granted;
    }
    if (operation->cost->movement == MOVEMENT_PULL || operation->cost->window == 0)
        return bytes;
    size_t room = operation->cost->window > channel->outstanding
                      ? operation->cost->window - channel->outstanding
                      : 0;
    room -= room % engine->element;
    channel->is_blocked = room < bytes;
    return bytes < room ? bytes : room;
}

static size_t operation_bytes(struct sim_engine *engine, uint32_t index)
{
    struct sim_operation *operation = &engine->operations[index];
    if (!operation->is_open)
        return 0;
    if (operation->channel == NONE)
        return operation->limit - operation->done;
    if (engine_operation(engine, index)->kind == OPERATION_SEND)
        return send_movable(engine, index);
    const struct sim_channel *channel = &engine->channels[operation->channel];
    if (channel->recv_head != index)
        return 0;
    size_t there = channel->arrived - channel->taken_before;
    there = there < operation->limit ? there : operation->limit;
    return there > operation->done ? there - operation->done : 0;
}

/* Bytes that it can move now. */
static size_t operation_movable(struct sim_engine *engine, uint32_t operation)
{
    size_t bytes = operation_bytes(engine, operation);
    bool waits = engine->rank[engine->operations[operation].rank].is_whole &&
                 bytes < engine_length(engine, operation);
    return waits ? 0 : bytes;
}

static void operation_try(struct sim_engine *engine, uint32_t operation)
{
    if (operation != NONE && !engine->operations[operation].is_ready &&
        operation_movable(engine, operation) > 0)
        operation_queue(engine, operation);
}

/* A receive tells how far its message may come, where the message takes a path on which a NIC has
 * to know. */
static void recv_grant(struct sim_engine *engine, uint32_t index)
{
    struct sim_operation *operation = &engine->operations[index];
    struct sim_operation *send = &engine->operations[operation->partner];
    const struct sim_channel *channel = &engine->channels[operation->channel];
    if (!channel->grants || !operation->is_open || channel->recv_head != index ||
        operation->limit == operation->granted)
        return;
    if (!send->cost)
        send->cost = cost_of_send(engine, operation->partner);
    if (send->cost->movement != MOVEMENT_GRANT)
        return;
    engine_add(engine, engine->now + send->cost->latency, EVENT_GRANTED, operation->channel,
               operation->limit - operation->granted);
    operation->granted = operation->limit;
}

/* Watchers stand in the order of the program, the last one first: that is seldom far from the
 * head. */
static void watcher_add(struct sim_engine *engine, uint32_t holder, uint32_t operation)
{
    uint32_t *link = &engine->operations[holder].watchers;
    while (*link != NONE && *link > operation)
        link = &engine->operations[*link].next_watcher;
    engine->operations[operation].next_watcher = *link;
    *link = operation;
}

/* Takes them, the first one first. */
static uint32_t watchers_take(struct sim_engine *engine, uint32_t holder)
{
    uint32_t first = NONE, watcher = engine->operations[holder].watchers;
    engine->operations[holder].watchers = NONE;
    while (watcher != NONE) {
        uint32_t next = engine->operations[watcher].next_watcher;
        engine->operations[watcher].next_watcher = first;
        first = watcher;
        watcher = next;
    }
    return first;
}

/* Finds how far an operation may go now, and which one it must watch to go further. */
static void operation_limit_find(struct sim_engine *engine, uint32_t index)
{
    struct sim_operation *operation = &engine->operations[index];
    const struct sim_rank *rank = &engine->rank[operation->rank];
    const struct program_operation *program = engine_operation(engine, index);
    size_t first = operation->first_wait;
    uint32_t holder;
    size_t limit =
        limit_of_waits(program->length, rank->program->waits + program->first_wait,
                       program[1].first_wait - program->first_wait, engine->visible + rank->first,
                       engine->element, 0, &first, &holder);
    operation->first_wait = (uint32_t)first;
    operation->limit = limit - limit % engine->element;
    if (holder != UINT32_MAX)
        watcher_add(engine, rank->first + holder, index);
    if (operation->channel != NONE && program->kind != OPERATION_SEND)
        recv_grant(engine, index);
    operation_try(engine, index);
}

static void epoch_open(struct sim_engine *engine, uint32_t number, uint32_t epoch)
{
    struct sim_rank *rank = &engine->rank[number];
    const struct program_epoch *opened = &rank->program->epochs[epoch];
    const uint32_t *members = &rank->program->members[opened->first_member];
    for (uint32_t i = 0; i < opened->operations; i++) {
        struct sim_operation *operation = &engine->operations[rank->first + members[i]];
        const struct program_operation *program = &rank->program->operations[members[i]];
        operation->is_open = true;
        rank->sends += program->kind == OPERATION_SEND;
        rank->recvs += program->kind == OPERATION_RECV || program->kind == OPERATION_RECV_REDUCE;
    }
    for (uint32_t i = 0; i < opened->operations; i++)
        operation_limit_find(engine, rank->first + members[i]);
}

/* Bytes that have moved. */

static void operation_complete(struct sim_engine *engine, uint32_t index)
{
    const struct sim_operation *operation = &engine->operations[index];
    const struct program_operation *program = engine_operation(engine, index);
    struct sim_rank *rank = &engine->rank[operation->rank];
    int32_t next = rank->program->epochs[program->epoch].next;
    rank->sends -= program->kind == OPERATION_SEND;
    rank->recvs -= program->kind == OPERATION_RECV || program->kind == OPERATION_RECV_REDUCE;
    if (program->step < engine->simulation->steps)
        engine->simulation->step_end[program->step] =
            fmax(engine->simulation->step_end[program->step], engine->now - rank->begun);
    if (--rank->left == 0)
        rank->end = engine->now;
    if (--engine->epoch_left[rank->epoch_first + program->epoch] == 0 && next >= 0)
        epoch_open(engine, operation->rank, (uint32_t)next);
}

static void operation_advance(struct sim_engine *engine, uint32_t index, size_t bytes)
{
    struct sim_operation *operation = &engine->operations[index];
    operation->done += bytes;
    bool complete = operation->done == engine_length(engine, index);
    size_t now =
        complete ? operation->done : operation->done - operation->done % cost_grain(engine, index);
    if (now > engine->visible[index]) {
        engine->visible[index] = now;
        uint32_t watcher = watchers_take(engine, index);
        while (watcher != NONE) {
            uint32_t next = engine->operations[watcher].next_watcher;
            operation_limit_find(engine, watcher);
            watcher = next;
        }
    }
    if (complete)
        operation_complete(engine, index);
}

static void send_moved(struct sim_engine *engine, uint32_t index, size_t bytes)
{
    struct sim_operation *operation = &engine->operations[index];
    uint32_t number = operation->channel;
    struct sim_channel *channel = &engine->channels[number];
    operation->issued += bytes;
    if (operation->cost->movement == MOVEMENT_PUSH)
        channel->outstanding += bytes;
    if (operation->cost->movement == MOVEMENT_GRANT)
        channel->given += bytes;
    wire_send(engine, number, bytes, operation->cost, operation->issued == bytes);
    if (operation->issued == engine_length(engine, index)) {
        channel->send_head = operation->next;
        operation_try(engine, operation->next);
    }
    if (operation->cost->movement == MOVEMENT_PUSH)
        operation_advance(engine, index, bytes);
}

static void recv_moved(struct sim_engine *engine, uint32_t index, size_t bytes)
{
    const struct sim_operation *operation = &engine->operations[index];
    uint32_t number = operation->channel, next = operation->next;
    struct sim_channel *channel = &engine->channels[number];
    const struct path_cost *cost = engine->operations[operation->partner].cost;
    if (cost->movement != MOVEMENT_PUSH)
        engine_add(engine, engine->now + cost->latency, EVENT_READ, number, bytes);
    else
        channel->outstanding -= bytes;
    if (channel->is_blocked && cost->movement == MOVEMENT_PUSH) {
        channel->is_blocked = false;
        engine_add(engine, engine->now + cost->latency, EVENT_ROOM, number, 0);
    }
    if (operation->done + bytes == engine_length(engine, index)) {
        channel->taken_before += engine_length(engine, index);
        channel->recv_head = next;
    }
    operation_advance(engine, index, bytes);
    if (next != NONE && channel->recv_head == next) {
        recv_grant(engine, next);
        operation_try(engine, next);
    }
}

/* Memory of sends that were read, or that a NIC has sent, is free in their order. */
static void sends_read(struct sim_engine *engine, uint32_t number, size_t bytes)
{
    struct sim_channel *channel = &engine->channels[number];
    while (bytes > 0) {
        uint32_t index = channel->pull_head;
        struct sim_operation *operation = &engine->operations[index];
        size_t left = operation->issued - operation->done, part = left < bytes ? left : bytes;
        bytes -= part;
        if (operation->done + part == engine_length(engine, index))
            channel->pull_head = operation->next;
        if (part > 0)
            operation_advance(engine, index, part);
    }
}

/* Cores. */

static void rank_start(struct sim_engine *engine, uint32_t number)
{
    struct sim_rank *rank = &engine->rank[number];
    rank->has_started = true;
    rank->is_whole = cost_rank_is_whole(engine, rank);
    rank->end = engine->now;
    for (uint32_t e = 0; e < rank->program->epoch_count; e++)
        if (rank->program->epochs[e].previous < 0)
            epoch_open(engine, number, e);
}

/* Takes the next operation of the core's rank that can move; NONE: there is none. */
static uint32_t core_operation(struct sim_engine *engine, const struct sim_core *core,
                               size_t *bytes)
{
    struct sim_rank *rank = &engine->rank[core->rank];
    for (uint32_t index; (index = rank->ready) != NONE;) {
        struct sim_operation *operation = &engine->operations[index];
        rank->ready = operation->next_ready;
        operation->is_ready = false;
        *bytes = operation_movable(engine, index);
        if (*bytes > 0)
            return index;
    }
    return NONE;
}

/* To start, or for its core to look at what is ready. */
static bool rank_waits(const struct sim_rank *rank)
{
    return rank->has_started ? rank->ready != NONE : rank->is_released;
}

/* A turn ends. */
static void core_pass(struct sim_engine *engine, uint32_t number)
{
    struct sim_core *core = &engine->cores[number];
    core->idle_since = engine->now;
    uint32_t rank = core->rank;
    for (uint32_t i = 1; i < core->ranks; i++) {
        rank = engine->rank[rank].next_rank;
        if (rank_waits(&engine->rank[rank]))
            rank_queue(engine, rank);
    }
}

/* Gives an idle core its next work, of the rank whose turn it is. */
static void core_serve(struct sim_engine *engine, uint32_t number)
{
    struct sim_core *core = &engine->cores[number];
    struct sim_rank *rank = &engine->rank[core->rank];
    double time;
    size_t bytes = 0;
    core->wake = INFINITY;
    core->operation = rank->has_started ? core_operation(engine, core, &bytes) : NONE;
    if (!rank->has_started && rank->is_released) {
        rank->begun = engine->now;
        time = engine->simulation->model->start;
    } else if (core->operation != NONE) {
        bytes = cost_piece(engine, core->operation, bytes);
        time = cost_time(engine, core->operation, bytes);
        engine->operations[core->operation].moving = bytes;
    } else {
        core_pass(engine, number);
        return;
    }
    core->is_busy = true;
    engine_add(engine, engine->now + time, EVENT_SERVED, number, bytes);
}

static void core_served(struct sim_engine *engine, uint32_t number)
{
    struct sim_core *core = &engine->cores[number];
    uint32_t operation = core->operation, rank = core->rank;
    if (operation == NONE) {
        rank_start(engine, rank);
    } else {
        size_t bytes = engine->operations[operation].moving;
        if (engine->operations[operation].channel == NONE)
            operation_advance(engine, operation, bytes);
        else if (engine_operation(engine, operation)->kind == OPERATION_SEND)
            send_moved(engine, operation, bytes);
        else
            recv_moved(engine, operation, bytes);
        operation_try(engine, operation);
    }
    core->is_busy = false;
    core_serve(engine, number);
}

/* Unless another rank's came before. */
static void core_turn(struct sim_engine *engine, const struct event *event)
{
    struct sim_core *core = &engine->cores[event->subject];
    if (core->is_busy || core->wake != event->at)
        return;
    core->rank = core->next;
    core_serve(engine, event->subject);
}

static void event_handle(struct sim_engine *engine, const struct event *event)
{
    bool is_other = event->kind <= EVENT_RELEASED;
    struct sim_channel *channel = is_other ? NULL : &engine->channels[event->subject];
    engine->handled++;
    switch ((enum sim_event_kind)event->kind) {
    case EVENT_TURN:
        core_turn(engine, event);
        break;
    case EVENT_SERVED:
        core_served(engine, event->subject);
        break;
    case EVENT_RELEASED:
        engine->rank[event->subject].is_released = true;
        rank_queue(engine, event->subject);
        break;
    case EVENT_ARRIVED:
        channel->arrived += event->bytes;
        operation_try(engine, channel->recv_head);
        break;
    case EVENT_READ:
        sends_read(engine, event->subject, event->bytes);
        break;
    case EVENT_GRANTED:
        channel->granted += event->bytes;
        operation_try(engine, channel->send_head);
        break;
    case EVENT_ROOM:
        operation_try(engine, channel->send_head);
        break;
    }
}

/* All of one moment, before flows get new rates. */
static void engine_step(struct sim_engine *engine, double at)
{
    engine->now = at;
    while (flows_next(engine->flows) <= at + MOMENT)
        wire_end(engine);
    while (engine->events.count > 0 && engine->events.heap[0].at <= at + MOMENT) {
        struct event event = events_take(&engine->events);
        engine->now = event.at > engine->now ? event.at : engine->now;
        event_handle(engine, &event);
    }
    flows_settle(engine->flows, engine->now);
}

void engine_run(struct sim_engine *engine)
{
    const double *released = engine->simulation->released;
    for (uint32_t r = 0; r < engine->ranks; r++)
        engine_add(engine, released ? released[r] : 0, EVENT_RELEASED, r, 0);
    const uint64_t most = engine->simulation->events_most;
    while (!engine->failed && !engine->is_long) {
        double flow = flows_next(engine->flows);
        double event = engine->events.count > 0 ? engine->events.heap[0].at : INFINITY;
        double at = flow < event ? flow : event;
        if (at == INFINITY)
            break;
        engine_step(engine, at);
        engine->is_long = most > 0 && engine->handled > most;
    }
}
