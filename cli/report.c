/*
 * report.c - `cctest report`: a page of HTML from the JSON of earlier runs.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/log.h"
#include "base/text_file.h"
#include "cli/commands.h"
#include "cli/html/page.h"

_Static_assert(WORDS_MOST - 1 <= PAGE_DOCUMENTS_MOST, "each file has a place");

#define SCHEMA     1                   /* the number that documents of this version begin with */
#define BYTES_MOST ((size_t)256 << 20) /* of a file: its document takes ten times as much memory */
#define EXCERPT    60                  /* bytes of a word of the file in a sentence */

/* A file that is no JSON. */
static enum status syntax_refuse(const char *path, const json_error_t *error)
{
    if (json_error_code(error) == json_error_premature_end_of_input)
        return fail(STATUS_USAGE, "%.200s is cut off: its JSON ends in line %d: make it again",
                    path, error->line);
    return fail(STATUS_USAGE,
                "%.200s is no JSON: line %d, column %d: %s; give a file that --json wrote", path,
                error->line, error->column, error->text);
}

/* Refuses JSON that is not of a run, or of another version's form. */
static enum status document_check(const char *path, const json_t *document)
{
    const json_t *schema = json_object_get(document, "schema");
    const char *status = json_string_value(json_object_get(document, "status"));
    if (!json_is_integer(schema) || !json_is_string(json_object_get(document, "version")))
        return fail(STATUS_USAGE,
                    "%.200s is JSON, but not of cctest: it has no schema and version; give a file "
                    "that --json wrote",
                    path);
    if (json_integer_value(schema) != SCHEMA)
        return fail(STATUS_USAGE,
                    "%.200s has schema %lld, and this cctest reads schema %d: use the cctest that "
                    "wrote it, version %.*s",
                    path, (long long)json_integer_value(schema), SCHEMA, EXCERPT,
                    json_string_value(json_object_get(document, "version")));
    if (!page_takes(document))
        return fail(STATUS_USAGE,
                    "%.200s has no measurements: give the JSON of a run or of `cctest accept`, not "
                    "of list, info or plan",
                    path);
    if (status && strcmp(status, "running") == 0)
        say("%.200s is of a run that had not ended: the page has what was known", path);
    return STATUS_OK;
}

/* On failure *document may be there, too. */
static enum status document_read(const char *path, json_t **document)
{
    char *text = NULL;
    json_error_t error;
    enum status status = text_file_read(path, &text);
    if (status != STATUS_OK)
        return status;
    if (strlen(text) > BYTES_MOST) {
        status = fail(STATUS_USAGE, "%.200s has %zu MiB, and report reads files of %zu MiB at most",
                      path, strlen(text) >> 20, BYTES_MOST >> 20);
    } else {
        *document = json_loads(text, 0, &error);
        status = *document ? document_check(path, *document) : syntax_refuse(path, &error);
    }
    free(text);
    return status;
}

/* The page must not replace what it is made of. */
static enum status places_check(const char *const *paths, int count, const char *page)
{
    struct stat about, other;
    bool exists = strcmp(page, "-") != 0 && stat(page, &about) == 0 && S_ISREG(about.st_mode);
    for (int i = 0; i < count && exists; i++)
        if (stat(paths[i], &other) == 0 && other.st_dev == about.st_dev &&
            other.st_ino == about.st_ino)
            return fail(STATUS_USAGE, "--html names %.200s, of which the page is made: give it "
                                      "another file",
                        paths[i]);
    return STATUS_OK;
}

enum status report_command(const struct command_line *line, struct job *job)
{
    json_t *documents[PAGE_DOCUMENTS_MOST] = {NULL};
    const char *const *paths = line->words + 1;
    int count = line->word_count - 1;
    if (count == 0 || !job->html)
        return fail(STATUS_USAGE, "%s: write cctest %s",
                    count == 0 ? "a page is made of files that --json wrote"
                               : "--html says where the page goes",
                    line->command->synopsis);
    enum status status = places_check(paths, count, job->html);
    for (int i = 0; i < count && status == STATUS_OK; i++)
        status = document_read(paths[i], &documents[i]);
    if (status == STATUS_OK)
        status = page_write(documents, paths, count, job->html);
    for (int i = 0; i < count; i++)
        json_decref(documents[i]);
    return status;
}
