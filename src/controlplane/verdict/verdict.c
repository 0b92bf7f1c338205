/*
 * verdict.c - which fault is the first, where ranks were lost or have failed.
 *
 * Failures are compared by kind, status, reason and peer; by their sentences only where a failure
 * has no peer. Ranks that have failed because of a peer come after the rank that is the reason. If
 * no cause explains the others, the wait-for graph does: root_cause.c.
 */
#include "controlplane/verdict/internal.h"

#include "base/list.h"
#include "base/parse.h"

#include <stdlib.h>
#include <string.h>

/*
 * Words for a rank and its place, and the lines and errors of a verdict.
 */
static const char *phase_of(const struct standing *standing)
{
    int phase = standing->snapshot.phase;
    return phase >= 0 && phase < PHASES ? phase_names[phase] : "unknown";
}

void put_name(const struct situation *s, int rank, struct text *text)
{
    text_add(text, "rank %d (host %s, pid %ld)", rank, s->members[rank].host, s->members[rank].pid);
}

void put_place(const struct situation *s, int rank, struct text *text)
{
    const struct progress_snapshot *r = &s->standings[rank].snapshot;
    text_add(text, "phase %s", phase_of(&s->standings[rank]));
    if (r->phase != PHASE_WARMUP && r->phase != PHASE_CHECK && r->phase != PHASE_TIME)
        return;
    if (r->algorithm >= 0 && r->algorithm < s->algorithm_count && s->algorithms[r->algorithm])
        text_add(text, ", %s", s->algorithms[r->algorithm]);
    char bytes[SIZE_TEXT_MOST];
    text_add(text, ", %s, %siteration %lld", size_format(r->bytes, bytes),
             r->stage == ITERATION_STARTING ? "start barrier of " : "", (long long)r->iteration);
}

struct text verdict_add_line(struct verdict *verdict)
{
    return text_in(verdict->lines[verdict->line_count++], sizeof verdict->lines[0]);
}

void verdict_add_error(const struct situation *s, struct verdict *verdict, int rank,
                       const char *message)
{
    if (verdict->error_count <= VERDICT_LINES_MOST)
        verdict->errors[verdict->error_count++] =
            job_error_make(rank, s->members[rank].host, phase_of(&s->standings[rank]), message);
}

/*
 * The first fault.
 */
#define BLAMED_LEAST 2 /* failures that name one peer, until it and not a link is suspected */

/* Does a cause explain itself? Then the consequences are named last. */
static bool any_is_reason(const struct situation *s)
{
    for (int i = 0; i < s->cause_count; i++)
        if (!cause_is_consequence(&s->causes[i]))
            return true;
    return false;
}

/* Is it a consequence of another failure of the same kind: did its peer lose or await a third rank?
 * A peer that no transport connects to a third rank has failed for a reason of its own. */
static bool cause_follows(const struct wait_graph *graph, const struct cause *cause)
{
    int awaited = cause_awaited(cause);
    return awaited != NO_RANK && awaited != cause->rank && !graph->cyclic[cause->rank] &&
           graph->cause[awaited] && cause_awaited(graph->cause[awaited]) != NO_RANK;
}

#define ORDER_LAST 3 /* a consequence, which does not count for the status */

/* The lower, the earlier it is named. */
static int cause_order(const struct wait_graph *graph, const struct cause *cause, bool has_reason)
{
    if (cause->kind == CAUSE_INTERRUPTED)
        return 0;
    if (cause->kind == CAUSE_LOST)
        return 1;
    return (has_reason ? cause_is_consequence(cause) : cause_follows(graph, cause)) ? ORDER_LAST
                                                                                    : 2;
}

static void cause_describe(const struct situation *s, const struct cause *cause, struct text *text)
{
    put_name(s, cause->rank, text);
    if (cause->kind == CAUSE_LOST && cause->failure.text[0]) {
        text_add(text, " is lost: %s; it was last seen in ", cause->failure.text);
        put_place(s, cause->rank, text);
    } else if (cause->kind == CAUSE_LOST) {
        text_add(text,
                 " is gone: its connection to rank 0 broke (killed, or crashed?); it was last "
                 "seen in ");
        put_place(s, cause->rank, text);
    } else if (cause->kind == CAUSE_INTERRUPTED) {
        text_add(text, " was %s in ", cause->failure.text);
        put_place(s, cause->rank, text);
    } else {
        text_add(text, ": %s", cause->failure.text);
    }
}

/* Do two ranks report the same failure? Then one line serves both. Failures of a rank itself differ
 * if their sentences do. A failure about another peer is another one, unless the peer cannot be
 * reached: every pair has its own. */
static bool causes_alike(const struct cause *a, const struct cause *b)
{
    const struct failure *one = &a->failure, *other = &b->failure;
    if (a->kind != CAUSE_FAILED || b->kind != CAUSE_FAILED || one->status != other->status ||
        one->reason != other->reason)
        return false;
    if (one->reason == REASON_OWN)
        return strcmp(one->text, other->text) == 0;
    return one->peer == other->peer || one->reason == REASON_PEER_UNREACHABLE;
}

/* Does the line of a cause that is named before it serve `cause` as well? */
static bool cause_is_named(const struct situation *s, const struct wait_graph *graph,
                           const struct cause *cause, bool has_reason)
{
    int own = cause_order(graph, cause, has_reason);
    for (int i = 0; i < s->cause_count; i++) {
        const struct cause *other = &s->causes[i];
        if (!causes_alike(other, cause))
            continue;
        int order = cause_order(graph, other, has_reason);
        if (order < own || (order == own && other < cause))
            return true;
    }
    return false;
}

/* "; likewise ranks 1, 2, 3": the ranks that report the same. */
static void put_alike(const struct situation *s, const struct cause *cause, struct text *text)
{
    bool *alike = new_array((size_t)s->ranks, sizeof *alike);
    int count = 0;
    for (int i = 0; i < s->cause_count; i++)
        if (&s->causes[i] != cause && causes_alike(&s->causes[i], cause)) {
            alike[s->causes[i].rank] = true;
            count++;
        }
    char list[RANK_LIST_MOST];
    if (count > 0)
        text_add(text, "; likewise %s", rank_list_text(alike, s->ranks, list, sizeof list));
    free(alike);
}

/* The rank that most failures name as lost or late, and that has not failed itself; NO_RANK:
 * none, or only one failure names it: that may be the link as well. */
static int most_blamed(const struct wait_graph *graph)
{
    int found = NO_RANK;
    for (int rank = 0; rank < graph->situation->ranks; rank++) {
        if (graph->cause[rank] || graph->blamed[rank] < BLAMED_LEAST)
            continue;
        if (found == NO_RANK || graph->blamed[rank] > graph->blamed[found])
            found = rank;
    }
    return found;
}

/* The headline for a rank that several others have lost. */
static void word_blamed(struct wait_graph *graph, int rank, struct verdict *verdict)
{
    const struct situation *s = graph->situation;
    bool lost = false;
    memset(graph->listed, 0, (size_t)s->ranks * sizeof *graph->listed);
    for (int i = 0; i < s->cause_count; i++) {
        const struct cause *cause = &s->causes[i];
        if (cause_awaited(cause) != rank)
            continue;
        graph->listed[cause->rank] = true;
        lost |= cause->failure.reason == REASON_PEER_LOST;
    }
    char list[RANK_LIST_MOST];
    struct text text = text_in(verdict->headline, sizeof verdict->headline);
    put_name(s, rank, &text);
    rank_list_text(graph->listed, s->ranks, list, sizeof list);
    text_add(&text,
             lost ? " is no longer reachable from %s; it was last seen in "
                  : " did not answer %s in time; it was last seen in ",
             list);
    put_place(s, rank, &text);
    verdict_add_error(s, verdict, rank, verdict->headline);
}

static void word_causes(const struct situation *s, struct wait_graph *graph,
                        struct verdict *verdict)
{
    bool has_reason = any_is_reason(s);
    int blamed = has_reason ? NO_RANK : most_blamed(graph), named = 0;
    if (blamed != NO_RANK) {
        word_blamed(graph, blamed, verdict);
        named = 1;
    }
    for (int order = 0; order <= ORDER_LAST; order++)
        for (int i = 0; i < s->cause_count; i++) {
            const struct cause *cause = &s->causes[i];
            if (cause_order(graph, cause, has_reason) != order)
                continue;
            if (order < ORDER_LAST)
                verdict->status = status_worse(verdict->status, cause->failure.status);
            char words[MESSAGE_MOST];
            struct text text = text_in(words, sizeof words);
            cause_describe(s, cause, &text);
            verdict_add_error(s, verdict, cause->rank,
                              cause->kind == CAUSE_FAILED ? cause->failure.text : words);
            if (cause_is_named(s, graph, cause, has_reason) || named++ > VERDICT_LINES_MOST - 1)
                continue;
            put_alike(s, cause, &text);
            char *line = named == 1 ? verdict->headline : verdict->lines[verdict->line_count++];
            memcpy(line, words, sizeof words);
        }
    if (named > VERDICT_LINES_MOST) {
        struct text text = verdict_add_line(verdict);
        text_add(&text, "and %d more", named - VERDICT_LINES_MOST);
    }
}

/* Do all causes only say that a peer was lost or late, while a rank is silent or (if the
 * deadline has passed) keeps the others waiting? Then that rank is the root, whichever rank
 * failed first. */
static bool graph_explains(const struct situation *s, const struct wait_graph *graph)
{
    for (int i = 0; i < s->cause_count; i++)
        if (cause_awaited(&s->causes[i]) == NO_RANK)
            return false;
    return graph_has_silent(graph) || (s->late && graph_has_busy(graph));
}

void verdict_reach(const struct situation *situation, struct verdict *verdict)
{
    struct wait_graph graph;
    memset(verdict, 0, sizeof *verdict);
    graph_open(&graph, situation);
    if (situation->cause_count == 0 || graph_explains(situation, &graph))
        graph_explain(&graph, situation, verdict);
    else
        word_causes(situation, &graph, verdict);
    graph_free(&graph);
}
