/*
 * report.c - `cctest report`: a page of HTML from the JSON of earlier runs.
 */
#include <string.h>
#include <sys/stat.h>

#include "base/log.h"
#include "cli/commands.h"
#include "cli/report/report.h"
#include "base/io/io.h"

_Static_assert(WORDS_MOST - 1 <= PAGE_DOCUMENTS_MOST, "each file has a place");

/* Refuses what no page is made of. */
static enum status document_check(const char *path, const json_t *document)
{
    const char *status = json_string_value(json_object_get(document, "status"));
    if (!page_takes(document))
        return fail(STATUS_USAGE,
                    "%.200s has no measurements: give the JSON of a run or of `cctest accept`, not "
                    "of list, info or plan",
                    path);
    if (status && strcmp(status, "running") == 0)
        say("%.200s is of a run that had not ended: the page has what was known", path);
    return STATUS_OK;
}

/* The page must not replace what it is made of. */
static enum status places_check(const char *const *paths, int count, const char *page)
{
    struct stat about, other;
    bool exists = strcmp(page, "-") != 0 && stat(page, &about) == 0 && S_ISREG(about.st_mode);
    for (int i = 0; i < count && exists; i++)
        if (stat(paths[i], &other) == 0 && other.st_dev == about.st_dev &&
            other.st_ino == about.st_ino)
            return fail_option(STATUS_USAGE, "html",
                               "--html names %.200s, a source of the page: give it "
                               "another file",
                               paths[i]);
    return STATUS_OK;
}

enum status report_command(const struct command_line *line, struct request *request)
{
    json_t *documents[PAGE_DOCUMENTS_MOST] = {NULL};
    const char *const *paths = line->words + 1;
    int count = line->word_count - 1;
    if (count == 0 || !request->files.html)
        return fail(STATUS_USAGE, "%s: write cctest %s",
                    count == 0 ? "a page is made of files that --json wrote"
                               : "--html says where the page goes",
                    line->command->synopsis);
    enum status status = places_check(paths, count, request->files.html);
    for (int i = 0; i < count && status == STATUS_OK; i++) {
        status = document_read(paths[i], &documents[i]);
        if (status == STATUS_OK)
            status = document_check(paths[i], documents[i]);
    }
    if (status == STATUS_OK)
        status = page_write(documents, paths, count, request->files.html);
    for (int i = 0; i < count; i++)
        json_decref(documents[i]);
    return status;
}
