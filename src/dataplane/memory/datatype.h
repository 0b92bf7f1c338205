/*
 * datatype.h - element types, reduction operators, and the functions that combine elements.
 */
#ifndef CCTEST_DATAPLANE_MEMORY_DATATYPE_H
#define CCTEST_DATAPLANE_MEMORY_DATATYPE_H

#include <stdbool.h>
#include <stddef.h>

/* to[i] = a[i] (+) b[i] for `elements` elements. `to` is equal to `a` or to `b`, or overlaps
 * neither. Pointers are aligned to the element (pairs: to its value). */
typedef void reduce_function(void *to, const void *a, const void *b, size_t elements);

/* Finishes a result: to[i] = from[i] / ranks. `to` is equal to `from`, or does not overlap it. */
typedef void finish_function(void *to, const void *from, size_t elements, int ranks);

enum datatype_id {
    TYPE_FLOAT,
    TYPE_DOUBLE,
    TYPE_FLOAT16,
    TYPE_BFLOAT16,
    TYPE_E4M3,
    TYPE_E5M2,
    TYPE_INT8,
    TYPE_INT16,
    TYPE_INT32,
    TYPE_INT64,
    TYPE_UINT8,
    TYPE_UINT16,
    TYPE_UINT32,
    TYPE_UINT64,
    TYPE_FLOAT_INT32,
    TYPE_INT32_INT32,
    TYPE_DOUBLE_INT64,
    TYPE_INT64_INT64,
};
#define DATATYPES          (TYPE_INT64_INT64 + 1)
#define DATATYPE_SIZE_MOST 16 /* bytes of the largest element */

/* A pair is a value followed by a signed index of the same size, without padding. */
enum datatype_kind { DATATYPE_SIGNED, DATATYPE_UNSIGNED, DATATYPE_FLOAT, DATATYPE_PAIR };

struct datatype {
    const char *name;       /* "float" */
    const char *aliases[6]; /* "float32", "f32", ..., NULL */
    enum datatype_id id;
    size_t size; /* bytes of an element */
    enum datatype_kind kind;
    int exact_bits; /* integers up to 2^exact_bits add without rounding: 24 float, 53 double; the
                       width of the type for integers, which wrap; 0 for pairs */
};

enum reduction_id {
    REDUCTION_SUM,
    REDUCTION_PROD,
    REDUCTION_MAX,
    REDUCTION_MIN,
    REDUCTION_AVG,
    REDUCTION_LAND,
    REDUCTION_LOR,
    REDUCTION_LXOR,
    REDUCTION_BAND,
    REDUCTION_BOR,
    REDUCTION_BXOR,
    REDUCTION_MAXLOC,
    REDUCTION_MINLOC,
};
#define REDUCTIONS (REDUCTION_MINLOC + 1)

struct reduction {
    const char *name; /* "sum" */
    enum reduction_id id;
    bool idempotent; /* x (+) x = x: a contribution may arrive twice (min, max, bor, ...) */
    bool cancels;    /* y (+) x (+) x = y: one that enters twice looks like a missing one */
    bool finishes;   /* the result is divided by the number of ranks at the end (avg) */
};

/* The tables, ended by a NULL pointer; the first of each is the default (float, sum). */
extern const struct datatype *const datatypes[];
extern const struct reduction *const reductions[];

/* By name or alias; NULL if unknown. */
const struct datatype *datatype_find(const char *name);
const struct reduction *reduction_find(const char *name);

/* Writes a value as people read it: "1.5", "-3", "(2.5, 7)". */
void datatype_print(const struct datatype *type, const void *value, char *text, size_t size);

#endif
