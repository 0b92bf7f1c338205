/*
 * page.h - a page of HTML from documents that `--json` writes.
 */
#ifndef CCTEST_CLI_REPORT_PAGE_H
#define CCTEST_CLI_REPORT_PAGE_H

#include <jansson.h>

#include "base/status.h"

#define PAGE_DOCUMENTS_MOST 16

/* Has a page something to show of this document? It is one of a run or of `accept`. */
bool page_takes(const json_t *document);

/* Writes one page of `count` documents, 1 to PAGE_DOCUMENTS_MOST, to `path`, as output_put() does.
 * `names`: what the reader knows them by, as their files. Runs are compared with the first of them.
 * STATUS_ERROR if it cannot be written, or the memory does not suffice. */
enum status page_write(json_t *const *documents, const char *const *names, int count,
                       const char *path);

#endif
