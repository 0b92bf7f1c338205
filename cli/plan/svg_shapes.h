/*
 * svg_shapes.h - text, arrow heads, dots, boxes and colours of pictures, and the file around one.
 */
#ifndef CCTEST_CLI_PLAN_SVG_SHAPES_H
#define CCTEST_CLI_PLAN_SVG_SHAPES_H

#include "cli/plan/picture.h"

/* One line of text; `attributes`: as they stand in the element, or "". */
void put_line(FILE *out, double x, double y, const char *attributes, const char *format, ...)
    __attribute__((format(printf, 5, 6)));
/* Where a message leaves: a shape for each lane. */
void put_dot(FILE *out, double x, double y, int lane);
/* The head of an arrow between two points; if the message is combined, with a plus in a circle
 * before it. */
struct point {
    double x, y;
};
void put_head(FILE *out, struct point from, struct point to, bool combined, double size);
/* The mark of `count` local operations, in the middle of the height. */
void put_box(const struct drawing *d, double x, double y, enum operation_kind kind, size_t count);

/* "#rrggbb", one for each rank. */
struct colour {
    char text[8];
};
struct colour rank_colour(const struct drawing *d, int rank);

const char *plural(size_t count); /* "s", or "" for 1 */

/* Around a picture. `style`: CSS. In pixels. */
struct svg_frame {
    const char *title, *style;
    double width, height;
};

/* Writes the file of a picture whose elements are `body`; NULL: memory ran out when it was drawn.
 * Fails as output_put(). */
enum status svg_put(const struct svg_frame *frame, const char *body, const char *path);

#endif
