/*
 * hypothesis_search.h - tries all hypotheses on a stretch of samples.
 */
#ifndef CCTEST_RUN_CHECK_HYPOTHESIS_SEARCH_H
#define CCTEST_RUN_CHECK_HYPOTHESIS_SEARCH_H

#include "run/check/hypothesis.h"

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
