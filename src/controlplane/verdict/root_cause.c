/*
 * root_cause.c - which rank or link is the root of the wait-for graph, in words.
 *
 * Following the edges from any rank ends at a rank that waits for no other, or in a circle. The
 * first match of these is named:
 *
 *   rank 0's host            all ranks of all other hosts are silent: it is cut off
 *   a silent rank            it cannot go on, whatever the others report; a rank that is silent
 *                            only because its parent is does not count
 *   a busy device            a GPU has not ended what a rank has begun on it
 *   a rank not yet begun     it may begin its iteration, and has not
 *   a busy rank              it waits for none while others wait for it: it is slow or stuck
 *   a link                   both ends of one message wait for each other: neither rank is at fault
 *   a rank that went ahead   it has finished, or is in an exchange, while others await its messages
 *   a circle                 each rank waits for the next
 *   a vendor's collective    ranks are in it; it shows none of its steps
 */
#include "controlplane/verdict/internal.h"

#include <stdlib.h>

#include "base/list.h"
#include "collective/schedule/schedule.h"

#define CIRCLE_MOST 8 /* ranks of a circle that are named */

static bool standing_in_vendor(const struct standing *standing)
{
    return !standing->exchange && !standing->finished && standing->snapshot.operation >= 0 &&
           standing->snapshot.step == STEP_VENDOR;
}

/* The operation or the call that the rank is in, and its wait there, as a predicate. */
static void put_wait(const struct standing *standing, struct text *text)
{
    const struct progress_snapshot *r = &standing->snapshot;
    unsigned long long done = r->done, length = r->length;
    if (standing->finished)
        text_add(text, "has finished and waits for the others");
    else if (standing->exchange)
        text_add(text, "waits in %s for the others", standing->exchange);
    else if (standing_in_message(standing) && r->step == STEP_UNHEARD)
        text_add(text, "has sent data that rank %d does not acknowledge", r->peer);
    else if (standing_in_message(standing) &&
             (r->stage == ITERATION_STARTING || r->phase == PHASE_CONNECT))
        text_add(text, "waits for rank %d", r->peer); /* no step of the algorithm */
    else if (standing_in_message(standing))
        text_add(text, "step %d, waits to %s rank %d, %llu of %llu bytes so far", r->step,
                 r->kind == OPERATION_SEND ? "send to" : "receive from", r->peer, done, length);
    else if (r->operation >= 0 && r->step == STEP_DEVICE)
        text_add(text, "waits for its GPU, which has not ended a copy or a kernel");
    else if (standing_in_vendor(standing))
        text_add(text, "in the vendor's collective, which shows no steps");
    else if (r->operation >= 0)
        text_add(text, "step %d, in a local operation, %llu of %llu bytes so far", r->step, done,
                 length);
    else
        text_add(text, "%swaits for no other rank",
                 r->stage == ITERATION_RELEASED ? "has not begun it, " : "");
}

/* Silent, and not only because its parent is. */
static bool begins_silence(const struct wait_graph *graph, int rank)
{
    int parent = graph->situation->standings[rank].parent;
    return graph->silent[rank] && (parent == 0 || !graph->silent[parent]);
}

/* It waits for no rank, and has not finished either. */
static bool is_busy(const struct wait_graph *graph, int rank)
{
    return !graph->silent[rank] && !standing_is_ahead(&graph->situation->standings[rank]) &&
           graph->awaited[rank] == NO_RANK;
}

/* It waits for its GPU, not for a rank. */
static bool awaits_device(const struct wait_graph *graph, int rank)
{
    const struct progress_snapshot *snapshot = &graph->situation->standings[rank].snapshot;
    return is_busy(graph, rank) && snapshot->operation >= 0 && snapshot->step == STEP_DEVICE;
}

/* It may begin its iteration, and has not. */
static bool has_not_begun(const struct wait_graph *graph, int rank)
{
    const struct progress_snapshot *snapshot = &graph->situation->standings[rank].snapshot;
    return is_busy(graph, rank) && snapshot->operation < 0 && snapshot->stage == ITERATION_RELEASED;
}

/* Is a message under way between the two, or a connection, for which both wait? */
static bool is_link(const struct wait_graph *graph, int from, int to)
{
    if (from == NO_RANK || to == NO_RANK || graph->awaited[from] != to)
        return false;
    const struct progress_snapshot *a = &graph->situation->standings[from].snapshot;
    const struct progress_snapshot *b = &graph->situation->standings[to].snapshot;
    if (a->peer != to) /* the rank has failed since, because of another rank */
        return false;
    if (a->step == STEP_UNHEARD)
        return true;
    if (graph->awaited[to] != from || b->peer != from)
        return false;
    if (a->phase == PHASE_CONNECT && b->phase == PHASE_CONNECT)
        return true;
    return a->kind == OPERATION_SEND && b->kind != OPERATION_SEND && a->lane == b->lane &&
           a->length == b->length;
}

/* The rank that most others wait for, among those for which `is` holds; NO_RANK: there is none. */
static int most_awaited(const struct wait_graph *graph,
                        bool (*is)(const struct wait_graph *graph, int rank))
{
    int found = NO_RANK;
    for (int rank = 0; rank < graph->situation->ranks; rank++)
        if (is(graph, rank) && (found == NO_RANK || graph->waiters[rank] > graph->waiters[found]))
            found = rank;
    return found;
}

static bool begins_link(const struct wait_graph *graph, int rank)
{
    return is_link(graph, rank, graph->awaited[rank]);
}

static bool went_ahead(const struct wait_graph *graph, int rank)
{
    return standing_is_ahead(&graph->situation->standings[rank]) && graph->direct[rank] > 0;
}

static bool in_circle(const struct wait_graph *graph, int rank)
{
    return graph->cyclic[rank];
}

/* Lists the silent ranks except `rank`; returns their number. */
static int list_silent(struct wait_graph *graph, int rank, char list[RANK_LIST_MOST])
{
    int count = 0;
    for (int other = 0; other < graph->situation->ranks; other++) {
        graph->listed[other] = other != rank && graph->silent[other];
        count += graph->listed[other];
    }
    rank_list_text(graph->listed, graph->situation->ranks, list, RANK_LIST_MOST);
    return count;
}

#define OTHER_NODES (-1) /* all but rank 0's */

/* Are all ranks of a node silent? */
static bool node_silent(const struct wait_graph *graph, int node)
{
    const struct situation *s = graph->situation;
    for (int rank = 0; rank < s->ranks; rank++) {
        bool counts = node == OTHER_NODES ? s->members[rank].node != s->members[0].node
                                          : s->members[rank].node == node;
        if (counts && !graph->silent[rank])
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

/* If several other hosts are all silent, more likely rank 0's own host is cut off. */
static bool is_cut_off(const struct wait_graph *graph, int rank)
{
    return rank == 0 && nodes_of(graph->situation) > 2 && node_silent(graph, OTHER_NODES);
}

static void word_cut_off(struct wait_graph *graph, int rank, struct text *text)
{
    const struct situation *s = graph->situation;
    text_add(text,
             "host %s, where rank %d runs, hears none of the %d other hosts: it is cut off, or all "
             "of them are; rank %d was last seen in ",
             s->members[rank].host, rank, nodes_of(s) - 1, rank);
    put_place(s, rank, text);
}

static void word_silent(struct wait_graph *graph, int rank, struct text *text)
{
    const struct situation *s = graph->situation;
    const struct member *member = &s->members[rank];
    char list[RANK_LIST_MOST];
    int others = list_silent(graph, rank, list);
    bool host =
        others > 0 && member->node != s->members[0].node && node_silent(graph, member->node);
    if (host)
        text_add(text, "host %s is silent: ", member->host);
    put_name(s, rank, text);
    text_add(text, " sent no heartbeat for %.1f s: %s; it was last seen in ",
             s->standings[rank].silent,
             host ? "the host is down or unreachable"
                  : "the process is stopped, or its host is down or unreachable");
    put_place(s, rank, text);
    if (others > 0)
        text_add(text, "; also silent: %s", list);
}

static void word_busy(struct wait_graph *graph, int rank, struct text *text)
{
    const struct situation *s = graph->situation;
    put_name(s, rank, text);
    text_add(text, " keeps %d other%s waiting and waits for none: it is slow or stuck in ",
             graph->waiters[rank], plural(graph->waiters[rank]));
    put_place(s, rank, text);
}

static void word_not_begun(struct wait_graph *graph, int rank, struct text *text)
{
    const struct situation *s = graph->situation;
    int waiters = graph->waiters[rank], others = 0;
    put_name(s, rank, text);
    text_add(text, " has not begun its iteration");
    if (waiters > 0)
        text_add(text, " and keeps %d other%s waiting", waiters, plural(waiters));
    text_add(text, ": it is slow or stuck in ");
    put_place(s, rank, text);
    for (int other = 0; other < s->ranks; other++)
        others += graph->listed[other] = other != rank && has_not_begun(graph, other);
    char list[RANK_LIST_MOST];
    if (others > 0)
        text_add(text, "; likewise %s", rank_list_text(graph->listed, s->ranks, list, sizeof list));
}

static void word_device(struct wait_graph *graph, int rank, struct text *text)
{
    const struct situation *s = graph->situation;
    text_add(text, "the GPU of ");
    put_name(s, rank, text);
    text_add(text, " has not ended a copy or a kernel, in ");
    put_place(s, rank, text);
    text_add(text, ": it or its driver hangs; look for Xid in the kernel's log of that host");
}

static void word_link(struct wait_graph *graph, int rank, struct text *text)
{
    const struct situation *s = graph->situation;
    int to = graph->awaited[rank];
    const struct progress_snapshot *sender = &s->standings[rank].snapshot;
    const struct progress_snapshot *receiver = &s->standings[to].snapshot;
    text_add(text, "the link from ");
    put_name(s, rank, text);
    text_add(text, " to ");
    put_name(s, to, text);
    if (sender->phase == PHASE_CONNECT)
        text_add(text, " cannot be made: both ends wait for it, in ");
    else if (sender->step == STEP_UNHEARD)
        text_add(
            text,
            " does not deliver: the bytes sent over it are not acknowledged, however often they "
            "are sent again, in ");
    else
        text_add(text,
                 " does not deliver: both ends wait for the same message, %llu of %llu bytes sent, "
                 "%llu received, in ",
                 (unsigned long long)sender->done, (unsigned long long)sender->length,
                 (unsigned long long)receiver->done);
    put_place(s, rank, text);
}

static void word_ahead(struct wait_graph *graph, int rank, struct text *text)
{
    const struct situation *s = graph->situation;
    put_name(s, rank, text);
    text_add(text, " %s while ",
             s->standings[rank].finished ? "has finished"
                                         : "went on to an exchange with all ranks");
    for (int other = 0; other < s->ranks; other++)
        graph->listed[other] = graph->awaited[other] == rank;
    char list[RANK_LIST_MOST];
    rank_list_text(graph->listed, s->ranks, list, sizeof list);
    text_add(text,
             "%s still wait%s for its messages: the messages were lost, or the ranks do not run "
             "the same schedules",
             list, graph->direct[rank] == 1 ? "s" : "");
}

static void word_circle(struct wait_graph *graph, int rank, struct text *text)
{
    text_add(text, "ranks wait for each other in a circle: %d", rank);
    int shown = 1;
    for (int at = graph->awaited[rank];; at = graph->awaited[at], shown++) {
        if (shown < CIRCLE_MOST || at == rank)
            text_add(text, " -> %d", at);
        else if (shown == CIRCLE_MOST)
            text_add(text, " -> ...");
        if (at == rank)
            break;
    }
    text_add(text, ", in ");
    put_place(graph->situation, rank, text);
}

static bool in_vendor(const struct wait_graph *graph, int rank)
{
    return !graph->silent[rank] && standing_in_vendor(&graph->situation->standings[rank]);
}

/* Lists the ranks that are in a vendor's collective, or are not. Returns their number. */
static int list_vendor(struct wait_graph *graph, bool inside, char list[RANK_LIST_MOST])
{
    int count = 0;
    for (int rank = 0; rank < graph->situation->ranks; rank++)
        count += graph->listed[rank] = in_vendor(graph, rank) == inside;
    rank_list_text(graph->listed, graph->situation->ranks, list, RANK_LIST_MOST);
    return count;
}

static void word_vendor(struct wait_graph *graph, int rank, struct text *text)
{
    char list[RANK_LIST_MOST];
    int count = list_vendor(graph, true, list);
    text_add(text, "%s %s in the vendor's collective, which shows none of its steps, in ", list,
             count == 1 ? "is" : "are");
    put_place(graph->situation, rank, text);
    count = list_vendor(graph, false, list);
    if (count > 0)
        text_add(text, "; %s %s not, and may be the cause", list, count == 1 ? "is" : "are");
}

static const struct {
    bool (*is)(const struct wait_graph *graph, int rank);
    bool awaited; /* only if a rank waits for it */
    void (*word)(struct wait_graph *graph, int rank, struct text *text);
} roots[] = {
    {is_cut_off, false, word_cut_off},   {begins_silence, false, word_silent},
    {awaits_device, false, word_device}, {has_not_begun, false, word_not_begun},
    {is_busy, true, word_busy},          {begins_link, false, word_link},
    {went_ahead, false, word_ahead},     {in_circle, false, word_circle},
    {in_vendor, false, word_vendor},
};

/* Writes the headline; returns the rank that it names first, or NO_RANK. */
static int word_root(struct wait_graph *graph, struct text *text)
{
    const struct situation *s = graph->situation;
    /* Heartbeats tell of progress: so long a time between two of them says nothing. */
    if (s->stalled > (s->late ? 0 : SILENT_BEATS * s->heartbeat))
        text_add(text, "no rank has progressed for %.3g s: ", s->stalled);
    for (size_t i = 0; i < sizeof roots / sizeof roots[0]; i++) {
        int rank = most_awaited(graph, roots[i].is);
        if (rank == NO_RANK || (roots[i].awaited && graph->waiters[rank] == 0))
            continue;
        roots[i].word(graph, rank, text);
        return rank;
    }
    text_add(
        text,
        "no rank waits for another: if the ranks only need more time, give a longer --timeout");
    return NO_RANK;
}

/* The distance of each rank from the root: 0 for silent ranks and the ranks on the path that begins
 * at the root; else the number of edges to them. Ranks whose path leads elsewhere come last. */
static void graph_measure(const struct wait_graph *graph, int root, int *distance)
{
    int ranks = graph->situation->ranks;
    for (int rank = 0; rank < ranks; rank++)
        distance[rank] = graph->silent[rank] ? 0 : ranks;
    for (int at = root; at != NO_RANK && distance[at] != 0; at = graph->awaited[at])
        distance[at] = 0;
    for (int i = graph->ordered - 1; i >= 0; i--) {
        int rank = graph->order[i], awaited = graph->awaited[rank];
        if (distance[rank] == ranks && awaited != NO_RANK && distance[awaited] < ranks)
            distance[rank] = distance[awaited] + 1;
    }
}

/* The distance up to which ranks get a line, if not all can. */
static int distance_most(const int *distance, int ranks)
{
    int reach = ranks;
    for (int low = 0; low < reach;) {
        int middle = low + (reach - low) / 2;
        int named = 0;
        for (int rank = 0; rank < ranks; rank++)
            named += distance[rank] <= middle;
        if (named >= VERDICT_LINES_MOST)
            reach = middle;
        else
            low = middle + 1;
    }
    return reach;
}

static void word_rank(const struct wait_graph *graph, int rank, struct text *text)
{
    const struct situation *s = graph->situation;
    if (graph->cause[rank]) {
        text_add(text, "%s", graph->cause[rank]->failure.text);
        return;
    }
    put_place(s, rank, text);
    text_add(text, ", ");
    if (graph->silent[rank])
        text_add(text, "silent; before that: ");
    put_wait(&s->standings[rank], text);
}

/* One line for each rank; of many, for the ranks nearest to the root. */
static void word_ranks(const struct wait_graph *graph, int root, struct verdict *verdict)
{
    const struct situation *s = graph->situation;
    int *distance = new_array((size_t)s->ranks, sizeof *distance), named = 0;
    graph_measure(graph, root, distance);
    int reach = distance_most(distance, s->ranks);
    for (int nearer = 1; nearer >= 0; nearer--)
        for (int rank = 0; rank < s->ranks && named < VERDICT_LINES_MOST; rank++) {
            bool due = s->ranks <= VERDICT_LINES_MOST ? nearer
                       : nearer                       ? distance[rank] < reach
                                                      : distance[rank] == reach;
            if (!due)
                continue;
            struct text text = verdict_add_line(verdict);
            put_name(s, rank, &text);
            text_add(&text, ": ");
            const char *words = text.at + text.used;
            word_rank(graph, rank, &text);
            if (rank != root)
                verdict_add_error(s, verdict, rank, words);
            named++;
        }
    if (named < s->ranks) {
        struct text text = verdict_add_line(verdict);
        text_add(&text, "and %d more", s->ranks - named);
    }
    free(distance);
}

bool graph_has_silent(const struct wait_graph *graph)
{
    return most_awaited(graph, begins_silence) != NO_RANK;
}

bool graph_has_busy(const struct wait_graph *graph)
{
    int rank = most_awaited(graph, is_busy);
    return rank != NO_RANK && graph->waiters[rank] > 0;
}

void graph_explain(struct wait_graph *graph, const struct situation *s, struct verdict *verdict)
{
    struct text headline = text_in(verdict->headline, sizeof verdict->headline);
    verdict->status = STATUS_TIMEOUT;
    int root = word_root(graph, &headline);
    verdict_add_error(s, verdict, root == NO_RANK ? 0 : root, verdict->headline);
    word_ranks(graph, root, verdict);
}
