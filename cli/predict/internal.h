/*
 * internal.h - for the files of cli/predict/ alone.
 */
#ifndef CCTEST_CLI_PREDICT_INTERNAL_H
#define CCTEST_CLI_PREDICT_INTERNAL_H

#include "base/status.h"
#include "cli/predict/predict.h"
#include "collective/schedule/schedule.h"

/* ---- The load of links as a picture: links are rows, steps are columns. ---- */

/* Draws the most loaded links. A cell's colour says how its bytes by the link's rate compare with
 * what the busiest rank sends in that step; where there are too many steps, a cell is the busiest
 * of several. `title`: what makes the load; `words`: where. Fails as output_put(). */
enum status load_draw(const struct link_load *load, const char *title, const char *words,
                      const char *path);

/* ---- load.c ---- */

/* Writes the schedule of one rank of a group after the other, and adds the messages that it sends.
 * `element`: bytes of one. Errors as of schedule_build() and link_load_add(). */
enum status message_load_add(const struct choice *choice, const struct problem *problem,
                             int channels, size_t element, struct link_load *load);

/* ---- Ranks that sit on a topology: --topology and --place. ---- */

struct placed_ranks {
    struct topology *topology;
    const char *spec, *place; /* as the user gave them */
    int ranks;
    int *end;  /* of each rank */
    int *host; /* of each rank */
};

#endif
