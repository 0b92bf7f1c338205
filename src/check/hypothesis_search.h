/*
 * hypothesis_search.h - tries all hypotheses on a stretch of samples.
 */
#ifndef CCTEST_CHECK_HYPOTHESIS_SEARCH_H
#define CCTEST_CHECK_HYPOTHESIS_SEARCH_H

#include "check/hypothesis.h"

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
