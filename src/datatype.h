/*
 * datatype.h - element types, reduction operators, and the kernels that combine elements.
 */
#ifndef CCTEST_DATATYPE_H
#define CCTEST_DATATYPE_H

#include <stdbool.h>
#include <stddef.h>

/* to[i] = a[i] (+) b[i] for `elements` elements. `to` is equal to `a` or to `b`, or overlaps
 * neither. Pointers are aligned to the element. */
typedef void reduce_function(void *to, const void *a, const void *b, size_t elements);

enum datatype_kind { DATATYPE_SIGNED, DATATYPE_UNSIGNED, DATATYPE_FLOAT };

struct datatype {
    const char *name;       /* "float" */
    const char *aliases[4]; /* "float32", "f32", ..., NULL */
    size_t size;            /* bytes of an element */
    enum datatype_kind kind;
    int exact_bits; /* integers up to 2^exact_bits add without rounding: 24 float, 53 double; the
                       width of the type for integers, which wrap */
};

enum reduction_id { REDUCTION_SUM, REDUCTION_PROD, REDUCTION_MIN, REDUCTION_MAX, REDUCTION_BOR };

struct reduction {
    const char *name; /* "sum" */
    enum reduction_id id;
    bool idempotent; /* x (+) x = x: a contribution may arrive twice (min, max, bor) */
    bool internal;   /* not offered on the command line (bor: the barrier's) */
};

/* The tables, ended by a NULL pointer; the first of each is the default (float, sum). */
extern const struct datatype *const datatypes[];
extern const struct reduction *const reductions[];

/* By name or alias; NULL if unknown. reduction_find finds internal ones too. */
const struct datatype *datatype_find(const char *name);
const struct reduction *reduction_find(const char *name);

/* The kernel, in the best set that this machine has; NULL where the pair makes no sense (bor on
 * floats). */
reduce_function *reduce_kernel(const struct datatype *type, const struct reduction *reduction);

/* The sets of instructions that each kernel is compiled for, each a superset of the one before. */
enum kernel_set {
    KERNELS_BASELINE, /* what every machine of the architecture has: on x86-64, SSE2 */
    KERNELS_AVX2,     /* on architectures other than x86-64 the same as the baseline */
};

/* For tests and benchmarks: the best set here, and the kernel of a set up to it. */
enum kernel_set kernel_set_best(void);
reduce_function *reduce_kernel_from(enum kernel_set set, const struct datatype *type,
                                    const struct reduction *reduction);

#endif
