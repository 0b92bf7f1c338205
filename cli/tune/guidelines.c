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

static json_t *line_json(const struct timed_line *line)
{
    return json_pack("{s:s, s:s, s:I, s:f, s:f, s:f}", "collective", line->collective->name,
                     "algorithm", line->algorithm, "bytes", (json_int_t)line->bytes, "time_us",
                     line->time, "low_us", line->low, "high_us", line->high);
}

static json_t *violation_json(const struct timed_line *lines, const struct violation *violation)
{
    const struct timed_line *line = &lines[violation->line];
    char text[VIOLATION_TEXT_MOST];
    json_t *json = line_json(line), *instead = json_array();
    for (int i = 0; i < violation->instead_count; i++)
        json_array_append_new(instead, line_json(&lines[violation->instead[i]]));
    json_object_update_new(json, json_pack("{s:s, s:i, s:s, s:s, s:o, s:i, s:f, s:f, s:s}",
                                           "guideline", guideline_words[violation->guideline],
                                           "ranks", line->ranks, "setting", line->setting, "op",
                                           line->op, "instead", instead, "times", violation->times,
                                           "bound_us", violation->bound, "ratio", violation->ratio,
                                           "words", violation_text(lines, violation, text)));
    return json;
}

static enum status violations_write(const char *path, const struct timed_lines *lines,
                                    const struct violation *violations, size_t count,
                                    enum status status)
{
    json_t *document = json_document(), *list = json_array();
    if (!document || !list) {
        json_decref(document);
        json_decref(list);
        return fail(STATUS_ERROR, "out of memory for the JSON report");
    }
    for (size_t i = 0; i < count; i++)
        json_array_append_new(list, violation_json(lines->lines, &violations[i]));
    json_object_update_new(document,
                           json_pack("{s:s, s:s, s:f, s:I, s:o}", "command", "guidelines", "status",
                                     status_word(status), "margin", GUIDELINE_MARGIN, "compared",
                                     (json_int_t)lines->count, "violations", list));
    enum status written = json_put(document, path);
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
