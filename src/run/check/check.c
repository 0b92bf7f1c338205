/*
 * check.c - compares buffers with the contract, element by element, where they lie.
 *
 * The destination is cut into runs that the contract describes as one, and the kind of memory
 * compares each (memory.h, Contents). Of the wrong elements some are kept for diagnose.c, spread
 * evenly over all: which ones follows from their number, so a first pass counts, and a second one,
 * if any are wrong, selects.
 */
#include "run/check/internal.h"

#include <stdlib.h>
#include <string.h>

/*
 * The results that must come of the inputs, by contract.
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
 * Compares buffers with the contract.
 */
/* A destination, and how it is reached. */
struct destination {
    const struct memory *memory;
    const struct pattern *pattern;
    int rank;
    const char *base;
};

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
    enum status status = STATUS_OK;
    *wrong = 0;
    for (size_t at = 0, more; status == STATUS_OK && run_at(to, at, &run); at += run.count) {
        status = to->memory->kind->compare(to->memory, &run, &more);
        *wrong += status == STATUS_OK ? more : 0;
    }
    return status;
}

/* Wrong elements that are kept: each `stride`-th, and the last. */
struct kept {
    size_t at[SAMPLES_WRONG];
    size_t count, stride;
    size_t seen, last; /* wrong elements so far, and the last of them */
};

/* Those of a run that begins at element `at`. */
static enum status keep_from_run(const struct destination *to, const struct comparison *run,
                                 size_t at, struct kept *kept)
{
    struct selection selection = {.skip = -kept->seen % kept->stride, /* a power of two */
                                  .stride = kept->stride,
                                  .most = SAMPLES_WRONG - kept->count,
                                  .at = kept->at + kept->count};
    enum status status = to->memory->kind->select(to->memory, run, &selection);
    if (status != STATUS_OK || selection.wrong == 0)
        return status;
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
    enum status status = STATUS_OK;
    *kept = (struct kept){.stride = 1};
    while ((wrong - 1) / kept->stride >= SAMPLES_WRONG)
        kept->stride *= 2;
    for (size_t at = 0; status == STATUS_OK && run_at(to, at, &run); at += run.count)
        status = keep_from_run(to, &run, at, kept);
    if (kept->count > 0 && kept->at[kept->count - 1] != kept->last) {
        kept->count -= kept->count == SAMPLES_WRONG;
        kept->at[kept->count++] = kept->last;
    }
    return status;
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
    enum status status =
        evidence_take(evidence, memory, pattern, to->rank, to->base, kept->at, kept->count);
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

enum status check_result(const struct memory *memory, const struct pattern *pattern, int rank,
                         const void *destination, struct finding *finding)
{
    const struct destination to = {
        .memory = memory, .pattern = pattern, .rank = rank, .base = destination};
    struct kept kept = {.count = 0};
    size_t wrong;
    memset(finding, 0, sizeof *finding);
    enum status status = count_wrong(&to, &wrong);
    if (status == STATUS_OK && wrong > 0)
        status = keep(&to, wrong, &kept);
    if (status != STATUS_OK || wrong == 0 || !tick_on(memory->tick))
        return status; /* also when the job has ended: what was counted then means nothing */
    finding->kind = FINDING_RESULT;
    finding->iteration = pattern->inputs.iteration;
    finding->root = pattern->problem.root;
    finding->hop_peer = -1;
    finding->wrong = wrong;
    finding->first.source = EVERY_RANK;
    finding->diagnosis = DIAGNOSIS_OVERTAKEN;
    return kept.count > 0 ? explain(&to, &kept, finding) : STATUS_OK;
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
