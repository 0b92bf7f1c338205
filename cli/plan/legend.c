/*
 * legend.c - below a plan's picture: the meaning of the signs that occur, and the rounds without
 * labels.
 */
#include "cli/plan/internal.h"


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
