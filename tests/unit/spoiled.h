/*
 * spoiled.h - what the tests of checking share: a right result, ways to spoil it, and what must be
 * said of it then.
 */
#ifndef CCTEST_TEST_SPOILED_H
#define CCTEST_TEST_SPOILED_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "run/check/check.h"
#include "card_memory.h"

/* A rank's destination with the right result in it, to be spoiled. */
struct bench {
    struct pattern pattern;
    int rank;
    size_t size, count; /* bytes of an element; elements of the destination */
    char *destination, *right;
    struct finding finding;
    char sentence[1024]; /* the finding in words */
};

static const struct memory in_host = {.kind = &memory_host};
static const struct memory in_card = {.kind = &(const struct memory_kind){CARD_HOOKS}};

static inline void bench_open(struct bench *bench, const char *collective, const char *type,
                              const char *operator, int ranks, int rank, size_t count)
{
    *bench = (struct bench){
        .pattern = {.problem = {.collective = collective_find(collective),
                                .ranks = ranks,
                                .count = count},
                    .inputs = {.datatype = datatype_find(type),
                               .reduction = operator? reduction_find(operator) : NULL,
                               .ranks = ranks,
                               .seed = 42,
                               .iteration = 7}},
        .rank = rank,
    };
    bench->size = bench->pattern.inputs.datatype->size;
    bench->count = collective_extent(&bench->pattern.problem, rank, BUFFER_DESTINATION);
    bench->destination = malloc(bench->count * bench->size);
    bench->right = malloc(bench->count * bench->size);
    assert_non_null(bench->destination);
    assert_non_null(bench->right);
    pattern_expect(&bench->pattern, rank, 0, bench->count, bench->right);
    memcpy(bench->destination, bench->right, bench->count * bench->size);
}

static inline char *bench_at(struct bench *bench, size_t element)
{
    return bench->destination + element * bench->size;
}

/* Words the finding as rank 0 does, from what travels. */
static inline void bench_say(struct bench *bench)
{
    const struct diagnosis_context context = {.collective = bench->pattern.problem.collective,
                                              .datatype = bench->pattern.inputs.datatype,
                                              .reduction = bench->pattern.inputs.reduction,
                                              .ranks = bench->pattern.problem.ranks};
    struct text text = text_in(bench->sentence, sizeof bench->sentence);
    struct bytes bytes = {0};
    struct finding finding;
    finding_code(codec_to(&bytes), context.ranks, &bench->finding);
    struct reader reader = {.at = bytes.data, .left = bytes.size};
    finding_code(codec_from(&reader), context.ranks, &finding);
    assert_false(reader.bad);
    assert_int_equal(reader.left, 0);
    struct finding_group group = finding_group_of_rank(&finding, &bench->rank);
    if (finding.kind != FINDING_NONE)
        diagnosis_text(&text, &group, &context, DETAIL_SUSPECTS);
    bytes_free(&bytes);
}

/* The same finding comes of a copy in memory that no CPU reads. */
static inline void bench_check_in_card(struct bench *bench)
{
    struct region region;
    struct finding finding;
    assert_int_equal(card_allocate(in_card.kind, bench->count * bench->size + 1, &region),
                     STATUS_OK);
    assert_int_equal(
        card_write(&in_card, bench->destination, bench->count * bench->size, region.base),
        STATUS_OK);
    assert_int_equal(check_result(&in_card, &bench->pattern, bench->rank, region.base, &finding),
                     STATUS_OK);
    struct bytes there = {0}, here = {0}; /* without padding */
    finding_code(codec_to(&there), bench->pattern.problem.ranks, &finding);
    finding_code(codec_to(&here), bench->pattern.problem.ranks, &bench->finding);
    assert_int_equal(there.size, here.size);
    assert_memory_equal(there.data, here.data, here.size);
    bytes_free(&there);
    bytes_free(&here);
    card_release(&region);
}

/* Checks, and compares the number of wrong elements with a plain count. */
static inline const char *bench_check(struct bench *bench)
{
    size_t wrong = 0, first = 0;
    for (size_t i = bench->count; i-- > 0;) {
        if (memcmp(bench_at(bench, i), bench->right + i * bench->size, bench->size) != 0) {
            wrong++;
            first = i;
        }
    }
    assert_int_equal(
        check_result(&in_host, &bench->pattern, bench->rank, bench->destination, &bench->finding),
        STATUS_OK);
    bench_check_in_card(bench);
    assert_int_equal(bench->finding.wrong, wrong);
    assert_int_equal(bench->finding.first.at, first);
    bench_say(bench);
    return bench->sentence;
}

static inline void bench_close(struct bench *bench)
{
    free(bench->destination);
    free(bench->right);
}

/* Reductions: the contributions of the ranks in `set` (bits) enter as `how` says. */
static inline void spoil(struct bench *bench, size_t first, size_t count, uint64_t set,
                         enum contribution how)
{
    unsigned char entries[64];
    for (int rank = 0; rank < bench->pattern.problem.ranks; rank++)
        entries[rank] = (unsigned char)(set >> rank & 1 ? how : CONTRIBUTION_ONCE);
    struct expectation expectation;
    assert_true(pattern_expectation(&bench->pattern, bench->rank, first, &expectation));
    assert_true(inputs_combine(&bench->pattern.inputs, entries,
                               expectation.from + first - expectation.at, count,
                               bench_at(bench, first)));
}

static inline void expect_hypothesis(struct bench *bench, const char *part)
{
    const char *hypothesis = bench_check(bench);
    if (!strstr(hypothesis, part) || strstr(hypothesis, "ambiguous: either "))
        fail_msg("%s %s, %d ranks: expected \"%s\", got \"%s\"",
                 bench->pattern.inputs.datatype->name,
                 bench->pattern.inputs.reduction ? bench->pattern.inputs.reduction->name : "moved",
                 bench->pattern.problem.ranks, part, hypothesis);
}

#endif
