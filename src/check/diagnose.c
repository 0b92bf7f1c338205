/*
 * diagnose.c - explains a wrong result, stretch by stretch, and says whom to suspect.
 *
 * A fault may touch one chunk of a buffer and spare the next, and different chunks may have
 * different faults. So the samples are walked from the first wrong one on: the stories that reach
 * farthest from there explain a stretch, and the walk goes on behind it. Stretches with the same
 * story are told together. What no story explains is corruption, if it looks like that, or is
 * admitted.
 *
 * A story that could have fitted by chance (few samples of a narrow type, many stories tried) is
 * not told as if it were known: where the stretch is far shorter than any message of the
 * collective, the elements count as corrupted; elsewhere both are said.
 */
#include "check/diagnose.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "check/diagnosis_text.h"

#define CHANCE_MOST         0.01 /* expected number of stories that fit by chance */
#define SEARCHES_MOST       16
#define SEARCHES_MANY_RANKS 4 /* the same where each search is long */
#define MANY_RANKS          256

static bool set_within(const struct rank_set *inner, const struct rank_set *outer, int ranks)
{
    if (inner->shape == SET_INTERVAL && outer->shape == SET_INTERVAL) {
        int offset = (inner->first - outer->first + ranks) % ranks;
        return offset + inner->length <= outer->length;
    }
    for (int rank = 0; rank < ranks; rank++) {
        if (set_has(inner, rank, ranks) && !set_has(outer, rank, ranks))
            return false;
    }
    return true;
}

/* Does `other` say the same as `story`, in a simpler way? */
static bool hypothesis_yields(const struct evidence *evidence, const struct hypothesis *hypothesis,
                              const struct hypothesis *other)
{
    int ranks = evidence->pattern->problem.ranks;
    if (other->kind == HYPOTHESIS_UNWRITTEN)
        return true;
    if (!evidence->reduces)
        return hypothesis->kind == HYPOTHESIS_ELSEWHERE && other->kind == HYPOTHESIS_STALE;
    if (hypothesis->kind == HYPOTHESIS_ELSEWHERE || other->kind == HYPOTHESIS_ELSEWHERE)
        return false;
    bool within = set_within(&other->set, &hypothesis->set, ranks);
    bool equal = within && set_within(&hypothesis->set, &other->set, ranks);
    /* Where poison leaves no trace, a contribution is just missing. */
    bool alike = other->kind == hypothesis->kind ||
                 (hypothesis->kind == HYPOTHESIS_POISONED && other->kind == HYPOTHESIS_MISSING);
    /* For min, max, bor and the like the absence of ranks that decide none of the samples leaves no
     * trace. */
    return alike && (equal || (within && evidence->pattern->reduction->idempotent));
}

static void hypotheses_prune(const struct evidence *evidence, struct hypotheses *hypotheses)
{
    size_t kept = 0;
    for (size_t i = 0; i < hypotheses->count; i++) {
        struct hypothesis *hypothesis = &hypotheses->hypotheses[i];
        bool yields = false;
        for (size_t j = 0; j < kept && !yields; j++)
            yields = hypothesis_yields(evidence, hypothesis, &hypotheses->hypotheses[j]);
        for (size_t j = i + 1; j < hypotheses->count && !yields; j++)
            yields = hypothesis_yields(evidence, hypothesis, &hypotheses->hypotheses[j]) &&
                     !hypothesis_yields(evidence, &hypotheses->hypotheses[j], hypothesis);
        if (!yields)
            hypotheses->hypotheses[kept++] = *hypothesis;
        else
            hypotheses->at_least |= evidence->reduces && evidence->pattern->reduction->idempotent &&
                                    hypothesis->kind != HYPOTHESIS_POISONED;
    }
    hypotheses->count = kept;
}

/* Would some story have fitted these samples whatever had happened? */
static bool is_chance(const struct evidence *evidence, const struct hypotheses *hypotheses,
                      size_t first)
{
    size_t wrong = 0;
    for (size_t i = 0; i < hypotheses->reach; i++)
        wrong += evidence->samples[first + i].wrong;
    enum hypothesis_kind kind = hypotheses->hypotheses[0].kind;
    bool unwritten = kind == HYPOTHESIS_UNWRITTEN;
    bool simple = unwritten || (!evidence->reduces && kind == HYPOTHESIS_STALE);
    double tried = simple ? 2 : hypotheses->tried;
    double bits = unwritten ? 8.0 * (double)evidence->size : pattern_bits(evidence->pattern);
    return log2(tried) - bits * (double)wrong > log2(CHANCE_MOST);
}

/* Is the stretch far shorter than any message of the collective? */
static bool is_isolated(const struct evidence *evidence, size_t first, size_t reach)
{
    const struct problem *problem = &evidence->pattern->problem;
    const struct sample *samples = evidence->samples;
    size_t stretch = samples[first + reach - 1].at - samples[first].at + 1;
    size_t extent = collective_extent(problem, evidence->rank, BUFFER_DESTINATION);
    return stretch < extent / 64 / (size_t)problem->ranks;
}

/* Finds the stories of the stretch that begins at wrong sample `first`, and adds them to the
 * tellings. *reach: how many samples that explains, 0 if none. False: out of memory. */
static bool explain_stretch(const struct evidence *evidence, size_t first,
                            struct explanations *explanations, size_t *reach)
{
    struct hypotheses hypotheses;
    *reach = 0;
    bool done = hypothesis_search(evidence, first, &hypotheses);
    if (done && hypotheses.reach > 0) {
        hypotheses_prune(evidence, &hypotheses);
        bool chance = is_chance(evidence, &hypotheses, first);
        bool trust =
            !chance || (evidence->reduces ? !is_isolated(evidence, first, hypotheses.reach)
                                          : hypotheses.hypotheses[0].kind != HYPOTHESIS_ELSEWHERE);
        if (trust) {
            *reach = hypotheses.reach;
            explanations_add(explanations, &hypotheses, chance, first);
        }
    }
    hypotheses_free(&hypotheses);
    return done;
}

void diagnose(const struct evidence *evidence, struct finding *finding)
{
    struct explanations explanations = {.evidence = evidence};
    bool many = evidence->reduces && evidence->pattern->problem.ranks > MANY_RANKS;
    int searches = many ? SEARCHES_MANY_RANKS : SEARCHES_MOST;
    bool memory = true;
    for (size_t i = 0; i < evidence->count; i++) {
        size_t reach = 0;
        if (!evidence->samples[i].wrong)
            continue;
        if (!memory || searches-- <= 0) {
            explanations.unlooked++;
            continue;
        }
        memory = explain_stretch(evidence, i, &explanations, &reach);
        if (reach > 0)
            i += reach - 1;
        else
            explanations.unexplained[explanations.unexplained_count++] = i;
    }
    explanations_text(&explanations, finding);
}
