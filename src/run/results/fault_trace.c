/*
 * fault_trace.c - what all ranks have of wrong elements, and where the fault may have happened, in
 * words.
 */
#include "run/results/internal.h"

#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "base/text.h"

#define ELEMENTS_MOST 16 /* that are followed back */
#define PLACES_NAMED  5

/* Evidence of elements, which is being collected. */
struct testimony {
    const struct problem *problem;
    const struct evidence_log *const *logs; /* by rank */
    const uint64_t *only;                   /* NULL, or an iteration: of no other */
    int count;
    struct place_evidence of[ELEMENTS_MOST];
};

/* The values that all ranks have of an element that `rank` has wrong. */
static void evidence_make(const struct testimony *testimony, int rank,
                          const struct iteration_evidence *found,
                          const struct wrong_element *element, struct place_evidence *evidence)
{
    bool uniform = collective_is_uniform(testimony->problem->collective);
    *evidence = (struct place_evidence){.iteration = found->iteration,
                                        .at = element->at,
                                        .root = found->root,
                                        .rank = uniform ? EVERY_RANK : rank};
    memcpy(evidence->expected, element->expected, sizeof evidence->expected);
    for (int r = 0; r < testimony->problem->ranks; r++) {
        const struct wrong_element *there;
        if (testimony->problem->in_place || testimony->logs[r]->source_changed)
            evidence->changed |= UINT64_C(1) << r;
        if (!uniform && r != rank)
            continue;
        evidence->has[r] =
            evidence_log_ask(testimony->logs[r], found->iteration, element->at, &there);
        if (evidence->has[r] == EVIDENCE_WRONG)
            memcpy(evidence->got[r], there->got, sizeof evidence->got[r]);
    }
}

/* Adds the element of a rank of this number in this iteration, if there is one, and it is new. */
static void testimony_add(struct testimony *testimony, int rank, int iteration, int number)
{
    const struct evidence_log *log = testimony->logs[rank];
    const struct iteration_evidence *found = &log->of[iteration];
    struct place_evidence evidence;
    if ((uint64_t)iteration >= log->iterations || number >= found->count ||
        testimony->count == ELEMENTS_MOST ||
        (testimony->only && found->iteration != *testimony->only))
        return;
    evidence_make(testimony, rank, found, &found->of[number], &evidence);
    for (int i = 0; i < testimony->count; i++)
        if (testimony->of[i].iteration == evidence.iteration &&
            testimony->of[i].at == evidence.at && testimony->of[i].rank == evidence.rank)
            return;
    testimony->of[testimony->count++] = evidence;
}

struct place_list logs_places(struct element_graph *graph, const struct evidence_log *const *logs,
                              const int *ranks, int count, const uint64_t *only, bool lost)
{
    struct testimony *testimony = new_array(1, sizeof *testimony);
    testimony->problem = &graph->problem;
    testimony->logs = logs;
    testimony->only = only;
    for (int number = 0; number < EVIDENCE_MOST; number++)
        for (int iteration = 0; iteration < EVIDENCE_ITERATIONS; iteration++)
            for (int i = 0; i < count; i++)
                testimony_add(testimony, ranks[i], iteration, number);
    struct place_list list = places_search(graph, testimony->of, testimony->count, lost);
    free(testimony);
    return list;
}

struct place_list fault_places(const struct group_line *line, const int *ranks, int count,
                               const uint64_t *only, bool lost)
{
    const struct line *whole = line->whole;
    const struct candidate *candidate = line_candidate(whole);
    const struct inputs inputs = job_inputs(whole->job, candidate, &line->ranks, 0);
    struct problem problem = whole->mine->problem; /* of the group of rank 0 */
    const struct evidence_log *logs[GRAPH_RANKS_MOST];
    int ring_place[GRAPH_RANKS_MOST];
    struct place_list list = {.searched = false};
    problem.shape = line->ranks.nodes;
    problem.members = NULL;
    struct element_graph *graph = element_graph_open(&candidate->choice, &problem,
                                                     whole->mine->channels, &inputs, whole->tick);
    if (!graph)
        return list;
    for (int r = 0; r < problem.ranks; r++) {
        logs[r] = &summary_of(line, r)->evidence;
        if (problem.ring_place)
            ring_place[r] = problem.ring_place[line->ranks.members[r]];
    }
    if (problem.ring_place)
        graph->problem.ring_place = ring_place;
    list = logs_places(graph, logs, ranks, count, only, lost);
    element_graph_close(graph);
    return list;
}

/* Places on their way into a sentence. */
struct place_wording {
    struct text *text;
    const struct group_line *line;
    const struct place_list *places;
    bool hosts; /* with the ranks' hosts */
};

static void add_rank(const struct place_wording *wording, int rank)
{
    const struct member *member = member_of(wording->line, rank);
    text_add(wording->text, "rank %d", member->rank);
    if (wording->hosts)
        text_add(wording->text, " (%s)", member->host);
}

/* "data that rank 3 (h3) combined in step 2" */
static void add_place(const struct place_wording *wording, const struct place *place)
{
    static const char *const works[] = {[WORK_CONTRIBUTE] = "contributed",
                                        [WORK_COPY] = "copied",
                                        [WORK_COMBINE] = "combined",
                                        [WORK_FINISH] = "divided",
                                        [WORK_HOLD] = "held",
                                        [WORK_SHARE] = "sent or received"};
    text_add(wording->text, "data that ");
    add_rank(wording, place->rank);
    if (place->kind == PLACE_MESSAGE) {
        text_add(wording->text, " received from ");
        add_rank(wording, place->from);
    } else {
        text_add(wording->text, " %s", works[place->work]);
    }
    if (place->step >= 0)
        text_add(wording->text, " in step %d", place->step);
}

/* Places [first, last) of the list, of which one is it. */
static void add_named(const struct place_wording *wording, int first, int last)
{
    for (int i = first; i < last; i++) {
        text_add(wording->text, i == first ? "" : i == last - 1 ? " or " : ", ");
        add_place(wording, &wording->places->of[i]);
    }
}

static bool place_has(const struct place *place, int rank)
{
    return place->rank == rank || place->from == rank;
}

/* The rank that has a part in each of the places; -1: none has, or two have, or not all places are
 * kept. */
static int places_rank(const struct place_list *places)
{
    const struct place *first = &places->of[0];
    const int ends[] = {first->rank, first->from};
    bool all[2] = {places->count <= PLACES_MOST,
                   places->count <= PLACES_MOST && first->from != first->rank};
    for (int i = 1; i < places->count && (all[0] || all[1]); i++)
        for (int e = 0; e < 2; e++)
            all[e] &= place_has(&places->of[i], ends[e]);
    return all[0] == all[1] ? -1 : ends[all[0] ? 0 : 1];
}

/* All ranks that have a part in the places. */
static void add_ranks(const struct place_wording *wording)
{
    const struct place_list *places = wording->places;
    struct rank_list list = {0};
    text_add(wording->text, ", all of them at ");
    for (int r = 0; r < wording->line->ranks.ranks; r++) {
        bool has = false;
        for (int i = 0; i < places->count && i < PLACES_MOST; i++)
            has |= place_has(&places->of[i], r);
        if (has)
            rank_list_put(&list, member_of(wording->line, r)->rank);
    }
    rank_list_end(&list, wording->text);
}

static void add_suspects(const struct place_wording *wording)
{
    const struct place_list *places = wording->places;
    struct text *text = wording->text;
    const struct place *first = &places->of[0];
    int rank = places_rank(places);
    if (places->count == 1 && first->kind == PLACE_MESSAGE) {
        text_add(text, ": suspect the link between the two, or their memory");
    } else if (places->count == 1) {
        text_add(text, ": suspect %s rank %d%s",
                 first->work == WORK_SHARE ? "the links of" : "the memory or the cores of",
                 member_of(wording->line, rank)->rank,
                 first->work == WORK_SHARE ? ", or its memory" : "");
    } else {
        if (rank >= 0)
            text_add(text, ", each with a part of rank %d", member_of(wording->line, rank)->rank);
        else if (places->count > PLACES_NAMED && places->count <= PLACES_MOST)
            add_ranks(wording);
        text_add(text, places->count <= PLACES_NAMED
                           ? ": suspect these links, or the memory of these ranks"
                           : ": check more iterations (-c) to tell which");
    }
}

static void add_explains(const struct place_wording *wording)
{
    const struct place_list *places = wording->places;
    if (places->explained < places->elements)
        text_add(wording->text, "explains %d of %d elements in ", places->explained,
                 places->elements);
    else
        text_add(wording->text, "explains it in ");
}

static void add_places(const struct place_wording *wording)
{
    const struct place_list *places = wording->places;
    struct text *text = wording->text;
    int others = places->count - places->flipping;
    if (places->flipping > 0) {
        text_add(text, "; %s ", places->lost ? "a lost message" : "a flipped bit");
        add_explains(wording);
        if (places->flipping > PLACES_NAMED)
            text_add(text, "any of %d places", places->flipping);
        else
            add_named(wording, 0, places->flipping);
    }
    if (others > 0) {
        text_add(text, places->flipping > 0 ? ", and a change of several bits "
                                            : "; a change of several bits ");
        if (places->flipping == 0)
            add_explains(wording);
        else
            text_add(text, "in ");
        if (places->count <= PLACES_NAMED)
            add_named(wording, places->flipping, places->count);
        else
            text_add(text, "any of %d %s", others, places->flipping > 0 ? "more" : "places");
    }
    add_suspects(wording);
}

void places_text(struct text *text, const struct group_line *line, const struct place_list *places)
{
    struct text begin = *text;
    struct place_wording wording = {.text = text, .line = line, .places = places, .hosts = true};
    if (places->count == 0) {
        text_add(text, "; no change of a value in one place explains it: suspect several faults, "
                       "or a message that was not whole");
        return;
    }
    add_places(&wording);
    if (text->used + 1 < text->size)
        return;
    *text = begin;
    wording.hosts = false;
    add_places(&wording);
}
