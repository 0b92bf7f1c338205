/*
 * check.c - compares buffers with the contract, element by element, where they lie, and explains
 * what is wrong.
 *
 * The destination is cut into runs that the contract describes as one, and the kind of memory
 * compares each (memory.h, Contents). Of the wrong elements some are kept as samples, spread
 * evenly over all: which ones follows from their number, so a first pass counts, and a second one,
 * if any are wrong, selects.
 */
#include "run/check/internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/*
 * The results that must follow from the inputs, by contract.
 */
bool pattern_expectation(const struct pattern *pattern, int rank, size_t at,
                         struct expectation *expectation)
{
    const struct problem *problem = &pattern->problem;
    /* The first expectation that ends behind `at`: none before index `low` does. */
    int low = 0, step = 1;
    while (collective_expects(problem, rank, low + step - 1, expectation) &&
           expectation->at + expectation->length <= at) {
        low += step;
        step *= 2;
    }
    int high = low + step - 1;
    while (low < high) {
        int middle = low + (high - low) / 2;
        if (collective_expects(problem, rank, middle, expectation) &&
            expectation->at + expectation->length <= at)
            low = middle + 1;
        else
            high = middle;
    }
    return collective_expects(problem, rank, low, expectation);
}

void pattern_expect(const struct pattern *pattern, int rank, size_t first, size_t count, void *to)
{
    struct expectation expectation;
    char *at = to;
    while (count > 0 && pattern_expectation(pattern, rank, first, &expectation)) {
        size_t inside = first - expectation.at;
        size_t length = expectation.length - inside;
        length = length < count ? length : count;
        inputs_expect(&pattern->inputs, expectation.rank, expectation.from + inside, length, at);
        first += length;
        count -= length;
        at += length * pattern->inputs.datatype->size;
    }
}

void pattern_format(const struct datatype *type, const void *value, char *text, size_t size)
{
    unsigned char poison[DATATYPE_SIZE_MOST];
    memset(poison, PATTERN_POISON, type->size);
    if (memcmp(value, poison, type->size) != 0) {
        datatype_print(type, value, text, size);
        return;
    }
    struct text out = text_in(text, size);
    text_add(&out, "poison (0x");
    for (size_t i = 0; i < type->size; i++)
        text_add(&out, "%02x", PATTERN_POISON);
    text_add(&out, ")");
}

/*
 * Takes samples of a wrong result: wrong elements, and elements between them.
 */
/* Adds destination element `at` to the samples. */
static enum status evidence_add(struct evidence *evidence, const struct destination *to, size_t at)
{
    const struct pattern *pattern = evidence->pattern;
    const struct memory *memory = to->memory;
    struct expectation expectation;
    if (!pattern_expectation(pattern, evidence->rank, at, &expectation))
        return STATUS_OK;
    size_t size = evidence->size, index = evidence->count++;
    unsigned char *expected = evidence->expected + index * size;
    unsigned char *got = evidence->got + index * size;
    pattern_expect(pattern, evidence->rank, at, 1, expected);
    TRY(memory->kind->read(memory, to->base + at * size, size, got));
    evidence->samples[index] = (struct sample){
        .at = at,
        .wrong = memcmp(expected, got, size) != 0,
        .source = expectation.rank,
        .from = expectation.from + (at - expectation.at),
    };
    return STATUS_OK;
}

/* Elements between `low` and `high`, both excluded: all of them, or `most` that are spread. */
static enum status evidence_add_between(struct evidence *evidence, const struct destination *to,
                                        size_t low, size_t high, size_t most)
{
    size_t between = high - low - 1;
    most = between < most ? between : most;
    for (size_t i = 0; i < most; i++) {
        /* One from each of `most` equal parts, not always at the same place in its part. */
        size_t begin = between / most * i + between % most * i / most;
        size_t part = between / most, jitter = (size_t)((low + i) * 0x9e3779b97f4a7c15u >> 33);
        TRY(evidence_add(evidence, to, low + 1 + begin + jitter % part));
    }
    return STATUS_OK;
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

/* Takes the samples of a destination: `wrong[0 .. count)` are wrong elements, ascending. `evidence`
 * is zeroed. */
static enum status evidence_take(struct evidence *evidence, const struct destination *to,
                                 const size_t *wrong, size_t count)
{
    const struct inputs *inputs = &to->pattern->inputs;
    evidence->pattern = to->pattern;
    evidence->rank = to->rank;
    evidence->size = inputs->datatype->size;
    evidence->reduces = inputs->reduction != NULL;
    size_t each = count > 1 ? (SAMPLES - count) / (count - 1) : 0;
    for (size_t i = 0; i < count; i++) {
        TRY(evidence_add(evidence, to, wrong[i]));
        if (i + 1 < count)
            TRY(evidence_add_between(evidence, to, wrong[i], wrong[i + 1], each));
    }
    evidence->is_complete = !evidence->reduces || evidence_add_values(evidence);
    return STATUS_OK;
}

static void evidence_free(struct evidence *evidence)
{
    free(evidence->now);
    free(evidence->before);
}

/*
 * Explains a wrong result, stretch by stretch.
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

/* Fills in the explanations of the finding and what they leave unexplained. `evidence` has at least
 * one wrong sample. */
static void diagnose(const struct evidence *evidence, struct finding *finding)
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

/*
 * Compares buffers with the contract.
 */
/* The run of the contract that begins at element `at`; false behind the end. */
static bool run_at(const struct destination *to, size_t at, struct comparison *run)
{
    struct expectation expectation;
    if (!pattern_expectation(to->pattern, to->rank, at, &expectation))
        return false;
    *run = (struct comparison){.inputs = &to->pattern->inputs,
                               .rank = expectation.rank,
                               .first = expectation.from + (at - expectation.at),
                               .count = expectation.length - (at - expectation.at),
                               .at = to->base + at * to->pattern->inputs.datatype->size};
    return true;
}

static enum status count_wrong(const struct destination *to, size_t *wrong)
{
    struct comparison run;
    *wrong = 0;
    for (size_t at = 0, more; run_at(to, at, &run); at += run.count) {
        TRY(to->memory->kind->compare(to->memory, &run, &more));
        *wrong += more;
    }
    return STATUS_OK;
}

/* Wrong elements that are kept: each `stride`-th, and the last. */
struct kept {
    size_t at[SAMPLES_WRONG];
    size_t count, stride;
    size_t seen, last; /* wrong elements so far, and the last of them */
};

/* Keeps wrong elements of a run that begins at element `at`. */
static enum status keep_from_run(const struct destination *to, const struct comparison *run,
                                 size_t at, struct kept *kept)
{
    struct selection selection = {.skip = -kept->seen % kept->stride, /* a power of two */
                                  .stride = kept->stride,
                                  .most = SAMPLES_WRONG - kept->count,
                                  .at = kept->at + kept->count};
    TRY(to->memory->kind->select(to->memory, run, &selection));
    if (selection.wrong == 0)
        return STATUS_OK;
    for (size_t i = 0; i < selection.count; i++)
        kept->at[kept->count++] += at;
    kept->seen += selection.wrong;
    kept->last = at + selection.last;
    return STATUS_OK;
}

/* `wrong`: how many elements of the whole destination are. */
static enum status keep(const struct destination *to, size_t wrong, struct kept *kept)
{
    struct comparison run;
    *kept = (struct kept){.stride = 1};
    while ((wrong - 1) / kept->stride >= SAMPLES_WRONG)
        kept->stride *= 2;
    for (size_t at = 0; run_at(to, at, &run); at += run.count)
        TRY(keep_from_run(to, &run, at, kept));
    if (kept->count > 0 && kept->at[kept->count - 1] != kept->last) {
        kept->count -= kept->count == SAMPLES_WRONG;
        kept->at[kept->count++] = kept->last;
    }
    return STATUS_OK;
}

static bool evidence_shows_wrong(const struct evidence *evidence)
{
    for (size_t i = 0; i < evidence->count; i++)
        if (evidence->samples[i].wrong)
            return true;
    return false;
}

static enum status explain(const struct destination *to, const struct kept *kept,
                           struct finding *finding)
{
    const struct pattern *pattern = to->pattern;
    const struct memory *memory = to->memory;
    size_t size = pattern->inputs.datatype->size;
    struct wrong_element *first = &finding->first;
    first->at = kept->at[0];
    pattern_expect(pattern, to->rank, first->at, 1, first->expected);
    TRY(memory->kind->read(memory, to->base + first->at * size, size, first->got));
    finding->diagnosis = DIAGNOSIS_WITHOUT_MEMORY;
    struct evidence *evidence = calloc(1, sizeof *evidence);
    if (!evidence)
        return STATUS_OK;
    enum status status = evidence_take(evidence, to, kept->at, kept->count);
    if (status == STATUS_OK && evidence->is_complete) {
        finding->diagnosis = DIAGNOSIS_OVERTAKEN;
        if (memcmp(first->expected, first->got, size) != 0 && evidence_shows_wrong(evidence)) {
            first->source = evidence->samples[0].source;
            finding->diagnosis = DIAGNOSIS_MADE;
            diagnose(evidence, finding);
        }
    }
    evidence_free(evidence);
    free(evidence);
    return status;
}

/* The evidence is the first of all wrong elements where these are too many to be kept. */
static enum status testify(const struct destination *to, const struct kept *kept,
                           struct finding *finding)
{
    struct iteration_evidence *evidence = &finding->evidence;
    struct kept first = {.stride = 1};
    struct comparison run;
    if (kept->stride == 1)
        return iteration_evidence_take(to, kept->at, kept->count, kept->count == finding->wrong,
                                       evidence);
    for (size_t at = 0; first.count < EVIDENCE_MOST && run_at(to, at, &run); at += run.count)
        TRY(keep_from_run(to, &run, at, &first));
    return iteration_evidence_take(to, first.at, first.count, false, evidence);
}

enum status check_result(const struct memory *memory, const struct pattern *pattern, int rank,
                         const void *destination, struct finding *finding)
{
    const struct destination to = {
        .memory = memory, .pattern = pattern, .rank = rank, .base = destination};
    struct kept kept = {.count = 0};
    size_t wrong;
    memset(finding, 0, sizeof *finding);
    TRY(count_wrong(&to, &wrong));
    if (wrong > 0)
        TRY(keep(&to, wrong, &kept));
    if (wrong == 0 || !tick_on(memory->tick))
        return STATUS_OK; /* also when the job has ended: what was counted then means nothing */
    finding->kind = FINDING_RESULT;
    finding->iteration = finding->evidence.iteration = pattern->inputs.iteration;
    finding->root = finding->evidence.root = pattern->problem.root;
    finding->hop_peer = -1;
    finding->wrong = wrong;
    finding->first.source = EVERY_RANK;
    finding->diagnosis = DIAGNOSIS_OVERTAKEN;
    if (kept.count == 0)
        return STATUS_OK;
    TRY(testify(&to, &kept, finding));
    return explain(&to, &kept, finding);
}

enum status check_source(const struct memory *memory, const struct pattern *pattern, int rank,
                         const void *source, size_t first, size_t count, size_t *changed)
{
    const struct comparison comparison = {.inputs = &pattern->inputs,
                                          .rank = rank,
                                          .first = first,
                                          .count = count,
                                          .at = (const char *)source +
                                                first * pattern->inputs.datatype->size};
    return memory->kind->compare(memory, &comparison, changed);
}
