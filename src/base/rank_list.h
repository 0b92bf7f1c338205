/*
 * rank_list.h - ranks, as a sentence lists them.
 */
#ifndef CCTEST_BASE_RANK_LIST_H
#define CCTEST_BASE_RANK_LIST_H

#include <stdbool.h>
#include <stddef.h>

#define RANK_LIST_MOST 160

/* Writes "rank 3", or "ranks 0, 1, 2, 3, 4, 5, 6, 7 and 9 more": those for which `listed` is true.
 * What does not fit into `size` bytes (RANK_LIST_MOST are enough) is cut off. Returns `text`. */
char *rank_list_text(const bool *listed, int ranks, char *text, size_t size);

#endif
