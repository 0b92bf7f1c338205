/*
 * guidelines.c - `cctest guidelines`: which collectives are slower than others that do their work,
 * in the JSON of earlier runs.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "cli/commands.h"
#include "base/io/io.h"
#include "cli/report/report.h"
#include "cli/options/options.h"
#include "cli/tune/tune.h"

#define LINES_MOST 20000 /* each is compared with each */
#define HOST_MOST  80

/* The host of a document's first rank; "": it has none, as a predicted one. */
static const char *document_host(const json_t *document)
{
    const json_t *rank = json_array_get(json_object_get(document, "ranks"), 0);
    const char *host = json_string_value(json_object_get(rank, "host"));
    return host ? host : "";
}

static enum status document_check(const char *path, const json_t *document)
{
    const char *status = json_string_value(json_object_get(document, "status"));
    if (!document_has_results(document))
        return fail(
            STATUS_USAGE,
            "%.200s has no results: give the JSON of a run, not of list, info, plan or accept",
            path);
    if (status && strcmp(status, "running") == 0)
        say("%.200s is of a run that had not ended: its lines so far are compared", path);
    return STATUS_OK;
}

/* Adds the lines of a file. Measurements of other hosts than the first file's are not compared with
 * those. */
static enum status file_add(const char *path, char first_host[HOST_MOST], struct timed_lines *lines)
{
    json_t *document;
    char beside[HOST_MOST + 8] = "";
    size_t before = lines->count, left_out = lines->left_out;
    enum status status = document_read(path, &document);
    if (status == STATUS_OK)
        status = document_check(path, document);
    if (status == STATUS_OK) {
        const char *host = document_host(document);
        if (!first_host[0])
            snprintf(first_host, HOST_MOST, "%s", host);
        if (strcmp(first_host, host) != 0)
            snprintf(beside, sizeof beside, "on %.*s", HOST_MOST - 1, host);
        status = timed_lines_add(lines, document, beside);
    }
    json_decref(document);
    if (status == STATUS_OK && lines->count > LINES_MOST)
        return fail(STATUS_USAGE,
                    "%.200s: with it there are %zu lines, and %d are compared at most: "
                    "give fewer files",
                    path, lines->count, LINES_MOST);
    if (status != STATUS_OK)
        return status;
    if (lines->count == before)
        say("%.200s has no line with a time and right data: nothing of it is compared", path);
    else if (lines->left_out > left_out)
        say("%.200s: %zu of its %zu lines have no time, wrong data or fields that make no sense: "
            "they are not compared",
            path, lines->left_out - left_out, lines->count - before + lines->left_out - left_out);
    return STATUS_OK;
}

const struct json_field timed_fields[] = {
    {"collective", "name", "name of the collective", JSON_NAME(struct timed_line, collective)},
    {"algorithm", "name", "its algorithm, with options", JSON_MEMBER(struct timed_line, algorithm)},
    {"bytes", "count", "bytes of the larger buffer of a rank",
     JSON_MEMBER(struct timed_line, bytes)},
    {"time_us", "microseconds", "the median", JSON_MEMBER(struct timed_line, time)},
    {"low_us", "microseconds", "lower end of its interval of 95%; of few iterations the least time",
     JSON_MEMBER(struct timed_line, low)},
    {"high_us", "microseconds",
     "upper end of its interval of 95%; of few iterations the greatest time",
     JSON_MEMBER(struct timed_line, high)},
    {0},
};

/* A violation with its line, for JSON. */
struct violating_line {
    struct timed_line line;
    struct violation violation;
    char words[VIOLATION_TEXT_MOST];
};

static json_t *violation_instead(const void *member, const void *context)
{
    const struct violation *violation = member;
    const struct timed_line *lines = context;
    json_t *instead = json_array();
    for (int i = 0; i < violation->instead_count; i++)
        json_array_append_new(instead,
                              json_object_of(timed_fields, &lines[violation->instead[i]], NULL));
    return instead;
}

const struct json_field violation_fields[] = {
    {"", JSON_SPREAD(struct violating_line, line, timed_fields)},
    {"guideline", "sequence|smaller|split|own",
     "sequence: slower than one or two collectives that do its work; smaller: than the same on "
     "more data; split: than several times the same on less; own: as smaller, of an algorithm "
     "that is not the best",
     JSON_WORDS(struct violating_line, violation.guideline, guideline_words)},
    {"ranks", "positive", "number of ranks", JSON_MEMBER(struct violating_line, line.ranks)},
    {"setting", "name", "what lines that are compared have in common",
     JSON_MEMBER(struct violating_line, line.setting)},
    {"op", "string", "empty: the collective combines nothing",
     JSON_MEMBER(struct violating_line, line.op)},
    {"instead", "[timed]{1,0}", "what could be run, in this order",
     JSON_MADE_OF(struct violating_line, violation, violation_instead)},
    {"times", "positive", "how often", JSON_MEMBER(struct violating_line, violation.times)},
    {"bound_us", "microseconds", "how long that takes in all",
     JSON_MEMBER(struct violating_line, violation.bound)},
    {"ratio", "factor", "of time_us to it", JSON_MEMBER(struct violating_line, violation.ratio)},
    {"words", "name", "the sentence", JSON_MEMBER(struct violating_line, words)},
    {0},
};

/* All that was found, for JSON. */
struct judgement {
    const char *command, *status;
    double margin;
    size_t compared;
    const struct timed_line *lines;
    const struct violation *violations;
    size_t violation_count;
};

static json_t *judgement_violations(const void *object, const void *context)
{
    const struct judgement *judgement = object;
    json_t *list = json_array();
    (void)context;
    for (size_t i = 0; i < judgement->violation_count; i++) {
        const struct violation *violation = &judgement->violations[i];
        struct violating_line line = {judgement->lines[violation->line], *violation, ""};
        violation_text(judgement->lines, violation, line.words);
        json_array_append_new(list, json_object_of(violation_fields, &line, judgement->lines));
    }
    return list;
}

const struct json_field guidelines_fields[] = {
    JSON_DOCUMENT,
    {"command", "guidelines_command", "command that wrote the document",
     JSON_MEMBER(struct judgement, command)},
    {"status", "ok|slow", "slow: there are violations", JSON_MEMBER(struct judgement, status)},
    {"margin", "share", "share by which a time must be larger, beside its interval",
     JSON_MEMBER(struct judgement, margin)},
    {"compared", "count", "lines of all files", JSON_MEMBER(struct judgement, compared)},
    {"violations", "[violation]", "the worst first", JSON_MADE(judgement_violations)},
    {0},
};

static enum status violations_write(const char *path, const struct timed_lines *lines,
                                    const struct violation *violations, size_t count,
                                    enum status status)
{
    const struct judgement judgement = {.command = "guidelines",
                                        .status = status_word(status),
                                        .margin = GUIDELINE_MARGIN,
                                        .compared = lines->count,
                                        .lines = lines->lines,
                                        .violations = violations,
                                        .violation_count = count};
    json_t *document = json_object_of(guidelines_fields, &judgement, NULL);
    enum status written = document ? json_put(document, path)
                                   : fail(STATUS_ERROR, "out of memory for the JSON report");
    json_decref(document);
    return written;
}

static void violations_print(FILE *out, const struct timed_lines *lines, int files,
                             const struct violation *violations, size_t count)
{
    char text[VIOLATION_TEXT_MOST];
    fprintf(out,
            "# cctest %s guidelines: %zu lines of %d file%s. Each line below is slower beyond "
            "noise: by more than\n# %.0f%%, and the 95%% interval of its median lies above that "
            "of its alternative.\n",
            CCTEST_VERSION, lines->count, files, files == 1 ? "" : "s", 100 * GUIDELINE_MARGIN);
    for (size_t i = 0; i < count; i++)
        fprintf(out, "%s\n", violation_text(lines->lines, &violations[i], text));
    if (count == 0)
        fputs("# no guideline is violated\n", out);
    else
        fprintf(out, "# %zu time%s a guideline is violated\n", count, count == 1 ? "" : "s");
}

/* The report must not replace what it is made of. */
static enum status output_check(const char *json, const char *const *paths, int count)
{
    for (int i = 0; i < count && json; i++)
        if (outputs_are_one(json, paths[i]))
            return fail_option(STATUS_USAGE, "json",
                               "--json names %.200s, which is read: give it another file",
                               paths[i]);
    return STATUS_OK;
}

static enum status lines_judge(const char *json, const struct timed_lines *lines, int files)
{
    struct violation *violations;
    size_t count;
    enum status status = guidelines_check(lines->lines, lines->count, &violations, &count);
    if (status == STATUS_OK) {
        enum status found = count > 0 ? STATUS_SLOW : STATUS_OK;
        violations_print(output_is_standard(json) ? stderr : stdout, lines, files, violations,
                         count);
        if (json)
            status = violations_write(json, lines, violations, count, found);
        status = status == STATUS_OK ? found : status;
    }
    free(violations);
    return status;
}

enum status guidelines_command(const struct command_line *line, struct request *request)
{
    const char *const *paths = line->words + 1;
    int count = line->word_count - 1;
    struct timed_lines lines = {0};
    char first_host[HOST_MOST] = "";
    if (count == 0)
        return fail(STATUS_USAGE, "guidelines compares files that --json wrote: write cctest %s",
                    line->command->synopsis);
    enum status status = output_check(request->files.json, paths, count);
    for (int i = 0; i < count && status == STATUS_OK; i++)
        status = file_add(paths[i], first_host, &lines);
    if (status == STATUS_OK && lines.count == 0)
        status = fail(STATUS_USAGE,
                      "nothing was compared: give the JSON of runs that measured or predicted "
                      "something");
    if (status == STATUS_OK)
        status = lines_judge(request->files.json, &lines, count);
    timed_lines_free(&lines);
    return status;
}
