/*
 * finding_group.c - groups the findings of all ranks by the fault that they show.
 *
 * Every rank is compared with the ranks below it that are in other groups: few, since one fault
 * makes few groups.
 */
#include "run/check/check.h"

#include <stdlib.h>
#include <string.h>

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
static bool findings_same(const struct finding *a, const struct finding *b)
{
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
static void ranks_group(const struct finding *const *findings, int ranks, int *group)
{
    for (int r = 0; r < ranks; r++) {
        group[r] = r;
        for (int q = 0; q < r; q++) {
            int low = group[q] < group[r] ? group[q] : group[r];
            int high = group[q] < group[r] ? group[r] : group[q];
            if (low == high || !findings_same(findings[q], findings[r]))
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
                                  .same_senders = true};
}

static void finding_group_add(struct finding_group *group, const struct finding *finding)
{
    group->count++;
    group->wrong += finding->wrong;
    group->alike &= findings_alike(group->finding, finding);
    group->same_senders &= senders_alike(group->finding, finding);
}

bool finding_groups_make(const struct finding *const *findings, int ranks,
                         struct finding_groups *groups)
{
    size_t room = (size_t)ranks;
    int *group = malloc(room * sizeof *group), placed = 0;
    *groups = (struct finding_groups){.list = malloc(room * sizeof *groups->list),
                                      .ranks = malloc(room * sizeof *groups->ranks)};
    bool memory = group && groups->list && groups->ranks;
    if (memory)
        ranks_group(findings, ranks, group);
    for (int first = 0; memory && first < ranks; first++) {
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
    return memory;
}

void finding_groups_free(struct finding_groups *groups)
{
    free(groups->list);
    free(groups->ranks);
    *groups = (struct finding_groups){0};
}
