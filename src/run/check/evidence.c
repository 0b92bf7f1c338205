/*
 * evidence.c - takes samples of a wrong result: wrong elements, and elements between them.
 */
#include "run/check/check.h"

#include <stdlib.h>
#include <string.h>

/* What samples are taken of. */
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
