/*
 * evidence.c - takes samples of a wrong result: wrong elements, and elements between them.
 */
#include "check/evidence.h"

#include <stdlib.h>
#include <string.h>

/* Adds destination element `at` to the samples. */
static void evidence_add(struct evidence *evidence, const char *destination, size_t at)
{
    const struct pattern *pattern = evidence->pattern;
    struct expectation expectation;
    if (!pattern_expectation(pattern, evidence->rank, at, &expectation))
        return;
    size_t size = evidence->size, index = evidence->count++;
    unsigned char *expected = evidence->expected + index * size;
    unsigned char *got = evidence->got + index * size;
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

bool evidence_take(struct evidence *evidence, const struct pattern *pattern, int rank,
                   const char *destination, const size_t *wrong, size_t count)
{
    evidence->pattern = pattern;
    evidence->rank = rank;
    evidence->size = pattern->inputs.datatype->size;
    evidence->reduces = pattern->inputs.reduction != NULL;
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
