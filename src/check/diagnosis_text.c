/*
 * diagnosis_text.c - puts the stories that were found for a wrong result into one sentence.
 *
 * What happened first, then where, then whom to suspect: a user acts on the last, and must be able
 * to judge by the first two how much it is worth.
 */
#include "check/diagnosis_text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "check/diagnose.h"

#define TOLD_MOST  3 /* tellings, alternatives, corrupted elements: named one by one up to here */
#define FEW        8 /* wrong elements that may just be corrupted, whatever is in them */
#define RUNS_MOST  6 /* runs of ranks in a list */
#define NAMED_MOST 4 /* flipped bits */

/* One run of consecutive ranks: "2" or "2..4". */
static void text_add_run(struct text *text, int runs, int first, int last)
{
    if (runs == RUNS_MOST)
        text_add(text, ", ...");
    if (runs >= RUNS_MOST)
        return;
    text_add(text, "%s%d", runs ? ", " : "", first);
    if (last > first)
        text_add(text, last == first + 1 ? ", %d" : "..%d", last);
}

/* "rank 2", "ranks 2..4", "ranks 0, 2, 5..7", "all ranks" */
static void text_add_set(struct text *text, const struct rank_set *set, int ranks)
{
    int size = set_size(set, ranks), runs = 0;
    if (size == ranks) {
        text_add(text, "all ranks");
        return;
    }
    text_add(text, size == 1 ? "rank " : "ranks ");
    for (int rank = 0; rank < ranks; rank++) {
        int last = rank;
        if (!set_has(set, rank, ranks))
            continue;
        while (last + 1 < ranks && set_has(set, last + 1, ranks))
            last++;
        text_add_run(text, runs++, rank, last);
        rank = last;
    }
}

static void text_add_sources(struct text *text, const struct explanation *explanation)
{
    int runs = 0;
    text_add(text, explanation->source_count == 1 ? "rank " : "ranks ");
    for (int i = 0, last; i < explanation->source_count; i = last + 1) {
        for (last = i; last + 1 < explanation->source_count &&
                       explanation->sources[last + 1] == explanation->sources[last] + 1;)
            last++;
        text_add_run(text, runs++, explanation->sources[i], explanation->sources[last]);
    }
    if (explanation->source_count == EXPLANATION_SOURCES)
        text_add(text, " and perhaps others");
}

/* The first rank of the set that is (not) in it. */
static int set_first(const struct rank_set *set, int ranks, bool in)
{
    int rank = 0;
    while (rank < ranks - 1 && set_has(set, rank, ranks) != in)
        rank++;
    return rank;
}

static void text_add_combined(struct text *text, const struct evidence *evidence,
                              const struct hypothesis *hypothesis)
{
    int ranks = evidence->pattern->problem.ranks, size = set_size(&hypothesis->set, ranks);
    bool one = size == 1;
    if (hypothesis->kind == HYPOTHESIS_STALE && size == ranks) {
        text_add(text, "the whole result is that of the iteration before (stale)");
        return;
    }
    if (hypothesis->kind == HYPOTHESIS_MISSING && !one && size == ranks - 1) {
        text_add(text, "it holds the contribution of rank %d alone, those of ",
                 set_first(&hypothesis->set, ranks, false));
        text_add_set(text, &hypothesis->set, ranks);
        text_add(text, " are missing%s",
                 evidence->pattern->reduction->cancels ? " or doubled" : "");
        return;
    }
    if (hypothesis->kind == HYPOTHESIS_POISONED)
        text_add(text, "unwritten memory (poison) was combined instead of ");
    text_add(text, "the contribution%s of ", one ? "" : "s");
    text_add_set(text, &hypothesis->set, ranks);
    if (hypothesis->kind == HYPOTHESIS_MISSING)
        text_add(text, " %s missing%s", one ? "is" : "are",
                 evidence->pattern->reduction->cancels ? " or doubled" : "");
    else if (hypothesis->kind == HYPOTHESIS_DOUBLED)
        text_add(text, one ? " is doubled" : " are doubled");
    else if (hypothesis->kind == HYPOTHESIS_STALE)
        text_add(text, " %s of the iteration before (stale)", one ? "is" : "are");
}

static void text_add_hypothesis(struct text *text, const struct evidence *evidence,
                                const struct explanation *explanation,
                                const struct hypothesis *hypothesis)
{
    const char *before = hypothesis->before ? " (of the iteration before)" : "";
    switch (hypothesis->kind) {
    case HYPOTHESIS_UNWRITTEN:
        if (evidence->reduces) {
            text_add(text, "poison stands there: never written, or unwritten memory was combined");
            break;
        }
        text_add(text, "never written, poison stands there: what ");
        text_add_sources(text, explanation);
        text_add(text, " sent has not come");
        break;
    case HYPOTHESIS_ELSEWHERE:
        if (evidence->reduces)
            text_add(text, "a right result in a wrong place: that of source elements %+lld away%s",
                     (long long)hypothesis->shift, before);
        else
            text_add(text, "elements of rank %d%s stand where those of rank %d belong, %+lld away",
                     hypothesis->source, before, hypothesis->instead, (long long)hypothesis->shift);
        break;
    case HYPOTHESIS_STALE:
        if (!evidence->reduces) {
            text_add(text, "what came from ");
            text_add_sources(text, explanation);
            text_add(text, " is of the iteration before (stale)");
            break;
        } /* fall through */
    case HYPOTHESIS_MISSING:
    case HYPOTHESIS_DOUBLED:
    case HYPOTHESIS_POISONED:
        text_add_combined(text, evidence, hypothesis);
    }
}

static void text_add_place(struct text *text, const struct explanation *explanation)
{
    text_add(text, " in ");
    if (explanation->stretches > 1)
        text_add(text, "%zu stretches of ", explanation->stretches);
    if (explanation->first == explanation->last)
        text_add(text, "element %zu", explanation->first);
    else
        text_add(text, "elements %zu..%zu", explanation->first, explanation->last);
}

/* Whom data movement makes suspect. */
static void text_add_sender(struct text *text, const struct evidence *evidence,
                            const struct explanation *explanation)
{
    if (explanation->source_count == 1 && explanation->sources[0] == evidence->rank)
        text_add(text, ": suspect rank %d's copy of its own block", evidence->rank);
    else if (explanation->source_count == 1)
        text_add(text, ": suspect rank %d, or what lies between it and rank %d",
                 explanation->sources[0], evidence->rank);
    else
        text_add(text, ": suspect what carried it to rank %d", evidence->rank);
}

static void text_add_suspect(struct text *text, const struct evidence *evidence,
                             const struct explanation *explanation)
{
    const struct hypothesis *hypothesis = &explanation->hypotheses[0];
    int ranks = evidence->pattern->problem.ranks, size = set_size(&hypothesis->set, ranks);
    if (hypothesis->kind == HYPOTHESIS_ELSEWHERE) {
        text_add(text, ": suspect the offsets of the algorithm");
    } else if (!evidence->reduces) {
        text_add_sender(text, evidence, explanation);
    } else if (hypothesis->kind == HYPOTHESIS_UNWRITTEN || size == ranks) {
        text_add(text, ": suspect rank %d, or the links into it", evidence->rank);
    } else if (size == 1) {
        text_add(text, ": suspect rank %d, or the links from it",
                 set_first(&hypothesis->set, ranks, true));
    } else if (hypothesis->kind == HYPOTHESIS_MISSING && size == ranks - 1) {
        text_add(text, ": suspect the links into rank %d",
                 set_first(&hypothesis->set, ranks, false));
    } else if (hypothesis->set.shape == SET_INTERVAL) {
        int first = hypothesis->set.first, last = (first + size - 1) % ranks;
        const struct problem *problem = &evidence->pattern->problem;
        text_add(text, ": suspect what carried their partial result (");
        if (problem->collective->rooted && !set_has(&hypothesis->set, problem->root, ranks))
            text_add(text, "in a tree, rank %d, or the links from it; ", first);
        text_add(text, "in a ring, the link from rank %d to %d, or ", last, (last + 1) % ranks);
        text_add(text, "from %d to %d)", first, (first + ranks - 1) % ranks);
    } else {
        text_add(text, ": suspect what carried their partial result");
    }
}

static void text_add_explanation(struct text *text, const struct evidence *evidence,
                                 const struct explanation *explanation)
{
    size_t named =
        explanation->count < EXPLANATION_HYPOTHESES ? explanation->count : EXPLANATION_HYPOTHESES;
    bool ambiguous = explanation->count > 1 || explanation->chance;
    text_add(text, ambiguous ? "ambiguous: either " : "");
    for (size_t i = 0; i < named; i++) {
        text_add(text, i ? ", or " : "");
        text_add_hypothesis(text, evidence, explanation, &explanation->hypotheses[i]);
    }
    if (explanation->count > named)
        text_add(text, ", or one of %zu more stories", explanation->count - named);
    text_add(text, explanation->chance ? ", or corruption" : "");
    text_add(text, explanation->at_least ? " (of these at least)" : "");
    text_add_place(text, explanation);
    if (!ambiguous)
        text_add_suspect(text, evidence, explanation);
}

/* Bits in which a wrong sample differs from what it must be: how many, and the first `most`. */
static int sample_flips(const struct evidence *evidence, size_t index, int *bits, int most)
{
    const char *expected = evidence->expected + index * evidence->size;
    const char *got = evidence->got + index * evidence->size;
    int count = 0;
    for (int bit = 0; bit < 8 * (int)evidence->size; bit++) {
        bool flipped = (expected[bit / 8] ^ got[bit / 8]) >> bit % 8 & 1;
        if (flipped && count < most)
            bits[count] = bit;
        count += flipped;
    }
    return count;
}

/* The power of two by which a sum is off, with its sign; 0: by something else. */
static double sample_error(const struct evidence *evidence, size_t index)
{
    const struct pattern *pattern = evidence->pattern;
    uint64_t expected = 0, got = 0;
    if (!evidence->reduces || pattern->reduction->id != REDUCTION_SUM ||
        pattern->datatype->kind == DATATYPE_FLOAT)
        return 0;
    memcpy(&expected, evidence->expected + index * evidence->size, evidence->size);
    memcpy(&got, evidence->got + index * evidence->size, evidence->size);
    unsigned unused = 64 - 8 * (unsigned)evidence->size;
    double error = (double)((int64_t)((got - expected) << unused) >> unused);
    int exponent;
    return fabs(frexp(error, &exponent)) == 0.5 ? error : 0;
}

static void text_add_corrupt(struct text *text, const struct evidence *evidence, size_t index)
{
    const struct sample *sample = &evidence->samples[index];
    const char *expected = evidence->expected + index * evidence->size;
    const char *got = evidence->got + index * evidence->size;
    int bits[NAMED_MOST], flips = sample_flips(evidence, index, bits, NAMED_MOST);
    char right[VALUE_TEXT_MOST], wrong[VALUE_TEXT_MOST];
    value_format(evidence->pattern->datatype, expected, right, sizeof right);
    value_format(evidence->pattern->datatype, got, wrong, sizeof wrong);
    text_add(text, "element %zu", sample->at);
    if (sample->source != EVERY_RANK)
        text_add(text, " from rank %d", sample->source);
    text_add(text, " is %s instead of %s (", wrong, right);
    double error = sample_error(evidence, index);
    if (error != 0 && flips > 1)
        text_add(text, "off by %+.0f: one bit flipped before it was combined", error);
    else {
        text_add(text, flips == 1 ? "flipped bit" : "flipped bits");
        for (int named = 0; named < flips && named < NAMED_MOST; named++)
            text_add(text, " %d", bits[named]);
        text_add(text, flips > NAMED_MOST ? " ..." : "");
    }
    text_add(text, ")");
}

/* Wrong elements that no story explains. */
static void text_add_unexplained(struct text *text, const struct explanations *explanations)
{
    const struct evidence *evidence = explanations->evidence;
    size_t count = explanations->unexplained_count, single = 0;
    for (size_t i = 0; i < count; i++)
        single += sample_flips(evidence, explanations->unexplained[i], NULL, 0) == 1;
    if (evidence->wrong > FEW && single < count) {
        text_add(text,
                 explanations->count ? "no story fits %zu of %zu wrong elements looked at"
                                     : "no single fault explains it: no story fits %zu of %zu "
                                       "wrong elements looked at",
                 count, count + explanations->unlooked);
        return;
    }
    text_add(text, "corrupted on the way or in memory: ");
    for (size_t i = 0; i < count && i < TOLD_MOST; i++) {
        text_add(text, i ? ", " : "");
        text_add_corrupt(text, evidence, explanations->unexplained[i]);
    }
    if (count > TOLD_MOST)
        text_add(text, " and %zu more like it", count - TOLD_MOST);
    const struct sample *first = &evidence->samples[explanations->unexplained[0]];
    if (first->source != EVERY_RANK && first->source != evidence->rank)
        text_add(text, ": suspect the memory of ranks %d and %d, or what lies between them",
                 first->source, evidence->rank);
}

void explanations_text(const struct explanations *explanations, struct finding *finding)
{
    struct text text = text_in(finding->explanation, sizeof finding->explanation);
    finding->ambiguous = false;
    for (size_t i = 0; i < explanations->count; i++) {
        const struct explanation *explanation = &explanations->list[i];
        finding->ambiguous |= explanation->count > 1 || explanation->chance;
        if (i >= TOLD_MOST)
            continue;
        text_add(&text, i ? "; " : "");
        text_add_explanation(&text, explanations->evidence, explanation);
    }
    if (explanations->count > TOLD_MOST)
        text_add(&text, "; and %zu more findings", explanations->count - TOLD_MOST);
    if (explanations->unexplained_count > 0) {
        text_add(&text, explanations->count ? "; " : "");
        text_add_unexplained(&text, explanations);
    }
    if (explanations->unlooked > 0)
        text_add(&text, "; the rest was not looked into");
}

static bool hypothesis_same(const struct hypothesis *a, const struct hypothesis *b)
{
    return a->kind == b->kind && a->set.shape == b->set.shape && a->set.first == b->set.first &&
           a->set.length == b->set.length && a->set.modulus == b->set.modulus &&
           a->set.inverted == b->set.inverted && a->source == b->source &&
           a->instead == b->instead && a->shift == b->shift && a->before == b->before;
}

/* Keeps the sources ascending and each once. */
static void explanation_add_source(struct explanation *explanation, int source)
{
    int at = explanation->source_count;
    while (at > 0 && explanation->sources[at - 1] > source)
        at--;
    if ((at > 0 && explanation->sources[at - 1] == source) ||
        explanation->source_count == EXPLANATION_SOURCES)
        return;
    memmove(explanation->sources + at + 1, explanation->sources + at,
            (size_t)(explanation->source_count - at) * sizeof *explanation->sources);
    explanation->sources[at] = source;
    explanation->source_count++;
}

/* The stories about the fewest ranks come first. */
static void explanation_choose(struct explanation *explanation, const struct hypotheses *hypotheses,
                               int ranks)
{
    explanation->count = hypotheses->count;
    for (size_t i = 0, kept = 0; i < hypotheses->count; i++) {
        const struct hypothesis *hypothesis = &hypotheses->hypotheses[i];
        size_t at = kept;
        while (at > 0 && set_size(&explanation->hypotheses[at - 1].set, ranks) >
                             set_size(&hypothesis->set, ranks))
            at--;
        if (at == EXPLANATION_HYPOTHESES)
            continue;
        size_t behind = kept - at - (kept == EXPLANATION_HYPOTHESES);
        memmove(explanation->hypotheses + at + 1, explanation->hypotheses + at,
                behind * sizeof *hypothesis);
        explanation->hypotheses[at] = *hypothesis;
        kept += kept < EXPLANATION_HYPOTHESES;
    }
}

void explanations_add(struct explanations *explanations, const struct hypotheses *hypotheses,
                      bool chance, size_t first)
{
    const struct evidence *evidence = explanations->evidence;
    const struct sample *samples = evidence->samples;
    struct explanation new = {
        .chance = chance, .at_least = hypotheses->at_least, .first = samples[first].at};
    explanation_choose(&new, hypotheses, evidence->pattern->problem.ranks);
    size_t index = 0;
    while (index < explanations->count &&
           (explanations->list[index].count != new.count ||
            explanations->list[index].chance != chance ||
            !hypothesis_same(&explanations->list[index].hypotheses[0], &new.hypotheses[0])))
        index++;
    struct explanation *explanation = &explanations->list[index];
    if (index == explanations->count) {
        explanations->count++;
        *explanation = new;
    }
    explanation->stretches++;
    explanation->last = samples[first + hypotheses->reach - 1].at;
    for (size_t i = first; i < first + hypotheses->reach; i++) {
        if (samples[i].wrong && samples[i].source != EVERY_RANK)
            explanation_add_source(explanation, samples[i].source);
    }
}
