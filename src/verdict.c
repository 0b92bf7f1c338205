/*
 * verdict.c - whose fault it is: from what rank 0 knows of all ranks to a sentence for the user.
 *
 * When nobody progresses, each rank has at most one edge: to the peer of the operation that it
 * waits in. Following the edges from any rank ends at a rank that waits for no other, or in a
 * circle. Who is named, first match:
 *
 *   a silent rank            stopped, or its host is: whatever the others say, it cannot go on
 *   a busy rank              it waits for nobody while others wait for it: delayed, stuck
 *   a link                   both ends of one message wait for each other: neither is to blame
 *   a rank that went ahead   it has finished, or is in an exchange, while others await its messages
 *   a circle                 each waits for the next
 */
#include "verdict.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ranks_text.h"
#include "schedule.h"
#include "size.h"

const char *const phase_names[PHASES] = {
    [PHASE_JOIN] = "join",     [PHASE_SETUP] = "setup", [PHASE_CONNECT] = "connect",
    [PHASE_WARMUP] = "warmup", [PHASE_CHECK] = "check", [PHASE_TIME] = "time",
    [PHASE_GATHER] = "gather", [PHASE_END] = "end",
};

#define NOBODY       (-1)
#define SILENT_BEATS 3 /* heartbeats that a living rank does not miss in a row */
#define CIRCLE_MOST  8 /* ranks of a circle that are named */

static const char *phase_of(const struct standing *standing)
{
    int phase = standing->reading.phase;
    return phase >= 0 && phase < PHASES ? phase_names[phase] : "unknown";
}

/* Writes behind what stands in `text`. */
static void append(char *text, size_t size, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static void append(char *text, size_t size, const char *format, ...)
{
    size_t end = strlen(text);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text + end, size - end, format, arguments);
    va_end(arguments);
}

static void put_name(const struct situation *s, int rank, char *text, size_t size)
{
    append(text, size, "rank %d (host %s, pid %ld)", rank, s->members[rank].host,
           s->members[rank].pid);
}

/* "phase time, alltoall pairwise, 64K, iteration 12"; "..., start barrier of iteration 12" */
static void put_place(const struct situation *s, int rank, char *text, size_t size)
{
    const struct reading *r = &s->standings[rank].reading;
    append(text, size, "phase %s", phase_of(&s->standings[rank]));
    if (r->phase != PHASE_WARMUP && r->phase != PHASE_CHECK && r->phase != PHASE_TIME)
        return;
    if (r->algorithm >= 0 && r->algorithm < s->algorithm_count && s->algorithms[r->algorithm])
        append(text, size, ", %s", s->algorithms[r->algorithm]);
    char bytes[SIZE_TEXT_MOST];
    append(text, size, ", %s, %siteration %lld", size_format(r->bytes, bytes),
           r->starting ? "start barrier of " : "", (long long)r->iteration);
}

static bool in_message(const struct standing *standing)
{
    return standing->reading.operation >= 0 &&
           (standing->reading.kind == OPERATION_SEND || standing->reading.kind == OPERATION_RECV ||
            standing->reading.kind == OPERATION_RECV_REDUCE);
}

/* What the rank waits in. */
static void put_wait(const struct standing *standing, char *text, size_t size)
{
    const struct reading *r = &standing->reading;
    if (standing->finished)
        append(text, size, "has finished and waits for the others");
    else if (standing->exchange)
        append(text, size, "waits in %s for the others", standing->exchange);
    else if (in_message(standing) && r->starting)
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

static void put_error(const struct situation *s, struct verdict *verdict, int rank,
                      const char *message)
{
    if (verdict->error_count > VERDICT_LINES_MOST)
        return;
    struct job_error *error = &verdict->errors[verdict->error_count++];
    error->rank = rank;
    snprintf(error->host, sizeof error->host, "%s", s->members[rank].host);
    snprintf(error->phase, sizeof error->phase, "%s", phase_of(&s->standings[rank]));
    snprintf(error->message, sizeof error->message, "%s", message);
}

/* ---- somebody was lost, or has failed ---- */

/* A rank that has lost a peer says status 5, one that nobody can reach status 77; that is news only
 * if nobody can be told to be the reason. */
static bool cause_is_consequence(const struct situation *s, const struct cause *cause)
{
    if (cause->kind != CAUSE_FAILED ||
        (cause->status != STATUS_TIMEOUT && cause->status != STATUS_UNAVAILABLE))
        return false;
    for (int i = 0; i < s->cause_count; i++)
        if (s->causes[i].kind != CAUSE_FAILED ||
            (s->causes[i].status != STATUS_TIMEOUT && s->causes[i].status != STATUS_UNAVAILABLE))
            return true;
    return false;
}

/* The lower, the earlier it is told. */
static int cause_order(const struct situation *s, const struct cause *cause)
{
    return cause->kind == CAUSE_INTERRUPTED  ? 0
           : cause->kind == CAUSE_LOST       ? 1
           : !cause_is_consequence(s, cause) ? 2
                                             : 3;
}

static void cause_describe(const struct situation *s, const struct cause *cause, char *text,
                           size_t size)
{
    text[0] = '\0';
    put_name(s, cause->rank, text, size);
    if (cause->kind == CAUSE_LOST) {
        append(text, size,
               " is gone: its connection to rank 0 broke (killed, or crashed?); it was "
               "last seen in ");
        put_place(s, cause->rank, text, size);
    } else if (cause->kind == CAUSE_INTERRUPTED) {
        append(text, size, " was %s in ", cause->message);
        put_place(s, cause->rank, text, size);
    } else {
        append(text, size, ": %s", cause->message);
    }
}

/* The same words, but for the numbers in them: of ranks, hosts, processes. */
static bool words_alike(const char *a, const char *b)
{
    for (;; a++, b++) {
        while (isdigit((unsigned char)*a))
            a++;
        while (isdigit((unsigned char)*b))
            b++;
        if (*a != *b)
            return false;
        if (*a == '\0')
            return true;
    }
}

/* Do two ranks say the same? Then it is said once. */
static bool causes_alike(const struct cause *a, const struct cause *b)
{
    return a->kind == CAUSE_FAILED && b->kind == CAUSE_FAILED && a->status == b->status &&
           words_alike(a->message, b->message);
}

/* Is `cause` told with another that came before it? */
static bool cause_is_told(const struct situation *s, const struct cause *cause)
{
    for (const struct cause *other = s->causes; other < cause; other++)
        if (causes_alike(other, cause))
            return true;
    return false;
}

/* "; so say ranks 1, 2, 3": those that have the same to tell. */
static void put_alike(const struct situation *s, const struct cause *cause, char *text, size_t size)
{
    bool *alike = calloc((size_t)s->ranks, sizeof *alike);
    int count = 0;
    for (int i = 0; alike && i < s->cause_count; i++)
        if (&s->causes[i] != cause && causes_alike(&s->causes[i], cause)) {
            alike[s->causes[i].rank] = true;
            count++;
        }
    char list[RANKS_TEXT_MOST];
    if (count > 0)
        append(text, size, "; so say%s %s", count == 1 ? "s" : "",
               ranks_text(alike, s->ranks, list, sizeof list));
    free(alike);
}

static void reach_from_causes(const struct situation *s, struct verdict *verdict)
{
    int told = 0;
    for (int order = 0; order <= 3; order++)
        for (int i = 0; i < s->cause_count; i++) {
            const struct cause *cause = &s->causes[i];
            if (cause_order(s, cause) != order)
                continue;
            if (!cause_is_consequence(s, cause))
                verdict->status = status_graver(verdict->status, cause->status);
            char text[sizeof verdict->headline];
            cause_describe(s, cause, text, sizeof text);
            put_error(s, verdict, cause->rank, cause->kind == CAUSE_FAILED ? cause->message : text);
            if (cause_is_told(s, cause) || told++ > VERDICT_LINES_MOST - 1)
                continue;
            put_alike(s, cause, text, sizeof text);
            char *line = told == 1 ? verdict->headline : verdict->lines[verdict->line_count++];
            memcpy(line, text, sizeof text);
        }
    if (told > VERDICT_LINES_MOST)
        snprintf(verdict->lines[verdict->line_count++], sizeof verdict->lines[0], "and %d more",
                 told - VERDICT_LINES_MOST);
}

/* ---- nobody progresses ---- */

struct graph {
    const struct situation *situation;
    bool *silent; /* by rank */
    int *waiters; /* by rank: how many wait for it, through others or not */
    bool *listed; /* scratch for lists */
};

static bool graph_silent(const struct graph *graph, int rank)
{
    return graph->silent[rank];
}

/* Whom the rank waits for; NOBODY when it waits for no one rank. */
static int waits_for(const struct graph *graph, int rank)
{
    const struct standing *standing = &graph->situation->standings[rank];
    if (graph_silent(graph, rank) || standing->finished || standing->exchange ||
        !in_message(standing))
        return NOBODY;
    int peer = standing->reading.peer;
    return peer >= 0 && peer < graph->situation->ranks && peer != rank ? peer : NOBODY;
}

/* It waits for nobody, and is not at the end of its way either. */
static bool is_busy(const struct graph *graph, int rank)
{
    const struct standing *standing = &graph->situation->standings[rank];
    return !graph_silent(graph, rank) && !standing->finished && !standing->exchange &&
           waits_for(graph, rank) == NOBODY;
}

/* One end sends what the other receives. */
static bool is_link(const struct graph *graph, int from, int to)
{
    if (from == NOBODY || to == NOBODY || waits_for(graph, from) != to ||
        waits_for(graph, to) != from)
        return false;
    const struct reading *a = &graph->situation->standings[from].reading;
    const struct reading *b = &graph->situation->standings[to].reading;
    return a->kind == OPERATION_SEND && b->kind != OPERATION_SEND && a->lane == b->lane &&
           a->length == b->length;
}

static void graph_fill(struct graph *graph)
{
    const struct situation *s = graph->situation;
    for (int rank = 0; rank < s->ranks; rank++)
        graph->silent[rank] = s->standings[rank].silent > SILENT_BEATS * s->heartbeat;
    for (int rank = 0; rank < s->ranks; rank++) {
        const struct standing *standing = &s->standings[rank];
        int at = rank;
        for (int steps = 0; steps < s->ranks; steps++) {
            int next = waits_for(graph, at);
            if (next == NOBODY || next == rank)
                break;
            at = next;
            graph->waiters[at]++;
        }
        /* Who is in an exchange waits for all that are not. */
        if (standing->finished || standing->exchange)
            for (int other = 0; other < s->ranks; other++)
                graph->waiters[other] +=
                    !s->standings[other].finished && !s->standings[other].exchange;
    }
}

/* Of the ranks for which `is` holds, the one that most others wait for. */
static int most_awaited(const struct graph *graph, bool (*is)(const struct graph *graph, int rank))
{
    int found = NOBODY;
    for (int rank = 0; rank < graph->situation->ranks; rank++)
        if (is(graph, rank) && (found == NOBODY || graph->waiters[rank] > graph->waiters[found]))
            found = rank;
    return found;
}

static bool begins_link(const struct graph *graph, int rank)
{
    return is_link(graph, rank, waits_for(graph, rank));
}

static bool went_ahead(const struct graph *graph, int rank)
{
    const struct standing *standing = &graph->situation->standings[rank];
    if (!standing->finished && !standing->exchange)
        return false;
    for (int other = 0; other < graph->situation->ranks; other++)
        if (waits_for(graph, other) == rank)
            return true;
    return false;
}

static bool in_circle(const struct graph *graph, int rank)
{
    int at = rank;
    for (int steps = 0; steps < graph->situation->ranks && at != NOBODY; steps++) {
        at = waits_for(graph, at);
        if (at == rank)
            return true;
    }
    return false;
}

static void tell_silent(struct graph *graph, int rank, char *text, size_t size)
{
    const struct situation *s = graph->situation;
    put_name(s, rank, text, size);
    append(text, size,
           " is silent, without a sign of life for %.1f s (stopped, or is its host down?); it was "
           "last seen in ",
           s->standings[rank].silent);
    put_place(s, rank, text, size);
    int others = 0;
    for (int other = 0; other < s->ranks; other++) {
        graph->listed[other] = other != rank && graph_silent(graph, other);
        others += graph->listed[other];
    }
    char list[RANKS_TEXT_MOST];
    if (others > 0)
        append(text, size, "; so %s %s", others == 1 ? "is" : "are",
               ranks_text(graph->listed, s->ranks, list, sizeof list));
}

static void tell_busy(struct graph *graph, int rank, char *text, size_t size)
{
    const struct situation *s = graph->situation;
    put_name(s, rank, text, size);
    append(text, size,
           " is waited for by %d other%s and itself waits for none: it is delayed, "
           "computing or stuck in ",
           graph->waiters[rank], graph->waiters[rank] == 1 ? "" : "s");
    put_place(s, rank, text, size);
}

static void tell_link(struct graph *graph, int rank, char *text, size_t size)
{
    const struct situation *s = graph->situation;
    int to = waits_for(graph, rank);
    const struct reading *sender = &s->standings[rank].reading;
    const struct reading *receiver = &s->standings[to].reading;
    append(text, size, "the link from ");
    put_name(s, rank, text, size);
    append(text, size, " to ");
    put_name(s, to, text, size);
    append(text, size,
           " does not deliver: both ends wait for the same message, %llu of %llu bytes sent, %llu "
           "received, in ",
           (unsigned long long)sender->done, (unsigned long long)sender->length,
           (unsigned long long)receiver->done);
    put_place(s, rank, text, size);
}

static void tell_ahead(struct graph *graph, int rank, char *text, size_t size)
{
    const struct situation *s = graph->situation;
    put_name(s, rank, text, size);
    append(text, size, " %s while ",
           s->standings[rank].finished ? "has finished" : "went on to an exchange with all ranks");
    for (int other = 0; other < s->ranks; other++)
        graph->listed[other] = waits_for(graph, other) == rank;
    char list[RANKS_TEXT_MOST];
    ranks_text(graph->listed, s->ranks, list, sizeof list);
    append(text, size, "%s still wait%s for its messages: they do not run the same schedules", list,
           strncmp(list, "ranks", 5) == 0 ? "" : "s");
}

static void tell_circle(struct graph *graph, int rank, char *text, size_t size)
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
    bool (*is)(const struct graph *graph, int rank);
    bool awaited; /* only if somebody waits for it */
    void (*tell)(struct graph *graph, int rank, char *text, size_t size);
} roots[] = {
    {graph_silent, false, tell_silent}, {is_busy, true, tell_busy},
    {begins_link, false, tell_link},    {went_ahead, false, tell_ahead},
    {in_circle, false, tell_circle},
};

/* Words the headline; returns the rank that it names first, or NOBODY. */
static int tell_root(struct graph *graph, char *text, size_t size)
{
    snprintf(text, size, "nobody has progressed for %.3g s: ", graph->situation->stalled);
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

static void reach_from_graph(const struct situation *s, struct verdict *verdict)
{
    size_t ranks = (size_t)s->ranks;
    struct graph graph = {.situation = s,
                          .silent = calloc(ranks, sizeof(bool)),
                          .waiters = calloc(ranks, sizeof(int)),
                          .listed = calloc(ranks, sizeof(bool))};
    verdict->status = STATUS_TIMEOUT;
    int root = NOBODY;
    if (graph.silent && graph.waiters && graph.listed) {
        graph_fill(&graph);
        root = tell_root(&graph, verdict->headline, sizeof verdict->headline);
    } else {
        snprintf(verdict->headline, sizeof verdict->headline,
                 "nobody has progressed for %.3g s, and there is no memory to find out why",
                 s->stalled);
    }
    put_error(s, verdict, root == NOBODY ? 0 : root, verdict->headline);

    int told = 0;
    for (int rank = 0; rank < s->ranks; rank++) {
        if (told == VERDICT_LINES_MOST) {
            snprintf(verdict->lines[verdict->line_count++], sizeof verdict->lines[0], "and %d more",
                     s->ranks - rank);
            break;
        }
        char *text = verdict->lines[verdict->line_count++];
        size_t size = sizeof verdict->lines[0];
        put_name(s, rank, text, size);
        append(text, size, ": ");
        const char *words = text + strlen(text);
        put_place(s, rank, text, size);
        append(text, size, ", ");
        if (graph.silent && graph.silent[rank])
            append(text, size, "silent; before that: ");
        put_wait(&s->standings[rank], text, size);
        if (rank != root)
            put_error(s, verdict, rank, words);
        told++;
    }
    free(graph.silent);
    free(graph.waiters);
    free(graph.listed);
}

void verdict_reach(const struct situation *situation, struct verdict *verdict)
{
    memset(verdict, 0, sizeof *verdict);
    if (situation->cause_count > 0)
        reach_from_causes(situation, verdict);
    else
        reach_from_graph(situation, verdict);
}
