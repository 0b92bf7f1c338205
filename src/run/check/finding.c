/*
 * finding.c - encodes and decodes findings.
 */
#include "run/check/check.h"

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

/* Encoding. */

static void put_int(struct bytes *bytes, int value)
{
    bytes_put_u32(bytes, (uint32_t)value);
}

static void hypothesis_encode(const struct hypothesis *hypothesis, struct bytes *bytes)
{
    put_int(bytes, (int)hypothesis->kind);
    put_int(bytes, (int)hypothesis->set.shape);
    put_int(bytes, hypothesis->set.first);
    put_int(bytes, hypothesis->set.length);
    put_int(bytes, hypothesis->set.modulus);
    put_int(bytes, hypothesis->set.inverted);
    put_int(bytes, hypothesis->source);
    put_int(bytes, hypothesis->instead);
    bytes_put_u64(bytes, (uint64_t)hypothesis->shift);
    put_int(bytes, hypothesis->before);
}

static void explanation_encode(const struct explanation *explanation, struct bytes *bytes)
{
    bytes_put_u64(bytes, explanation->fitting);
    for (uint64_t i = 0; i < FINDING_HYPOTHESES && i < explanation->fitting; i++)
        hypothesis_encode(&explanation->hypotheses[i], bytes);
    put_int(bytes, explanation->chance);
    put_int(bytes, explanation->at_least);
    bytes_put_u64(bytes, explanation->first);
    bytes_put_u64(bytes, explanation->last);
    bytes_put_u64(bytes, explanation->stretches);
    put_int(bytes, explanation->source_count);
    for (int i = 0; i < explanation->source_count; i++)
        put_int(bytes, explanation->sources[i]);
}

static void element_encode(const struct wrong_element *element, struct bytes *bytes)
{
    bytes_put_u64(bytes, element->at);
    put_int(bytes, element->source);
    bytes_put(bytes, element->expected, sizeof element->expected);
    bytes_put(bytes, element->got, sizeof element->got);
}

void finding_encode(const struct finding *finding, struct bytes *bytes)
{
    put_int(bytes, (int)finding->kind);
    if (finding->kind == FINDING_NONE)
        return;
    bytes_put_u64(bytes, finding->iteration);
    bytes_put_u64(bytes, finding->wrong);
    put_int(bytes, (int)finding->overrun.buffer);
    bytes_put_u64(bytes, finding->overrun.bytes);
    bytes_put_u64(bytes, (uint64_t)finding->overrun.first);
    put_int(bytes, finding->root);
    put_int(bytes, finding->hop_peer);
    put_int(bytes, finding->hop_step);
    element_encode(&finding->first, bytes);
    put_int(bytes, (int)finding->diagnosis);
    put_int(bytes, finding->explanation_count);
    for (int i = 0; i < finding_explanations(finding); i++)
        explanation_encode(&finding->explanations[i], bytes);
    bytes_put_u64(bytes, finding->unexplained);
    bytes_put_u64(bytes, finding->single_bits);
    for (int i = 0; i < finding_elements(finding); i++)
        element_encode(&finding->elements[i], bytes);
    bytes_put_u64(bytes, finding->unlooked);
}

/* Decoding. A number out of its range makes the reader bad. */

static int read_int(struct reader *reader, int least, int most)
{
    int value = (int)read_u32(reader);
    if (value >= least && value <= most)
        return value;
    reader->bad = true;
    return least;
}

static bool read_bool(struct reader *reader)
{
    return read_int(reader, 0, 1) != 0;
}

static void hypothesis_decode(struct reader *reader, int ranks, struct hypothesis *hypothesis)
{
    hypothesis->kind =
        (enum hypothesis_kind)read_int(reader, HYPOTHESIS_UNWRITTEN, HYPOTHESIS_ELSEWHERE);
    hypothesis->set.shape = (enum set_shape)read_int(reader, SET_INTERVAL, SET_FOLDED);
    hypothesis->set.first = read_int(reader, 0, ranks - 1);
    hypothesis->set.length = read_int(reader, 0, ranks);
    hypothesis->set.modulus =
        read_int(reader, hypothesis->set.shape == SET_INTERVAL ? 0 : 1, INT32_MAX);
    hypothesis->set.inverted = read_bool(reader);
    hypothesis->source = read_int(reader, EVERY_RANK, ranks - 1);
    hypothesis->instead = read_int(reader, EVERY_RANK, ranks - 1);
    hypothesis->shift = (int64_t)read_u64(reader);
    hypothesis->before = read_bool(reader);
}

static void explanation_decode(struct reader *reader, int ranks, struct explanation *explanation)
{
    explanation->fitting = read_u64(reader);
    reader->bad |= explanation->fitting == 0;
    for (uint64_t i = 0; i < FINDING_HYPOTHESES && i < explanation->fitting; i++)
        hypothesis_decode(reader, ranks, &explanation->hypotheses[i]);
    explanation->chance = read_bool(reader);
    explanation->at_least = read_bool(reader);
    explanation->first = read_u64(reader);
    explanation->last = read_u64(reader);
    explanation->stretches = read_u64(reader);
    explanation->source_count = read_int(reader, 0, FINDING_SOURCES);
    for (int i = 0, least = 0; i < explanation->source_count; i++, least++)
        least = explanation->sources[i] = read_int(reader, least, ranks - 1);
}

static void element_decode(struct reader *reader, int ranks, struct wrong_element *element)
{
    element->at = read_u64(reader);
    element->source = read_int(reader, EVERY_RANK, ranks - 1);
    const unsigned char *expected = read_bytes(reader, sizeof element->expected);
    const unsigned char *got = read_bytes(reader, sizeof element->got);
    for (size_t i = 0; got && i < sizeof element->got; i++) {
        element->expected[i] = expected[i];
        element->got[i] = got[i];
    }
}

bool finding_decode(struct reader *reader, int ranks, struct finding *finding)
{
    *finding = (struct finding){0};
    finding->kind = (enum finding_kind)read_int(reader, FINDING_NONE, FINDING_OVERRUN);
    if (finding->kind == FINDING_NONE)
        return !reader->bad;
    finding->iteration = read_u64(reader);
    finding->wrong = read_u64(reader);
    finding->overrun.buffer = (enum buffer)read_int(reader, BUFFER_SOURCE, BUFFERS - 1);
    finding->overrun.bytes = read_u64(reader);
    finding->overrun.first = (int64_t)read_u64(reader);
    finding->root = read_int(reader, 0, ranks - 1);
    finding->hop_peer = read_int(reader, -1, ranks - 1);
    finding->hop_step = read_int(reader, -1, INT32_MAX);
    element_decode(reader, ranks, &finding->first);
    finding->diagnosis =
        (enum diagnosis_state)read_int(reader, DIAGNOSIS_MADE, DIAGNOSIS_OVERTAKEN);
    finding->explanation_count = read_int(reader, 0, INT32_MAX);
    for (int i = 0; i < finding_explanations(finding); i++)
        explanation_decode(reader, ranks, &finding->explanations[i]);
    finding->unexplained = read_u64(reader);
    finding->single_bits = read_u64(reader);
    for (int i = 0; i < finding_elements(finding); i++)
        element_decode(reader, ranks, &finding->elements[i]);
    finding->unlooked = read_u64(reader);
    return !reader->bad;
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

void finding_groups_make(const struct finding *const *findings, int ranks,
                         struct finding_groups *groups)
{
    size_t room = (size_t)ranks;
    int *group = new_array(room, sizeof *group), placed = 0;
    *groups = (struct finding_groups){.list = new_array(room, sizeof *groups->list),
                                      .ranks = new_array(room, sizeof *groups->ranks)};
    ranks_group(findings, ranks, group);
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
