/*
 * layout.c - the positions in a plan's picture: ranks are rows, rounds are columns.
 *
 * In its round, each arrow leaves its sender's lifeline at its own height, goes straight ahead
 * under its label, and then up or down to its own height at the receiver. So labels overlap neither
 * each other nor arrows, for every algorithm.
 */
#include "cli/plan/internal.h"

#include "base/numbers.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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
    return COMPARE(a->arrives, b->arrives) ?: COMPARE(a->rank, b->rank)
               ?: COMPARE(a->round, b->round) ?: COMPARE(a->peer, b->peer)
               ?: COMPARE(a->lane, b->lane) ?: COMPARE(a->flight, b->flight);
}

static bool ends_together(const struct end *a, const struct end *b)
{
    return a->arrives == b->arrives && a->rank == b->rank && a->round == b->round;
}

/* Both ends of all messages, sorted by direction, rank, round and peer. */
static struct end *ends_sort(struct flow *flow)
{
    struct end *ends = arena_new(flow->joint->memory, 2 * flow->count + 1, sizeof *ends);
    for (size_t i = 0; i < flow->count; i++) {
        struct flight *f = &flow->flights[i];
        ends[2 * i] = (struct end){f, f->from, f->leaves, f->to, f->lane, false};
        ends[2 * i + 1] = (struct end){f, f->to, f->arrives, f->from, f->lane, true};
    }
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
    return COMPARE(a->rank, b->rank) ?: COMPARE(a->round, b->round)
               ?: COMPARE(a->after, b->after) ?: COMPARE(a->kind, b->kind)
               ?: COMPARE(a->operation, b->operation);
}

static void marks_find(const struct flow *flow, int rank, struct picture *picture)
{
    const struct joint_schedule *joint = flow->joint;
    picture->marks = arena_new(joint->memory, (size_t)joint->count + 1, sizeof *picture->marks);
    int round = -1;
    bool received = false;
    for (uint32_t g = 0; g < joint->count; g++) {
        const struct operation *operation = joint_operation(joint, g);
        if (operation->step != round || g == joint->first[joint->rank[g]])
            received = false;
        round = operation->step;
        if (operation->kind == OPERATION_RECV || operation->kind == OPERATION_RECV_REDUCE)
            received = true;
        if (!operation_travels(operation->kind) && (rank < 0 || joint->rank[g] == rank))
            picture->marks[picture->mark_count++] =
                (struct mark){joint->rank[g], round, received, operation->kind, g};
    }
    qsort(picture->marks, picture->mark_count, sizeof *picture->marks, mark_compare);
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

void picture_place(struct flow *flow, int rank, struct picture *picture)
{
    struct arena *memory = flow->joint->memory;
    const struct end *ends = ends_sort(flow);
    *picture = (struct picture){
        .columns = arena_new(memory, (size_t)flow->rounds + 1, sizeof *picture->columns),
        .rows = arena_new(memory, (size_t)flow->ranks, sizeof *picture->rows),
    };
    marks_find(flow, rank, picture);
    picture->pitch = pitch_find(flow);
    density_find(flow, ends, picture);
    rows_place(flow, ends, rank, picture);
    ends_place(flow, ends, picture);
    columns_place(flow, picture);
}

/*
 * Below a plan's picture: the meaning of the signs that occur, and the rounds without
 * labels.
 */
#define LEGEND_PITCH 20.0
#define NOTE_PITCH   15.0
#define TEXT_LEFT    74.0

/* The rounds without labels. */
static double notes_draw(const struct drawing *d, double y)
{
    for (int i = 0; i < d->flow->rounds; i++)
        if (d->picture.columns[i].dense)
            put_line(d->out, 20, y += NOTE_PITCH, "class=\"note\"",
                     "round %d: labels left out: %zu messages in this round; hover over one to "
                     "read it",
                     i, d->picture.columns[i].flights);
    return y;
}

static void legend_arrow(const struct drawing *d, double y, bool combined, const char *text)
{
    fprintf(d->out,
            "<g class=\"%s\" stroke=\"#444\" fill=\"#444\"><path class=\"line\" "
            "d=\"M20 %.1fH58\"/>",
            combined ? "combined" : "", y);
    put_head(d->out, (struct point){20, y}, (struct point){58, y}, combined, 8);
    fputs("</g>\n", d->out);
    put_line(d->out, TEXT_LEFT, y + 4, "", "%s", text);
}

static const char *label_meaning(const struct drawing *d)
{
    const struct problem *problem = d->flow->problem;
    const struct collective *collective = problem->collective;
    bool vector = !collective->source.blocks && !collective->destination.blocks;
    size_t count = vector && !d->flow->origins ? (size_t)problem->ranks : 1;
    bool blocks = problem->count == count && !collective->counted &&
                  (collective->source.blocks || !d->flow->origins);
    if (d->flow->origins)
        return blocks ? "5: the sender's own block for rank 5;  2→5: rank 2's block for rank 5;  "
                        "1,2→4,5: rank 1's and 2's for ranks 4 and 5"
                      : "5: the sender's own element 5;  2→5: rank 2's element 5;  1,2→4,5: rank "
                        "1's and 2's elements 4 and 5";
    return blocks ? "a label names the blocks that the message carries"
                  : "a label names the elements that the message carries";
}

/* The signs to explain. */
struct signs {
    bool plain, combined, below, fenced, kinds[OPERATION_FINISH + 1];
};

static struct signs signs_find(const struct drawing *d)
{
    const struct flow *flow = d->flow;
    struct signs signs = {.plain = false};
    for (size_t i = 0; i < flow->count; i++) {
        const struct flight *flight = &flow->flights[i];
        char contributions[LABEL_SIZE];
        flight_contributions(flow, flight, contributions);
        signs.below = signs.below || *contributions;
        if (joint_operation(flow->joint, flight->recv)->kind == OPERATION_RECV_REDUCE)
            signs.combined = true;
        else
            signs.plain = true;
    }
    for (int i = 0; i < flow->rounds; i++)
        signs.fenced = signs.fenced || flow->fences[i];
    for (size_t i = 0; i < d->picture.mark_count; i++)
        signs.kinds[d->picture.marks[i].kind] = true;
    return signs;
}

#define LANES_SHOWN 4
#define LANE_PITCH  46.0

static void legend_lanes(const struct drawing *d, double y)
{
    int lanes = d->flow->lanes, shown = lanes < LANES_SHOWN ? lanes : LANES_SHOWN;
    for (int lane = 0; lane < shown; lane++) {
        fputs("<g fill=\"#444\">", d->out);
        put_dot(d->out, 30 + lane * LANE_PITCH, y, lane);
        fputs("</g>\n", d->out);
        put_line(d->out, 38 + lane * LANE_PITCH, y + 4, "class=\"label\" fill=\"#444\"", "L%d%s",
                 lane, lane == shown - 1 && lanes > shown ? " …" : "");
    }
    put_line(d->out, 46 + LANE_PITCH * shown, y + 4, "",
             "lanes: messages of different lanes are not "
             "ordered");
}

static double legend_marks(const struct drawing *d, const struct signs *signs, double y)
{
    static const char *const texts[] = {
        [OPERATION_COPY] = "local copies (with a number: so many)",
        [OPERATION_REDUCE] = "local reductions (with a number: so many)",
        [OPERATION_FINISH] = "last local touch of the result",
    };
    for (int kind = 0; kind <= OPERATION_FINISH; kind++) {
        if (!signs->kinds[kind])
            continue;
        fputs("<g class=\"mark\">", d->out);
        put_box(d, 30, y += LEGEND_PITCH, (enum operation_kind)kind, 1);
        fputs("</g>\n", d->out);
        put_line(d->out, TEXT_LEFT, y + 4, "", "%s", texts[kind]);
    }
    return y;
}

double legend_draw(const struct drawing *d, double y)
{
    struct signs signs = signs_find(d);
    y = notes_draw(d, y);
    if (signs.plain)
        legend_arrow(d, y += LEGEND_PITCH, false, "a message, in the sender's colour");
    if (signs.combined)
        legend_arrow(d, y += LEGEND_PITCH, true,
                     "a message that the receiver combines with its own data");
    put_line(d->out, 20, (y += LEGEND_PITCH) + 4, "class=\"label\" fill=\"#444\"", "0-3,5");
    put_line(d->out, TEXT_LEFT, y + 4, "", "%s", label_meaning(d));
    if (signs.below) {
        put_line(d->out, 20, (y += LEGEND_PITCH) + 4, "class=\"label below\" fill=\"#444\"",
                 "of 0-2");
        put_line(d->out, TEXT_LEFT, y + 4, "",
                 "combined from the contributions of these ranks; without "
                 "this line, the contribution of the sender alone");
    }
    if (d->flow->lanes > 1)
        legend_lanes(d, y += LEGEND_PITCH);
    y = legend_marks(d, &signs, y);
    if (signs.fenced) {
        fprintf(d->out, "<rect class=\"fence\" x=\"37\" y=\"%.1f\" width=\"4\" height=\"14\"/>\n",
                (y += LEGEND_PITCH) - 7);
        put_line(d->out, TEXT_LEFT, y + 4, "",
                 "fence: later operations start when all earlier ones are complete on this rank");
    }
    return y;
}
