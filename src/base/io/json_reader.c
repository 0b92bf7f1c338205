/*
 * json_reader.c - reads a document that a user may have edited.
 */
#include "base/io/io.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"

void json_reader_fail(struct json_reader *reader, const char *key, const char *format, ...)
{
    char text[300];
    va_list arguments;
    if (reader->status != STATUS_OK)
        return;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    reader->status = fail(STATUS_USAGE, "%.200s: %s%s %s: %s", reader->path, reader->place, key,
                          text, reader->remedy);
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

int json_reader_whole(struct json_reader *reader, const json_t *object, const char *key, int least,
                      int most)
{
    double number = json_reader_number(reader, object, key, least, most);
    if (number != (int)number)
        json_reader_fail(reader, key, "is no whole number");
    return (int)number;
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

size_t json_reader_enter(struct json_reader *reader, const char *key, size_t index)
{
    size_t before = strlen(reader->place);
    snprintf(reader->place + before, sizeof reader->place - before, "%s[%zu].", key, index);
    return before;
}

void json_reader_leave(struct json_reader *reader, size_t before)
{
    reader->place[before] = '\0';
}
