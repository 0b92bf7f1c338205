/*
 * json_reader.h - reads a document that a user may have edited: the first thing that is missing or
 * wrong becomes one sentence, with the file and the place in it.
 *
 * A reader that has failed returns zeroes and empty arrays, so that its caller checks once, at the
 * end. jansson knows lines of syntax errors only, so a value is named by its place: "links[2].port".
 */
#ifndef CCTEST_BASE_IO_JSON_READER_H
#define CCTEST_BASE_IO_JSON_READER_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"

#define JSON_PLACE_MOST 256

struct json_reader {
    const char *path;              /* of the file, for sentences */
    const char *remedy;            /* what to do, for sentences: "fit it again with `cctest fit`" */
    char place[JSON_PLACE_MOST];   /* of the object that is read: "", "links[2]." */
    enum status status;
};

/* Records the sentence that the value at `key` is wrong: "FILE: PLACE.KEY is ...; REMEDY". */
void json_reader_fail(struct json_reader *reader, const char *key, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

double json_reader_number(struct json_reader *reader, const json_t *object, const char *key,
                          double least, double most);
int json_reader_whole(struct json_reader *reader, const json_t *object, const char *key, int least,
                      int most);
bool json_reader_bool(struct json_reader *reader, const json_t *object, const char *key);
/* Refuses control characters, which would break the lines of a table. */
void json_reader_text(struct json_reader *reader, const json_t *object, const char *key, char *text,
                      size_t size);
/* The index of a word in a list that ends with NULL. */
int json_reader_word(struct json_reader *reader, const json_t *object, const char *key,
                     const char *const *words);
/* An array of at most `most` entries; NULL after a failure. */
const json_t *json_reader_array(struct json_reader *reader, const json_t *object, const char *key,
                                size_t most);
/* An object; NULL after a failure. */
const json_t *json_reader_object(struct json_reader *reader, const json_t *object, const char *key);

/* Entry `index` of the array at `key`, an object, is read next, until json_reader_leave() with what this
 * returns. */
size_t json_reader_enter(struct json_reader *reader, const char *key, size_t index);
void json_reader_leave(struct json_reader *reader, size_t before);

#endif
