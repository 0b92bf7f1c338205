/*
 * diagnose.c - explains a wrong result, stretch by stretch.
 *
 * A fault may touch one chunk of a buffer and spare the next, and different chunks may have
 * different faults. So the samples are walked from the first wrong one on. The hypotheses that
 * reach farthest from there explain a stretch; the walk goes on behind it. Stretches with the same
 * hypothesis share one explanation.
 *
 * A hypothesis may fit by chance: few samples of a narrow type, many hypotheses tried. Where the
 * stretch is far shorter than any message of the collective, the elements then count as corrupted.
 * Elsewhere the finding says both.
 */
#include "run/check/internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/*
 * Takes samples of a wrong result: wrong elements, and elements between them.
 */
/* The subject of samples. */
struct origin {
    const struct memory *memory;
    const char *destination;
};

/* Adds destination element `at` to the samples. */
static enum status evidence_add(struct evidence *evidence, const struct origin *origin, size_t at)
{
    const struct pattern *pattern = evidence->pattern;
    const struct memory *memory = origin->memory;
    struct expectation expectation;
    if (!pattern_expectation(pattern, evidence->rank, at, &expectation))
        return STATUS_OK;
    size_t size = evidence->size, index = evidence->count++;
    unsigned char *expected = evidence->expected + index * size;
    unsigned char *got = evidence->got + index * size;
    pattern_expect(pattern, evidence->rank, at, 1, expected);
    enum status status = memory->kind->read(memory, origin->destination + at * size, size, got);
    evidence->samples[index] = (struct sample){
        .at = at,
        .wrong = memcmp(expected, got, size) != 0,
        .source = expectation.rank,
        .from = expectation.from + (at - expectation.at),
    };
    return status;
}

/* Elements between `low` and `high`, both excluded: all of them, or `most` that are spread. */
static enum status evidence_add_between(struct evidence *evidence, const struct origin *origin,
                                        size_t low, size_t high, size_t most)
{
    size_t between = high - low - 1;
    enum status status = STATUS_OK;
    most = between < most ? between : most;
    for (size_t i = 0; i < most && status == STATUS_OK; i++) {
        /* One from each of `most` equal parts, not always at the same place in its part. */
        size_t begin = between / most * i + between % most * i / most;
        size_t part = between / most, jitter = (size_t)((low + i) * 0x9e3779b97f4a7c15u >> 33);
        status = evidence_add(evidence, origin, low + 1 + begin + jitter % part);
    }
    return status;
}

static bool evidence_add_values(struct evidence *evidence)
{
    struct pattern before = *evidence->pattern;
    before.inputs.iteration--;
    size_t size = evidence->size, ranks = (size_t)before.problem.ranks;
    evidence->now = malloc(ranks * evidence->count * size);
    evidence->before = malloc(ranks * evidence->count * size);
    if (!evidence->now || !evidence->before)
        return false;
    size_t at = 0;
    for (size_t rank = 0; rank < ranks; rank++) {
        for (size_t i = 0; i < evidence->count; i++, at += size) {
            size_t from = evidence->samples[i].from;
            inputs_make(&evidence->pattern->inputs, (int)rank, from, 1, evidence->now + at);
            inputs_make(&before.inputs, (int)rank, from, 1, evidence->before + at);
        }
    }
    return true;
}

enum status evidence_take(struct evidence *evidence, const struct memory *memory,
                          const struct pattern *pattern, int rank, const char *destination,
                          const size_t *wrong, size_t count)
{
    const struct origin origin = {.memory = memory, .destination = destination};
    enum status status = STATUS_OK;
    evidence->pattern = pattern;
    evidence->rank = rank;
    evidence->size = pattern->inputs.datatype->size;
    evidence->reduces = pattern->inputs.reduction != NULL;
    evidence->count = 0;
    evidence->now = evidence->before = NULL;
    size_t each = count > 1 ? (SAMPLES - count) / (count - 1) : 0;
    for (size_t i = 0; i < count && status == STATUS_OK; i++) {
        status = evidence_add(evidence, &origin, wrong[i]);
        if (i + 1 < count && status == STATUS_OK)
            status = evidence_add_between(evidence, &origin, wrong[i], wrong[i + 1], each);
    }
    evidence->is_complete =
        status == STATUS_OK && (!evidence->reduces || evidence_add_values(evidence));
    return status;
}

void evidence_free(struct evidence *evidence)
{
    free(evidence->now);
    free(evidence->before);
}

/*
 * Explains a wrong result.
 */
#define CHANCE_MOST         0.01 /* hypotheses that are expected to fit by chance */
#define SEARCHES_MOST       16
#define SEARCHES_MANY_RANKS 4 /* the same where each search is long */
#define MANY_RANKS          256

#define EXPLANATIONS_MOST SEARCHES_MOST

/* One walk through the samples. */
struct diagnosis {
    const struct evidence *evidence;
    struct explanation explanations[EXPLANATIONS_MOST];
    int count;
};

/* Does `other` say the same as `hypothesis`, in a simpler way? */
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
    bool within = rank_set_within(&other->set, &hypothesis->set, ranks);
    bool equal = within && rank_set_within(&hypothesis->set, &other->set, ranks);
    /* Where poison leaves no trace, a contribution is just missing. */
    bool alike = other->kind == hypothesis->kind ||
                 (hypothesis->kind == HYPOTHESIS_POISONED && other->kind == HYPOTHESIS_MISSING);
    /* For min, max, bor and the like the absence of ranks that decide none of the samples leaves no
     * trace. */
    return alike && (equal || (within && evidence->pattern->inputs.reduction->idempotent));
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
            hypotheses->at_least |= evidence->reduces &&
                                    evidence->pattern->inputs.reduction->idempotent &&
                                    hypothesis->kind != HYPOTHESIS_POISONED;
    }
    hypotheses->count = kept;
}

/* Would some hypothesis fit these samples whatever had happened? */
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
    double bits =
        unwritten ? 8.0 * (double)evidence->size : inputs_bits(&evidence->pattern->inputs);
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

static bool explanation_same(const struct explanation *a, const struct explanation *b)
{
    const struct hypothesis *x = &a->hypotheses[0], *y = &b->hypotheses[0];
    return a->fitting == b->fitting && a->chance == b->chance && hypothesis_same(x, y) &&
           x->source == y->source && x->instead == y->instead;
}

/* Keeps the sources ascending and each once. */
static void explanation_add_source(struct explanation *explanation, int source)
{
    int at = explanation->source_count;
    while (at > 0 && explanation->sources[at - 1] > source)
        at--;
    if ((at > 0 && explanation->sources[at - 1] == source) ||
        explanation->source_count == FINDING_SOURCES)
        return;
    memmove(explanation->sources + at + 1, explanation->sources + at,
            (size_t)(explanation->source_count - at) * sizeof *explanation->sources);
    explanation->sources[at] = source;
    explanation->source_count++;
}

/* The hypotheses about the fewest ranks come first. */
static void explanation_choose(struct explanation *explanation, const struct hypotheses *hypotheses,
                               int ranks)
{
    explanation->fitting = hypotheses->count;
    for (size_t i = 0, kept = 0; i < hypotheses->count; i++) {
        const struct hypothesis *hypothesis = &hypotheses->hypotheses[i];
        size_t at = kept;
        while (at > 0 && rank_set_size(&explanation->hypotheses[at - 1].set, ranks) >
                             rank_set_size(&hypothesis->set, ranks))
            at--;
        if (at == FINDING_HYPOTHESES)
            continue;
        size_t behind = kept - at - (kept == FINDING_HYPOTHESES);
        memmove(explanation->hypotheses + at + 1, explanation->hypotheses + at,
                behind * sizeof *hypothesis);
        explanation->hypotheses[at] = *hypothesis;
        kept += kept < FINDING_HYPOTHESES;
    }
}

/* Adds the hypotheses that explain hypotheses->reach samples from `first` on. */
static void diagnosis_add(struct diagnosis *diagnosis, const struct hypotheses *hypotheses,
                          bool chance, size_t first)
{
    const struct evidence *evidence = diagnosis->evidence;
    const struct sample *samples = evidence->samples;
    struct explanation new = {
        .chance = chance, .at_least = hypotheses->at_least, .first = samples[first].at};
    explanation_choose(&new, hypotheses, evidence->pattern->problem.ranks);
    int index = 0;
    while (index < diagnosis->count && !explanation_same(&diagnosis->explanations[index], &new))
        index++;
    struct explanation *explanation = &diagnosis->explanations[index];
    if (index == diagnosis->count) {
        diagnosis->count++;
        *explanation = new;
    }
    explanation->stretches++;
    explanation->last = samples[first + hypotheses->reach - 1].at;
    for (size_t i = first; i < first + hypotheses->reach; i++) {
        if (samples[i].wrong && samples[i].source != EVERY_RANK)
            explanation_add_source(explanation, samples[i].source);
    }
}

/* Explains the stretch that begins at wrong sample `first`. *reach: how many samples that takes
 * in, 0 if there is no explanation. False: out of memory. */
static bool explain_stretch(struct diagnosis *diagnosis, size_t first, size_t *reach)
{
    const struct evidence *evidence = diagnosis->evidence;
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
            diagnosis_add(diagnosis, &hypotheses, chance, first);
        }
    }
    hypotheses_free(&hypotheses);
    return done;
}

/* Is one bit of the sample flipped? */
static bool sample_is_flip(const struct evidence *evidence, size_t index)
{
    const unsigned char *expected = evidence->expected + index * evidence->size;
    const unsigned char *got = evidence->got + index * evidence->size;
    int flips = 0;
    for (size_t i = 0; i < evidence->size; i++)
        flips += __builtin_popcount(expected[i] ^ got[i]);
    return flips == 1;
}

/* Notes a wrong sample that no hypothesis fits. */
static void finding_add_unexplained(struct finding *finding, const struct evidence *evidence,
                                    size_t index)
{
    finding->single_bits += sample_is_flip(evidence, index);
    if (finding->unexplained++ >= FINDING_ELEMENTS)
        return;
    const struct sample *sample = &evidence->samples[index];
    struct wrong_element *element = &finding->elements[finding->unexplained - 1];
    *element = (struct wrong_element){.at = sample->at, .source = sample->source};
    memcpy(element->expected, evidence->expected + index * evidence->size, evidence->size);
    memcpy(element->got, evidence->got + index * evidence->size, evidence->size);
}

void diagnose(const struct evidence *evidence, struct finding *finding)
{
    struct diagnosis diagnosis = {.evidence = evidence};
    bool many = evidence->reduces && evidence->pattern->problem.ranks > MANY_RANKS;
    int searches = many ? SEARCHES_MANY_RANKS : SEARCHES_MOST;
    bool memory = true;
    for (size_t i = 0; i < evidence->count; i++) {
        size_t reach = 0;
        if (!evidence->samples[i].wrong)
            continue;
        if (!memory || searches-- <= 0) {
            finding->unlooked++;
            continue;
        }
        memory = explain_stretch(&diagnosis, i, &reach);
        if (reach > 0)
            i += reach - 1;
        else
            finding_add_unexplained(finding, evidence, i);
    }
    finding->explanation_count = diagnosis.count;
    memcpy(finding->explanations, diagnosis.explanations, sizeof finding->explanations);
}
