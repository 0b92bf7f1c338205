/*
 * label.h - the contents of a message, as text.
 */
#ifndef CCTEST_CLI_PLAN_LABEL_H
#define CCTEST_CLI_PLAN_LABEL_H

#include "cli/plan/picture.h"

/* The contents of a message: "0,2,4", "3-5", "1,3,…,15". If blocks differ by their origin, a block
 * of another rank than the sender is "2→5" (rank 2's block 5). Cut at `LABEL_SIZE`. */
#define LABEL_SIZE 400
void flight_label(const struct flow *flow, const struct flight *flight, char text[LABEL_SIZE]);
/* If the collective combines, and contributions are not the sender's alone, their ranks: "of 0-2",
 * "of all", "of …" (elements differ); else "". */
void flight_contributions(const struct flow *flow, const struct flight *flight,
                          char text[LABEL_SIZE]);
/* Shortens a label to the width that a picture has for it. */
void label_shorten(char text[LABEL_SIZE]);
/* Characters, not bytes. */
size_t label_width(const char *text);

#endif
