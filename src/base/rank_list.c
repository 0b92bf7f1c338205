/*
 * rank_list.c - ranks, as a sentence lists them.
 */
#include "base/rank_list.h"

#include <stdio.h>
#include <string.h>

#define SHOWN_MOST 8 /* by number; the others are counted */

char *rank_list_text(const bool *listed, int ranks, char *text, size_t size)
{
    int count = 0, shown = 0;
    for (int rank = 0; rank < ranks; rank++)
        count += listed[rank];
    snprintf(text, size, "%s", count == 1 ? "rank" : "ranks");
    for (int rank = 0; rank < ranks && shown < SHOWN_MOST; rank++) {
        size_t end = strlen(text);
        if (listed[rank])
            snprintf(text + end, size - end, "%s %d", shown++ ? "," : "", rank);
    }
    size_t end = strlen(text);
    if (count > shown)
        snprintf(text + end, size - end, " and %d more", count - shown);
    return text;
}
