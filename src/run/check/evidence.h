/*
 * evidence.h - a sample of a wrong result, against which hypotheses are tried.
 *
 * It has wrong elements, spread over all that are wrong, and elements between them, right or wrong.
 */
#ifndef CCTEST_RUN_CHECK_EVIDENCE_H
#define CCTEST_RUN_CHECK_EVIDENCE_H

#include "run/check/pattern.h"
#include "dataplane/memory/memory.h"

#define SAMPLES_WRONG 256 /* wrong elements that check_result() keeps, at most */
#define SAMPLES       512 /* of them and of elements between them */

struct sample {
    size_t at; /* destination element */
    bool wrong;
    int source;  /* the rank of the element that belongs there; EVERY_RANK: all, combined */
    size_t from; /* the element of the source(s) */
};

struct evidence {
    const struct pattern *pattern;
    int rank;
    size_t size; /* bytes of an element */
    bool reduces;
    bool is_complete; /* false: there was not enough memory for it */
    size_t count;
    struct sample samples[SAMPLES]; /* ascending */
    _Alignas(16) unsigned char expected[SAMPLES * DATATYPE_SIZE_MOST];
    _Alignas(16) unsigned char got[SAMPLES * DATATYPE_SIZE_MOST];
    /* Reductions: the values of every rank, in this iteration and in the one before; a row of
     * `count` elements for each rank. */
    char *now, *before;
};

/* Takes the samples of a destination in this memory: `wrong[0 .. count)` are wrong elements,
 * ascending. */
enum status evidence_take(struct evidence *evidence, const struct memory *memory,
                          const struct pattern *pattern, int rank, const char *destination,
                          const size_t *wrong, size_t count);
void evidence_free(struct evidence *evidence);

#endif
