/*
 * document.h - JSON that cctest wrote, read again.
 */
#ifndef CCTEST_BASE_IO_DOCUMENT_H
#define CCTEST_BASE_IO_DOCUMENT_H

#include <jansson.h>

#include "base/status.h"

/* Reads the document of this file: JSON of this cctest's schema, with a version; what else it has is
 * the caller's to check. The caller gives up the reference. STATUS_USAGE, with the reason, and no
 * document. */
enum status document_read(const char *path, json_t **document);

/* What an object has, whose values may be of any type. */
/* A number up to 10^18, above what anything measures; NAN where there is none. */
double number_of(const json_t *object, const char *key);
/* Text; "" where there is none. */
const char *word_of(const json_t *object, const char *key);

#endif
