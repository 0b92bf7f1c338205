/*
 * fault_report.c - groups the findings of the ranks by fault, finds where each fault began, and puts
 * it into words.
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
#define HOPS_NAMED       2 /* of one fault */
#define FAULT_PLACE_MOST 500
_Static_assert(2 * FAULT_PLACE_MOST < MESSAGE_MOST, "a message has room before the place");

/* A line, as the ranks of one group ran it. */
struct group_line {
    const struct line *whole;
    struct rank_group ranks;
};

static const struct rank_summary *summary_of(const struct group_line *line, int rank)
{
    return &line->whole->summaries->items[line->ranks.members[rank]];
}

static const struct member *member_of(const struct group_line *line, int rank)
{
    return &line->whole->members[line->ranks.members[rank]];
}

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
};

/* The messages of which a fault would have left what the ranks of the group have, in each of the
 * elements that the finding keeps. */
static struct hop_answer fault_hops(const struct group_line *line,
                                    const struct finding_group *group, enum hop_fault fault)
{
    const struct job *job = line->whole->job;
    const struct finding *finding = group->finding;
    struct problem problem = line->whole->mine->problem; /* of the group of rank 0 */
    const struct candidate *candidate = &job->candidates[line->whole->mine->choice];
    const struct inputs inputs = job_inputs(job, candidate, &line->ranks, finding->iteration);
    enum hop_evidence *evidence = new_array((size_t)problem.ranks, sizeof *evidence);
    problem.root = finding->root;
    problem.shape = line->ranks.nodes;
    problem.members = NULL;
    for (int r = 0; r < problem.ranks && collective_is_uniform(candidate->collective); r++)
        evidence[r] = summary_of(line, r)->wrong == 0 ? EVIDENCE_RIGHT : EVIDENCE_NONE;
    for (int i = 0; i < group->count; i++)
        evidence[group->ranks[i]] = EVIDENCE_WRONG;
    const struct hop_answer answer =
        hop_search(&(struct hop_question){.choice = &candidate->choice,
                                          .problem = &problem,
                                          .channels = line->whole->mine->channels,
                                          .inputs = &inputs,
                                          .finding = finding,
                                          .fault = fault,
                                          .evidence = evidence,
                                          .tick = line->whole->tick});
    free(evidence);
    return answer;
}

/* The rank that has a part in each of the messages; -1: none has, or two have. */
static int hops_rank(const struct hop_answer *answer)
{
    const struct suspect_hop *first = &answer->hops[0];
    bool from = first->from != HOP_LOCAL && answer->count <= HOPS_MOST, to = from;
    for (int i = 1; i < answer->count && (from || to); i++) {
        const struct suspect_hop *hop = &answer->hops[i];
        from &= hop->from == first->from || hop->to == first->from;
        to &= hop->from == first->to || hop->to == first->to;
    }
    return from == to ? -1 : from ? first->from : first->to;
}

static void add_hop(struct text *text, const struct group_line *line, const struct suspect_hop *hop,
                    enum hop_fault fault)
{
    const struct member *to = member_of(line, hop->to);
    text_add(text, "rank %d (%s) ", to->rank, to->host);
    if (hop->from == HOP_LOCAL)
        text_add(text, "combined");
    else
        text_add(text, "received from rank %d (%s)", member_of(line, hop->from)->rank,
                 member_of(line, hop->from)->host);
    text_add(text, " in step %d", hop->step);
    if (fault == HOP_FLIPPED)
        text_add(text, " (bit %d)", hop->bit);
}

static void add_hops(struct text *text, const struct group_line *line,
                     const struct hop_answer *answer, enum hop_fault fault)
{
    const int named = answer->count < HOPS_NAMED ? answer->count : HOPS_NAMED;
    if (named == 0)
        return;
    text_add(text, fault == HOP_FLIPPED ? "; a flipped bit explains it in what "
                                        : "; a lost message explains it: what ");
    for (int i = 0; i < named; i++) {
        text_add(text, i ? ", or " : "");
        add_hop(text, line, &answer->hops[i], fault);
    }
    if (answer->count > named)
        text_add(text, ", or in %d more places", answer->count - named);
    int rank = hops_rank(answer);
    if (answer->hops[0].from == HOP_LOCAL)
        text_add(text, ": suspect the memory of rank%s", answer->count > 1 ? "s that combine" : "");
    else if (answer->count == 1)
        text_add(text, ": suspect the link between the two, or their memory");
    else if (rank >= 0)
        text_add(text, ": suspect rank %d, which has a part in each, or its links",
                 member_of(line, rank)->rank);
    else
        text_add(text, ": suspect the links between these, or their memory");
    if (answer->hops[0].from == HOP_LOCAL && answer->count == 1)
        text_add(text, " %d", member_of(line, answer->hops[0].to)->rank);
}

static bool is_explained_by(const struct finding *finding, enum hypothesis_kind kind)
{
    bool found = false;
    for (int i = 0; i < finding_explanations(finding); i++)
        found |= finding->explanations[i].hypotheses[0].kind == kind;
    return found;
}

/* Was unwritten memory combined with floats? Sums round most of them away beside it, so that the data
 * do not tell whose contribution is missing. */
static bool is_blurred(const struct group_line *line, const struct finding *finding)
{
    return line->whole->job->candidates[line->whole->mine->choice].datatype->kind ==
               DATATYPE_FLOAT &&
           is_explained_by(finding, HYPOTHESIS_POISONED);
}

/* In a reduction whose schedule must tell it. */
static void fault_trace(const struct group_line *line, const struct finding_group *group,
                        struct fault_place *place)
{
    const struct finding *finding = group->finding;
    struct text text = text_in(place->text, sizeof place->text);
    bool lost = is_blurred(line, finding) || is_explained_by(finding, HYPOTHESIS_UNWRITTEN);
    bool flipped = finding_is_corruption(finding) && finding->explanation_count == 0;
    if (!lost && !flipped)
        return;
    enum hop_fault fault = lost ? HOP_LOST : HOP_FLIPPED;
    struct hop_answer answer = fault_hops(line, group, fault);
    add_hops(&text, line, &answer, fault);
    place->explains = lost && answer.count > 0;
}

static struct fault_place fault_locate(const struct group_line *line,
                                       const struct finding_group *group)
{
    struct fault_place place = {.explains = false};
    struct text text = text_in(place.text, sizeof place.text);
    int rank = fault_origin(line, group);
    const struct finding *finding = group->finding;
    if (rank < 0 || is_blurred(line, finding)) {
        if (finding->kind == FINDING_RESULT &&
            line->whole->job->candidates[line->whole->mine->choice].collective->reduces)
            fault_trace(line, group, &place);
        if (rank < 0 || place.text[0])
            return place;
    }
    finding = &summary_of(line, rank)->finding;
    const struct member *peer = member_of(line, finding->hop_peer);
    text_add(&text,
             "; the first wrong element of rank %d (%s) came from rank %d (%s) in step %d, and is "
             "right there: suspect the link between the two, or their memory",
             member_of(line, rank)->rank, member_of(line, rank)->host, peer->rank, peer->host,
             finding->hop_step);
    return place;
}

static void fault_message(const struct group_line *line, const struct finding_group *group,
                          const struct fault_place *place, char *message, size_t size)
{
    const struct candidate *candidate = &line->whole->job->candidates[line->whole->mine->choice];
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

/* `said`: faults of the line so far, of which the first few get a sentence. */
static void groups_report(const struct group_line *line, const struct finding_groups *groups,
                          fault_listener *listener, void *argument, int *said)
{
    for (int f = 0; f < groups->count; f++) {
        const struct finding_group *group = &groups->list[f];
        struct fault_place place = {.explains = false};
        if ((*said)++ < FAULTS_SAID) {
            place = fault_locate(line, group);
            fault_say(line, group, &place);
        }
        for (int i = 0; i < group->count; i++) {
            struct job_error error = fault_error(line, group->ranks[i], &place);
            listener(argument, &error);
        }
    }
}

static void group_report(const struct group_line *line, fault_listener *listener, void *argument,
                         int *said)
{
    int ranks = line->ranks.ranks;
    const struct finding **findings = new_array((size_t)ranks, sizeof *findings);
    struct finding_groups groups;
    for (int r = 0; r < ranks; r++)
        findings[r] = &summary_of(line, r)->finding;
    finding_groups_make(findings, ranks, &groups);
    groups_report(line, &groups, listener, argument, said);
    finding_groups_free(&groups);
    free(findings);
}

void faults_report(const struct line *line, fault_listener *listener, void *argument)
{
    int said = 0;
    for (int g = 0; g < line->split->groups->groups; g++) {
        const struct group_line group = {.whole = line, .ranks = split_group(line->split, g)};
        group_report(&group, listener, argument, &said);
    }
    if (said > FAULTS_SAID)
        say("wrong data at other ranks: %d more faults", said - FAULTS_SAID);
}
