/*
 * label.h - what a message carries, as text.
 */
#ifndef CCTEST_CLI_PLAN_LABEL_H
#define CCTEST_CLI_PLAN_LABEL_H

#include "cli/plan/picture.h"

/* What a message carries: "0,2,4", "3-5", "1,3,…,15"; where blocks differ by their origin, those
 * that are not the sender's own as "2→5" (rank 2's block 5). Cut at `LABEL_SIZE`. */
#define LABEL_SIZE 400
void flight_label(const struct flow *flow, const struct flight *flight, char text[LABEL_SIZE]);
/* Whose contributions it has, where collectives combine, and it is more than the sender's: "of
 * 0-2", "of all", "of …" (its elements differ); else "". */
void flight_contributions(const struct flow *flow, const struct flight *flight,
                          char text[LABEL_SIZE]);
/* Cuts a label down to what has room in a picture. */
void label_shorten(char text[LABEL_SIZE]);
/* Characters, not bytes. */
size_t label_width(const char *text);

#endif
