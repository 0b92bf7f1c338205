/*
 * core_pairs.h - on which cores of this host two ranks are near to each other, and on which they are not.
 */
#ifndef CCTEST_PREDICT_FIT_CORE_PAIRS_H
#define CCTEST_PREDICT_FIT_CORE_PAIRS_H

#include <sched.h>
#include <stdbool.h>

/* Of the cores that the calling process may use; a cache is one of the third level, or what a package
 * has where there is none. */
struct core_pairs {
    int caches, cache_cores; /* caches, and the cores of the largest */
    bool has_near, has_far;  /* are there two cores of one cache; and of two? */
    cpu_set_t near,
        far; /* the first such pair; and the first cores of the first and the last cache */
};

/* Where hwloc cannot tell: one cache of all CPUs, and no pairs. */
void core_pairs_find(struct core_pairs *pairs);

#endif
