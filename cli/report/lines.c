/*
 * lines.c - the lines of a run's JSON.
 */
#include "cli/report/internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/io/io.h"
#include "base/size.h"
#include "base/text.h"
#include "tune/tune.h"

_Static_assert(SERIES_TEXT_MOST >= ALGORITHM_TEXT_MOST, "the name of an algorithm fits");

#define TIME_LEAST       1e-6 /* us, below any time: ratios stay finite */
#define DIFFERENCE_LEAST 0.02 /* of a median: less is no change that matters */

const char *const certainty_words[] = {[CERTAINTY_UNKNOWN] = "unknown: too few iterations",
                                       [CERTAINTY_NOISE] = "within noise",
                                       [CERTAINTY_SURE] = "beyond noise"};

static void algorithm_write(const json_t *result, char to[SERIES_TEXT_MOST])
{
    if (json_is_string(json_object_get(result, "auto")))
        snprintf(to, SERIES_TEXT_MOST, "auto");
    else
        algorithm_text(result, to);
}

static void group_write(const json_t *result, char to[SERIES_TEXT_MOST])
{
    static const char *const keys[] = {"datatype", "op", "counts"};
    struct text text = text_in(to, SERIES_TEXT_MOST);
    const json_t *root = json_object_get(result, "root");
    text_add(&text, "%s", word_of(result, "collective"));
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        if (*word_of(result, keys[i]))
            text_add(&text, " %s", word_of(result, keys[i]));
    if (json_is_integer(root))
        text_add(&text, ", root %lld", (long long)json_integer_value(root));
    else if (json_is_string(root))
        text_add(&text, ", root %s", json_string_value(root));
}

static struct run_line line_read(const json_t *result)
{
    const json_t *interval = json_object_get(result, "median_interval");
    struct run_line line = {
        .bytes = number_of(result, "bytes"),
        .p50 = number_of(json_object_get(result, "time_us"), "p50"),
        .low = number_of(interval, "low_us"),
        .high = number_of(interval, "high_us"),
        .busbw = number_of(result, "busbw_GBps"),
        .wrong = json_integer_value(json_object_get(result, "wrong")) != 0,
    };
    if (!(line.busbw > 0))
        line.busbw = NAN;
    group_write(result, line.group);
    algorithm_write(result, line.algorithm);
    return line;
}

struct run_line *lines_read(const json_t *document, size_t *count)
{
    const json_t *results = json_object_get(document, "results"), *result;
    struct run_line *lines = calloc(json_array_size(results) + 1, sizeof *lines);
    size_t index;
    *count = 0;
    if (!lines)
        return NULL;
    json_array_foreach(results, index, result)
    {
        lines[*count] = line_read(result);
        *count += lines[*count].p50 > TIME_LEAST && lines[*count].bytes >= 0;
    }
    return lines;
}

enum certainty line_certainty(const struct run_line *a, const struct run_line *b)
{
    if (isnan(a->low) || isnan(a->high) || isnan(b->low) || isnan(b->high))
        return CERTAINTY_UNKNOWN;
    bool apart = a->high < b->low || b->high < a->low;
    bool much = fabs(a->p50 - b->p50) > DIFFERENCE_LEAST * a->p50;
    return apart && much ? CERTAINTY_SURE : CERTAINTY_NOISE;
}

const struct run_line *line_find(const struct run_line *lines, size_t count,
                                 const struct run_line *like)
{
    for (size_t i = 0; i < count; i++)
        if (lines[i].bytes == like->bytes && strcmp(lines[i].algorithm, like->algorithm) == 0 &&
            strcmp(lines[i].group, like->group) == 0)
            return &lines[i];
    return NULL;
}

const char *bytes_text(double bytes, char text[BYTES_TEXT_MOST])
{
    if (bytes < 0x1p62)
        return size_format((size_t)bytes, text);
    snprintf(text, BYTES_TEXT_MOST, "%.3g", bytes);
    return text;
}
