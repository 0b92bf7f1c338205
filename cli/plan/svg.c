/*
 * svg.c - draws a plan: ranks are rows, rounds are columns, messages are arrows. One SVG file
 * that needs no other file; a browser shows details when the mouse is over a message.
 */
#include "cli/plan/internal.h"

#include "base/io/io.h"
#include "base/log.h"
#include "base/text.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/*
 * Text, arrow heads, dots, boxes and colours of pictures, and the file around one.
 */
#define LUMINANCE_MOST 105.0

void put_line(FILE *out, double x, double y, const char *attributes, const char *format, ...)
{
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    fprintf(out, "<text x=\"%.1f\" y=\"%.1f\"%s%s>", x, y, *attributes ? " " : "", attributes);
    markup_put(out, text);
    fputs("</text>\n", out);
}

/* Ranks have different hues; neighbours differ in lightness, too. */
static struct colour rank_colour(const struct drawing *d, int rank)
{
    static const double lightness[] = {0.42, 0.30};
    double hue = 12.0 * rank / d->flow->ranks, light = lightness[rank % 2];
    double part[3];
    for (int i = 0; i < 3; i++) {
        double k = fmod((double[]){0, 8, 4}[i] + hue, 12);
        part[i] = 255 * light * (1 - 0.8 * fmax(-1, fmin(fmin(k - 3, 9 - k), 1)));
    }
    /* Yellow and green are darkened until they are readable on white. */
    double most = rank % 2 ? LUMINANCE_MOST * 0.7 : LUMINANCE_MOST;
    double luminance = 0.21 * part[0] + 0.72 * part[1] + 0.07 * part[2];
    for (int i = 0; i < 3; i++)
        part[i] *= fmin(1, most / luminance);
    struct colour colour;
    snprintf(colour.text, sizeof colour.text, "#%02x%02x%02x", (unsigned)part[0] & 0xff,
             (unsigned)part[1] & 0xff, (unsigned)part[2] & 0xff);
    return colour;
}

void put_dot(FILE *out, double x, double y, int lane)
{
    static const char *const shapes[] = {
        "m-3 0a3 3 0 1 0 6 0a3 3 0 1 0-6 0z",
        "m-3-3h6v6h-6z",
        "m0-4l4 4l-4 4l-4-4z",
        "m0-3.5l4 6.5h-8z",
    };
    fprintf(out, "<path class=\"solid\" d=\"M%.1f %.1f%s\"/>", x, y, shapes[lane % 4]);
}

void put_head(FILE *out, struct point from, struct point to, bool combined, double size)
{
    double length = hypot(to.x - from.x, to.y - from.y);
    double dx = (to.x - from.x) / length, dy = (to.y - from.y) / length;
    double tip_x = to.x - (combined ? 5 * dx : 0), tip_y = to.y - (combined ? 5 * dy : 0);
    double base_x = tip_x - size * dx, base_y = tip_y - size * dy, half = size * 0.42;
    fprintf(out, "<path class=\"solid\" d=\"M%.1f %.1fL%.1f %.1fL%.1f %.1fz\"/>", tip_x, tip_y,
            base_x - half * dy, base_y + half * dx, base_x + half * dy, base_y - half * dx);
    if (combined)
        fprintf(out,
                "<circle class=\"plus\" cx=\"%.1f\" cy=\"%.1f\" r=\"5\"/>"
                "<path class=\"plus\" d=\"M%.1f %.1fh6m-3-3v6\"/>",
                to.x, to.y, to.x - 3, to.y);
}

void put_box(const struct drawing *d, double x, double y, enum operation_kind kind, size_t count)
{
    static const char *const signs[] = {
        [OPERATION_COPY] = "=", [OPERATION_REDUCE] = "+", [OPERATION_FINISH] = "✓"};
    fprintf(d->out,
            "<rect x=\"%.1f\" y=\"%.1f\" width=\"18\" height=\"14\" rx=\"3\"/>"
            "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">%s",
            x, y - 7, x + 9, y + 3.5, signs[kind]);
    if (count > 1)
        fprintf(d->out, "%zu", count);
    fputs("</text>", d->out);
}

static void frame_put(FILE *out, const struct svg_frame *frame, const char *body)
{
    fprintf(out,
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" "
            "viewBox=\"0 0 %.0f %.0f\">\n<title>",
            frame->width, frame->height, frame->width, frame->height);
    markup_put(out, frame->title);
    fprintf(out,
            "</title>\n<style>\n%s</style>\n<rect width=\"100%%\" height=\"100%%\" "
            "fill=\"#fff\"/>\n%s</svg>\n",
            frame->style, body);
}

enum status svg_put(const struct svg_frame *frame, struct draft *body, const char *path)
{
    struct draft picture;
    TRY(draft_close(body, path));
    frame_put(draft_open(&picture), frame, body->text);
    free(body->text);
    return draft_put(&picture, STATUS_OK, path);
}

/*
 * Draws a plan.
 */
#define MARGIN       124.0 /* right of the lifelines: the totals of each rank */
#define WIDTH_LEAST  760.0
#define TITLE_LETTER 10.5 /* a letter of the title */

/* The background of the arrows. */

static void draw_rank(const struct drawing *d, int rank)
{
    const struct row *row = &d->picture.rows[rank];
    const struct problem *problem = d->flow->problem;
    bool root = problem->collective->rooted && problem->root == rank;
    char style[64];
    snprintf(style, sizeof style, "class=\"rank\" style=\"fill: %s\"", rank_colour(d, rank).text);
    fprintf(d->out, "<path class=\"life\" d=\"M%.1f %.1fH%.1f\"/>\n", d->picture.left, row->y,
            d->picture.right);
    put_line(d->out, 16, row->y + 4, style, "rank %d", rank);
    if (root)
        put_line(d->out, 16, row->y + 17, "class=\"small\"", "root");
    if (d->only >= 0 && d->only != rank)
        return;
    put_line(d->out, d->picture.right + 12, row->y - 2, "class=\"small\"", "sends %zu message%s,",
             row->flights, plural(row->flights));
    put_line(d->out, d->picture.right + 12, row->y + 11, "class=\"small\"", "%zu element%s",
             row->elements, plural(row->elements));
}

static void draw_fences(const struct drawing *d, int round)
{
    const struct column *column = &d->picture.columns[round];
    for (int r = 0; r < d->flow->ranks; r++) {
        const struct row *row = &d->picture.rows[r];
        if (!(d->flow->fences[round] >> r & 1) || !row->shown || (d->only >= 0 && d->only != r))
            continue;
        fprintf(
            d->out,
            "<rect class=\"fence\" x=\"%.1f\" y=\"%.1f\" width=\"4\" height=\"%.1f\"><title>"
            "fence: rank %d starts round %d when all earlier operations are complete here</title>"
            "</rect>\n",
            column->left + 4, row->y - row->height / 2, row->height, r, round);
    }
}

static void draw_round(const struct drawing *d, int round)
{
    const struct column *column = &d->picture.columns[round];
    double middle = (column->left + column->right) / 2;
    fprintf(d->out, "<path class=\"edge\" d=\"M%.1f %.1fV%.1f\"/>\n", column->left,
            d->picture.top - 12, d->picture.bottom + 34);
    put_line(d->out, middle, d->picture.top - 4, "class=\"round\" text-anchor=\"middle\"",
             "round %d", round);
    put_line(d->out, middle, d->picture.bottom + 16, "class=\"small\" text-anchor=\"middle\"",
             "%zu message%s", column->flights, plural(column->flights));
    put_line(d->out, middle, d->picture.bottom + 29, "class=\"small\" text-anchor=\"middle\"",
             "%zu element%s", column->elements, plural(column->elements));
    draw_fences(d, round);
}

/* Arrows. */

static void put_end(const struct drawing *d, const char *verb, uint32_t index, const char *buffer,
                    struct message message)
{
    const struct joint_schedule *joint = d->flow->joint;
    const struct operation *operation = joint_operation(joint, index);
    fprintf(d->out, "\n%s in round %d, operation %u of rank %d, %s ", verb, operation->step,
            index - joint->first[joint->rank[index]], joint->rank[index], buffer);
    plan_print_message(d->out, message);
}

static void put_title(const struct drawing *d, const struct flight *flight, const char *label)
{
    const struct joint_schedule *joint = d->flow->joint;
    const struct operation *recv = joint_operation(joint, flight->recv);
    char ranks[LABEL_SIZE];
    fprintf(d->out, "<title>rank %d to rank %d", flight->from, flight->to);
    if (d->flow->lanes > 1)
        fprintf(d->out, " on lane %d", flight->lane);
    fprintf(d->out, ": %s (%zu element%s)", label, flight->length, plural(flight->length));
    flight_contributions(d->flow, flight, ranks);
    if (*ranks)
        fprintf(d->out, "\ncombined from the contributions %s", ranks);
    put_end(d, "sent", flight->send, "from", joint_operation(joint, flight->send)->from);
    put_end(d, recv->kind == OPERATION_RECV ? "received" : "received and combined", flight->recv,
            "to", recv->to);
    fputs("</title>", d->out);
}

static void draw_flight(const struct drawing *d, const struct flight *flight)
{
    const struct column *leaves = &d->picture.columns[flight->leaves];
    const struct column *arrives = &d->picture.columns[flight->arrives];
    bool combined = joint_operation(d->flow->joint, flight->recv)->kind == OPERATION_RECV_REDUCE;
    struct colour colour = rank_colour(d, flight->from);
    char label[LABEL_SIZE], path[128];
    flight_label(d->flow, flight, label);
    fprintf(d->out, "<g class=\"message%s%s\" stroke=\"%s\" fill=\"%s\">",
            combined ? " combined" : "", leaves->dense ? " dense" : "", colour.text, colour.text);
    put_title(d, flight, label);
    snprintf(path, sizeof path, "d=\"M%.1f %.1fH%.1fL%.1f %.1f\"", leaves->depart, flight->depart_y,
             leaves->cross, arrives->land, flight->land_y);
    fprintf(d->out, "<path class=\"hit\" %s/><path class=\"line\" %s/>", path, path);
    if (!leaves->dense) {
        char lane[24] = "";
        if (d->flow->lanes > 1)
            snprintf(lane, sizeof lane, "L%d ", flight->lane);
        put_dot(d->out, leaves->depart, flight->depart_y, flight->lane);
        label_shorten(label);
        put_line(d->out, leaves->depart + 6, flight->depart_y - 3.5, "class=\"label\"", "%s%s",
                 lane, label);
        flight_contributions(d->flow, flight, label);
        label_shorten(label);
        if (*label)
            put_line(d->out, leaves->depart + 6, flight->depart_y + 8.5, "class=\"label below\"",
                     "%s", label);
    }
    put_head(d->out, (struct point){leaves->cross, flight->depart_y},
             (struct point){arrives->land, flight->land_y}, combined && !leaves->dense,
             leaves->dense ? 5 : 8);
    fputs("</g>\n", d->out);
}

/* Marks: a box for all local operations of one kind in a rank and round. */

static void put_local(const struct drawing *d, uint32_t index)
{
    const struct joint_schedule *joint = d->flow->joint;
    const struct operation *operation = joint_operation(joint, index);
    fprintf(d->out, "\noperation %u: ", index - joint->first[joint->rank[index]]);
    plan_print_message(d->out, operation->to);
    fputs(" = ", d->out);
    plan_print_message(d->out, operation->from);
    if (operation->kind == OPERATION_REDUCE) {
        fputs(" + ", d->out);
        plan_print_message(d->out, operation->with);
    }
}

static void draw_marks(const struct drawing *d)
{
    const struct mark *marks = d->picture.marks;
    double shift = 0;
    for (size_t i = 0, end; i < d->picture.mark_count; i = end) {
        const struct mark *mark = &marks[i];
        const struct column *column = &d->picture.columns[mark->round];
        bool beside = i && mark[-1].rank == mark->rank && mark[-1].round == mark->round &&
                      mark[-1].after == mark->after;
        shift = beside ? shift + MARK_PITCH : 0;
        fprintf(d->out, "<g class=\"mark\"><title>rank %d, round %d, %s", mark->rank, mark->round,
                operation_names[mark->kind]);
        for (end = i; end < d->picture.mark_count && marks[end].rank == mark->rank &&
                      marks[end].round == mark->round && marks[end].after == mark->after &&
                      marks[end].kind == mark->kind;
             end++)
            put_local(d, marks[end].operation);
        fputs("</title>", d->out);
        put_box(d, (mark->after ? column->after : column->before) + shift,
                d->picture.rows[mark->rank].y, mark->kind, end - i);
        fputs("</g>\n", d->out);
    }
}

/* The whole picture. */

static const char style[] =
    "svg { max-width: 100%; height: auto }\n"
    "text { font: 11px 'DejaVu Sans', Verdana, Helvetica, Arial, sans-serif; fill: #333 }\n"
    ".title { font-size: 17px; font-weight: bold; fill: #111 }\n"
    ".rank { font-weight: bold }\n"
    ".round { font-weight: bold; fill: #555 }\n"
    ".small { font-size: 10px; fill: #666 }\n"
    ".label { font: 10px 'DejaVu Sans Mono', Menlo, Consolas, monospace; fill: inherit;\n"
    "  stroke: #fff; stroke-width: 2px; stroke-linejoin: round; paint-order: stroke }\n"
    ".below { font-size: 8px }\n"
    ".life { stroke: #ccc; fill: none }\n"
    ".edge { stroke: #ddd; stroke-dasharray: 2 3; fill: none }\n"
    ".line { stroke-width: 1.5px; fill: none }\n"
    ".hit { stroke: #fff; stroke-opacity: 0; stroke-width: 7px; fill: none }\n"
    ".solid { stroke: none }\n"
    ".combined .line { stroke-dasharray: 5 3 }\n"
    ".plus { fill: #fff; stroke-width: 1.3px }\n"
    ".dense .line { stroke-width: .7px; stroke-opacity: .6 }\n"
    ".dense .solid { fill-opacity: .8 }\n"
    ".mark rect { fill: #f2f2f2; stroke: #888 }\n"
    ".fence { fill: #777; fill-opacity: .55 }\n"
    ".message:hover .line { stroke-width: 3px; stroke-opacity: 1 }\n";

/* Returns its height. */
static double draw_body(const struct drawing *d, const char *title, const char *summary)
{
    const struct flow *flow = d->flow;
    size_t elements = 0;
    for (int i = 0; i < flow->rounds; i++)
        elements += d->picture.columns[i].elements;
    char only[80] = "";
    if (d->only >= 0)
        snprintf(only, sizeof only, "; only what rank %d sends and receives is shown", d->only);
    put_line(d->out, 16, 30, "class=\"title\"", "%s", title);
    put_line(d->out, 16, 50, "", "%s", summary);
    put_line(d->out, 16, 67, "class=\"small\"", "%zu message%s, %zu element%s, %d round%s%s",
             flow->count, plural(flow->count), elements, plural(elements), flow->rounds,
             plural((size_t)flow->rounds), only);
    for (int i = 0; i < flow->rounds; i++)
        draw_round(d, i);
    fprintf(d->out, "<path class=\"edge\" d=\"M%.1f %.1fV%.1f\"/>\n", d->picture.right,
            d->picture.top - 12, d->picture.bottom + 34);
    for (int r = 0; r < flow->ranks; r++)
        if (d->picture.rows[r].shown)
            draw_rank(d, r);
    for (size_t i = 0; i < flow->count; i++)
        draw_flight(d, &flow->flights[i]);
    draw_marks(d);
    return legend_draw(d, d->picture.bottom + 44) + 24;
}

/* The body is drawn first, since the frame needs its size. */
static enum status picture_put(struct drawing *d, const char *title, const char *summary,
                               const char *path)
{
    struct draft body;
    double width = fmax(d->picture.right + MARGIN, WIDTH_LEAST);
    width = fmax(width, 40 + TITLE_LETTER * (double)strlen(title));
    d->out = draft_open(&body);
    const struct svg_frame frame = {title, style, width, draw_body(d, title, summary)};
    return svg_put(&frame, &body, path);
}

enum status plan_draw(const struct schedule *const *schedules, const struct problem *problem,
                      int rank, const char *title, const char *summary, const char *path)
{
    struct flow flow;
    struct drawing drawing = {.flow = &flow, .only = rank};
    TRY(flow_trace(schedules, problem, &flow));
    if (rank >= 0)
        flow_keep(&flow, rank);
    picture_place(&flow, rank, &drawing.picture);
    enum status status = picture_put(&drawing, title, summary, path);
    flow_free(&flow);
    return status;
}
