/*
 * plan.h - the interface of cli/plan/.
 */
#ifndef CCTEST_CLI_PLAN_PLAN_H
#define CCTEST_CLI_PLAN_PLAN_H

#include <stdbool.h>
#include <stdio.h>

#include "base/io/io.h"
#include "collective/prove/prove.h"

/* ---- The structs that the parts of a plan's picture share: messages and their contents
 * (flow.c), the layout and its legend (layout.c), and the drawing (svg.c).
 * ---- */

/* A larger picture is unreadable. */
#define PICTURE_RANKS_MOST    64
#define PICTURE_MESSAGES_MOST 10000

/* The contents of an element of memory: an element of the problem, and its origin. */
struct cell {
    uint32_t number;       /* as printed in labels */
    uint32_t origin;       /* rank that it started at */
    uint64_t contributors; /* ranks that contributed, as bits */
};

/* One message. */
struct flight {
    uint32_t send, recv; /* its operations, in the joint schedule's numbering */
    int from, to, lane;
    int leaves, arrives; /* rounds */
    size_t length;       /* elements */
    struct cell *cells;
    double depart_y, land_y; /* see struct column */
};

/* All ranks' schedules, run once to find the contents of messages. */
struct flow {
    struct joint_schedule *joint;
    const struct problem *problem;
    struct flight *flights;
    size_t count;
    int ranks, rounds, lanes;
    bool origins;             /* elements of equal number differ if their ranks do */
    uint64_t *fences;         /* [round]: ranks with a fence before it, as bits */
    struct cell *spare_cells; /* temporary: as many as the longest message has */
    uint32_t *spare_numbers;
};

/* The mark of one local operation. */
struct mark {
    int rank, round;
    bool after; /* after the round's receives, not before them */
    enum operation_kind kind;
    uint32_t operation; /* in the joint schedule's numbering */
};

/* A round. All in pixels. */
struct column {
    double left, right;
    double before, after; /* where marks begin */
    double depart;        /* arrows leave the lifeline ... */
    double cross;         /* ... go up or down from here, the label being between ... */
    double land;          /* ... and arrive */
    bool dense;           /* too many messages for labels */
    size_t flights, elements;
};

/* A rank. */
struct row {
    bool shown;
    double y, height; /* of its lifeline; around it */
    size_t flights, elements;
};

struct picture {
    struct column *columns;
    struct row *rows;
    struct mark *marks; /* sorted by rank, round, `after` and kind */
    size_t mark_count;
    double pitch;                    /* from one arrow's end to the next */
    double left, right, top, bottom; /* of the lifelines */
};

#define MARK_PITCH  22.0 /* from one mark to the next */
#define FENCE_WIDTH 8.0

struct drawing {
    FILE *out;
    const struct flow *flow;
    struct picture picture;
    int only; /* rank, or -1 */
};

/* ---- svg.c ---- */

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

/* Around a picture. `style`: CSS. In pixels. */
struct svg_frame {
    const char *title, *style;
    double width, height;
};

/* Writes the file of a picture whose elements `body` has, and closes that. Fails as draft_put(). */
enum status svg_put(const struct svg_frame *frame, struct draft *body, const char *path);

#endif
