/*
 * internal.h - for the files of run/check/ alone.
 */
#ifndef CCTEST_RUN_CHECK_INTERNAL_H
#define CCTEST_RUN_CHECK_INTERNAL_H

#include "run/check/check.h"

/* ---- Explains a wrong result from the data alone. ---- */

/* Fills in the explanations of the finding and what they leave unexplained. `evidence` has at least
 * one wrong sample. */
void diagnose(const struct evidence *evidence, struct finding *finding);

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
