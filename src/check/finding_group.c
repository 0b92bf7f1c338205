/*
 * finding_group.c - groups the findings of all ranks by the fault that they show.
 *
 * Findings are sorted by what they say, so equal ones are neighbours. Findings of data movement
 * that share a sender are united in a second pass (union-find over the ranks).
 */
#include "check/finding_group.h"

#include <stdlib.h>
#include <string.h>

static int order(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

static int compare_hypotheses(const struct hypothesis *a, const struct hypothesis *b)
{
    const int64_t left[] = {(int)a->kind,   (int)a->set.shape, a->set.first, a->set.length,
                            a->set.modulus, a->set.inverted,   a->shift,     a->before};
    const int64_t right[] = {(int)b->kind,   (int)b->set.shape, b->set.first, b->set.length,
                             b->set.modulus, b->set.inverted,   b->shift,     b->before};
    int result = 0;
    for (size_t i = 0; i < sizeof left / sizeof *left && result == 0; i++)
        result = order(left[i], right[i]);
    return result;
}

/* Corrupted elements of one sender are one fault, and so is one element of a reduction that has the
 * same wrong value everywhere. */
static int compare_elements(const struct wrong_element *a, const struct wrong_element *b)
{
    int result = order(a->source, b->source);
    if (result != 0 || a->source != EVERY_RANK)
        return result;
    result = memcmp(a->expected, b->expected, sizeof a->expected);
    return result != 0 ? result : memcmp(a->got, b->got, sizeof a->got);
}

static int compare_results(const struct finding *a, const struct finding *b)
{
    const struct explanation *x = &a->explanations[0], *y = &b->explanations[0];
    int result = order(a->explanation_count > 0, b->explanation_count > 0);
    if (result != 0)
        return result;
    if (a->explanation_count > 0) {
        result = order(x->fitting > 1, y->fitting > 1);
        result = result != 0 ? result : order(x->chance, y->chance);
        return result != 0 ? result : compare_hypotheses(&x->hypotheses[0], &y->hypotheses[0]);
    }
    result = order(finding_is_corruption(a), finding_is_corruption(b));
    if (result == 0 && finding_is_corruption(a))
        result = compare_elements(&a->elements[0], &b->elements[0]);
    return result;
}

/* Is it about data from senders, which are known? */
static bool has_senders(const struct finding *finding)
{
    return finding->explanation_count > 0 && finding->explanations[0].source_count > 0 &&
           finding->explanations[0].hypotheses[0].kind != HYPOTHESIS_ELSEWHERE;
}

static int compare_findings(const struct finding *a, const struct finding *b)
{
    int result = order((int)a->kind, (int)b->kind);
    if (result == 0 && a->kind == FINDING_RESULT)
        result = compare_results(a, b);
    if (result == 0 && a->kind == FINDING_OVERRUN)
        result = order((int)a->overrun.buffer, (int)b->overrun.buffer);
    if (result != 0 || a->kind != FINDING_RESULT || !has_senders(a) || !has_senders(b))
        return result != 0 ? result : order(has_senders(a), has_senders(b));
    return order(a->explanations[0].sources[0], b->explanations[0].sources[0]);
}

/* A rank as it is sorted: by its finding, or by its group. */
struct member_of {
    const struct finding *finding;
    int rank, group;
};

static int compare_by_finding(const void *a, const void *b)
{
    const struct member_of *x = a, *y = b;
    int result = compare_findings(x->finding, y->finding);
    return result != 0 ? result : order(x->rank, y->rank);
}

static int compare_by_group(const void *a, const void *b)
{
    const struct member_of *x = a, *y = b;
    return x->group != y->group ? order(x->group, y->group) : order(x->rank, y->rank);
}

/* The lowest rank of a rank's group. lowest[r]: a lower rank of the same group, or r. */
static int root_of(int *lowest, int rank)
{
    while (lowest[rank] != rank)
        rank = lowest[rank] = lowest[lowest[rank]];
    return rank;
}

static void groups_unite(int *lowest, int a, int b)
{
    a = root_of(lowest, a);
    b = root_of(lowest, b);
    lowest[a > b ? a : b] = a > b ? b : a;
}

/* `by_sender`: for each sender one rank that misses its data, and one to which it is stale; -1. */
static void groups_unite_senders(int *lowest, const struct member_of *member, int *by_sender)
{
    if (member->finding->kind != FINDING_RESULT || !has_senders(member->finding))
        return;
    const struct explanation *explanation = &member->finding->explanations[0];
    bool stale = explanation->hypotheses[0].kind == HYPOTHESIS_STALE;
    for (int i = 0; i < explanation->source_count; i++) {
        int *seen = &by_sender[2 * explanation->sources[i] + stale];
        if (*seen >= 0)
            groups_unite(lowest, *seen, member->rank);
        *seen = member->rank;
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

/* `members`: in order of their groups. */
static void finding_groups_collect(struct finding_groups *groups, const struct member_of *members,
                                   int count)
{
    for (int i = 0; i < count; i++) {
        if (i == 0 || members[i].group != members[i - 1].group)
            groups->list[groups->count++] = (struct finding_group){.finding = members[i].finding,
                                                                   .rank = members[i].rank,
                                                                   .ranks = &groups->ranks[i],
                                                                   .alike = true,
                                                                   .same_senders = true};
        struct finding_group *group = &groups->list[groups->count - 1];
        groups->ranks[i] = members[i].rank;
        group->count++;
        group->wrong += members[i].finding->wrong;
        group->alike &= findings_alike(group->finding, members[i].finding);
        group->same_senders &= senders_alike(group->finding, members[i].finding);
    }
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

bool finding_groups_make(const struct finding *const *findings, int ranks,
                         struct finding_groups *groups)
{
    size_t room = (size_t)ranks;
    struct member_of *members = malloc(room * sizeof *members);
    int *lowest = malloc(room * sizeof *lowest), *by_sender = malloc(2 * room * sizeof *by_sender);
    *groups = (struct finding_groups){.list = malloc(room * sizeof *groups->list),
                                      .ranks = malloc(room * sizeof *groups->ranks)};
    bool memory = members && lowest && by_sender && groups->list && groups->ranks;
    int count = 0;
    for (int r = 0; memory && r < ranks; r++) {
        lowest[r] = r;
        by_sender[2 * r] = by_sender[2 * r + 1] = -1;
        if (findings[r]->kind != FINDING_NONE)
            members[count++] = (struct member_of){.finding = findings[r], .rank = r};
    }
    if (memory) {
        qsort(members, (size_t)count, sizeof *members, compare_by_finding);
        for (int i = 0; i < count; i++) {
            if (i > 0 && compare_findings(members[i - 1].finding, members[i].finding) == 0)
                groups_unite(lowest, members[i - 1].rank, members[i].rank);
            groups_unite_senders(lowest, &members[i], by_sender);
        }
        for (int i = 0; i < count; i++)
            members[i].group = root_of(lowest, members[i].rank);
        qsort(members, (size_t)count, sizeof *members, compare_by_group);
        finding_groups_collect(groups, members, count);
    }
    free(members);
    free(lowest);
    free(by_sender);
    return memory;
}

void finding_groups_free(struct finding_groups *groups)
{
    free(groups->list);
    free(groups->ranks);
    *groups = (struct finding_groups){0};
}
