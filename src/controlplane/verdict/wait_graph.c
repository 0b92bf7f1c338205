/*
 * wait_graph.c - which rank waits for which, and how many wait for each.
 *
 * Built in a few passes over the ranks, since a chain or a circle may contain all of them.
 */
#include "controlplane/verdict/internal.h"

#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "collective/schedule/schedule.h"

bool standing_in_message(const struct standing *standing)
{
    return standing->snapshot.operation >= 0 && (standing->snapshot.kind == OPERATION_SEND ||
                                                 standing->snapshot.kind == OPERATION_RECV ||
                                                 standing->snapshot.kind == OPERATION_RECV_REDUCE);
}

bool standing_is_ahead(const struct standing *standing)
{
    return standing->finished || standing->exchange;
}

/* `peer` where `rank` may wait for it, else NO_RANK. A silent rank waits for none: it does not
 * run. */
static int check_edge(const struct wait_graph *graph, int rank, int peer)
{
    bool good = peer >= 0 && peer < graph->situation->ranks && peer != rank;
    return good && !graph->silent[rank] ? peer : NO_RANK;
}

static void add_edges(struct wait_graph *graph)
{
    const struct situation *s = graph->situation;
    for (int rank = 0; rank < s->ranks; rank++) {
        const struct standing *standing = &s->standings[rank];
        bool waits = !standing_is_ahead(standing) && standing_in_message(standing);
        graph->awaited[rank] = waits ? check_edge(graph, rank, standing->snapshot.peer) : NO_RANK;
    }
    for (int i = 0; i < s->cause_count; i++) {
        int rank = s->causes[i].rank;
        int peer = check_edge(graph, rank, cause_awaited(&s->causes[i]));
        graph->cause[rank] = &s->causes[i];
        if (peer == NO_RANK)
            continue;
        graph->awaited[rank] = peer;
        graph->blamed[peer]++;
    }
}

static void count_direct(struct wait_graph *graph)
{
    int ranks = graph->situation->ranks;
    memset(graph->direct, 0, (size_t)ranks * sizeof *graph->direct);
    for (int rank = 0; rank < ranks; rank++)
        if (graph->awaited[rank] != NO_RANK)
            graph->direct[graph->awaited[rank]]++;
}

/* Sorts topologically: a rank follows when all that wait for it are in the order, and each passes
 * its waiters on. The ranks that are left are in circles. */
static void graph_order(struct wait_graph *graph)
{
    int ranks = graph->situation->ranks;
    count_direct(graph);
    for (int rank = 0; rank < ranks; rank++)
        if (graph->direct[rank] == 0)
            graph->order[graph->ordered++] = rank;
    for (int i = 0; i < graph->ordered; i++) {
        int rank = graph->order[i], awaited = graph->awaited[rank];
        graph->cyclic[rank] = false;
        if (awaited == NO_RANK)
            continue;
        graph->waiters[awaited] += graph->waiters[rank] + 1;
        if (--graph->direct[awaited] == 0)
            graph->order[graph->ordered++] = awaited;
    }
    count_direct(graph);
}

/* Each rank of a circle is awaited by all others of it, and by all that wait for any of it. */
static void circle_count(struct wait_graph *graph, int first)
{
    int waiters = -1, at = first; /* not itself */
    for (; !graph->listed[at]; at = graph->awaited[at]) {
        graph->listed[at] = true;
        waiters += graph->waiters[at] + 1;
    }
    do {
        graph->waiters[at] = waiters;
        at = graph->awaited[at];
    } while (at != first);
}

static void graph_fill(struct wait_graph *graph)
{
    const struct situation *s = graph->situation;
    int ahead = 0;
    for (int rank = 0; rank < s->ranks; rank++) {
        graph->silent[rank] = s->standings[rank].silent > SILENT_BEATS * s->heartbeat;
        graph->cyclic[rank] = true;
        ahead += standing_is_ahead(&s->standings[rank]);
    }
    add_edges(graph);
    graph_order(graph);
    for (int rank = 0; rank < s->ranks; rank++) {
        if (graph->cyclic[rank] && !graph->listed[rank])
            circle_count(graph, rank);
        /* A rank in an exchange waits for all that are not. */
        if (!standing_is_ahead(&s->standings[rank]))
            graph->waiters[rank] += ahead;
    }
}

void graph_free(struct wait_graph *graph)
{
    free(graph->silent);
    free(graph->cause);
    free(graph->awaited);
    free(graph->waiters);
    free(graph->direct);
    free(graph->blamed);
    free(graph->cyclic);
    free(graph->listed);
    free(graph->order);
}

void graph_open(struct wait_graph *graph, const struct situation *situation)
{
    size_t ranks = (size_t)situation->ranks;
    *graph = (struct wait_graph){.situation = situation,
                                 .silent = new_array(ranks, sizeof(bool)),
                                 .cause = new_array(ranks, sizeof(*graph->cause)),
                                 .awaited = new_array(ranks, sizeof(int)),
                                 .waiters = new_array(ranks, sizeof(int)),
                                 .direct = new_array(ranks, sizeof(int)),
                                 .blamed = new_array(ranks, sizeof(int)),
                                 .cyclic = new_array(ranks, sizeof(bool)),
                                 .listed = new_array(ranks, sizeof(bool)),
                                 .order = new_array(ranks, sizeof(int))};
    graph_fill(graph);
}
