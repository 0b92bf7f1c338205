/*
 * internal.h - for the files of cli/plan/ alone.
 */
#ifndef CCTEST_CLI_PLAN_INTERNAL_H
#define CCTEST_CLI_PLAN_INTERNAL_H

#include <jansson.h>
#include <stdio.h>

#include "base/status.h"
#include "cli/plan/plan.h"
#include "collective/schedule/schedule.h"
#include "dataplane/memory/datatype.h"

/* ---- The messages of all ranks' schedules, and their contents. ---- */

/* `schedules[r]` is rank r's, all of `problem`; they must live longer than the flow. STATUS_USAGE:
 * too much for a picture; STATUS_ERROR: the messages of sends and receives do not match. */
enum status flow_trace(const struct schedule *const *schedules, const struct problem *problem,
                       struct flow *flow);
/* Keeps only the messages that `rank` sends or receives. */
void flow_keep(struct flow *flow, int rank);
void flow_free(struct flow *flow);

/* ---- The contents of a message, as text. ---- */

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

/* ---- Places ranks, rounds, messages and marks in a plan's picture. ---- */

/* Places ranks, rounds, marks and the ends of all flights. `rank`: the only one shown, or -1. The
 * flow owns the memory. */
void picture_place(struct flow *flow, int rank, struct picture *picture);

/* ---- Notes and legend below a plan's picture. ---- */

/* Notes and legend, from `y` on. Returns where it ends. */
double legend_draw(const struct drawing *d, double y);

/* ---- A plan as text, schedule by schedule. ---- */

/* One line an operation, grouped by steps; with `waits`, also what each operation waits for. */
void plan_print(const struct schedule *schedule, bool waits);

/* "source[0..2), scratch[3..4)" */
void plan_print_message(FILE *out, struct message message);

/* ---- Draws all ranks' schedules as one SVG file. ---- */

/* Draws all ranks' schedules into one SVG file (output_put). `rank`: the only rank whose
 * messages are drawn, or -1. `title` and `summary` are printed above the picture. STATUS_USAGE if
 * the plan is too large for a picture. */
enum status plan_draw(const struct schedule *const *schedules, const struct problem *problem,
                      int rank, const char *title, const char *summary, const char *path);

#endif
