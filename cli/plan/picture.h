/*
 * picture.h - what the parts of a plan's picture share: the messages with what they carry
 * (flow.c, label.c), where everything is placed (layout.c), the drawing itself
 * (svg.c) and its legend (legend.c).
 */
#ifndef CCTEST_CLI_PLAN_PICTURE_H
#define CCTEST_CLI_PLAN_PICTURE_H

#include "base/status.h"
#include "cli/plan/plan.h"
#include "prove/joint_schedule.h"

/* What a place in memory holds: which element of the problem, and whose. */
struct cell {
    uint32_t number; /* as labels write it */
    uint32_t origin; /* rank that it started at */
    uint64_t of;     /* ranks that contributed, as bits */
};

/* One message. */
struct flight {
    uint32_t send, recv; /* its operations, in the ensemble's numbering */
    int from, to, lane;
    int leaves, arrives; /* rounds */
    size_t length;       /* elements */
    struct cell *cells;
    double depart_y, land_y; /* see struct column */
};

/* All ranks' schedules, run once to see what travels. */
struct flow {
    struct joint_schedule *joint;
    const struct problem *problem;
    struct flight *flights;
    size_t count;
    int ranks, rounds, lanes;
    bool origins;             /* elements of one number, but of different ranks, are different */
    uint64_t *fences;         /* [round]: ranks, as bits, of which a fence stands before it */
    struct cell *spare_cells; /* room for the longest message, for whoever needs it */
    uint32_t *spare_numbers;
};

/* `schedules[r]` is rank r's, all of `problem`; they must outlive the flow. Fails with STATUS_USAGE
 * if it is too much for a picture, with STATUS_ERROR if messages do not meet. */
enum status flow_trace(const struct schedule *const *schedules, const struct problem *problem,
                       struct flow *flow);
/* Keeps only the messages that `rank` sends or receives. */
void flow_keep(struct flow *flow, int rank);
void flow_free(struct flow *flow);

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

/* One local operation, where it is marked. */
struct mark {
    int rank, round;
    bool after; /* behind what arrives in the round, not before it */
    enum operation_kind kind;
    uint32_t operation; /* in the ensemble's numbering */
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
    struct mark *marks; /* by rank, round, place and kind */
    size_t mark_count;
    double pitch;                    /* from one arrow's end to the next */
    double left, right, top, bottom; /* of the lifelines */
};

/* Places everything, and the ends of all flights; `rank`: the only one of interest, or -1. The
 * flow owns the memory. */
enum status picture_place(struct flow *flow, int rank, struct picture *picture);

#define MARK_PITCH  22.0 /* from one mark to the next */
#define FENCE_WIDTH 8.0

struct drawing {
    FILE *out;
    const struct flow *flow;
    struct picture picture;
    int only; /* rank, or -1 */
};

/* One line of text; `attributes`: as they stand in the element, or "". */
void put_line(const struct drawing *d, double x, double y, const char *attributes,
              const char *format, ...) __attribute__((format(printf, 5, 6)));
/* Where a message leaves: a shape for each lane. */
void put_dot(FILE *out, double x, double y, int lane);
/* An arrow's head that points to (x, y), coming from (from_x, from_y); if the message is combined,
 * with a plus in a circle before it. */
void put_head(FILE *out, double from_x, double from_y, double x, double y, bool combined,
              double size);
/* The mark of `count` local operations, in the middle of the height. */
void put_box(const struct drawing *d, double x, double y, enum operation_kind kind, size_t count);

/* Notes and legend, from `y` on. Returns where it ends. */
double legend_draw(const struct drawing *d, double y);

#endif
