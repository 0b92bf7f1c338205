/*
 * tuning_file.h - the JSON of `cctest tune`, as what auto picks by.
 */
#ifndef CCTEST_TUNE_TUNING_FILE_H
#define CCTEST_TUNE_TUNING_FILE_H

#include <jansson.h>

#include "collective/schedule/tuned.h"

/* Reads a document of `cctest tune`; `path`, which outlives *tuned, names it in sentences. The caller
 * frees *tuned with tuned_free(). STATUS_USAGE, with the reason: cut off, no JSON, of another command,
 * an unknown algorithm, a number that cannot be. */
enum status tuning_file_read(const char *path, struct tuned **tuned);

/* The same of a document that has been read. */
enum status tuning_document_read(const char *path, const json_t *document, struct tuned **tuned);

#endif
