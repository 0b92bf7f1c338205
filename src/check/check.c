/*
 * check.c - compares buffers with the contract, element by element, where they lie.
 *
 * The destination is cut into runs that the contract describes as one, and the kind of memory
 * compares each (memory.h, Contents). Of the wrong elements some are kept for diagnose.c, spread
 * evenly over all: which ones follows from their number, so a first pass counts, and a second one,
 * if any are wrong, selects.
 */
#include "check/check.h"

#include <string.h>

#include "check/diagnose.h"

/* A destination, and how it is reached. */
struct destination {
    const struct memory *memory;
    const struct pattern *pattern;
    int rank;
    const char *base;
};

/* The run of the contract that begins at element `at`; false behind the end, or when the job has
 * ended. */
static bool run_at(const struct destination *to, size_t at, struct comparison *run)
{
    struct expectation expectation;
    if (!tick_on(to->memory->tick) || !pattern_expectation(to->pattern, to->rank, at, &expectation))
        return false;
    *run = (struct comparison){.inputs = &to->pattern->inputs,
                               .rank = expectation.rank,
                               .first = expectation.from + (at - expectation.at),
                               .count = expectation.length - (at - expectation.at),
                               .at = to->base + at * to->pattern->inputs.datatype->size};
    return true;
}

/* *run_begin: where the first run with a wrong element begins, if there is one. */
static enum status count_wrong(const struct destination *to, size_t *wrong, size_t *run_begin)
{
    struct comparison run;
    enum status status = STATUS_OK;
    *wrong = *run_begin = 0;
    for (size_t at = 0, more; status == STATUS_OK && run_at(to, at, &run); at += run.count) {
        status = to->memory->kind->compare(to->memory, &run, &more);
        if (status != STATUS_OK || more == 0)
            continue;
        *run_begin = *wrong == 0 ? at : *run_begin;
        *wrong += more;
    }
    return status;
}

/* Wrong elements that are kept: each `stride`-th, and the last. */
struct kept {
    size_t at[SAMPLES_WRONG];
    size_t count, stride;
    size_t seen; /* wrong elements so far */
};

/* Of `wrong` elements in a run that begins at element `at`. */
static enum status keep_from_run(const struct destination *to, const struct comparison *run,
                                 size_t at, size_t wrong, bool is_last, struct kept *kept)
{
    size_t last, before = kept->count, skip = -kept->seen % kept->stride;
    struct selection each = {.skip = skip,
                             .stride = kept->stride,
                             .most = SAMPLES_WRONG - kept->count,
                             .at = kept->at + kept->count};
    struct selection end = {.skip = wrong - 1, .stride = 1, .most = 1, .at = &last};
    enum status status = STATUS_OK;
    if (skip < wrong)
        status = to->memory->kind->select(to->memory, run, &each);
    if (status == STATUS_OK && is_last)
        status = to->memory->kind->select(to->memory, run, &end);
    if (status != STATUS_OK)
        return status;
    kept->seen += wrong;
    kept->count += each.count;
    for (size_t i = before; i < kept->count; i++)
        kept->at[i] += at;
    if (end.count > 0 && (kept->count == 0 || kept->at[kept->count - 1] != at + last)) {
        kept->count -= kept->count == SAMPLES_WRONG;
        kept->at[kept->count++] = at + last;
    }
    return STATUS_OK;
}

/* Of `wrong` elements of the whole destination. */
static enum status keep(const struct destination *to, size_t wrong, struct kept *kept)
{
    struct comparison run;
    enum status status = STATUS_OK;
    *kept = (struct kept){.stride = 1};
    while ((wrong - 1) / kept->stride >= SAMPLES_WRONG)
        kept->stride *= 2;
    for (size_t at = 0, here; status == STATUS_OK && kept->seen < wrong && run_at(to, at, &run);
         at += run.count) {
        status = to->memory->kind->compare(to->memory, &run, &here);
        if (status == STATUS_OK && here > 0)
            status = keep_from_run(to, &run, at, here, kept->seen + here == wrong, kept);
    }
    return status;
}

/* Describes the first wrong element, at `at`. */
static enum status describe(const struct destination *to, size_t at, struct finding *finding)
{
    const struct pattern *pattern = to->pattern;
    size_t size = pattern->inputs.datatype->size;
    struct wrong_element *first = &finding->first;
    finding->kind = FINDING_RESULT;
    finding->iteration = pattern->inputs.iteration;
    finding->root = pattern->problem.root;
    finding->hop_peer = -1;
    first->at = at;
    first->source = EVERY_RANK;
    finding->undiagnosed = true;
    pattern_expect(pattern, to->rank, at, 1, first->expected);
    return to->memory->kind->read(to->memory, to->base + at * size, size, first->got);
}

static enum status explain(const struct destination *to, const struct kept *kept,
                           struct finding *finding)
{
    struct evidence evidence;
    enum status status = evidence_take(&evidence, to->memory, to->pattern, to->rank, to->base,
                                       kept->at, kept->count);
    if (status == STATUS_OK && evidence.is_complete) {
        finding->first.source = evidence.samples[0].source;
        finding->undiagnosed = false;
        diagnose(&evidence, finding);
    }
    evidence_free(&evidence);
    return status;
}

enum status check_result(const struct memory *memory, const struct pattern *pattern, int rank,
                         const void *destination, struct finding *finding)
{
    const struct destination to = {
        .memory = memory, .pattern = pattern, .rank = rank, .base = destination};
    struct kept kept;
    size_t wrong, run_begin;
    memset(finding, 0, sizeof *finding);
    enum status status = count_wrong(&to, &wrong, &run_begin);
    if (status != STATUS_OK || wrong == 0)
        return status;
    finding->wrong = wrong;
    status = keep(&to, wrong, &kept);
    /* None are kept if elements that were wrong are right by now: something still writes there. */
    if (status == STATUS_OK)
        status = describe(&to, kept.count > 0 ? kept.at[0] : run_begin, finding);
    return status == STATUS_OK && kept.count > 0 ? explain(&to, &kept, finding) : status;
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
