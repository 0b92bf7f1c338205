/*
 * problems.h - makes problems for tests that run all algorithms.
 */
#ifndef CCTEST_TESTS_PROBLEMS_H
#define CCTEST_TESTS_PROBLEMS_H

#include "collective/collective.h"
#include "collective/schedule/schedule.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* Sanitizers are after memory errors, not proofs, and slow: where it is set, tests do less. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#else
#define SANITIZED 0
#endif

/* Does an algorithm serve this collective in this shape? */
static inline bool choice_serves(const struct choice *choice, const struct problem *problem)
{
    char why[256];

    return !choice_refuses(choice, problem, why, sizeof(why));
}

/* Gives a problem the counts that it needs, if any; count is then the mean. Free with
 * counts_free(). */
static inline struct counts *problem_counts(struct problem *problem, const struct choice *choice,
                                            const struct counts_spec *spec)
{
    const struct collective *collective = problem->collective;
    bool matrix = collective->source.blocks && collective->destination.blocks;
    struct counts *counts = NULL;

    if (choice->algorithm->partner)
        assert_int_equal(choice_partners(choice, problem->ranks, &counts), STATUS_OK);
    else if (collective->counted)
        assert_int_equal(counts_create(spec, matrix ? COUNTS_MATRIX : COUNTS_VECTOR, problem->ranks,
                                       problem->count * (size_t)problem->ranks, 1, &counts),
                         STATUS_OK);
    problem->counts = counts;
    return counts;
}

#endif
