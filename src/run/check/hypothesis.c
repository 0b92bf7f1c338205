/*
 * hypothesis.c - what a hypothesis predicts for the samples of a result.
 */
#include "run/check/check.h"

#include <string.h>

/*
 * The sets of ranks that a hypothesis is about.
 */
/* A rank's place among the 2^k that take part after the first ranks were folded in pairs. */
static int folded_place(int rank, int ranks)
{
    int power = 1;
    while (power <= ranks / 2)
        power *= 2;
    int rest = ranks - power;
    return rank < 2 * rest ? rank / 2 : rank - rest;
}

bool rank_set_has(const struct rank_set *set, int rank, int ranks)
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

int rank_set_size(const struct rank_set *set, int ranks)
{
    if (set->shape == SET_INTERVAL)
        return set->inverted ? ranks - set->length : set->length;
    int size = 0;
    for (int rank = 0; rank < ranks; rank++)
        size += rank_set_has(set, rank, ranks);
    return size;
}

int rank_set_first(const struct rank_set *set, int ranks, bool in)
{
    int rank = 0;
    while (rank < ranks - 1 && rank_set_has(set, rank, ranks) != in)
        rank++;
    return rank;
}

bool rank_set_within(const struct rank_set *inner, const struct rank_set *outer, int ranks)
{
    bool intervals = inner->shape == SET_INTERVAL && outer->shape == SET_INTERVAL;
    if (intervals && !inner->inverted && !outer->inverted) {
        int offset = (inner->first - outer->first + ranks) % ranks;
        return offset + inner->length <= outer->length;
    }
    for (int rank = 0; rank < ranks; rank++) {
        if (rank_set_has(inner, rank, ranks) && !rank_set_has(outer, rank, ranks))
            return false;
    }
    return true;
}

/*
 * What a hypothesis predicts for the samples of a result.
 */
#define PREDICTED_MOST 128 /* samples predicted at a time */

bool hypothesis_same(const struct hypothesis *a, const struct hypothesis *b)
{
    return a->kind == b->kind && a->set.shape == b->set.shape && a->set.first == b->set.first &&
           a->set.length == b->set.length && a->set.modulus == b->set.modulus &&
           a->set.inverted == b->set.inverted && a->shift == b->shift && a->before == b->before;
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
    if (evidence->reduces && pattern->inputs.reduction->finishes)
        finish_kernel(pattern->inputs.datatype, pattern->inputs.reduction)(to, from, count,
                                                                           pattern->problem.ranks);
}

/* All contributions, each as the hypothesis has it. */
static size_t predict_combined(const struct evidence *evidence, const struct hypothesis *hypothesis,
                               size_t first, size_t count, char *to)
{
    const struct pattern *pattern = evidence->pattern;
    reduce_function *reduce = reduce_kernel(pattern->inputs.datatype, pattern->inputs.reduction);
    int ranks = pattern->problem.ranks;
    size_t size = evidence->size;
    bool any = false;
    for (int rank = 0; rank < ranks; rank++) {
        size_t at = ((size_t)rank * evidence->count + first) * size;
        bool in = rank_set_has(&hypothesis->set, rank, ranks);
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
        pattern.inputs.iteration--;
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
            inputs_make(&pattern.inputs, source, (size_t)from, 1, to);
        else
            inputs_combine(&pattern.inputs, NULL, (size_t)from, 1, to);
    }
    return count;
}

/* Writes the predictions for samples [first, first + count) to `to`. Returns for how many of
 * them there is one, from the first on. */
static size_t hypothesis_predict(const struct evidence *evidence,
                                 const struct hypothesis *hypothesis, size_t first, size_t count,
                                 char *to)
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
    _Alignas(16) char predicted[PREDICTED_MOST * DATATYPE_SIZE_MOST];
    size_t size = evidence->size, reach = 0, begin = first, ready = 0;
    /* A few at a time, since most hypotheses end early. */
    for (size_t i = first; i < evidence->count; i++) {
        if (i == begin + ready) {
            size_t more = i == first ? 1 : i - first, left = evidence->count - i;
            more = more < left ? more : left;
            more = more < PREDICTED_MOST ? more : PREDICTED_MOST;
            begin = i;
            ready = hypothesis_predict(evidence, hypothesis, i, more, predicted);
            if (ready == 0)
                break;
        }
        if (memcmp(predicted + (i - begin) * size, evidence->got + i * size, size) != 0)
            break;
        if (evidence->samples[i].wrong)
            reach = i - first + 1;
    }
    return reach;
}
