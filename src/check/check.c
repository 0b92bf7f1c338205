/*
 * check.c - compares buffers with the contract, element by element, in bounded memory.
 *
 * Expected values are made a chunk at a time and compared as a whole; only a chunk that differs is
 * looked at more closely. Of the wrong elements some are kept for diagnose.c, spread evenly over
 * all.
 */
#include "check/check.h"

#include <string.h>

#include "check/diagnose.h"

#define CHUNK 16384 /* bytes compared at a time */

/* Every stride-th of the wrong elements, and the last; when it is full, every other one goes. */
struct sampler {
    size_t at[SAMPLES_WRONG];
    size_t count, stride, seen, last;
};

static void sampler_see(struct sampler *sampler, size_t at)
{
    sampler->last = at;
    if (sampler->seen++ % sampler->stride != 0)
        return;
    if (sampler->count == SAMPLES_WRONG) {
        for (size_t i = 0; i < SAMPLES_WRONG / 2; i++)
            sampler->at[i] = sampler->at[2 * i];
        sampler->count = SAMPLES_WRONG / 2;
        sampler->stride *= 2;
    }
    sampler->at[sampler->count++] = at;
}

static void sampler_end(struct sampler *sampler)
{
    if (sampler->at[sampler->count - 1] == sampler->last)
        return;
    sampler->count -= sampler->count == SAMPLES_WRONG;
    sampler->at[sampler->count++] = sampler->last;
}

/* Looks at a chunk that is known to differ. */
static void chunk_look(const struct datatype *type, const char *expected, const char *got,
                       size_t first, size_t count, struct finding *finding, struct sampler *sampler)
{
    struct wrong_element *element = &finding->first;
    for (size_t i = 0; i < count; i++) {
        size_t at = i * type->size;
        if (memcmp(expected + at, got + at, type->size) == 0)
            continue;
        if (finding->wrong++ == 0) {
            element->at = first + i;
            memcpy(element->expected, expected + at, type->size);
            memcpy(element->got, got + at, type->size);
        }
        sampler_see(sampler, first + i);
    }
}

void check_result(const struct pattern *pattern, int rank, const void *destination,
                  struct finding *finding)
{
    const struct datatype *type = pattern->inputs.datatype;
    size_t extent = collective_extent(&pattern->problem, rank, BUFFER_DESTINATION);
    size_t most = CHUNK / type->size;
    const char *got = destination;
    struct sampler sampler = {.stride = 1};
    _Alignas(16) char expected[CHUNK];

    memset(finding, 0, sizeof *finding);
    for (size_t first = 0, count; first < extent; first += count) {
        count = extent - first < most ? extent - first : most;
        const char *chunk = got + first * type->size;
        if (!tick_on(pattern->tick))
            return; /* the job has ended: the result is not needed */
        pattern_expect(pattern, rank, first, count, expected);
        if (memcmp(expected, chunk, count * type->size) != 0)
            chunk_look(type, expected, chunk, first, count, finding, &sampler);
    }
    if (finding->wrong == 0)
        return;

    sampler_end(&sampler);
    finding->kind = FINDING_RESULT;
    finding->iteration = pattern->inputs.iteration;
    finding->root = pattern->problem.root;
    finding->hop_peer = -1;
    struct evidence evidence;
    if (evidence_take(&evidence, pattern, rank, got, sampler.at, sampler.count)) {
        finding->first.source = evidence.samples[0].source;
        diagnose(&evidence, finding);
    } else {
        finding->first.source = EVERY_RANK;
        finding->undiagnosed = true;
    }
    evidence_free(&evidence);
}

size_t check_source(const struct pattern *pattern, int rank, const void *source, size_t first,
                    size_t count)
{
    size_t size = pattern->inputs.datatype->size, most = CHUNK / size, changed = 0;
    const char *now = source;
    _Alignas(16) char input[CHUNK];

    for (size_t end = first + count, part; first < end; first += part) {
        part = end - first < most ? end - first : most;
        if (!tick_on(pattern->tick))
            break;
        const char *chunk = now + first * size;
        inputs_make(&pattern->inputs, rank, first, part, input);
        if (memcmp(input, chunk, part * size) == 0)
            continue;
        for (size_t i = 0; i < part; i++)
            changed += memcmp(input + i * size, chunk + i * size, size) != 0;
    }
    return changed;
}
