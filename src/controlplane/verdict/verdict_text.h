/*
 * verdict_text.h - words for a rank and its place, and the lines and errors of a verdict.
 */
#ifndef CCTEST_CONTROLPLANE_VERDICT_VERDICT_TEXT_H
#define CCTEST_CONTROLPLANE_VERDICT_VERDICT_TEXT_H

#include "base/text.h"
#include "controlplane/verdict/situation.h"

/* Adds "rank 3 (host node1, pid 4711)". */
void put_name(const struct situation *situation, int rank, struct text *text);

/* Adds "phase time, alltoall pairwise, 64K, iteration 12"; "..., start barrier of iteration 12". */
void put_place(const struct situation *situation, int rank, struct text *text);

/* An empty line below the others: at most VERDICT_LINES_MOST + 1. */
struct text verdict_add_line(struct verdict *verdict);

/* An error of a rank, for the report; one that does not fit is left out. */
void verdict_add_error(const struct situation *situation, struct verdict *verdict, int rank,
                       const char *message);

#endif
