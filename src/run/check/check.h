/*
 * check.h - compares a result with the contract, and explains what is wrong from the data alone.
 *
 * check_result() compares every element. When some are wrong, it tries simple hypotheses: the
 * contribution of rank 2 is missing, or that of ranks 2..4; rank 5's is stale; a block came from
 * rank 3 instead of 1; elements were never written; bits of one element are flipped. It keeps the
 * hypotheses that account for every wrong element that it looks at. Several that do make the
 * finding ambiguous.
 */
#ifndef CCTEST_RUN_CHECK_CHECK_H
#define CCTEST_RUN_CHECK_CHECK_H

#include "run/check/finding.h"
#include "run/check/pattern.h"
#include "dataplane/memory/memory.h"

/* Compares `rank`'s destination, which lies in this memory. finding->kind is FINDING_NONE when all
 * is right, or when the job has ended meanwhile. The hop of the finding is the caller's to add. */
enum status check_result(const struct memory *memory, const struct pattern *pattern, int rank,
                         const void *destination, struct finding *finding);

/* Source elements [first, first + count) must still be the input. *changed: how many are not. */
enum status check_source(const struct memory *memory, const struct pattern *pattern, int rank,
                         const void *source, size_t first, size_t count, size_t *changed);

#endif
