/*
 * root_cause.c - whose fault it is when nobody progresses: the root of the wait-for graph.
 *
 * When nobody progresses, each rank has at most one edge: to the peer of the operation that it
 * waits in. Following the edges from any rank ends at a rank that waits for no other, or in a
 * circle. Who is named, first match:
 *
 *   rank 0's host            all ranks of all other hosts are silent: it is cut off
 *   a silent rank            stopped, or its host is: whatever the others say, it cannot go on; not
 *                            one that is silent because the rank above it is
 *   a busy rank              it waits for nobody while others wait for it: delayed, stuck
 *   a link                   both ends of one message wait for each other: neither is to blame
 *   a rank that went ahead   it has finished, or is in an exchange, while others await its messages
 *   a circle                 each waits for the next
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rank_list.h"
#include "schedule/schedule.h"
#include "verdict/wait_graph.h"

#define CIRCLE_MOST 8 /* ranks of a circle that are named */

/* What the rank waits in. */
static void put_wait(const struct standing *standing, char *text, size_t size)
{
    const struct progress_snapshot *r = &standing->snapshot;
    if (standing->finished)
        append(text, size, "has finished and waits for the others");
    else if (standing->exchange)
        append(text, size, "waits in %s for the others", standing->exchange);
    else if (in_message(standing) && r->step == STEP_UNHEARD)
        append(text, size, "sent to rank %d what is not acknowledged", r->peer);
    else if (in_message(standing) && (r->starting || r->phase == PHASE_CONNECT))
        append(text, size, "waits for rank %d", r->peer); /* no step of the algorithm */
    else if (in_message(standing))
        append(text, size, "step %d, waits to %s rank %d, %llu of %llu bytes so far", r->step,
               r->kind == OPERATION_SEND ? "send to" : "receive from", r->peer,
               (unsigned long long)r->done, (unsigned long long)r->length);
    else if (r->operation >= 0)
        append(text, size, "step %d, in a local operation, %llu of %llu bytes so far", r->step,
               (unsigned long long)r->done, (unsigned long long)r->length);
    else
        append(text, size, "waits for no other rank");
}

static bool graph_silent(const struct wait_graph *graph, int rank)
{
    return graph->silent[rank];
}

/* Silent, and not only because the rank is that it speaks through. */
static bool begins_silence(const struct wait_graph *graph, int rank)
{
    int parent = graph->situation->standings[rank].parent;
    return graph_silent(graph, rank) && (parent == 0 || !graph_silent(graph, parent));
}

/* Whom the rank waits for; NOBODY when it waits for no one rank. */
static int waits_for(const struct wait_graph *graph, int rank)
{
    return graph->awaited[rank];
}

/* It waits for nobody, and is not at the end of its way either. */
static bool is_busy(const struct wait_graph *graph, int rank)
{
    return !graph_silent(graph, rank) && !is_ahead(&graph->situation->standings[rank]) &&
           waits_for(graph, rank) == NOBODY;
}

/* One end sends what the other receives, or is not heard, or both want to be connected. */
static bool is_link(const struct wait_graph *graph, int from, int to)
{
    if (from == NOBODY || to == NOBODY || waits_for(graph, from) != to)
        return false;
    const struct progress_snapshot *a = &graph->situation->standings[from].snapshot;
    const struct progress_snapshot *b = &graph->situation->standings[to].snapshot;
    if (a->step == STEP_UNHEARD)
        return true;
    if (waits_for(graph, to) != from)
        return false;
    if (a->phase == PHASE_CONNECT && b->phase == PHASE_CONNECT)
        return true;
    return a->kind == OPERATION_SEND && b->kind != OPERATION_SEND && a->lane == b->lane &&
           a->length == b->length;
}

/* Of the ranks for which `is` holds, the one that most others wait for. */
static int most_awaited(const struct wait_graph *graph,
                        bool (*is)(const struct wait_graph *graph, int rank))
{
    int found = NOBODY;
    for (int rank = 0; rank < graph->situation->ranks; rank++)
        if (is(graph, rank) && (found == NOBODY || graph->waiters[rank] > graph->waiters[found]))
            found = rank;
    return found;
}

static bool begins_link(const struct wait_graph *graph, int rank)
{
    return is_link(graph, rank, waits_for(graph, rank));
}

static bool went_ahead(const struct wait_graph *graph, int rank)
{
    return is_ahead(&graph->situation->standings[rank]) && graph->direct[rank] > 0;
}

static bool in_circle(const struct wait_graph *graph, int rank)
{
    return graph->circles[rank];
}

/* Lists those of `listed` that are silent, but for `rank`; returns how many. */
static int list_silent(struct wait_graph *graph, int rank, char list[RANK_LIST_MOST])
{
    int count = 0;
    for (int other = 0; other < graph->situation->ranks; other++) {
        graph->listed[other] = other != rank && graph_silent(graph, other);
        count += graph->listed[other];
    }
    rank_list_text(graph->listed, graph->situation->ranks, list, RANK_LIST_MOST);
    return count;
}

/* Are all ranks of a node silent, or (NOBODY) of all nodes but rank 0's? */
static bool node_silent(const struct wait_graph *graph, int node)
{
    const struct situation *s = graph->situation;
    for (int rank = 0; rank < s->ranks; rank++) {
        bool meant = node == NOBODY ? s->members[rank].node != s->members[0].node
                                    : s->members[rank].node == node;
        if (meant && !graph_silent(graph, rank))
            return false;
    }
    return true;
}

static int nodes_of(const struct situation *s)
{
    int nodes = 0;
    for (int rank = 0; rank < s->ranks; rank++)
        nodes = s->members[rank].node >= nodes ? s->members[rank].node + 1 : nodes;
    return nodes;
}

/* Where all of several other hosts are silent, it is more likely rank 0's own that is cut off. */
static bool hears_nobody(const struct wait_graph *graph, int rank)
{
    return rank == 0 && nodes_of(graph->situation) > 2 && node_silent(graph, NOBODY);
}

static void tell_deaf(struct wait_graph *graph, int rank, char *text, size_t size)
{
    const struct situation *s = graph->situation;
    append(text, size,
           "host %s, where rank %d runs, hears nothing of the %d others: it is cut off, or all of "
           "them are; rank %d was last seen in ",
           s->members[rank].host, rank, nodes_of(s) - 1, rank);
    put_place(s, rank, text, size);
}

static void tell_silent(struct wait_graph *graph, int rank, char *text, size_t size)
{
    const struct situation *s = graph->situation;
    const struct member *member = &s->members[rank];
    char list[RANK_LIST_MOST];
    int others = list_silent(graph, rank, list);
    bool host =
        others > 0 && member->node != s->members[0].node && node_silent(graph, member->node);
    if (host)
        append(text, size, "host %s is silent: ", member->host);
    put_name(s, rank, text, size);
    append(
        text, size,
        host ? " is without a sign of life for %.1f s (is its host down, or cut off?); it was last "
               "seen in "
             : " is silent, without a sign of life for %.1f s (stopped, or is its host down or "
               "cut off?); it was last seen in ",
        s->standings[rank].silent);
    put_place(s, rank, text, size);
    if (others > 0)
        append(text, size, "; so %s %s", others == 1 ? "is" : "are", list);
}

static void tell_busy(struct wait_graph *graph, int rank, char *text, size_t size)
{
    const struct situation *s = graph->situation;
    put_name(s, rank, text, size);
    append(text, size,
           " is waited for by %d other%s and itself waits for none: it is delayed, "
           "computing or stuck in ",
           graph->waiters[rank], graph->waiters[rank] == 1 ? "" : "s");
    put_place(s, rank, text, size);
}

static void tell_link(struct wait_graph *graph, int rank, char *text, size_t size)
{
    const struct situation *s = graph->situation;
    int to = waits_for(graph, rank);
    const struct progress_snapshot *sender = &s->standings[rank].snapshot;
    const struct progress_snapshot *receiver = &s->standings[to].snapshot;
    append(text, size, "the link from ");
    put_name(s, rank, text, size);
    append(text, size, " to ");
    put_name(s, to, text, size);
    if (sender->phase == PHASE_CONNECT)
        append(text, size, " cannot be made: both ends wait for it, in ");
    else if (sender->step == STEP_UNHEARD)
        append(text, size,
               " does not deliver: what was sent over it is not acknowledged, however often it is "
               "sent again, in ");
    else
        append(text, size,
               " does not deliver: both ends wait for the same message, %llu of %llu bytes sent, "
               "%llu received, in ",
               (unsigned long long)sender->done, (unsigned long long)sender->length,
               (unsigned long long)receiver->done);
    put_place(s, rank, text, size);
}

static void tell_ahead(struct wait_graph *graph, int rank, char *text, size_t size)
{
    const struct situation *s = graph->situation;
    put_name(s, rank, text, size);
    append(text, size, " %s while ",
           s->standings[rank].finished ? "has finished" : "went on to an exchange with all ranks");
    for (int other = 0; other < s->ranks; other++)
        graph->listed[other] = waits_for(graph, other) == rank;
    char list[RANK_LIST_MOST];
    rank_list_text(graph->listed, s->ranks, list, sizeof list);
    append(
        text, size,
        "%s still wait%s for its messages: they were lost on the way, or the ranks do not run the "
        "same schedules",
        list, strncmp(list, "ranks", 5) == 0 ? "" : "s");
}

static void tell_circle(struct wait_graph *graph, int rank, char *text, size_t size)
{
    append(text, size, "ranks wait for each other in a circle: %d", rank);
    int shown = 1;
    for (int at = waits_for(graph, rank);; at = waits_for(graph, at), shown++) {
        if (shown < CIRCLE_MOST || at == rank)
            append(text, size, " -> %d", at);
        else if (shown == CIRCLE_MOST)
            append(text, size, " -> ...");
        if (at == rank)
            break;
    }
    append(text, size, ", in ");
    put_place(graph->situation, rank, text, size);
}

static const struct {
    bool (*is)(const struct wait_graph *graph, int rank);
    bool awaited; /* only if somebody waits for it */
    void (*tell)(struct wait_graph *graph, int rank, char *text, size_t size);
} roots[] = {
    {hears_nobody, false, tell_deaf}, {begins_silence, false, tell_silent},
    {is_busy, true, tell_busy},       {begins_link, false, tell_link},
    {went_ahead, false, tell_ahead},  {in_circle, false, tell_circle},
};

/* Words the headline; returns the rank that it names first, or NOBODY. */
static int tell_root(struct wait_graph *graph, char *text, size_t size)
{
    text[0] = '\0';
    if (graph->situation->stalled > 0)
        append(text, size, "nobody has progressed for %.3g s: ", graph->situation->stalled);
    for (size_t i = 0; i < sizeof roots / sizeof roots[0]; i++) {
        int rank = most_awaited(graph, roots[i].is);
        if (rank == NOBODY || (roots[i].awaited && graph->waiters[rank] == 0))
            continue;
        roots[i].tell(graph, rank, text, size);
        return rank;
    }
    append(text, size,
           "no rank waits for another; if they only need longer, give a longer "
           "--timeout");
    return NOBODY;
}

/* How near each rank is to the root: 0 the silent, and those on the way that begins at the root;
 * else how many ranks further it waits; at the end those whose way leads elsewhere. */
static void graph_measure(const struct wait_graph *graph, int root, int *distance)
{
    int ranks = graph->situation->ranks;
    for (int rank = 0; rank < ranks; rank++)
        distance[rank] = graph_silent(graph, rank) ? 0 : ranks;
    for (int at = root; at != NOBODY && distance[at] != 0; at = waits_for(graph, at))
        distance[at] = 0;
    for (int i = graph->ordered - 1; i >= 0; i--) {
        int rank = graph->order[i], awaited = waits_for(graph, rank);
        if (distance[rank] == ranks && awaited != NOBODY && distance[awaited] < ranks)
            distance[rank] = distance[awaited] + 1;
    }
}

/* The farthest rank that is still told, where not all can be. */
static int farthest_told(const int *distance, int ranks)
{
    int reach = ranks;
    for (int low = 0; low < reach;) {
        int middle = low + (reach - low) / 2;
        int told = 0;
        for (int rank = 0; rank < ranks; rank++)
            told += distance[rank] <= middle;
        if (told >= VERDICT_LINES_MOST)
            reach = middle;
        else
            low = middle + 1;
    }
    return reach;
}

static void tell_rank(const struct wait_graph *graph, int rank, char *text, size_t size)
{
    const struct situation *s = graph->situation;
    const struct cause *cause = NULL;
    for (int i = 0; i < s->cause_count; i++)
        if (s->causes[i].rank == rank)
            cause = &s->causes[i];
    if (cause) {
        append(text, size, "%s", cause->message);
        return;
    }
    put_place(s, rank, text, size);
    append(text, size, ", ");
    if (graph_silent(graph, rank))
        append(text, size, "silent; before that: ");
    put_wait(&s->standings[rank], text, size);
}

/* One line for each rank, of many for those that are nearest to the root. */
static void tell_ranks(const struct wait_graph *graph, int root, struct verdict *verdict)
{
    const struct situation *s = graph->situation;
    int *distance = malloc((size_t)s->ranks * sizeof *distance), told = 0;
    if (!distance)
        return;
    graph_measure(graph, root, distance);
    int reach = farthest_told(distance, s->ranks);
    for (int nearer = 1; nearer >= 0; nearer--)
        for (int rank = 0; rank < s->ranks && told < VERDICT_LINES_MOST; rank++) {
            bool due = s->ranks <= VERDICT_LINES_MOST ? nearer
                       : nearer                       ? distance[rank] < reach
                                                      : distance[rank] == reach;
            if (!due)
                continue;
            char *text = verdict->lines[verdict->line_count++];
            size_t size = sizeof verdict->lines[0];
            put_name(s, rank, text, size);
            append(text, size, ": ");
            const char *words = text + strlen(text);
            tell_rank(graph, rank, text, size);
            if (rank != root)
                put_error(s, verdict, rank, words);
            told++;
        }
    if (told < s->ranks)
        snprintf(verdict->lines[verdict->line_count++], sizeof verdict->lines[0], "and %d more",
                 s->ranks - told);
    free(distance);
}

bool graph_has_silent(const struct wait_graph *graph)
{
    return graph->situation && most_awaited(graph, graph_silent) != NOBODY;
}

bool graph_has_busy(const struct wait_graph *graph)
{
    int rank = graph->situation ? most_awaited(graph, is_busy) : NOBODY;
    return rank != NOBODY && graph->waiters[rank] > 0;
}

void graph_tell(struct wait_graph *graph, const struct situation *s, struct verdict *verdict)
{
    verdict->status = STATUS_TIMEOUT;
    if (!graph->situation) {
        snprintf(verdict->headline, sizeof verdict->headline,
                 "nobody has progressed for %.3g s, and there is no memory to find out why",
                 s->stalled);
        put_error(s, verdict, 0, verdict->headline);
        return;
    }
    int root = tell_root(graph, verdict->headline, sizeof verdict->headline);
    put_error(s, verdict, root == NOBODY ? 0 : root, verdict->headline);
    tell_ranks(graph, root, verdict);
}
