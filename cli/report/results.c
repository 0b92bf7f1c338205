/*
 * results.c - the "results" of a document of JSON, as lines that can be compared.
 *
 * What is not as this version writes it is left out: the document may be of a later version, or
 * edited by hand.
 */
#include "cli/report/internal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/io/io.h"
#include "base/log.h"
#include "base/text.h"
#include "dataplane/memory/datatype.h"
#include "run/run.h"
#include "tune/tune.h"

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

/* What lines must have in common. Exchanges with partners differ in their patterns, so each of their
 * algorithms does work of its own. */
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

/* False: it has no place in a comparison. The texts are set once all lines are there. */
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
                                .ranks = (int)ranks,
                                .bytes = (size_t)bytes,
                                .element = datatype->size,
                                .time = time};
    interval_read(result, line);
    return true;
}

static bool timed_lines_reserve(struct timed_lines *lines, size_t more)
{
    size_t room = lines->count + more + 1;
    struct timed_line *larger = realloc(lines->lines, room * sizeof *larger);
    if (larger)
        lines->lines = larger;
    struct line_texts *texts = larger ? realloc(lines->texts, room * sizeof *texts) : NULL;
    if (!texts)
        return false;
    lines->texts = texts;
    return true;
}

enum status timed_lines_add(struct timed_lines *lines, const json_t *document, const char *beside)
{
    const json_t *results = json_object_get(document, "results"), *result;
    size_t index;
    if (!timed_lines_reserve(lines, json_array_size(results)))
        return fail(STATUS_ERROR, "out of memory for %zu results", json_array_size(results));
    json_array_foreach (results, index, result) {
        bool read = line_read(document, result, beside, &lines->lines[lines->count],
                              &lines->texts[lines->count]);
        lines->count += read;
        lines->left_out += !read;
    }
    for (size_t i = 0; i < lines->count; i++) { /* they may have moved */
        lines->lines[i].algorithm = lines->texts[i].algorithm;
        lines->lines[i].setting = lines->texts[i].setting;
        lines->lines[i].op = lines->texts[i].op;
    }
    return STATUS_OK;
}

void timed_lines_free(struct timed_lines *lines)
{
    free(lines->lines);
    free(lines->texts);
    *lines = (struct timed_lines){0};
}
