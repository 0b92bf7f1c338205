/*
 * page.c - a page of HTML: its head, its links, and a part for each document.
 */
#include "cli/report/internal.h"

#include <stdlib.h>
#include <string.h>

#include "base/io/io.h"
#include "base/log.h"

static bool is_acceptance(const json_t *document)
{
    return strcmp(word_of(document, "command"), "accept") == 0;
}

bool page_takes(const json_t *document)
{
    return is_acceptance(document) || (json_is_array(json_object_get(document, "results")) &&
                                       json_is_array(json_object_get(document, "ranks")));
}

/* Errors of the job, and that it has not ended. */
static void document_state(FILE *out, const json_t *document)
{
    size_t index;
    const json_t *error;
    if (strcmp(word_of(document, "status"), "running") == 0)
        element_put(out, "p class=\"card suspect\"",
                    "This run had not ended when the page was made: it has what was known.");
    json_array_foreach(json_object_get(document, "errors"), index, error)
        element_put(out, "p class=\"card bad\"", "Error: %s", word_of(error, "message"));
}

static void parts_put(struct page *page, json_t *const *documents, const char *const *names,
                      int count)
{
    int first = -1;
    for (int i = 0; i < count; i++)
        if (!is_acceptance(documents[i]) && first < 0)
            first = i;
        else if (!is_acceptance(documents[i]))
            changes_put(page, documents[first], names[first], documents[i], names[i]);
    for (int i = 0; i < count; i++) {
        document_begin(page, "%s %s", is_acceptance(documents[i]) ? "Acceptance" : "Run", names[i]);
        document_state(page->body, documents[i]);
        if (is_acceptance(documents[i]))
            acceptance_put(page, documents[i]);
        else
            run_put(page, documents[i]);
        section_end(page);
    }
}

/* What a browser's tab and the first heading say. */
static void title_put(FILE *out, json_t *const *documents, const char *const *names, int count)
{
    text_put(out, "cctest: %s %s", is_acceptance(documents[0]) ? "acceptance" : "run", names[0]);
    if (count > 1)
        text_put(out, " and %d more", count - 1);
}

static void frame_put(FILE *out, json_t *const *documents, const char *const *names, int count,
                      const char *links, const char *body)
{
    fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
          "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>",
          out);
    title_put(out, documents, names, count);
    fprintf(out,
            "</title>\n<style>\n%s</style>\n</head>\n<body>\n<header>\n"
            "<h1>cctest report</h1>\n<nav "
            "aria-label=\"Sections\"><ul>\n%s</ul></nav>\n</header>\n<main>\n%s",
            page_style, links, body);
    fputs("</main>\n<footer>\n", out);
    element_put(out, "p class=\"muted\"", "Made by cctest %s. This page needs no network.",
                CCTEST_VERSION);
    fputs("</footer>\n</body>\n</html>\n", out);
}

enum status page_write(json_t *const *documents, const char *const *names, int count,
                       const char *path)
{
    char *body = NULL, *links = NULL, *text = NULL;
    size_t body_length = 0, links_length = 0, length = 0;
    struct page page = {.body = open_memstream(&body, &body_length),
                        .links = open_memstream(&links, &links_length)};
    FILE *out = open_memstream(&text, &length);
    bool good = page.body && page.links && out;
    if (good)
        parts_put(&page, documents, names, count);
    good = page.body && fclose(page.body) == 0 && good;
    good = page.links && fclose(page.links) == 0 && good;
    if (good)
        frame_put(out, documents, names, count, links, body);
    good = out && fclose(out) == 0 && good;
    enum status status = good ? output_put(text, length, path, NULL)
                              : fail(STATUS_ERROR, "out of memory for the page %s", path);
    free(body);
    free(links);
    free(text);
    return status;
}
