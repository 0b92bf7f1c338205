/*
 * json_field.c - objects of JSON by tables of their keys: the objects, and the schema of them.
 */
#include "base/json_field.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/list.h"

/* ---- values: null where there is none ---- */

/* A text that is no UTF-8 has a question mark for each byte that is no ASCII. */
static json_t *text_json(const char *text, bool may_lack)
{
    if (!text || (!*text && may_lack))
        return json_null();
    json_t *made = json_string(text);
    if (made)
        return made;
    char *plain = new_text(text);
    for (char *at = plain; *at; at++)
        *at = (unsigned char)*at < 0x80 ? *at : '?';
    made = json_string(plain);
    free(plain);
    return made;
}

static json_t *integer_json(long long number, bool may_lack)
{
    return number < 0 && may_lack ? json_null() : json_integer(number);
}

static json_t *real_json(double number)
{
    return isfinite(number) ? json_real(number) : json_null();
}

json_t *json_field_value(const struct json_field *field, const void *object, const void *context)
{
    const void *at = (const char *)object + field->offset;
    const char *type = field->type;
    bool may_lack = field->is_optional || type[strlen(type) - 1] == '?';
    double factor = field->factor != 0 ? field->factor : 1;
    switch (field->member) {
    case JSON_IS_MADE:
        return field->make(at, context);
    case JSON_IS_OBJECT:
        return json_object_of(field->fields, at, context);
    case JSON_IS_SPREAD:
        break;
    case JSON_IS_BOOL:
        return json_boolean(*(const bool *)at);
    case JSON_IS_INT:
        return integer_json(*(const int *)at, may_lack);
    case JSON_IS_UNSIGNED:
        return json_integer(*(const unsigned *)at);
    case JSON_IS_LONG:
        return integer_json(*(const long *)at, may_lack);
    case JSON_IS_UNSIGNED_LONG:
        return json_integer((json_int_t) * (const unsigned long *)at);
    case JSON_IS_DOUBLE:
        return real_json(*(const double *)at * factor);
    case JSON_IS_SCALED:
        return json_real((double)*(const uint64_t *)at * factor);
    case JSON_IS_WORD:
        return text_json(*(const char *const *)at, may_lack);
    case JSON_IS_TEXT:
        return text_json(at, may_lack);
    case JSON_IS_ENUM:
        return text_json(field->words[*(const int *)at], may_lack);
    case JSON_IS_READY:
        return *(json_t *const *)at ? json_incref(*(json_t *const *)at) : json_null();
    case JSON_IS_NAME:
        return text_json(*(const char *const *)(*(const char *const *)at + field->inner), false);
    }
    abort();
}

static void object_fill(json_t *object, const struct json_field *fields, const void *from,
                        const void *context)
{
    for (const struct json_field *field = fields; field->key; field++) {
        if (field->member == JSON_IS_SPREAD)
            object_fill(object, field->fields, (const char *)from + field->offset, context);
        if (!*field->key)
            continue;
        json_t *value = json_field_value(field, from, context);
        if (field->is_optional && json_is_null(value) && field->member != JSON_IS_MADE)
            value = NULL;
        if (value)
            json_object_set_new(object, field->key, value);
    }
}

json_t *json_object_of(const struct json_field *fields, const void *object, const void *context)
{
    json_t *made = json_object();
    object_fill(made, fields, object, context);
    return made;
}

json_t *json_list_of(const struct json_field *fields, const void *items, size_t size, size_t count,
                     const void *context)
{
    json_t *list = json_array();
    for (size_t i = 0; i < count; i++)
        json_array_append_new(list,
                              json_object_of(fields, (const char *)items + i * size, context));
    return list;
}

/* ---- the schema ---- */

static json_t *type_schema(const char *type, size_t length);

/* "a|b|c" */
static json_t *words_schema(const char *type, size_t length)
{
    json_t *words = json_array();
    for (size_t used = 0; used <= length;) {
        const char *end = memchr(type + used, '|', length - used);
        size_t word = end ? (size_t)(end - type) - used : length - used;
        json_array_append_new(words, json_stringn(type + used, word));
        used += word + 1;
    }
    return json_pack("{s:o}", "enum", words);
}

/* "[TYPE]", "[TYPE]{LEAST,MOST}" */
static json_t *list_schema(const char *type, size_t length)
{
    size_t inner = length;
    unsigned least = 0, most = 0;
    while (type[inner - 1] != ']')
        inner--;
    json_t *schema =
        json_pack("{s:s, s:o}", "type", "array", "items", type_schema(type + 1, inner - 2));
    sscanf(type + inner, "{%u,%u}", &least, &most);
    if (least > 0)
        json_object_set_new(schema, "minItems", json_integer(least));
    if (most > 0)
        json_object_set_new(schema, "maxItems", json_integer(most));
    return schema;
}

static json_t *type_schema(const char *type, size_t length)
{
    static const char *const own[] = {"boolean", "integer", "number", "string"};
    if (type[length - 1] == '?')
        return json_pack("{s:[o, {s:s}]}", "oneOf", type_schema(type, length - 1), "type", "null");
    if (type[0] == '[')
        return list_schema(type, length);
    if (memchr(type, '|', length))
        return words_schema(type, length);
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        if (strlen(own[i]) == length && memcmp(own[i], type, length) == 0)
            return json_pack("{s:s}", "type", own[i]);
    return json_pack("{s:o}", "$ref", json_sprintf("#/$defs/%.*s", (int)length, type));
}

json_t *json_fields_schema(const struct json_field *fields)
{
    json_t *properties = json_object();
    for (const struct json_field *field = fields; field->key; field++) {
        if (field->member == JSON_IS_SPREAD)
            json_object_update_new(properties, json_fields_schema(field->fields));
        if (!*field->key)
            continue;
        json_t *property = type_schema(field->type, strlen(field->type));
        if (field->sentence)
            json_object_set_new(property, "description", json_string(field->sentence));
        if (field->is_optional)
            json_object_set_new(property, "optional", json_true());
        json_object_set_new(properties, field->key, property);
    }
    return properties;
}

/* ---- documents ---- */

static json_t *schema_make(const void *object, const void *context)
{
    (void)object, (void)context;
    return json_integer(1);
}

static json_t *version_make(const void *object, const void *context)
{
    (void)object, (void)context;
    return json_string(CCTEST_VERSION);
}

const struct json_field json_document_fields[] = {
    {"schema", "schema", NULL, JSON_MADE(schema_make)},
    {"version", "version", NULL, JSON_MADE(version_make)},
    {0},
};

json_t *json_document(void)
{
    return json_object_of(json_document_fields, "", NULL);
}
