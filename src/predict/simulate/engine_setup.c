/*
 * engine_setup.c - makes the state of a simulation: ranks on cores, and channels with their
 * messages.
 */
#include "predict/simulate/internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "base/log.h"
#include "host/host.h"

/* The memory of an operation, its channel, and the program and the tables of both. */
#define OPERATION_BYTES                                                                            \
    (sizeof(struct program_operation) + sizeof(struct sim_operation) +                             \
     sizeof(struct sim_channel) + 128)

size_t engine_operations_most(void)
{
    size_t most = memory_available() / OPERATION_BYTES;
    return most < NONE ? most : NONE - 1;
}

/* The golden section. Its multiples divide a round evenly, however many cores there are. */
#define GOLDEN 0.6180339887498949

/* Channels by sender, receiver and lane: a table with open addressing. */
struct channel_table {
    uint32_t *slots; /* indices of channels; NONE: free */
    size_t size;     /* a power of two; at most half of it is full */
};

static uint64_t channel_hash(uint32_t sender, uint32_t receiver, uint32_t lane)
{
    uint64_t key = ((uint64_t)sender << 32 | receiver) + ((uint64_t)lane << 17);
    key *= UINT64_C(0x9e3779b97f4a7c15);
    return key ^ key >> 32;
}

/* Where the channel stands in the table, or would. */
static uint32_t *channel_slot(const struct sim_engine *engine, const struct channel_table *table,
                              uint32_t sender, uint32_t receiver, uint32_t lane)
{
    size_t at = channel_hash(sender, receiver, lane) & (table->size - 1);
    for (; table->slots[at] != NONE; at = (at + 1) & (table->size - 1)) {
        const struct sim_channel *channel = &engine->channels[table->slots[at]];
        if (channel->sender == sender && channel->receiver == receiver && channel->lane == lane)
            break;
    }
    return &table->slots[at];
}

/* Messages of all ranks, each counted at one end. */
static size_t sends_count(const struct sim_engine *engine)
{
    size_t sends = 0;
    for (uint32_t r = 0; r < engine->ranks; r++)
        for (uint32_t i = 0; i < engine->rank[r].program->count; i++)
            sends += engine->rank[r].program->operations[i].kind == OPERATION_SEND;
    return sends;
}

enum rank_distance engine_distance(const struct simulation *simulation, int a, int b)
{
    const int *node = simulation->node, *core = simulation->core;
    const struct model *model = simulation->model;
    int caches = model->caches, cores = model->cache_cores;
    if (node && node[a] != node[b])
        return DISTANCE_NETWORK;
    return caches < 2 || core[a] / cores % caches == core[b] / cores % caches ? DISTANCE_CACHE
                                                                              : DISTANCE_NODE;
}

/* The sender and the receiver of an operation's message. Where rank 0 stands for all, what it
 * receives comes over the channel by which it sends as far. */
static void message_ends(const struct sim_engine *engine, uint32_t operation, uint32_t *sender,
                         uint32_t *receiver)
{
    const struct programs *programs = engine->programs;
    uint32_t rank = engine->operations[operation].rank;
    int peer = programs->peers[rank][operation - engine->rank[rank].first];
    bool sends = engine_operation(engine, operation)->kind == OPERATION_SEND;
    *sender = sends ? rank : (uint32_t)peer;
    *receiver = sends ? (uint32_t)peer : rank;
    if (programs->symmetry != SYMMETRY_NONE && !sends) {
        *sender = 0;
        *receiver = (uint32_t)symmetry_peer(programs, programs->symmetry, peer, (int)rank);
    }
}

static uint32_t rail_of(const struct simulation *simulation, uint32_t rank)
{
    return simulation->rail ? (uint32_t)simulation->rail[rank] : 0;
}

static enum status channel_create(struct sim_engine *engine, uint32_t sender, uint32_t receiver,
                                  uint32_t lane)
{
    const struct simulation *simulation = engine->simulation;
    enum rank_distance distance = engine_distance(simulation, (int)sender, (int)receiver);
    const struct link_model *link = model_link(simulation->model, simulation->transports, distance,
                                               (int)rail_of(simulation, sender));
    if (!link)
        return fail(
            STATUS_USAGE,
            "the model has no link of these transports for ranks %u and %u (%s): fit one on "
            "such ranks, allow another transport with -x, or say with --shape or --topology which "
            "ranks share a host",
            sender, receiver, distance_names[distance]);
    if (!list_reserve(&engine->channels, engine->channel_count, sizeof *engine->channels))
        return fail(STATUS_ERROR, "out of memory for %u channels: use fewer ranks",
                    2 * engine->channel_count);
    struct sim_channel *channel = &engine->channels[engine->channel_count++];
    *channel = (struct sim_channel){.link = link,
                                    .sender = sender,
                                    .receiver = receiver,
                                    .lane = lane,
                                    .send_head = NONE,
                                    .recv_head = NONE,
                                    .pull_head = NONE,
                                    .first_piece = NONE,
                                    .last_piece = NONE};
    for (int i = 0; i < link->path_count; i++)
        channel->grants |= link->paths[i].movement == MOVEMENT_GRANT;
    return STATUS_OK;
}

/* Puts an operation behind those of its channel. */
static enum status message_add(struct sim_engine *engine, const struct channel_table *table,
                               uint32_t index, uint32_t *last)
{
    const struct program_operation *operation = engine_operation(engine, index);
    uint32_t sender, receiver, lane = (uint32_t)operation->lane;
    message_ends(engine, index, &sender, &receiver);
    uint32_t *slot = channel_slot(engine, table, sender, receiver, lane);
    if (*slot == NONE) {
        *slot = engine->channel_count;
        TRY(channel_create(engine, sender, receiver, lane));
    }
    struct sim_channel *channel = &engine->channels[*slot];
    bool sends = operation->kind == OPERATION_SEND;
    uint32_t *head = sends ? &channel->send_head : &channel->recv_head;
    engine->operations[index].channel = *slot;
    if (*head == NONE)
        *head = index;
    else
        engine->operations[last[2 * *slot + sends]].next = index;
    last[2 * *slot + sends] = index;
    return STATUS_OK;
}

/* Each message has two ends: the nth of the sender and the nth of the receiver. */
static enum status messages_pair(struct sim_engine *engine)
{
    for (uint32_t c = 0; c < engine->channel_count; c++) {
        struct sim_channel *channel = &engine->channels[c];
        uint32_t send = channel->send_head, recv = channel->recv_head;
        while (send != NONE && recv != NONE &&
               engine_length(engine, send) == engine_length(engine, recv)) {
            engine->operations[send].partner = recv;
            engine->operations[recv].partner = send;
            send = engine->operations[send].next;
            recv = engine->operations[recv].next;
        }
        if (send != NONE || recv != NONE)
            return fail(
                STATUS_ERROR,
                "the messages from rank %u to rank %u on lane %u do not meet: the algorithm "
                "is wrong (tests/unit/algorithms/test_algorithms finds why)",
                channel->sender, channel->receiver, channel->lane);
        channel->pull_head = channel->send_head;
    }
    return STATUS_OK;
}

static enum status channels_open(struct sim_engine *engine)
{
    size_t sends = sends_count(engine);
    struct channel_table table = {.size = 16};
    while (table.size < 2 * (size_t)engine->operation_count)
        table.size *= 2;
    table.slots = malloc(table.size * sizeof *table.slots);
    /* A message whose ends do not meet has a channel at each end. */
    uint32_t *last = malloc((2 * (size_t)engine->operation_count + 2) * sizeof *last);
    enum status status = STATUS_OK;
    if (!table.slots || !last)
        status = fail(STATUS_ERROR, "out of memory for %zu messages: use fewer ranks", sends);
    for (size_t i = 0; i < table.size && status == STATUS_OK; i++)
        table.slots[i] = NONE;
    for (uint32_t i = 0; i < engine->operation_count && status == STATUS_OK; i++)
        if (operation_travels((enum operation_kind)engine_operation(engine, i)->kind))
            status = message_add(engine, &table, i, last);
    if (status == STATUS_OK)
        status = messages_pair(engine);
    free(table.slots);
    free(last);
    return status;
}

/* The cores of the job's hosts that have ranks, one host after the other. */
struct core_map {
    uint32_t *ranks; /* by host */
    uint32_t *first; /* by host: its first core; behind the last one, their number */
    uint32_t most;   /* of a host */
    uint32_t count;
};

static uint32_t host_of(const struct simulation *simulation, uint32_t rank)
{
    return simulation->node ? (uint32_t)simulation->node[rank] : 0;
}

static bool host_cores_find(const struct simulation *simulation, struct core_map *cores)
{
    uint32_t ranks = (uint32_t)simulation_ranks(simulation); /* and at most as many hosts */
    *cores = (struct core_map){.ranks = calloc(ranks, sizeof *cores->ranks),
                               .first = calloc(ranks + 1, sizeof *cores->first),
                               .most = (uint32_t)simulation->model->cores};
    if (!cores->ranks || !cores->first)
        return false;
    for (uint32_t r = 0; r < ranks; r++)
        cores->ranks[host_of(simulation, r)]++;
    for (uint32_t h = 0; h < ranks; h++) {
        cores->first[h] = cores->count;
        cores->count += cores->ranks[h] < cores->most ? cores->ranks[h] : cores->most;
    }
    cores->first[ranks] = cores->count;
    return true;
}

/* The rank takes its place behind those that its core has. */
static void core_join(struct sim_engine *engine, uint32_t number)
{
    struct sim_rank *rank = &engine->rank[number];
    struct sim_core *core = &engine->cores[rank->core];
    rank->place = core->ranks++;
    rank->next_rank = rank->place > 0 ? engine->rank[core->rank].next_rank : number;
    if (rank->place > 0)
        engine->rank[core->rank].next_rank = number;
    core->rank = number;
}

/* Where cores stand in their rounds: they do not go in step. */
static void cores_turn(struct sim_engine *engine)
{
    for (uint32_t c = 0; c < engine->core_count; c++) {
        struct sim_core *core = &engine->cores[c];
        double whole, at = modf(engine->phase + c * GOLDEN, &whole) * core->ranks;
        for (uint32_t i = 0; i < (uint32_t)at; i++)
            core->rank = engine->rank[core->rank].next_rank;
        core->idle_since = (floor(at) - at) * engine->simulation->model->core_switch;
        core->operation = NONE;
        core->wake = INFINITY;
    }
}

/* Puts the ranks on cores: in turn, as the session binds them. Returns how many operations they
 * have. */
static size_t ranks_place(struct sim_engine *engine, const struct core_map *cores, size_t *epochs)
{
    const struct simulation *simulation = engine->simulation;
    uint32_t *placed = cores->ranks; /* counted again */
    size_t operations = 0;
    memset(placed, 0, (size_t)simulation_ranks(simulation) * sizeof *placed);
    engine->has_cores = true;
    for (uint32_t r = 0; r < (uint32_t)simulation_ranks(simulation); r++) {
        uint32_t host = host_of(simulation, r), place = placed[host]++;
        engine->has_cores &= place < cores->most;
        if (r >= engine->ranks)
            continue;
        const struct rank_program *program = engine->programs->program[r];
        engine->rank[r] = (struct sim_rank){.program = program,
                                            .first = (uint32_t)operations,
                                            .left = program->count,
                                            .epoch_first = (uint32_t)*epochs,
                                            .ready = NONE,
                                            .last_ready = NONE,
                                            .core = cores->first[host] + place % cores->most};
        core_join(engine, r);
        engine->cores[engine->rank[r].core].busy =
            cores->first[host + 1] - cores->first[host] + (uint32_t)simulation->beside;
        operations += program->count;
        *epochs += program->epoch_count;
    }
    return operations;
}

static enum status ranks_open(struct sim_engine *engine)
{
    const int ranks = simulation_ranks(engine->simulation);
    struct core_map cores;
    size_t operations = 0, epochs = 0;
    bool found = host_cores_find(engine->simulation, &cores);
    engine->core_count = cores.count;
    engine->rank = calloc(engine->ranks, sizeof *engine->rank);
    engine->cores = calloc((size_t)engine->core_count + 1, sizeof *engine->cores);
    if (found && engine->rank && engine->cores)
        operations = ranks_place(engine, &cores, &epochs);
    free(cores.ranks);
    free(cores.first);
    engine->operation_count = (uint32_t)operations;
    engine->epoch_left = calloc(epochs + 1, sizeof *engine->epoch_left);
    if (!found || !engine->rank || !engine->cores || !engine->epoch_left)
        return fail(STATUS_ERROR, "out of memory for %d ranks on %u cores", ranks,
                    engine->core_count);
    cores_turn(engine);
    return STATUS_OK;
}

static enum status operations_open(struct sim_engine *engine)
{
    engine->operations = calloc((size_t)engine->operation_count + 1, sizeof *engine->operations);
    engine->visible = calloc((size_t)engine->operation_count + 1, sizeof *engine->visible);
    for (uint32_t r = 0; r < engine->ranks && engine->operations; r++) {
        const struct sim_rank *rank = &engine->rank[r];
        for (uint32_t i = 0; i < rank->program->count; i++)
            engine->operations[rank->first + i] = (struct sim_operation){.rank = r,
                                                                         .channel = NONE,
                                                                         .partner = NONE,
                                                                         .next = NONE,
                                                                         .watchers = NONE,
                                                                         .next_watcher = NONE,
                                                                         .next_ready = NONE};
        for (uint32_t e = 0; e < rank->program->epoch_count; e++)
            engine->epoch_left[rank->epoch_first + e] = rank->program->epochs[e].operations;
    }
    if (!engine->operations || !engine->visible)
        return fail(STATUS_ERROR, "out of memory for %u operations: use fewer ranks",
                    engine->operation_count);
    return STATUS_OK;
}

/* The least time for a byte on any path of a link; 0: no path has a wire. */
static double wire_least(const struct link_model *link)
{
    double least = 0;
    for (int i = 0; i < link->path_count; i++) {
        double wire = link->paths[i].wire;
        least = wire > 0 && (least == 0 || wire < least) ? wire : least;
    }
    return least;
}

/* Resources by their capacity, and the routes of channels over them, as they are made. */
struct wiring {
    double *capacity; /* bytes per us */
    size_t room;      /* of engine->routes */
    size_t used;
    uint32_t longest;        /* route */
    uint32_t ranks;          /* of the job */
    uint32_t shared, railed; /* ranks of rank 0's host; of these, those over its rail */
    uint32_t rails;
    uint32_t links; /* of the topology */
};

/* The port of a channel's end, whose output is resource 2 * port, and its input the next one: first
 * the ports of ranks, then those of each host (there are at most as many hosts as ranks), one for
 * each rail. Links within a host that have a port use its first one. The links of the topology
 * follow. */
static uint32_t port_of(const struct simulation *simulation, const struct wiring *wiring,
                        const struct link_model *link, uint32_t rank)
{
    uint32_t rail = link->distance == DISTANCE_NETWORK ? rail_of(simulation, rank) : 0;
    return link->port == PORT_NODE
               ? wiring->ranks + host_of(simulation, rank) * wiring->rails + rail
               : rank;
}

static uint32_t ports_count(const struct wiring *wiring)
{
    return 2 * wiring->ranks * (1 + wiring->rails);
}

/* Bytes per us through the port of a channel's end: between hosts, of the end's own rail. `wire`:
 * of the channel's link, which is the sender's. */
static double port_rate(const struct simulation *simulation, const struct link_model *link,
                        uint32_t rank, double wire)
{
    double own = 0;
    if (link->port == PORT_NODE && link->distance == DISTANCE_NETWORK)
        own = wire_least(model_link(simulation->model, simulation->transports, DISTANCE_NETWORK,
                                    (int)rail_of(simulation, rank)));
    return 1 / (own > 0 ? own : wire);
}

static void capacity_raise(struct wiring *wiring, uint32_t resource, double rate)
{
    double *capacity = &wiring->capacity[resource];
    *capacity = rate > *capacity ? rate : *capacity;
}

/* The output and the input of a channel's ends: of their ranks or hosts. Where rank 0 stands for
 * all, the ranks of its host that use its port share it equally. */
static void ports_add(struct sim_engine *engine, struct wiring *wiring, struct sim_channel *channel,
                      double wire)
{
    bool symmetric = engine->programs->symmetry != SYMMETRY_NONE;
    const struct link_model *link = channel->link;
    uint32_t sharers = link->distance == DISTANCE_NETWORK ? wiring->railed : wiring->shared;
    uint32_t ends[2] = {channel->sender, symmetric ? channel->sender : channel->receiver};
    for (uint32_t end = 0; end < 2; end++) {
        uint32_t resource = 2 * port_of(engine->simulation, wiring, link, ends[end]) + end;
        double rate = port_rate(engine->simulation, link, ends[end], wire);
        capacity_raise(wiring, resource,
                       symmetric && link->port == PORT_NODE ? rate / sharers : rate);
        engine->routes[wiring->used++] = resource;
    }
}

/* The links of the topology that a channel crosses, each at its multiple of the rate of the fastest
 * rail that sends over it. */
static void links_add(struct sim_engine *engine, struct wiring *wiring, struct sim_channel *channel,
                      double wire)
{
    const struct topology *topology = engine->simulation->topology;
    const int *end = engine->simulation->end;
    uint32_t *links = engine->routes + wiring->used;
    size_t count = topology_route(topology, end[channel->sender], end[channel->receiver], links,
                                  topology_route_most(topology));
    for (size_t i = 0; i < count; i++) {
        struct topology_link link;
        topology_link_get(topology, links[i], &link);
        channel->route_latency += link.latency_us;
        links[i] += ports_count(wiring);
        capacity_raise(wiring, links[i], link.capacity / wire);
    }
    wiring->used += count;
}

static enum status channel_wire(struct sim_engine *engine, struct wiring *wiring,
                                struct sim_channel *channel)
{
    const struct topology *topology = engine->simulation->topology;
    double wire = wire_least(channel->link);
    size_t most = 2 + (topology ? topology_route_most(topology) : 0);
    if (wire == 0 || (channel->link->port == PORT_NONE && !topology))
        return STATUS_OK;
    if (wiring->used + most > wiring->room) {
        size_t room = 2 * wiring->room + 16 * most;
        uint32_t *routes = realloc(engine->routes, room * sizeof *routes);
        if (!routes || room > UINT32_MAX)
            return fail(STATUS_ERROR, "out of memory for the ways of %u channels: use fewer ranks",
                        engine->channel_count);
        engine->routes = routes;
        wiring->room = room;
    }
    channel->first_resource = (uint32_t)wiring->used;
    if (channel->link->port != PORT_NONE)
        ports_add(engine, wiring, channel, wire);
    if (topology)
        links_add(engine, wiring, channel, wire);
    channel->resources = (uint32_t)wiring->used - channel->first_resource;
    wiring->longest = channel->resources > wiring->longest ? channel->resources : wiring->longest;
    return STATUS_OK;
}

static enum status wires_open(struct sim_engine *engine)
{
    const struct simulation *simulation = engine->simulation;
    const struct topology *topology = simulation->topology;
    struct wiring wiring = {.ranks = (uint32_t)simulation_ranks(simulation),
                            .rails =
                                (uint32_t)model_rails(simulation->model, simulation->transports),
                            .links = topology ? topology_links(topology) : 0};
    uint32_t resources = ports_count(&wiring) + wiring.links;
    enum status status = STATUS_OK;
    for (uint32_t r = 0; r < wiring.ranks; r++) {
        bool shared = host_of(simulation, r) == host_of(simulation, 0);
        wiring.shared += shared;
        wiring.railed += shared && rail_of(simulation, r) == rail_of(simulation, 0);
    }
    wiring.capacity = calloc(resources, sizeof *wiring.capacity);
    if (!wiring.capacity)
        return fail(STATUS_ERROR, "out of memory for %u links", resources);
    for (uint32_t c = 0; c < engine->channel_count && status == STATUS_OK; c++)
        status = channel_wire(engine, &wiring, &engine->channels[c]);
    if (status == STATUS_OK)
        engine->flows = flows_create(wiring.capacity, resources, wiring.longest);
    free(wiring.capacity);
    if (status == STATUS_OK && !engine->flows)
        return fail(STATUS_ERROR, "out of memory for %u links", resources);
    return status;
}

enum status engine_open(const struct simulation *simulation, const struct programs *programs,
                        double phase, struct sim_engine *engine)
{
    *engine = (struct sim_engine){.simulation = simulation,
                                  .programs = programs,
                                  .element = simulation->datatype->size,
                                  .ranks = (uint32_t)programs->held,
                                  .phase = phase,
                                  .free_piece = NONE};
    if (simulation->reduction)
        engine->combine =
            model_combine(simulation->model, simulation->datatype, simulation->reduction);
    enum status status = ranks_open(engine);
    if (status == STATUS_OK)
        status = operations_open(engine);
    if (status == STATUS_OK)
        status = channels_open(engine);
    if (status == STATUS_OK)
        status = wires_open(engine);
    if (status != STATUS_OK)
        engine_close(engine);
    return status;
}

void engine_close(struct sim_engine *engine)
{
    free(engine->rank);
    free(engine->operations);
    free(engine->visible);
    free(engine->epoch_left);
    free(engine->channels);
    free(engine->cores);
    free(engine->pieces);
    free(engine->routes);
    events_free(&engine->events);
    flows_free(engine->flows);
    *engine = (struct sim_engine){0};
}
