/*
 * svg_shapes.c - text, arrow heads, dots, boxes and colours of pictures, and the file around one.
 */
#include "cli/plan/plan.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>

#include "base/log.h"
#include "base/io/io.h"

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
struct colour rank_colour(const struct drawing *d, int rank)
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

const char *plural(size_t count)
{
    return count == 1 ? "" : "s";
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

enum status svg_put(const struct svg_frame *frame, const char *body, const char *path)
{
    char *text = NULL;
    size_t length = 0;
    FILE *out = body ? open_memstream(&text, &length) : NULL;
    if (out)
        frame_put(out, frame, body);
    bool good = out && fclose(out) == 0;
    enum status status = good ? output_put(text, length, path, NULL)
                              : fail(STATUS_ERROR, "not enough memory for the picture: free some");
    free(text);
    return status;
}
