/*
 * verdict.c - whose fault it is, where ranks were lost, or have failed and said so.
 *
 * A rank that has lost a peer, or waited for it too long, is told after the one that is the reason.
 * Where nobody has failed it is the wait-for graph that tells: root_cause.c.
 */
#include "verdict/wait_graph.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rank_list.h"
#include "base/size.h"

static const char *phase_of(const struct standing *standing)
{
    int phase = standing->snapshot.phase;
    return phase >= 0 && phase < PHASES ? phase_names[phase] : "unknown";
}

void append(char *text, size_t size, const char *format, ...)
{
    size_t end = strlen(text);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text + end, size - end, format, arguments);
    va_end(arguments);
}

void put_name(const struct situation *s, int rank, char *text, size_t size)
{
    append(text, size, "rank %d (host %s, pid %ld)", rank, s->members[rank].host,
           s->members[rank].pid);
}

void put_place(const struct situation *s, int rank, char *text, size_t size)
{
    const struct progress_snapshot *r = &s->standings[rank].snapshot;
    append(text, size, "phase %s", phase_of(&s->standings[rank]));
    if (r->phase != PHASE_WARMUP && r->phase != PHASE_CHECK && r->phase != PHASE_TIME)
        return;
    if (r->algorithm >= 0 && r->algorithm < s->algorithm_count && s->algorithms[r->algorithm])
        append(text, size, ", %s", s->algorithms[r->algorithm]);
    char bytes[SIZE_TEXT_MOST];
    append(text, size, ", %s, %siteration %lld", size_format(r->bytes, bytes),
           r->starting ? "start barrier of " : "", (long long)r->iteration);
}

void put_error(const struct situation *s, struct verdict *verdict, int rank, const char *message)
{
    if (verdict->error_count > VERDICT_LINES_MOST)
        return;
    struct job_error *error = &verdict->errors[verdict->error_count++];
    error->rank = rank;
    snprintf(error->host, sizeof error->host, "%s", s->members[rank].host);
    snprintf(error->phase, sizeof error->phase, "%s", phase_of(&s->standings[rank]));
    snprintf(error->message, sizeof error->message, "%s", message);
}

/* A rank that has lost a peer says status 5, one that nobody can reach status 77. */
static bool cause_is_vague(const struct cause *cause)
{
    return cause->kind == CAUSE_FAILED &&
           (cause->status == STATUS_TIMEOUT || cause->status == STATUS_UNAVAILABLE);
}

/* That is news only if nobody can be told to be the reason. */
static bool any_is_reason(const struct situation *s)
{
    for (int i = 0; i < s->cause_count; i++)
        if (!cause_is_vague(&s->causes[i]))
            return true;
    return false;
}

/* Lists the ranks that have waited for another in vain, and say no more. */
static void list_waiters(const struct situation *s, struct wait_graph *graph)
{
    if (!graph->situation)
        return;
    memset(graph->listed, 0, (size_t)s->ranks * sizeof *graph->listed);
    for (int i = 0; i < s->cause_count; i++)
        graph->listed[s->causes[i].rank] =
            s->causes[i].kind == CAUSE_FAILED && s->causes[i].status == STATUS_TIMEOUT;
}

/* Has it waited for one that waited for a third? */
static bool cause_follows(const struct wait_graph *graph, const struct cause *cause)
{
    if (!graph->situation || !graph->listed[cause->rank] || graph->circles[cause->rank])
        return false;
    int awaited = graph->awaited[cause->rank];
    return awaited != NOBODY && graph->listed[awaited];
}

/* The lower, the earlier it is told; 3: it is a consequence. */
static int cause_order(const struct wait_graph *graph, const struct cause *cause, bool has_reason)
{
    if (cause->kind == CAUSE_INTERRUPTED)
        return 0;
    if (cause->kind == CAUSE_LOST)
        return 1;
    return (has_reason ? cause_is_vague(cause) : cause_follows(graph, cause)) ? 3 : 2;
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

/* The same words, but for the numbers in them: of ranks, hosts, devices. */
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

/* Do two ranks say the same? Then it is said once. What is not available may be so to each rank by
 * its own numbers; whoever has lost a rank must be heard, since it may be another one. */
static bool causes_alike(const struct cause *a, const struct cause *b)
{
    if (a->kind != CAUSE_FAILED || b->kind != CAUSE_FAILED || a->status != b->status)
        return false;
    return a->status == STATUS_UNAVAILABLE ? words_alike(a->message, b->message)
                                           : strcmp(a->message, b->message) == 0;
}

/* Is `cause` told with another that came before it? */
static bool cause_is_told(const struct situation *s, const struct cause *cause)
{
    for (const struct cause *other = s->causes; other < cause; other++)
        if (causes_alike(other, cause))
            return true;
    return false;
}

/* "; likewise ranks 1, 2, 3": those that have the same to tell. */
static void put_alike(const struct situation *s, const struct cause *cause, char *text, size_t size)
{
    bool *alike = calloc((size_t)s->ranks, sizeof *alike);
    int count = 0;
    for (int i = 0; alike && i < s->cause_count; i++)
        if (&s->causes[i] != cause && causes_alike(&s->causes[i], cause)) {
            alike[s->causes[i].rank] = true;
            count++;
        }
    char list[RANK_LIST_MOST];
    if (count > 0)
        append(text, size, "; likewise %s", rank_list_text(alike, s->ranks, list, sizeof list));
    free(alike);
}

static void reach_from_causes(const struct situation *s, struct wait_graph *graph,
                              struct verdict *verdict)
{
    int told = 0;
    bool has_reason = any_is_reason(s);
    list_waiters(s, graph);
    for (int order = 0; order <= 3; order++)
        for (int i = 0; i < s->cause_count; i++) {
            const struct cause *cause = &s->causes[i];
            if (cause_order(graph, cause, has_reason) != order)
                continue;
            if (order < 3)
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

/* Do the causes only say that a peer was waited for too long, and is a rank silent, or (where nobody
 * progressed) does one keep the others waiting? Then it is that one, whoever lost patience first. */
static bool graph_explains(const struct situation *s, const struct wait_graph *graph)
{
    for (int i = 0; i < s->cause_count; i++)
        if (s->causes[i].kind != CAUSE_FAILED || s->causes[i].status != STATUS_TIMEOUT)
            return false;
    return graph_has_silent(graph) || (s->late && graph_has_busy(graph));
}

void verdict_reach(const struct situation *situation, struct verdict *verdict)
{
    struct wait_graph graph;
    memset(verdict, 0, sizeof *verdict);
    graph_open(&graph, situation);
    if (situation->cause_count == 0 || graph_explains(situation, &graph))
        graph_tell(&graph, situation, verdict);
    else
        reach_from_causes(situation, &graph, verdict);
    graph_free(&graph);
}
