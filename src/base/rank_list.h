/*
 * rank_list.h - a list of ranks, for a sentence.
 */
#ifndef CCTEST_BASE_RANK_LIST_H
#define CCTEST_BASE_RANK_LIST_H

#include <stdbool.h>
#include <stddef.h>

#include "base/text.h"

#define RANK_LIST_MOST 200 /* bytes of the longest list, with its 0 */

/* A list under construction. It begins as {0}. */
struct rank_list {
    char numbers[RANK_LIST_MOST];
    int count, runs;
    int first, last; /* the run that may still grow */
    int hidden;      /* ranks that are only counted */
};

/* Ranks come in ascending order. */
void rank_list_put(struct rank_list *list, int rank);

/* Adds "rank 3", or "ranks 0..5, 7, 8, 12 and 9 more". The list is then complete. */
void rank_list_end(struct rank_list *list, struct text *text);

/* The ranks for which `listed` is true, in `size` bytes (RANK_LIST_MOST are enough). Returns
 * `text`. */
char *rank_list_text(const bool *listed, int ranks, char *text, size_t size);

#endif
