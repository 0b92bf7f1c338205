/*
 * internal.h - for the files of run/check/ alone.
 */
#ifndef CCTEST_RUN_CHECK_INTERNAL_H
#define CCTEST_RUN_CHECK_INTERNAL_H

#include "run/check/check.h"

/* ---- A sample of a wrong result, against which hypotheses are tried.
 *
 * It has wrong elements, spread over all that are wrong, and elements between them, right or wrong.
 * ---- */

#define SAMPLES_WRONG 256 /* wrong elements that check_result() keeps, at most */
#define SAMPLES       512 /* of them and of elements between them */

/* A destination, and how it is reached. */
struct destination {
    const struct memory *memory;
    const struct pattern *pattern;
    int rank;
    const char *base;
};

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

/* Reads the first of wrong[0 .. count), ascending, in the order of the evidence. `all`: they are
 * all wrong elements. Those that have changed meanwhile are left out. */
enum status iteration_evidence_take(const struct destination *to, const size_t *wrong, size_t count,
                                    bool all, struct iteration_evidence *evidence);

/* A wrong element as it travels. */
void element_code(struct codec codec, int ranks, struct wrong_element *element);

/* ---- Sets of ranks, and hypotheses about them. ---- */

/* `ranks`: of the job. */
bool rank_set_has(const struct rank_set *set, int rank, int ranks);
int rank_set_size(const struct rank_set *set, int ranks);

/* The first rank that is in the set (`in`), or that is not. The last rank where there is none. */
int rank_set_first(const struct rank_set *set, int ranks, bool in);

/* Does `outer` have all ranks of `inner`? */
bool rank_set_within(const struct rank_set *inner, const struct rank_set *outer, int ranks);

/* Do both say the same, wherever the elements come from and belong (`source`, `instead`)? */
bool hypothesis_same(const struct hypothesis *a, const struct hypothesis *b);

/* ---- Tries all hypotheses on a stretch of samples. ---- */

#define HYPOTHESES_MOST 4096

/* The hypotheses that reach farthest from the wrong sample `first`. */
struct hypotheses {
    size_t reach;  /* samples; 0: there is none */
    size_t count;  /* of hypotheses that reach so far, at most HYPOTHESES_MOST */
    double tried;  /* how many were tried: the more, the more fit by chance */
    bool at_least; /* larger sets of ranks fit too: the ranks that they add decide no sample */
    struct hypothesis *hypotheses;
};

/* False: out of memory. the caller calls hypotheses_free(). */
bool hypothesis_search(const struct evidence *evidence, size_t first,
                       struct hypotheses *hypotheses);
void hypotheses_free(struct hypotheses *hypotheses);

#endif
