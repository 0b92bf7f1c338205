/*
 * wait_graph.c - who waits for whom when nobody progresses, and how many wait for each.
 *
 * Found in a few passes over the ranks: a chain or a circle may have all of them in it.
 */
#include <stdlib.h>
#include <string.h>

#include "schedule/schedule.h"
#include "verdict/wait_graph.h"

#define SILENT_BEATS 3 /* heartbeats that a living rank does not miss in a row */

bool in_message(const struct standing *standing)
{
    return standing->snapshot.operation >= 0 && (standing->snapshot.kind == OPERATION_SEND ||
                                                 standing->snapshot.kind == OPERATION_RECV ||
                                                 standing->snapshot.kind == OPERATION_RECV_REDUCE);
}

bool is_ahead(const struct standing *standing)
{
    return standing->finished || standing->exchange;
}

static int find_awaited(const struct wait_graph *graph, int rank)
{
    const struct standing *standing = &graph->situation->standings[rank];
    if (graph->silent[rank] || is_ahead(standing) || !in_message(standing))
        return NOBODY;
    int peer = standing->snapshot.peer;
    return peer >= 0 && peer < graph->situation->ranks && peer != rank ? peer : NOBODY;
}

/* Who waits for each rank itself. */
static void count_direct(struct wait_graph *graph)
{
    int ranks = graph->situation->ranks;
    memset(graph->direct, 0, (size_t)ranks * sizeof *graph->direct);
    for (int rank = 0; rank < ranks; rank++)
        if (graph->awaited[rank] != NOBODY)
            graph->direct[graph->awaited[rank]]++;
}

/* Puts into an order, one after the other, those for whom nobody waits but who is in it already,
 * and each passes its waiters on. Who is left then is in a circle. */
static void graph_order(struct wait_graph *graph)
{
    int ranks = graph->situation->ranks;
    count_direct(graph);
    for (int rank = 0; rank < ranks; rank++)
        if (graph->direct[rank] == 0)
            graph->order[graph->ordered++] = rank;
    for (int i = 0; i < graph->ordered; i++) {
        int rank = graph->order[i], awaited = graph->awaited[rank];
        graph->circles[rank] = false;
        if (awaited == NOBODY)
            continue;
        graph->waiters[awaited] += graph->waiters[rank] + 1;
        if (--graph->direct[awaited] == 0)
            graph->order[graph->ordered++] = awaited;
    }
    count_direct(graph);
}

/* All of a circle wait for each of it, and so does whoever waits for one of it. */
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
        graph->circles[rank] = true;
        ahead += is_ahead(&s->standings[rank]);
    }
    for (int rank = 0; rank < s->ranks; rank++)
        graph->awaited[rank] = find_awaited(graph, rank);
    graph_order(graph);
    for (int rank = 0; rank < s->ranks; rank++) {
        if (graph->circles[rank] && !graph->listed[rank])
            circle_count(graph, rank);
        /* Who is in an exchange waits for all that are not. */
        if (!is_ahead(&s->standings[rank]))
            graph->waiters[rank] += ahead;
    }
}

void graph_free(struct wait_graph *graph)
{
    free(graph->silent);
    free(graph->awaited);
    free(graph->waiters);
    free(graph->direct);
    free(graph->order);
    free(graph->circles);
    free(graph->listed);
}

void graph_open(struct wait_graph *graph, const struct situation *situation)
{
    size_t ranks = (size_t)situation->ranks;
    *graph = (struct wait_graph){.situation = situation,
                                 .silent = calloc(ranks, sizeof(bool)),
                                 .awaited = calloc(ranks, sizeof(int)),
                                 .waiters = calloc(ranks, sizeof(int)),
                                 .direct = calloc(ranks, sizeof(int)),
                                 .order = calloc(ranks, sizeof(int)),
                                 .circles = calloc(ranks, sizeof(bool)),
                                 .listed = calloc(ranks, sizeof(bool))};
    if (graph->silent && graph->awaited && graph->waiters && graph->direct && graph->order &&
        graph->circles && graph->listed) {
        graph_fill(graph);
        return;
    }
    graph_free(graph);
    *graph = (struct wait_graph){.situation = NULL};
}
