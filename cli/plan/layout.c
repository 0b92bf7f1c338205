/*
 * layout.c - the positions in a plan's picture: ranks are rows, rounds are columns.
 *
 * In its round, each arrow leaves its sender's lifeline at its own height, goes straight ahead
 * under its label, and then up or down to its own height at the receiver. So labels overlap neither
 * each other nor arrows, for every algorithm.
 */
#include "cli/plan/internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"

#define LEFT           78.0
#define TOP            104.0
#define ROW_LEAST      44.0
#define ROW_GAP        18.0
#define COLUMN_LEAST   84.0
#define COLUMN_GAP     14.0
#define CROSSING_LEAST 46.0
#define CROSSINGS_MOST 1200.0 /* of all rounds together */
#define LETTER         6.1    /* a letter of a label */
#define LETTER_BELOW   4.9    /* and of the line below it */
#define PORT           13.0   /* from one arrow's end to the next, with a label between them */
#define PORT_DOUBLE    22.0   /* with a second line below the label */
#define PORT_DENSE     3.0
/* A round is dense if it has more messages in all, and more of one rank. */
#define MESSAGES_CLEAR 64
#define SENDS_CLEAR    8

/* One end of a message. */
struct end {
    struct flight *flight;
    int rank, round, peer, lane;
    bool arrives;
};

static int end_compare(const void *left, const void *right)
{
    const struct end *a = left, *b = right;
    const int keys[][2] = {{a->arrives, b->arrives},
                           {a->rank, b->rank},
                           {a->round, b->round},
                           {a->peer, b->peer},
                           {a->lane, b->lane}};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (keys[i][0] != keys[i][1])
            return keys[i][0] < keys[i][1] ? -1 : 1;
    return (a->flight > b->flight) - (a->flight < b->flight);
}

static bool ends_together(const struct end *a, const struct end *b)
{
    return a->arrives == b->arrives && a->rank == b->rank && a->round == b->round;
}

/* Both ends of all messages, sorted by direction, rank, round and peer. */
static struct end *ends_sort(struct flow *flow)
{
    struct end *ends = arena_take(flow->joint->memory, (2 * flow->count + 1) * sizeof *ends);
    for (size_t i = 0; ends && i < flow->count; i++) {
        struct flight *f = &flow->flights[i];
        ends[2 * i] = (struct end){f, f->from, f->leaves, f->to, f->lane, false};
        ends[2 * i + 1] = (struct end){f, f->to, f->arrives, f->from, f->lane, true};
    }
    if (ends)
        qsort(ends, 2 * flow->count, sizeof *ends, end_compare);
    return ends;
}

static size_t ends_count(const struct end *ends, size_t from, size_t total)
{
    size_t end = from;
    while (end < total && ends_together(&ends[from], &ends[end]))
        end++;
    return end - from;
}

static double pitch_find(const struct flow *flow)
{
    for (size_t i = 0; i < flow->count; i++) {
        char below[LABEL_SIZE];
        flight_contributions(flow, &flow->flights[i], below);
        if (*below)
            return PORT_DOUBLE;
    }
    return PORT;
}

static double port_pitch(const struct picture *picture, const struct end *end)
{
    return picture->columns[end->round].dense ? PORT_DENSE : picture->pitch;
}

/* The height of a row is that of the most ends that its rank has in a round. */
static void rows_place(const struct flow *flow, const struct end *ends, int rank,
                       struct picture *picture)
{
    size_t total = 2 * flow->count;
    for (int r = 0; r < flow->ranks; r++)
        picture->rows[r] = (struct row){.shown = rank < 0 || r == rank, .height = ROW_LEAST};
    for (size_t i = 0; i < flow->count; i++) {
        const struct flight *f = &flow->flights[i];
        picture->rows[f->from].shown = picture->rows[f->to].shown = true;
        picture->rows[f->from].flights++;
        picture->rows[f->from].elements += f->length;
    }
    for (size_t i = 0, count; i < total; i += count) {
        count = ends_count(ends, i, total);
        struct row *row = &picture->rows[ends[i].rank];
        row->height = fmax(row->height, (double)count * port_pitch(picture, &ends[i]) + ROW_GAP);
    }
    double y = TOP;
    for (int r = 0; r < flow->ranks; r++) {
        struct row *row = &picture->rows[r];
        row->y = y + row->height / 2;
        y += row->shown ? row->height : 0;
    }
    picture->top = TOP;
    picture->bottom = y;
}

static void ends_place(const struct flow *flow, const struct end *ends, struct picture *picture)
{
    size_t total = 2 * flow->count;
    for (size_t i = 0, count; i < total; i += count) {
        count = ends_count(ends, i, total);
        for (size_t k = 0; k < count; k++) {
            const struct end *end = &ends[i + k];
            double y = picture->rows[end->rank].y +
                       ((double)k - (double)(count - 1) / 2) * port_pitch(picture, end);
            *(end->arrives ? &end->flight->land_y : &end->flight->depart_y) = y;
        }
    }
}

static void density_find(const struct flow *flow, const struct end *ends, struct picture *picture)
{
    size_t total = 2 * flow->count;
    for (size_t i = 0; i < flow->count; i++) {
        struct column *column = &picture->columns[flow->flights[i].leaves];
        column->flights++;
        column->elements += flow->flights[i].length;
    }
    for (size_t i = 0, count; i < total; i += count) {
        count = ends_count(ends, i, total);
        struct column *column = &picture->columns[ends[i].round];
        if (count > SENDS_CLEAR && column->flights > MESSAGES_CLEAR)
            column->dense = true;
    }
}

/* Marks. */

static int mark_compare(const void *left, const void *right)
{
    const struct mark *a = left, *b = right;
    const int keys[][2] = {{a->rank, b->rank},
                           {a->round, b->round},
                           {a->after, b->after},
                           {(int)a->kind, (int)b->kind}};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (keys[i][0] != keys[i][1])
            return keys[i][0] < keys[i][1] ? -1 : 1;
    return (a->operation > b->operation) - (a->operation < b->operation);
}

static bool marks_find(const struct flow *flow, int rank, struct picture *picture)
{
    const struct joint_schedule *joint = flow->joint;
    picture->marks = arena_take(joint->memory, (joint->count + 1) * sizeof *picture->marks);
    int round = -1;
    bool received = false;
    for (uint32_t g = 0; picture->marks && g < joint->count; g++) {
        const struct operation *it = joint_operation(joint, g);
        if (it->step != round || g == joint->first[joint->rank[g]])
            received = false;
        round = it->step;
        if (it->kind == OPERATION_RECV || it->kind == OPERATION_RECV_REDUCE)
            received = true;
        if (!operation_travels(it->kind) && (rank < 0 || joint->rank[g] == rank))
            picture->marks[picture->mark_count++] =
                (struct mark){joint->rank[g], round, received, it->kind, g};
    }
    if (picture->marks)
        qsort(picture->marks, picture->mark_count, sizeof *picture->marks, mark_compare);
    return picture->marks;
}

/* The most kinds of marks that a rank has before or after the messages of a round. */
static int marks_most(const struct picture *picture, int round, bool after)
{
    int most = 0, count = 0;
    for (size_t i = 0; i < picture->mark_count; i++) {
        const struct mark *mark = &picture->marks[i];
        if (mark->round != round || mark->after != after)
            continue;
        bool same =
            i && mark[-1].rank == mark->rank && mark[-1].round == round && mark[-1].after == after;
        if (!same)
            count = 1;
        else if (mark[-1].kind != mark->kind)
            count++;
        most = count > most ? count : most;
    }
    return most;
}

/* Columns. */

/* The width of the label, or of the line below it. */
static double flight_width(const struct flow *flow, const struct flight *flight)
{
    char label[LABEL_SIZE], below[LABEL_SIZE];
    flight_label(flow, flight, label);
    label_shorten(label);
    flight_contributions(flow, flight, below);
    label_shorten(below);
    double width = (double)(label_width(label) + (flow->lanes > 1 ? 4 : 0)) * LETTER;
    return fmax(width, (double)label_width(below) * LETTER_BELOW);
}

static double label_room(const struct flow *flow, int round)
{
    double most = 0;
    for (size_t i = 0; i < flow->count; i++)
        if (flow->flights[i].leaves == round)
            most = fmax(most, flight_width(flow, &flow->flights[i]));
    return most;
}

/* Arrows that go far up or down need more width. */
static double crossing_room(const struct flow *flow, int round, bool dense)
{
    double height = 0;
    for (size_t i = 0; i < flow->count; i++)
        if (flow->flights[i].leaves == round)
            height = fmax(height, fabs(flow->flights[i].land_y - flow->flights[i].depart_y));
    return fmin(fmax(height * (dense ? 0.6 : 0.22), CROSSING_LEAST),
                fmax(CROSSINGS_MOST / flow->rounds, CROSSING_LEAST));
}

static void columns_place(const struct flow *flow, struct picture *picture)
{
    double x = LEFT;
    picture->left = x;
    for (int i = 0; i < flow->rounds; i++) {
        struct column *column = &picture->columns[i];
        column->left = x;
        column->before = x + COLUMN_GAP / 2 + (flow->fences[i] ? FENCE_WIDTH : 0);
        column->depart = column->before + 6 + marks_most(picture, i, false) * MARK_PITCH;
        column->cross = column->depart + 8 + (column->dense ? 0 : label_room(flow, i) + 4);
        column->land = column->cross + crossing_room(flow, i, column->dense);
        double behind = 12 + marks_most(picture, i, true) * MARK_PITCH + COLUMN_GAP / 2;
        column->land = fmax(column->land, column->left + COLUMN_LEAST - behind);
        column->after = column->land + 12;
        column->right = x = column->land + behind;
    }
    picture->right = x;
}

enum status picture_place(struct flow *flow, int rank, struct picture *picture)
{
    struct arena *memory = flow->joint->memory;
    size_t rounds = (size_t)flow->rounds + 1;
    *picture = (struct picture){
        .columns = arena_take(memory, rounds * sizeof *picture->columns),
        .rows = arena_take(memory, (size_t)flow->ranks * sizeof *picture->rows),
    };
    struct end *ends = ends_sort(flow);
    if (!picture->columns || !picture->rows || !ends || !marks_find(flow, rank, picture))
        return fail(STATUS_ERROR, "not enough memory for the picture: free some");
    memset(picture->columns, 0, rounds * sizeof *picture->columns);
    picture->pitch = pitch_find(flow);
    density_find(flow, ends, picture);
    rows_place(flow, ends, rank, picture);
    ends_place(flow, ends, picture);
    columns_place(flow, picture);
    return STATUS_OK;
}
