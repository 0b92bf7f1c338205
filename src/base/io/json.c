/*
 * json.c - reads JSON: documents that a user may have edited, and those that cctest wrote.
 */
#include "base/io/io.h"

#include "base/log.h"
#include "base/text_file.h"

#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/*
 * Reads a document that a user may have edited.
 */
void json_reader_fail(struct json_reader *reader, const char *key, const char *format, ...)
{
    char text[300], name[PLACE_TEXT];
    const struct failure_place place = {.file = reader->path, .key = name};
    va_list arguments;
    if (reader->status != STATUS_OK)
        return;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    snprintf(name, sizeof name, "%s%s", reader->place, key);
    if (!*key && *name)
        name[strlen(name) - 1] = '\0'; /* the dot */
    reader->status = fail_at(STATUS_USAGE, &place, "%s: %s", text, reader->remedy);
}

/* The value at `key`; NULL after a failure. */
static const json_t *value_get(struct json_reader *reader, const json_t *object, const char *key)
{
    const json_t *value = reader->status == STATUS_OK ? json_object_get(object, key) : NULL;
    if (!value)
        json_reader_fail(reader, key, "is missing");
    return value;
}

double json_reader_number(struct json_reader *reader, const json_t *object, const char *key,
                          double least, double most)
{
    const json_t *value = value_get(reader, object, key);
    if (!value)
        return 0;
    double number = json_number_value(value);
    if (json_is_number(value) && number >= least && number <= most)
        return number;
    json_reader_fail(reader, key, "is no number from %g to %g", least, most);
    return 0;
}

static bool is_whole(const json_t *value, int least, int most)
{
    double number = json_number_value(value);
    return json_is_number(value) && number >= least && number <= most && number == floor(number);
}

/* `value` NULL: there is none. */
static int whole_check(struct json_reader *reader, const json_t *value, const char *key, int least,
                       int most)
{
    if (!value)
        json_reader_fail(reader, key, "is missing");
    else if (!is_whole(value, least, most))
        json_reader_fail(reader, key, "is no whole number from %d to %d", least, most);
    return reader->status == STATUS_OK ? (int)json_number_value(value) : 0;
}

int json_reader_whole(struct json_reader *reader, const json_t *object, const char *key, int least,
                      int most)
{
    return whole_check(reader, json_object_get(object, key), key, least, most);
}

int json_reader_whole_or(struct json_reader *reader, const json_t *object, const char *key,
                         int standard, int least, int most)
{
    const json_t *value = json_object_get(object, key);
    return value ? whole_check(reader, value, key, least, most) : standard;
}

int json_reader_whole_at(struct json_reader *reader, const json_t *list, const char *key,
                         size_t index, int least, int most)
{
    const json_t *value = json_array_get(list, index);
    char name[PLACE_TEXT];
    if (is_whole(value, least, most))
        return whole_check(reader, value, key, least, most);
    snprintf(name, sizeof name, "%s[%zu]", key, index);
    return whole_check(reader, value, name, least, most);
}

bool json_reader_bool(struct json_reader *reader, const json_t *object, const char *key)
{
    const json_t *value = value_get(reader, object, key);
    if (value && !json_is_boolean(value))
        json_reader_fail(reader, key, "is neither true nor false");
    return json_is_true(value);
}

static bool has_control(const char *text)
{
    while (*text && !iscntrl((unsigned char)*text))
        text++;
    return *text;
}

void json_reader_text(struct json_reader *reader, const json_t *object, const char *key, char *text,
                      size_t size)
{
    const json_t *value = value_get(reader, object, key);
    text[0] = '\0';
    if (!value)
        return;
    if (!json_is_string(value) || json_string_length(value) >= size)
        json_reader_fail(reader, key, "is no text of fewer than %zu bytes", size);
    else if (has_control(json_string_value(value)))
        json_reader_fail(reader, key, "has a control character");
    else
        memcpy(text, json_string_value(value), json_string_length(value) + 1);
}

int json_reader_word(struct json_reader *reader, const json_t *object, const char *key,
                     const char *const *words)
{
    const json_t *value = value_get(reader, object, key);
    const char *word = json_string_value(value);
    char list[200] = "";
    if (!value)
        return 0;
    for (int i = 0; words[i]; i++) {
        if (word && strcmp(word, words[i]) == 0)
            return i;
        size_t length = strlen(list);
        snprintf(list + length, sizeof list - length, "%s%s", i ? ", " : "", words[i]);
    }
    json_reader_fail(reader, key, "is none of %s", list);
    return 0;
}

const json_t *json_reader_array(struct json_reader *reader, const json_t *object, const char *key,
                                size_t most)
{
    const json_t *value = value_get(reader, object, key);
    if (value && (!json_is_array(value) || json_array_size(value) > most)) {
        json_reader_fail(reader, key, "is no array of at most %zu entries", most);
        return NULL;
    }
    return value;
}

const json_t *json_reader_object(struct json_reader *reader, const json_t *object, const char *key)
{
    const json_t *value = value_get(reader, object, key);
    if (value && !json_is_object(value)) {
        json_reader_fail(reader, key, "is no object");
        return NULL;
    }
    return value;
}

void *json_reader_take(struct json_reader *reader, struct arena *arena, size_t count, size_t size)
{
    size_t bytes = (count + 1) * size;
    if (reader->status != STATUS_OK)
        return NULL;
    void *taken = arena_take(arena, bytes);
    if (taken)
        return memset(taken, 0, bytes);
    reader->status = fail(STATUS_ERROR, "out of memory for %.200s", reader->path);
    return NULL;
}

size_t json_reader_enter(struct json_reader *reader, const char *key, size_t index)
{
    size_t before = strlen(reader->place);
    snprintf(reader->place + before, sizeof reader->place - before, "%s[%zu].", key, index);
    return before;
}

size_t json_reader_enter_object(struct json_reader *reader, const char *key)
{
    size_t before = strlen(reader->place);
    snprintf(reader->place + before, sizeof reader->place - before, "%s.", key);
    return before;
}

void json_reader_leave(struct json_reader *reader, size_t before)
{
    reader->place[before] = '\0';
}

/*
 * JSON that cctest wrote, read again.
 */
#define SCHEMA      1                   /* the number that documents of this version begin with */
#define BYTES_MOST  ((size_t)256 << 20) /* of a file: its document takes ten times as much memory */
#define NUMBER_MOST 1e18                /* so that no arithmetic of pictures overflows */
#define EXCERPT     60                  /* bytes of a word of the file in a sentence */

/* A file that is no JSON. */
static enum status syntax_refuse(const char *path, const json_error_t *error)
{
    if (json_error_code(error) == json_error_premature_end_of_input)
        return fail(STATUS_USAGE, "%.200s is cut off: its JSON ends in line %d: make it again",
                    path, error->line);
    return fail(
        STATUS_USAGE,
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

long long whole_of(const json_t *object, const char *key)
{
    return json_integer_value(json_object_get(object, key));
}

const char *word_of(const json_t *object, const char *key)
{
    const char *word = json_string_value(json_object_get(object, key));
    return word ? word : "";
}
