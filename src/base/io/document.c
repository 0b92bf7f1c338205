/*
 * document.c - JSON that cctest wrote, read again.
 */
#include "base/io/io.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/text_file.h"

#define SCHEMA     1                   /* the number that documents of this version begin with */
#define BYTES_MOST ((size_t)256 << 20) /* of a file: its document takes ten times as much memory */
#define NUMBER_MOST 1e18              /* so that no arithmetic of pictures overflows */
#define EXCERPT    60                  /* bytes of a word of the file in a sentence */

/* A file that is no JSON. */
static enum status syntax_refuse(const char *path, const json_error_t *error)
{
    if (json_error_code(error) == json_error_premature_end_of_input)
        return fail(STATUS_USAGE, "%.200s is cut off: its JSON ends in line %d: make it again",
                    path, error->line);
    return fail(STATUS_USAGE,
                "%.200s is no JSON: line %d, column %d: %s; give a file that --json or fit -o wrote", path,
                error->line, error->column, error->text);
}

/* Refuses JSON of others, or of another version's form. */
static enum status schema_check(const char *path, const json_t *document)
{
    const json_t *schema = json_object_get(document, "schema");
    if (!json_is_integer(schema) || !json_is_string(json_object_get(document, "version")))
        return fail(STATUS_USAGE,
                    "%.200s is JSON, but not of cctest: it has no schema and version; give a file "
                    "that --json or fit -o wrote",
                    path);
    if (json_integer_value(schema) != SCHEMA)
        return fail(STATUS_USAGE,
                    "%.200s has schema %lld, and this cctest reads schema %d: use the cctest that "
                    "wrote it, version %.*s",
                    path, (long long)json_integer_value(schema), SCHEMA, EXCERPT,
                    json_string_value(json_object_get(document, "version")));
    return STATUS_OK;
}

enum status document_read(const char *path, json_t **document)
{
    char *text = NULL;
    json_error_t error;
    *document = NULL;
    enum status status = text_file_read(path, &text);
    if (status != STATUS_OK)
        return status;
    if (strlen(text) > BYTES_MOST) {
        status = fail(STATUS_USAGE, "%.200s has %zu MiB, and cctest reads JSON of %zu MiB at most",
                      path, strlen(text) >> 20, BYTES_MOST >> 20);
    } else {
        *document = json_loads(text, 0, &error);
        status = *document ? schema_check(path, *document) : syntax_refuse(path, &error);
    }
    free(text);
    if (status != STATUS_OK) {
        json_decref(*document);
        *document = NULL;
    }
    return status;
}

double number_of(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    double number = json_is_number(value) ? json_number_value(value) : NAN;
    return fabs(number) <= NUMBER_MOST ? number : NAN;
}

const char *word_of(const json_t *object, const char *key)
{
    const char *word = json_string_value(json_object_get(object, key));
    return word ? word : "";
}
