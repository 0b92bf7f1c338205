/*
 * load_svg.h - the load of links as a picture: links are rows, steps are columns.
 */
#ifndef CCTEST_CLI_PREDICT_LOAD_SVG_H
#define CCTEST_CLI_PREDICT_LOAD_SVG_H

#include "predict/topology/link_load.h"

/* Draws the most loaded links. A cell's colour says how its bytes by the link's rate compare with
 * what the busiest rank sends in that step; where there are too many steps, a cell is the busiest of
 * several. `title`: what makes the load; `words`: where. Fails as output_put(). */
enum status load_draw(const struct link_load *load, const char *title, const char *words,
                      const char *path);

#endif
