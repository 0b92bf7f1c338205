/*
 * hypothesis.h - what may have happened to a result, and the evidence against which that is tried.
 *
 * Evidence is a sample of the destination: wrong elements, spread over all that are wrong, and
 * elements between them, right or wrong. A story predicts what each of them would hold. It explains
 * a wrong sample if it predicts the very bytes that were got; it is contradicted by a right sample
 * for which it predicts a difference. Blame (diagnose.c) tries stories on stretches of samples and
 * tells the result.
 */
#ifndef CCTEST_CHECK_HYPOTHESIS_H
#define CCTEST_CHECK_HYPOTHESIS_H

#include "check/pattern.h"

#define SAMPLES_WRONG 256 /* wrong elements that check_result() keeps, at most */
#define SAMPLES       512 /* of them and of elements between them */

struct sample {
    size_t at; /* destination element */
    bool wrong;
    int source;  /* whose element it must be; EVERY_RANK: all ranks', combined */
    size_t from; /* the element of the source(s) */
};

struct evidence {
    const struct pattern *pattern;
    int rank;
    size_t wrong; /* wrong elements in the whole destination */
    size_t size;  /* bytes of an element */
    bool reduces;
    size_t count;
    struct sample samples[SAMPLES]; /* ascending */
    _Alignas(16) char expected[SAMPLES * DATATYPE_SIZE_MOST];
    _Alignas(16) char got[SAMPLES * DATATYPE_SIZE_MOST];
    /* Reductions: the values of every rank, in this iteration and in the one before; a row of
     * `count` elements for each rank. */
    char *now, *before;
};

/* Takes the samples: `wrong[0 .. count)` are wrong elements, ascending. False: out of memory. */
bool evidence_take(struct evidence *evidence, const struct pattern *pattern, int rank,
                   const char *destination, const size_t *wrong, size_t count);
void evidence_free(struct evidence *evidence);

/* A set of ranks whose partial result may travel as one message. */
enum set_shape {
    SET_INTERVAL, /* `length` ranks from `first` on, cyclically: rings, trees, near halves first */
    SET_CLASS,    /* ranks that leave `first` when divided by `modulus`: far halves first */
    SET_FOLDED,   /* the same of ranks' places after folding them in pairs to a power of two */
};
struct rank_set {
    enum set_shape shape;
    int first, length, modulus;
    bool inverted; /* all ranks but those */
};
bool set_has(const struct rank_set *set, int rank, int ranks);
int set_size(const struct rank_set *set, int ranks);

enum hypothesis_kind {
    HYPOTHESIS_UNWRITTEN, /* what stood there before the run still stands there (finished, if the
                        operator finishes) */
    HYPOTHESIS_MISSING,   /* the contributions of `set` are missing */
    HYPOTHESIS_DOUBLED,   /* they entered twice */
    HYPOTHESIS_STALE, /* they are those of the iteration before (data movement: the whole element is) */
    HYPOTHESIS_POISONED, /* unwritten memory was combined instead of them */
    HYPOTHESIS_ELSEWHERE, /* it belongs elsewhere: rank `source`'s element `from` + shift stands there */
};

struct hypothesis {
    enum hypothesis_kind kind;
    struct rank_set set; /* reductions */
    int source;          /* HYPOTHESIS_ELSEWHERE: whose it is; EVERY_RANK for reductions */
    int instead;         /* HYPOTHESIS_ELSEWHERE: whose belongs there; the story ends with these */
    int64_t shift;
    bool before; /* HYPOTHESIS_ELSEWHERE: and of the iteration before */
};

/* to = from with the operator's last touch; nothing if it has none. `to` is `from` or apart. */
void hypothesis_finish(const struct evidence *evidence, char *to, const char *from, size_t count);

/* What the story predicts for samples [first, first + count), into `to`. Returns for how many of
 * them it has something to say, from the first on. */
size_t hypothesis_predict(const struct evidence *evidence, const struct hypothesis *hypothesis,
                          size_t first, size_t count, char *to);

/* Samples from `first` on that the story explains without contradiction, up to and including the
 * last wrong one. 0: it does not explain sample `first`, which is wrong. */
size_t hypothesis_reach(const struct evidence *evidence, const struct hypothesis *hypothesis,
                        size_t first);

#define HYPOTHESES_MOST 4096

/* The stories that reach farthest from the wrong sample `first`. */
struct hypotheses {
    size_t reach;  /* samples; 0: there is no such story */
    size_t count;  /* of stories that reach so far, at most HYPOTHESES_MOST */
    double tried;  /* how many stories were tried: what chance had */
    bool at_least; /* larger sets of ranks fit too: those that they add decide no sample */
    struct hypothesis *hypotheses;
};

/* False: out of memory. hypotheses_free() gives the stories back. */
bool hypothesis_search(const struct evidence *evidence, size_t first,
                       struct hypotheses *hypotheses);
void hypotheses_free(struct hypotheses *hypotheses);

#endif
