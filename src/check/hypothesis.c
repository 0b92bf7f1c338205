/*
 * hypothesis.c - evidence, and what a story predicts for it. The search for stories is in hypothesis_search.c.
 */
#include "check/hypothesis.h"

#include <stdlib.h>
#include <string.h>

#include "memory/reduce.h"

/* Adds destination element `at` to the samples. */
static void evidence_add(struct evidence *evidence, const char *destination, size_t at)
{
    const struct pattern *pattern = evidence->pattern;
    struct expectation expectation;
    if (!pattern_expectation(pattern, evidence->rank, at, &expectation))
        return;
    size_t size = evidence->size, index = evidence->count++;
    char *expected = evidence->expected + index * size, *got = evidence->got + index * size;
    pattern_expect(pattern, evidence->rank, at, 1, expected);
    memcpy(got, destination + at * size, size);
    evidence->samples[index] = (struct sample){
        .at = at,
        .wrong = memcmp(expected, got, size) != 0,
        .source = expectation.rank,
        .from = expectation.from + (at - expectation.at),
    };
}

/* Elements between `low` and `high`, both excluded: all of them, or `most` that are spread. */
static void evidence_add_between(struct evidence *evidence, const char *destination, size_t low,
                                 size_t high, size_t most)
{
    size_t between = high - low - 1;
    most = between < most ? between : most;
    for (size_t i = 0; i < most; i++) {
        /* One from each of `most` equal parts, not always at the same place in its part. */
        size_t begin = between / most * i + between % most * i / most;
        size_t part = between / most, jitter = (size_t)((low + i) * 0x9e3779b97f4a7c15u >> 33);
        evidence_add(evidence, destination, low + 1 + begin + jitter % part);
    }
}

static bool evidence_add_values(struct evidence *evidence)
{
    struct pattern before = *evidence->pattern;
    before.iteration--;
    size_t size = evidence->size, ranks = (size_t)before.problem.ranks;
    evidence->now = malloc(ranks * evidence->count * size);
    evidence->before = malloc(ranks * evidence->count * size);
    if (!evidence->now || !evidence->before)
        return false;
    size_t at = 0;
    for (size_t rank = 0; rank < ranks; rank++) {
        for (size_t i = 0; i < evidence->count; i++, at += size) {
            size_t from = evidence->samples[i].from;
            pattern_fill(evidence->pattern, (int)rank, from, 1, evidence->now + at);
            pattern_fill(&before, (int)rank, from, 1, evidence->before + at);
        }
    }
    return true;
}

bool evidence_take(struct evidence *evidence, const struct pattern *pattern, int rank,
                   const char *destination, const size_t *wrong, size_t count)
{
    evidence->pattern = pattern;
    evidence->rank = rank;
    evidence->size = pattern->datatype->size;
    evidence->reduces = pattern->reduction != NULL;
    evidence->count = 0;
    evidence->now = evidence->before = NULL;
    size_t each = count > 1 ? (SAMPLES - count) / (count - 1) : 0;
    for (size_t i = 0; i < count; i++) {
        evidence_add(evidence, destination, wrong[i]);
        if (i + 1 < count)
            evidence_add_between(evidence, destination, wrong[i], wrong[i + 1], each);
    }
    return !evidence->reduces || evidence_add_values(evidence);
}

void evidence_free(struct evidence *evidence)
{
    free(evidence->now);
    free(evidence->before);
}

/* A rank's place among the 2^k that take part after the first ranks were folded in pairs. */
static int folded_place(int rank, int ranks)
{
    int power = 1;
    while (power <= ranks / 2)
        power *= 2;
    int rest = ranks - power;
    return rank < 2 * rest ? rank / 2 : rank - rest;
}

bool set_has(const struct rank_set *set, int rank, int ranks)
{
    bool has = false;
    switch (set->shape) {
    case SET_INTERVAL:
        has = (rank - set->first + ranks) % ranks < set->length;
        break;
    case SET_CLASS:
        has = rank % set->modulus == set->first;
        break;
    case SET_FOLDED:
        has = folded_place(rank, ranks) % set->modulus == set->first;
        break;
    }
    return has != set->inverted;
}

int set_size(const struct rank_set *set, int ranks)
{
    if (set->shape == SET_INTERVAL)
        return set->inverted ? ranks - set->length : set->length;
    int size = 0;
    for (int rank = 0; rank < ranks; rank++)
        size += set_has(set, rank, ranks);
    return size;
}

/* to = the first value to come, then to = to (+) value. */
static void enter(reduce_function *reduce, char *to, const char *value, size_t count, size_t size,
                  bool *any)
{
    if (*any)
        reduce(to, to, value, count);
    else
        memcpy(to, value, count * size);
    *any = true;
}

void hypothesis_finish(const struct evidence *evidence, char *to, const char *from, size_t count)
{
    const struct pattern *pattern = evidence->pattern;
    if (evidence->reduces && pattern->reduction->finishes)
        finish_kernel(pattern->datatype, pattern->reduction)(to, from, count,
                                                             pattern->problem.ranks);
}

/* All contributions, each as the story says. */
static size_t predict_combined(const struct evidence *evidence, const struct hypothesis *hypothesis,
                               size_t first, size_t count, char *to)
{
    const struct pattern *pattern = evidence->pattern;
    reduce_function *reduce = reduce_kernel(pattern->datatype, pattern->reduction);
    int ranks = pattern->problem.ranks;
    size_t size = evidence->size;
    bool any = false;
    for (int rank = 0; rank < ranks; rank++) {
        size_t at = ((size_t)rank * evidence->count + first) * size;
        bool in = set_has(&hypothesis->set, rank, ranks);
        if (in &&
            (hypothesis->kind == HYPOTHESIS_MISSING || hypothesis->kind == HYPOTHESIS_POISONED))
            continue;
        bool stale = in && hypothesis->kind == HYPOTHESIS_STALE;
        enter(reduce, to, (stale ? evidence->before : evidence->now) + at, count, size, &any);
        if (in && hypothesis->kind == HYPOTHESIS_DOUBLED)
            enter(reduce, to, evidence->now + at, count, size, &any);
    }
    if (hypothesis->kind == HYPOTHESIS_POISONED) {
        _Alignas(16) char poison[SAMPLES * DATATYPE_SIZE_MOST];
        memset(poison, PATTERN_POISON, count * size);
        enter(reduce, to, poison, count, size, &any);
    }
    hypothesis_finish(evidence, to, to, any ? count : 0);
    return any ? count : 0;
}

/* Elements from another place, in this iteration or the one before; within one expectation. */
static size_t predict_elsewhere(const struct evidence *evidence,
                                const struct hypothesis *hypothesis, size_t first, size_t count,
                                char *to)
{
    struct pattern pattern = *evidence->pattern;
    bool moves = !evidence->reduces, is_stale = hypothesis->kind == HYPOTHESIS_STALE;
    if (is_stale || hypothesis->before)
        pattern.iteration--;
    for (size_t i = 0; i < count; i++, to += evidence->size) {
        const struct sample *sample = &evidence->samples[first + i];
        int source = is_stale ? sample->source : hypothesis->source;
        if (!is_stale && sample->source != hypothesis->instead)
            return i;
        int64_t from = (int64_t)sample->from + hypothesis->shift;
        size_t extent = collective_extent(&pattern.problem, moves ? source : 0, BUFFER_SOURCE);
        if (from < 0 || (uint64_t)from >= extent)
            return i;
        if (moves)
            pattern_fill(&pattern, source, (size_t)from, 1, to);
        else
            pattern_combine(&pattern, NULL, (size_t)from, 1, to);
    }
    return count;
}

size_t hypothesis_predict(const struct evidence *evidence, const struct hypothesis *hypothesis,
                          size_t first, size_t count, char *to)
{
    if (hypothesis->kind == HYPOTHESIS_UNWRITTEN) {
        memset(to, PATTERN_POISON, count * evidence->size);
        hypothesis_finish(evidence, to, to, count);
        return count;
    }
    if (hypothesis->kind == HYPOTHESIS_ELSEWHERE || !evidence->reduces)
        return predict_elsewhere(evidence, hypothesis, first, count, to);
    return predict_combined(evidence, hypothesis, first, count, to);
}

size_t hypothesis_reach(const struct evidence *evidence, const struct hypothesis *hypothesis,
                        size_t first)
{
    _Alignas(16) char predicted[SAMPLES * DATATYPE_SIZE_MOST];
    size_t size = evidence->size, reach = 0, ready = 0;
    /* A few at a time, since most stories end early. */
    for (size_t i = first; i < evidence->count; i++) {
        if (i == first + ready) {
            size_t more = ready ? ready : 1, left = evidence->count - i;
            more = more < left ? more : left;
            size_t got =
                hypothesis_predict(evidence, hypothesis, i, more, predicted + ready * size);
            if (got == 0)
                break;
            ready += got;
        }
        if (memcmp(predicted + (i - first) * size, evidence->got + i * size, size) != 0)
            break;
        if (evidence->samples[i].wrong)
            reach = i - first + 1;
    }
    return reach;
}
