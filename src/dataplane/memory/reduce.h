/*
 * reduce.h - which kernel combines elements of a type by an operator.
 */
#ifndef CCTEST_DATAPLANE_MEMORY_REDUCE_H
#define CCTEST_DATAPLANE_MEMORY_REDUCE_H

#include "dataplane/memory/datatype.h"
#include "dataplane/memory/kernel_set.h"

/* The kernel, in the best set that this machine has. NULL where the operator is not defined for the
 * type (bor on floats). */
reduce_function *reduce_kernel(const struct datatype *type, const struct reduction *reduction);

/* The kernel that finishes the result; NULL unless the reduction finishes. Integers are divided as
 * in C: towards 0. */
finish_function *finish_kernel(const struct datatype *type, const struct reduction *reduction);

/* Why the operator is not defined for the type, and what to choose instead: the end of a sentence.
 * NULL: it is defined. */
const char *reduce_refusal(const struct datatype *type, const struct reduction *reduction);

/* The most ranks for which the result has a meaning: beyond it an average of integers is always
 * 0. */
int reduce_ranks_most(const struct datatype *type, const struct reduction *reduction);

/* For tests and benchmarks: the best set here, and the kernel of a set up to it. */
enum kernel_set kernel_set_best(void);
reduce_function *reduce_kernel_from(enum kernel_set set, const struct datatype *type,
                                    const struct reduction *reduction);
finish_function *finish_kernel_from(enum kernel_set set, const struct datatype *type,
                                    const struct reduction *reduction);

#endif
