/*
 * fault_report.c - groups the findings of the ranks by fault, finds where each fault began, and
 * puts it into words.
 *
 * Groups of --split are looked at one by one, since no fault leads from one to another. Ranks count
 * in their group here, up to the words.
 */
#include "run/results/internal.h"

#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "base/log.h"
#include "base/text.h"

#define FAULTS_SAID      8 /* of one line; more are counted */
#define FAULT_PLACE_MOST 640
_Static_assert(FAULT_PLACE_MOST + 300 < MESSAGE_MOST, "a message has room before the place");

/* A fault spreads from hop to hop. Where a rank received its first wrong element from a rank
 * whose own result is right, the fault began between the two. Returns such a rank; -1 where
 * there is none, or several that one sender has in common, which is then the suspect itself. */
static int fault_origin(const struct group_line *line, const struct finding_group *group)
{
    int origin = -1;
    for (int i = 0; i < group->count; i++) {
        int rank = group->ranks[i], peer = summary_of(line, rank)->finding.hop_peer;
        if (peer < 0 || summary_of(line, peer)->wrong > 0)
            continue;
        if (origin >= 0 && summary_of(line, origin)->finding.hop_peer == peer)
            return -1;
        origin = origin < 0 ? rank : origin;
    }
    return origin;
}

/* Where the fault of a group of ranks began, as the end of a sentence; "": not known. */
struct fault_place {
    char text[FAULT_PLACE_MOST];
    bool explains; /* it says also what happened */
    struct place_list list;
};

static bool is_explained_by(const struct finding *finding, enum hypothesis_kind kind)
{
    bool found = false;
    for (int i = 0; i < finding_explanations(finding); i++)
        found |= finding->explanations[i].hypotheses[0].kind == kind;
    return found;
}

/* Was unwritten memory combined with floats? Sums round most of them away beside it, so that the
 * data do not tell whose contribution is missing. */
static bool is_blurred(const struct group_line *line, const struct finding *finding)
{
    return line_candidate(line->whole)->datatype->kind == DATATYPE_FLOAT &&
           is_explained_by(finding, HYPOTHESIS_POISONED);
}

/* Searches for the places of a fault. `joined`: of all that is not explained, where that is one. */
static void fault_trace(const struct group_line *line, const struct finding_group *group,
                        const struct place_list *joined, struct fault_place *place)
{
    const struct finding *finding = group->finding;
    bool lost = is_blurred(line, finding) || is_explained_by(finding, HYPOTHESIS_UNWRITTEN);
    bool altered = finding_is_unexplained(finding);
    if (lost && line_candidate(line->whole)->collective->reduces)
        place->list = fault_places(line, group->ranks, group->count, &finding->iteration, true);
    else if (altered)
        place->list = joined->count > 0 ? *joined
                                        : fault_places(line, group->ranks, group->count,
                                                       &finding->iteration, false);
    /* Hypotheses tell more of a loss that no single message explains. */
    if (!place->list.searched || (lost && place->list.count == 0))
        return;
    struct text text = text_in(place->text, sizeof place->text);
    places_text(&text, line, &place->list);
    place->explains = lost || !finding_is_corruption(finding);
}

static struct fault_place fault_locate(const struct group_line *line,
                                       const struct finding_group *group,
                                       const struct place_list *joined)
{
    struct fault_place place = {.explains = false};
    struct text text = text_in(place.text, sizeof place.text);
    int rank = fault_origin(line, group);
    if (group->finding->kind == FINDING_RESULT &&
        (finding_is_unexplained(group->finding) || rank < 0 || is_blurred(line, group->finding)))
        fault_trace(line, group, joined, &place);
    if (rank < 0 || place.text[0])
        return place;
    const struct finding *finding = &summary_of(line, rank)->finding;
    const struct member *peer = member_of(line, finding->hop_peer);
    text_add(&text,
             "; the first wrong element of rank %d (%s) came from rank %d (%s) in step %d, and is "
             "correct at the sender: suspect the link between the two, or their memory",
             member_of(line, rank)->rank, member_of(line, rank)->host, peer->rank, peer->host,
             finding->hop_step);
    return place;
}

static void fault_message(const struct group_line *line, const struct finding_group *group,
                          const struct fault_place *place, char *message, size_t size)
{
    const struct candidate *candidate = line_candidate(line->whole);
    char title[CANDIDATE_TITLE_MOST];
    struct text text = text_in(message, size);
    text_add(&text, "%s, %zu bytes: ", candidate_title(line->whole->job, candidate, title),
             collective_bytes(&line->whole->mine->problem, candidate->datatype->size));
    const struct diagnosis_context context = {.collective = candidate->collective,
                                              .datatype = candidate->datatype,
                                              .reduction = candidate->reduction,
                                              .ranks = line->ranks.ranks,
                                              .members = line->ranks.members};
    size_t ending = strlen(place->text);
    text.size -= ending; /* what a reader needs most is not cut off */
    diagnosis_text(&text, group, &context,
                   place->explains  ? DETAIL_COUNT
                   : place->text[0] ? DETAIL_EXPLANATION
                                    : DETAIL_SUSPECTS);
    if (text.used + 1 == text.size)
        memcpy(message + text.used - 3, "...", 3);
    text.size += ending;
    text_add(&text, "%s", place->text);
}

static void fault_say(const struct group_line *line, const struct finding_group *group,
                      const struct fault_place *place)
{
    struct rank_list list = {0};
    char message[MESSAGE_MOST], ranks[RANK_LIST_MOST];
    _Static_assert(RANK_LIST_MOST + sizeof line->whole->members->host + MESSAGE_MOST + 30 <=
                       SAY_MOST,
                   "the end of the message, which names the suspect, is not cut off");
    struct text text = text_in(ranks, sizeof ranks);
    for (int i = 0; i < group->count; i++)
        rank_list_put(&list, member_of(line, group->ranks[i])->rank);
    rank_list_end(&list, &text);
    fault_message(line, group, place, message, sizeof message);
    say("wrong data at %s (%s%s): %s", ranks, member_of(line, group->rank)->host,
        group->count > 1 ? ", ..." : "", message);
}

/* The message of one rank of a group. */
static struct job_error fault_error(const struct group_line *line, int rank,
                                    const struct fault_place *place)
{
    char message[MESSAGE_MOST];
    struct finding_group group = finding_group_of_rank(&summary_of(line, rank)->finding, &rank);
    fault_message(line, &group, place, message, sizeof message);
    return job_error_make(member_of(line, rank)->rank, member_of(line, rank)->host, "check",
                          message);
}

/* Adds the places of the fault to the result. */
static void fault_keep(const struct group_line *line, const struct finding_group *group,
                       const struct place_list *places, struct result *result)
{
    if (!places->searched)
        return;
    struct traced_fault *fault = LIST_ADD(result->faults, result->fault_count);
    fault->ranks = new_array((size_t)group->count, sizeof *fault->ranks);
    fault->rank_count = group->count;
    for (int i = 0; i < group->count; i++)
        fault->ranks[i] = member_of(line, group->ranks[i])->rank;
    fault->places = *places;
    for (int i = 0; i < places->count && i < PLACES_MOST; i++) {
        struct place *place = &fault->places.of[i];
        place->rank = member_of(line, place->rank)->rank;
        place->from = member_of(line, place->from)->rank;
    }
}

/* A report of a line, which goes on from group to group. */
struct reporting {
    struct results *results;
    struct result *result;
    int said; /* faults so far, of which the first few get a sentence */
};

static void groups_report(const struct group_line *line, const struct finding_groups *groups,
                          const struct place_list *joined, struct reporting *reporting)
{
    struct results *results = reporting->results;
    for (int f = 0; f < groups->count; f++) {
        const struct finding_group *group = &groups->list[f];
        struct fault_place place = {.explains = false};
        if (reporting->said++ < FAULTS_SAID) {
            place = fault_locate(line, group, joined);
            fault_say(line, group, &place);
            fault_keep(line, group, &place.list, reporting->result);
        }
        for (int i = 0; i < group->count; i++)
            *LIST_ADD(results->errors, results->error_count) =
                fault_error(line, group->ranks[i], &place);
    }
}

/* The places that explain what no hypothesis does, if one fault does. */
static struct place_list joined_places(const struct group_line *line)
{
    int *ranks = new_array((size_t)line->ranks.ranks, sizeof *ranks), count = 0;
    for (int r = 0; r < line->ranks.ranks; r++)
        if (finding_is_unexplained(&summary_of(line, r)->finding))
            ranks[count++] = r;
    struct place_list list = {.searched = false};
    if (count > 0)
        list = fault_places(line, ranks, count, NULL, false);
    if (!places_hold(&list))
        list.count = list.flipping = 0;
    free(ranks);
    return list;
}

static void group_report(const struct group_line *line, struct reporting *reporting)
{
    int ranks = line->ranks.ranks;
    const struct finding **findings = new_array((size_t)ranks, sizeof *findings);
    bool is_said = reporting->said < FAULTS_SAID; /* else a search would serve nobody */
    const struct place_list joined =
        is_said ? joined_places(line) : (struct place_list){.searched = false};
    struct finding_groups groups;
    for (int r = 0; r < ranks; r++)
        findings[r] = &summary_of(line, r)->finding;
    finding_groups_make(findings, ranks, joined.count > 0, &groups);
    groups_report(line, &groups, &joined, reporting);
    finding_groups_free(&groups);
    free(findings);
}

void faults_report(const struct line *line, struct results *results, struct result *result)
{
    struct reporting reporting = {.results = results, .result = result};
    for (int g = 0; g < line->split->groups->groups; g++) {
        const struct group_line group = {.whole = line, .ranks = split_group(line->split, g)};
        group_report(&group, &reporting);
    }
    if (reporting.said > FAULTS_SAID)
        say("wrong data at other ranks: %d more faults", reporting.said - FAULTS_SAID);
}
