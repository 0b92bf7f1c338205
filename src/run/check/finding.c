/*
 * finding.c - findings as they travel, and their groups.
 */
#include "run/check/internal.h"

#include <stdlib.h>
#include <string.h>

#include "base/list.h"

#define FEW 8 /* wrong elements that may just be corrupted, whatever is in them */

int finding_explanations(const struct finding *finding)
{
    int count = finding->explanation_count;
    return count < FINDING_EXPLANATIONS ? count : FINDING_EXPLANATIONS;
}

int finding_elements(const struct finding *finding)
{
    return finding->unexplained < FINDING_ELEMENTS ? (int)finding->unexplained : FINDING_ELEMENTS;
}

bool finding_is_corruption(const struct finding *finding)
{
    return finding->unexplained > 0 &&
           (finding->wrong <= FEW || finding->single_bits == finding->unexplained);
}

bool finding_is_unexplained(const struct finding *finding)
{
    return finding->kind == FINDING_RESULT && finding->unexplained > 0 &&
           finding->explanation_count == 0;
}

/* The parts of a finding. */

static void hypothesis_code(struct codec codec, int ranks, struct hypothesis *hypothesis)
{
    struct rank_set *set = &hypothesis->set;
    code_u32(codec, &hypothesis->kind, HYPOTHESIS_UNWRITTEN, HYPOTHESIS_ELSEWHERE);
    code_u32(codec, &set->shape, SET_INTERVAL, SET_FOLDED);
    code_int(codec, &set->first, 0, ranks - 1);
    code_int(codec, &set->length, 0, ranks);
    code_int(codec, &set->modulus, set->shape == SET_INTERVAL ? 0 : 1, INT32_MAX);
    code_flag(codec, &set->inverted);
    code_int(codec, &hypothesis->source, EVERY_RANK, ranks - 1);
    code_int(codec, &hypothesis->instead, EVERY_RANK, ranks - 1);
    code_i64(codec, &hypothesis->shift);
    code_flag(codec, &hypothesis->before);
}

static void explanation_code(struct codec codec, int ranks, struct explanation *explanation)
{
    code_u64(codec, &explanation->fitting);
    code_require(codec, explanation->fitting > 0);
    for (uint64_t i = 0; i < FINDING_HYPOTHESES && i < explanation->fitting; i++)
        hypothesis_code(codec, ranks, &explanation->hypotheses[i]);
    code_flag(codec, &explanation->chance);
    code_flag(codec, &explanation->at_least);
    code_u64(codec, &explanation->first);
    code_u64(codec, &explanation->last);
    code_u64(codec, &explanation->stretches);
    code_int(codec, &explanation->source_count, 0, FINDING_SOURCES);
    for (int i = 0, least = 0; i < explanation->source_count; i++) {
        code_int(codec, &explanation->sources[i], least, ranks - 1);
        least = explanation->sources[i] + 1;
    }
}

void element_code(struct codec codec, int ranks, struct wrong_element *element)
{
    code_u64(codec, &element->at);
    code_int(codec, &element->source, EVERY_RANK, ranks - 1);
    code_bytes(codec, element->expected, sizeof element->expected);
    code_bytes(codec, element->got, sizeof element->got);
}

void finding_code(struct codec codec, int ranks, struct finding *finding)
{
    if (codec.in)
        *finding = (struct finding){.kind = FINDING_NONE};
    code_u32(codec, &finding->kind, FINDING_NONE, FINDING_OVERRUN);
    if (finding->kind == FINDING_NONE)
        return;
    code_u64(codec, &finding->iteration);
    code_u64(codec, &finding->wrong);
    code_u32(codec, &finding->overrun.buffer, BUFFER_SOURCE, BUFFERS - 1);
    code_u64(codec, &finding->overrun.bytes);
    code_i64(codec, &finding->overrun.first);
    code_int(codec, &finding->root, 0, ranks - 1);
    code_int(codec, &finding->hop_peer, -1, ranks - 1);
    code_int(codec, &finding->hop_step, -1, INT32_MAX);
    element_code(codec, ranks, &finding->first);
    code_u32(codec, &finding->diagnosis, DIAGNOSIS_MADE, DIAGNOSIS_OVERTAKEN);
    code_int(codec, &finding->explanation_count, 0, INT32_MAX);
    for (int i = 0; i < finding_explanations(finding); i++)
        explanation_code(codec, ranks, &finding->explanations[i]);
    code_u64(codec, &finding->unexplained);
    code_u64(codec, &finding->single_bits);
    for (int i = 0; i < finding_elements(finding); i++)
        element_code(codec, ranks, &finding->elements[i]);
    code_u64(codec, &finding->unlooked);
}

/*
 * Groups the findings of all ranks by the fault that they show.
 *
 * Every rank is compared with the ranks below it that are in other groups: few, since one fault
 * makes few groups.
 */
/* Corrupted elements of one sender are one fault, and so is one element of a reduction that has the
 * same wrong value everywhere. */
static bool elements_same(const struct wrong_element *a, const struct wrong_element *b)
{
    return a->source == b->source &&
           (a->source != EVERY_RANK || (memcmp(a->expected, b->expected, sizeof a->expected) == 0 &&
                                        memcmp(a->got, b->got, sizeof a->got) == 0));
}

/* Is the data of known senders missing or stale? */
static bool has_senders(const struct explanation *explanation)
{
    return explanation->source_count > 0 && explanation->hypotheses[0].kind != HYPOTHESIS_ELSEWHERE;
}

/* Have they a sender in common? Both lists of senders are ascending. */
static bool senders_meet(const struct explanation *a, const struct explanation *b)
{
    for (int i = 0, j = 0; i < a->source_count && j < b->source_count;) {
        if (a->sources[i] == b->sources[j])
            return true;
        if (a->sources[i] < b->sources[j])
            i++;
        else
            j++;
    }
    return false;
}

static bool explanations_same(const struct explanation *a, const struct explanation *b)
{
    const struct hypothesis *x = &a->hypotheses[0], *y = &b->hypotheses[0];
    if (has_senders(a) && has_senders(b))
        return (x->kind == HYPOTHESIS_STALE) == (y->kind == HYPOTHESIS_STALE) && senders_meet(a, b);
    return has_senders(a) == has_senders(b) && (a->fitting > 1) == (b->fitting > 1) &&
           a->chance == b->chance && hypothesis_same(x, y);
}

/* Do two findings show one fault? */
static bool findings_same(const struct finding *a, const struct finding *b, bool joined)
{
    if (joined && finding_is_unexplained(a) && finding_is_unexplained(b))
        return true;
    if (a->kind != b->kind)
        return false;
    if (a->kind != FINDING_RESULT)
        return a->kind != FINDING_OVERRUN || a->overrun.buffer == b->overrun.buffer;
    if (a->explanation_count > 0 && b->explanation_count > 0)
        return explanations_same(&a->explanations[0], &b->explanations[0]);
    bool corruption = finding_is_corruption(a);
    return a->explanation_count == b->explanation_count && corruption == finding_is_corruption(b) &&
           (!corruption || elements_same(&a->elements[0], &b->elements[0]));
}

/* group[r] = the lowest rank of the group of rank r. Rank r may join several groups, which become
 * one: it lacks data of a sender of each. */
static void ranks_group(const struct finding *const *findings, int ranks, bool joined, int *group)
{
    for (int r = 0; r < ranks; r++) {
        group[r] = r;
        for (int q = 0; q < r; q++) {
            int low = group[q] < group[r] ? group[q] : group[r];
            int high = group[q] < group[r] ? group[r] : group[q];
            if (low == high || !findings_same(findings[q], findings[r], joined))
                continue;
            for (int other = 0; other <= r; other++)
                if (group[other] == high)
                    group[other] = low;
        }
    }
}

static bool findings_alike(const struct finding *a, const struct finding *b)
{
    return a->first.at == b->first.at &&
           memcmp(a->first.expected, b->first.expected, sizeof a->first.expected) == 0 &&
           memcmp(a->first.got, b->first.got, sizeof a->first.got) == 0 &&
           a->explanations[0].first == b->explanations[0].first &&
           a->explanations[0].last == b->explanations[0].last;
}

static bool senders_alike(const struct finding *a, const struct finding *b)
{
    const struct explanation *x = &a->explanations[0], *y = &b->explanations[0];
    return x->source_count == y->source_count &&
           memcmp(x->sources, y->sources, (size_t)x->source_count * sizeof *x->sources) == 0;
}

struct finding_group finding_group_of_rank(const struct finding *finding, const int *rank)
{
    return (struct finding_group){.finding = finding,
                                  .rank = *rank,
                                  .ranks = rank,
                                  .count = 1,
                                  .wrong = finding->wrong,
                                  .alike = true,
                                  .together = true,
                                  .same_senders = true};
}

static void finding_group_add(struct finding_group *group, const struct finding *finding)
{
    group->count++;
    group->wrong += finding->wrong;
    group->alike &= findings_alike(group->finding, finding);
    group->together &= group->finding->iteration == finding->iteration;
    group->same_senders &= senders_alike(group->finding, finding);
}

void finding_groups_make(const struct finding *const *findings, int ranks, bool joined,
                         struct finding_groups *groups)
{
    size_t room = (size_t)ranks;
    int *group = new_array(room, sizeof *group), placed = 0;
    *groups = (struct finding_groups){.list = new_array(room, sizeof *groups->list),
                                      .ranks = new_array(room, sizeof *groups->ranks)};
    ranks_group(findings, ranks, joined, group);
    for (int first = 0; first < ranks; first++) {
        if (group[first] != first || findings[first]->kind == FINDING_NONE)
            continue;
        struct finding_group *new = &groups->list[groups->count++];
        groups->ranks[placed] = first;
        *new = finding_group_of_rank(findings[first], &groups->ranks[placed++]);
        for (int r = first + 1; r < ranks; r++) {
            if (group[r] != first)
                continue;
            groups->ranks[placed++] = r;
            finding_group_add(new, findings[r]);
        }
    }
    free(group);
}

void finding_groups_free(struct finding_groups *groups)
{
    free(groups->list);
    free(groups->ranks);
    *groups = (struct finding_groups){0};
}
