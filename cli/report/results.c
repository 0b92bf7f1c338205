/*
 * results.c - the "results" of a document of JSON, as lines that can be compared.
 *
 * What is not as this version writes it is left out: the document may be of a later version, or
 * edited by hand.
 */
#include "cli/report/internal.h"

#include "base/arena.h"
#include "base/io/io.h"
#include "base/list.h"
#include "base/log.h"
#include "base/parse.h"
#include "base/text.h"
#include "dataplane/memory/datatype.h"
#include "run/run.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define TIME_LEAST 1e-6 /* us, below any time: ratios stay finite */

struct line_texts {
    char algorithm[ALGORITHM_TEXT_MOST], setting[200], op[16];
};

bool document_has_results(const json_t *document)
{
    return json_is_array(json_object_get(document, "results"));
}

/* Adds ", WORD" if it is not the usual one. */
static void unusual_add(struct text *text, const char *word, const char *usual, const char *what)
{
    if (*word && strcmp(word, usual) != 0)
        text_add(text, ", %s%s", what, word);
}

/* The setting that lines must have in common. Exchanges with partners differ in their patterns, so
 * each of their algorithms does work of its own. */
static void setting_write(const json_t *document, const json_t *result,
                          const struct collective *collective, const char *beside, char *to,
                          size_t size)
{
    struct text text = text_in(to, size);
    const json_t *root = json_object_get(result, "root");
    const json_t *options = json_object_get(document, "options");
    text_add(&text, "%d rank%s", (int)number_of(result, "ranks"),
             number_of(result, "ranks") > 1 ? "s" : "");
    if (json_array_size(json_object_get(document, "groups")) > 0)
        text_add(&text, " in %zu groups", json_array_size(json_object_get(document, "groups")));
    text_add(&text, "%s%s, %s", *beside ? " " : "", beside, word_of(result, "datatype"));
    unusual_add(&text, word_of(options, "transport"), "auto", "-x ");
    unusual_add(&text, word_of(result, "memory"), "host", "memory ");
    unusual_add(&text, word_of(result, "copy"), "auto", "copy ");
    unusual_add(&text, word_of(result, "executor"), "host", "executor ");
    unusual_add(&text, word_of(result, "start"), "barrier", "");
    unusual_add(&text, word_of(result, "counts"), "", "counts ");
    if (json_is_true(json_object_get(result, "in_place")))
        text_add(&text, ", in place");
    if (json_is_integer(root) && json_integer_value(root) != 0)
        text_add(&text, ", root %lld", (long long)json_integer_value(root));
    else if (json_is_string(root))
        text_add(&text, ", root %s", json_string_value(root));
    if (collective->id == COLLECTIVE_SENDRECV)
        text_add(&text, ", %s", word_of(result, "algorithm"));
}

/* The interval of the median; of fewer iterations the range of the times; else nothing is known but
 * the time, which is a predicted one. */
static void interval_read(const json_t *result, struct timed_line *line)
{
    const json_t *interval = json_object_get(result, "median_interval");
    const json_t *times = json_object_get(result, "time_us");
    bool has = !isnan(number_of(interval, "low_us")) && !isnan(number_of(interval, "high_us"));
    double low = has ? number_of(interval, "low_us") : number_of(times, "min");
    double high = has ? number_of(interval, "high_us") : number_of(times, "max");
    line->low = low > 0 && low < line->time ? low : line->time;
    line->high = high > line->time ? high : line->time;
}

/* False: it has no place in a comparison. */
static bool line_read(const json_t *document, const json_t *result, const char *beside,
                      struct timed_line *line, struct line_texts *texts)
{
    const struct collective *collective = collective_find(word_of(result, "collective"));
    const struct datatype *datatype = datatype_find(word_of(result, "datatype"));
    double bytes = number_of(result, "bytes"), ranks = number_of(result, "ranks");
    double time = number_of(json_object_get(result, "time_us"), "p50");
    if (!collective || !datatype || !(bytes >= 0) || !(ranks >= 1) || ranks > JOB_RANKS_MOST ||
        bytes > 0x1p60 || !(time > TIME_LEAST) || number_of(result, "wrong") > 0)
        return false;
    algorithm_text(result, texts->algorithm);
    setting_write(document, result, collective, beside, texts->setting, sizeof texts->setting);
    text_tame(texts->setting);
    snprintf(texts->op, sizeof texts->op, "%s", word_of(result, "op"));
    text_tame(texts->op);
    *line = (struct timed_line){.collective = collective,
                                .algorithm = texts->algorithm,
                                .setting = texts->setting,
                                .op = texts->op,
                                .ranks = (int)ranks,
                                .bytes = (size_t)bytes,
                                .element = datatype->size,
                                .time = time};
    interval_read(result, line);
    return true;
}

enum status timed_lines_add(struct timed_lines *lines, const json_t *document, const char *beside)
{
    const json_t *results = json_object_get(document, "results"), *result;
    size_t index;
    if (!lines->texts)
        lines->texts = arena_create();
    json_array_foreach(results, index, result)
    {
        struct line_texts *texts = arena_take(lines->texts, sizeof *texts);
        if (!texts || !list_reserve(&lines->lines, lines->count, sizeof *lines->lines))
            return fail(STATUS_ERROR, "out of memory for %zu results", json_array_size(results));
        bool read = line_read(document, result, beside, &lines->lines[lines->count], texts);
        lines->count += read;
        lines->left_out += !read;
    }
    return STATUS_OK;
}

void timed_lines_free(struct timed_lines *lines)
{
    free(lines->lines);
    arena_free(lines->texts);
    *lines = (struct timed_lines){0};
}

/*
 * The lines of a run's JSON.
 */
_Static_assert(SERIES_TEXT_MOST >= ALGORITHM_TEXT_MOST, "the name of an algorithm fits");

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

static struct run_line run_line_read(const json_t *result)
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
    struct run_line *lines = new_array(json_array_size(results) + 1, sizeof *lines);
    size_t index;
    *count = 0;
    json_array_foreach(results, index, result)
    {
        lines[*count] = run_line_read(result);
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
