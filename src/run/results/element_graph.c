/*
 * element_graph.c - follows one element of a result back through the schedules of all ranks.
 */
#include "run/results/internal.h"

#include <stdlib.h>
#include <string.h>

#include "base/numbers.h"

/* The node like this one, which is added if there is none. */
static int node_add(struct element_graph *graph, const struct element_node *like)
{
    uint64_t hash = hash_number(HASH_BEGIN, like->kind);
    hash = hash_number(hash, (uint64_t)like->rank);
    hash = hash_number(hash_number(hash, like->operation), like->position);
    size_t size = sizeof graph->table / sizeof *graph->table, at = random_next(&hash) % size;
    for (; graph->table[at] != NO_NODE; at = (at + 1) % size) {
        const struct element_node *node = &graph->nodes[graph->table[at]];
        if (node->kind == like->kind && node->rank == like->rank &&
            node->operation == like->operation && node->position == like->position)
            return graph->table[at];
    }
    if (graph->count == GRAPH_NODES_MOST) {
        graph->is_complete = false;
        return NO_NODE;
    }
    struct element_node *node = &graph->nodes[graph->count];
    *node = *like;
    node->from = node->with = NO_NODE;
    node->reads = like->operation;
    graph->table[at] = graph->count;
    return graph->count++;
}

/* The send that belongs to a receive: the one of the same number on its lane. */
static size_t send_of(const struct element_graph *graph, int rank, size_t receive)
{
    const struct schedule *schedule = graph->schedules[rank];
    const struct operation *operation = &schedule->operations[receive];
    const struct schedule *other = graph->schedules[operation->peer];
    size_t number = 0, i;
    for (i = 0; i < receive; i++)
        number += operation_travels(schedule->operations[i].kind) &&
                  schedule->operations[i].kind != OPERATION_SEND &&
                  schedule->operations[i].peer == operation->peer &&
                  schedule->operations[i].lane == operation->lane;
    for (i = 0; i < other->count; i++)
        if (other->operations[i].kind == OPERATION_SEND && other->operations[i].peer == rank &&
            other->operations[i].lane == operation->lane && number-- == 0)
            break;
    return i;
}

/* The node that stands in a storage before operation `before`: the last operation that wrote there
 * made it. */
static int node_of_place(struct element_graph *graph, int rank, size_t before, int storage,
                         size_t at)
{
    static const enum node_kind kinds[] = {[OPERATION_COPY] = NODE_COPY,
                                           [OPERATION_RECV] = NODE_HOP,
                                           [OPERATION_REDUCE] = NODE_COMBINE,
                                           [OPERATION_RECV_REDUCE] = NODE_COMBINE,
                                           [OPERATION_FINISH] = NODE_FINISH};
    const struct schedule *schedule = graph->schedules[rank];
    for (size_t i = before; i-- > 0;) {
        const struct operation *operation = &schedule->operations[i];
        size_t position = message_find(schedule, operation->to, storage, at);
        if (position != SIZE_MAX)
            return node_add(graph, &(struct element_node){.kind = kinds[operation->kind],
                                                          .rank = rank,
                                                          .operation = i,
                                                          .position = position});
    }
    struct element_node node = {
        .kind = NODE_SOURCE, .rank = rank, .position = at - schedule->base[BUFFER_SOURCE]};
    graph->is_complete &= storage == schedule->storage[BUFFER_SOURCE] &&
                          node.position < schedule->extent[BUFFER_SOURCE];
    return node_add(graph, &node);
}

/* The node at `position` of a message that operation `index` of `rank` reads. */
static int node_of_message(struct element_graph *graph, int rank, size_t index,
                           struct message message, size_t position)
{
    int storage;
    size_t at;
    message_locate(graph->schedules[rank], message, position, &storage, &at);
    return node_of_place(graph, rank, index, storage, at);
}

/* A hop is made of what the sender has sent there. */
static void hop_follow(struct element_graph *graph, struct element_node *hop)
{
    int peer = graph->schedules[hop->rank]->operations[hop->operation].peer;
    const struct schedule *other = graph->schedules[peer];
    hop->reads = send_of(graph, hop->rank, hop->operation);
    if (hop->reads < other->count)
        hop->from = node_of_message(graph, peer, hop->reads, other->operations[hop->reads].from,
                                    hop->position);
    else
        graph->is_complete = false;
}

/* Finds what a node is made of. */
static void node_follow(struct element_graph *graph, struct element_node *node)
{
    const struct schedule *schedule = graph->schedules[node->rank];
    if (node->kind == NODE_SOURCE)
        return;
    if (node->kind == NODE_HOP) {
        hop_follow(graph, node);
        return;
    }
    if (node->kind == NODE_RESULT) {
        node->from =
            node_of_place(graph, node->rank, schedule->count, schedule->storage[BUFFER_DESTINATION],
                          schedule->base[BUFFER_DESTINATION] + node->position);
        return;
    }
    const struct operation *operation = &schedule->operations[node->operation];
    if (node->kind == NODE_COMBINE)
        node->with =
            node_of_message(graph, node->rank, node->operation, operation->with, node->position);
    struct element_node hop = {.kind = NODE_HOP,
                               .rank = node->rank,
                               .operation = node->operation,
                               .position = node->position};
    node->from =
        operation->kind == OPERATION_RECV_REDUCE
            ? node_add(graph, &hop)
            : node_of_message(graph, node->rank, node->operation, operation->from, node->position);
}

/* A part of the node that is not yet sorted. `places`: of nodes that are. */
static int node_next(const struct element_node *node, const int *places)
{
    const int parts[] = {node->with, node->from};
    for (int i = 0; i < 2; i++)
        if (parts[i] != NO_NODE && places[parts[i]] == NO_NODE)
            return parts[i];
    return NO_NODE;
}

/* Puts each node behind those that it is made of. Without recursion: a path may lead through all
 * ranks, and stacks may be small. */
static void graph_sort(struct element_graph *graph)
{
    int sorted = 0, depth = 0, *places = graph->table; /* which has done its work */
    memset(places, NO_NODE, (size_t)graph->count * sizeof *places);
    for (int i = 0; i < graph->count; i++) {
        if (places[i] == NO_NODE)
            graph->path[depth++] = i;
        while (depth > 0) {
            const struct element_node *node = &graph->nodes[graph->path[depth - 1]];
            int next = node_next(node, places);
            if (next != NO_NODE) {
                graph->path[depth++] = next;
                continue;
            }
            places[graph->path[--depth]] = sorted;
            graph->sorted[sorted++] = *node;
        }
    }
    for (int i = 0; i < sorted; i++) {
        struct element_node *node = &graph->nodes[i];
        *node = graph->sorted[i];
        node->from = node->from == NO_NODE ? NO_NODE : places[node->from];
        node->with = node->with == NO_NODE ? NO_NODE : places[node->with];
    }
    for (int r = 0; r < graph->problem.ranks; r++)
        if (graph->results[r] != NO_NODE)
            graph->results[r] = places[graph->results[r]];
}

/* Lists the readers of each node, in the order of their operations. */
static void graph_link(struct element_graph *graph)
{
    int *begin = graph->readers;
    memset(begin, 0, ((size_t)graph->count + 1) * sizeof *begin);
    for (int i = 0; i < graph->count; i++) {
        const struct element_node *node = &graph->nodes[i];
        if (node->from != NO_NODE)
            begin[node->from + 1]++;
        if (node->with != NO_NODE && node->with != node->from)
            begin[node->with + 1]++;
    }
    for (int i = 0; i < graph->count; i++)
        begin[i + 1] += begin[i];
    memcpy(graph->path, begin, (size_t)graph->count * sizeof *begin); /* where the next goes */
    for (int i = 0; i < graph->count; i++) {
        const int parts[] = {graph->nodes[i].from, graph->nodes[i].with};
        for (int p = 0; p < 2; p++) {
            if (parts[p] == NO_NODE || (p == 1 && parts[1] == parts[0]))
                continue;
            int at = graph->path[parts[p]]++;
            for (; at > begin[parts[p]]; at--) {
                if (graph->nodes[graph->reader[at - 1]].reads <= graph->nodes[i].reads)
                    break;
                graph->reader[at] = graph->reader[at - 1];
            }
            graph->reader[at] = i;
        }
    }
}

void node_make(const struct element_graph *graph, const struct element_node *node, const void *from,
               const void *with, void *values, size_t count)
{
    const struct inputs *inputs = &graph->inputs;
    if (node->kind == NODE_SOURCE)
        inputs_make(inputs, node->rank, node->position, count, values);
    else if (node->kind == NODE_COMBINE)
        graph->reduce(values, with, from, count);
    else if (node->kind == NODE_FINISH)
        graph->finish(values, from, count, inputs->ranks);
    else
        memcpy(values, from, count * inputs->datatype->size);
}

/* The values, the reach and the depth of all nodes. */
static void graph_compute(struct element_graph *graph)
{
    for (int i = 0; i < graph->count; i++) {
        const struct element_node *node = &graph->nodes[i];
        int from = node->from, with = node->with;
        node_make(graph, node, from == NO_NODE ? NULL : &graph->values[from],
                  with == NO_NODE ? NULL : &graph->values[with], &graph->values[i], 1);
        graph->reach[i] = node->kind == NODE_RESULT ? UINT64_C(1) << node->rank : 0;
        graph->depth[i] = from == NO_NODE ? 0 : graph->depth[from] + 1;
        if (with != NO_NODE && graph->depth[with] >= graph->depth[i])
            graph->depth[i] = graph->depth[with] + 1;
    }
    for (int i = graph->count; i-- > 0;) {
        const struct element_node *node = &graph->nodes[i];
        if (node->from != NO_NODE)
            graph->reach[node->from] |= graph->reach[i];
        if (node->with != NO_NODE)
            graph->reach[node->with] |= graph->reach[i];
    }
}

static void schedules_free(struct element_graph *graph)
{
    for (int r = 0; r < GRAPH_RANKS_MOST; r++) {
        schedule_free(graph->schedules[r]);
        graph->schedules[r] = NULL;
    }
}

/* The elements of a root. */
static bool schedules_make(struct element_graph *graph, int root)
{
    if (graph->schedules[0] && graph->problem.root == root)
        return true;
    schedules_free(graph);
    graph->problem.root = root;
    for (int r = 0; r < graph->problem.ranks; r++)
        if (!tick_on(graph->tick) ||
            schedule_build(graph->choice, &graph->problem, r, graph->channels, false,
                           &graph->schedules[r]) != STATUS_OK) {
            schedules_free(graph);
            return false;
        }
    return true;
}

bool element_graph_follow(struct element_graph *graph, int root, uint64_t iteration, uint64_t at,
                          int rank)
{
    if (!schedules_make(graph, root))
        return false;
    graph->inputs.iteration = iteration;
    graph->is_complete = true;
    graph->count = 0;
    memset(graph->table, NO_NODE, sizeof graph->table);
    for (int r = 0; r < graph->problem.ranks; r++) {
        bool has = (rank == EVERY_RANK || rank == r) &&
                   at < graph->schedules[r]->extent[BUFFER_DESTINATION];
        struct element_node result = {
            .kind = NODE_RESULT, .rank = r, .operation = SIZE_MAX, .position = at};
        graph->results[r] = has ? node_add(graph, &result) : NO_NODE;
    }
    for (int i = 0; i < graph->count && graph->is_complete; i++)
        node_follow(graph, &graph->nodes[i]);
    if (!graph->is_complete)
        return false;
    graph_sort(graph);
    graph_link(graph);
    graph_compute(graph);
    return true;
}

void element_graph_close(struct element_graph *graph)
{
    if (graph)
        schedules_free(graph);
    free(graph);
}

struct element_graph *element_graph_open(const struct choice *choice, const struct problem *problem,
                                         int channels, const struct inputs *inputs,
                                         const struct tick *tick)
{
    bool good = problem->ranks <= GRAPH_RANKS_MOST && !choice->algorithm->vendor;
    struct element_graph *graph = good ? malloc(sizeof *graph) : NULL;
    if (!graph)
        return NULL;
    for (int r = 0; r < GRAPH_RANKS_MOST; r++)
        graph->schedules[r] = NULL;
    graph->choice = choice;
    graph->problem = *problem;
    graph->channels = channels;
    graph->inputs = *inputs;
    graph->reduce = inputs->reduction ? reduce_kernel(inputs->datatype, inputs->reduction) : NULL;
    graph->finish = inputs->reduction ? finish_kernel(inputs->datatype, inputs->reduction) : NULL;
    graph->tick = tick;
    return graph;
}
