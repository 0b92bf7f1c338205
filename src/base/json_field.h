/*
 * json_field.h - objects of JSON by tables.
 *
 * A key of an object is one row of a table. The object, its part of the schema, the page
 * cctest-json(5) and `cctest help KEY` come from it; of a result also its columns in the table and
 * in CSV.
 */
#ifndef CCTEST_BASE_JSON_FIELD_H
#define CCTEST_BASE_JSON_FIELD_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum json_member {
    JSON_IS_MADE, /* by a function */
    JSON_IS_OBJECT,
    JSON_IS_SPREAD, /* the keys of a struct are keys of the object itself */
    JSON_IS_BOOL,
    JSON_IS_INT,
    JSON_IS_UNSIGNED,
    JSON_IS_LONG,
    JSON_IS_UNSIGNED_LONG,
    JSON_IS_DOUBLE,
    JSON_IS_SCALED, /* a uint64_t, as a real number */
    JSON_IS_WORD,   /* a pointer to text */
    JSON_IS_TEXT,   /* an array of char */
    JSON_IS_ENUM,
    JSON_IS_READY, /* a json_t, of which the object is one more owner; NULL: null */
    JSON_IS_NAME,  /* in a struct that a member points to */
};

struct line_column; /* of a result (cli/run/internal.h) */

struct json_field {
    const char *key; /* NULL: the table ends; "": the row is a column alone */
    /* boolean, integer, number, string; a definition of cli/schema.json; "a|b|c": one of these
     * words; "[TYPE]": a list, "[TYPE]{LEAST,MOST}": of so many, 0: any; "TYPE?": or null, where
     * there is none: an integer is below 0, a real number not finite, a text empty or NULL. */
    const char *type;
    const char *sentence; /* what the value is, with its unit; NULL: as its definition says */
    bool is_optional;     /* an object may lack it: its function returns NULL, or there is none */
    enum json_member member;
    size_t offset;                                            /* in the struct of the object */
    double factor;                                            /* of a real number; 0: 1 */
    const char *const *words;                                 /* by value of an enum */
    size_t inner;                                             /* of a name in its struct */
    const struct json_field *fields;                          /* of an object in the struct */
    json_t *(*make)(const void *object, const void *context); /* a new reference */
    const struct line_column *column;                         /* NULL: it has none */
};

/* The value of a row: a member of the object's struct, ... */
#define JSON_MEMBER(type, name)                                                                    \
    .offset = offsetof(type, name),                                                                \
    .member = _Generic(&((type *)0)->name,                                                         \
                       bool *: JSON_IS_BOOL,                                                       \
                       int *: JSON_IS_INT,                                                         \
                       unsigned *: JSON_IS_UNSIGNED,                                               \
                       long *: JSON_IS_LONG,                                                       \
                       unsigned long *: JSON_IS_UNSIGNED_LONG,                                     \
                       double *: JSON_IS_DOUBLE,                                                   \
                       const char **: JSON_IS_WORD,                                                \
                       char **: JSON_IS_WORD,                                                      \
                       json_t **: JSON_IS_READY,                                                   \
                       char(*)[sizeof(((type *)0)->name)]: JSON_IS_TEXT)
/* ... a real number, or nanoseconds and the like in a uint64_t, times a factor, ... */
#define JSON_SCALED(type, name, times)                                                             \
    .offset = offsetof(type, name), .factor = (times),                                             \
    .member = _Generic(((type *)0)->name, uint64_t                                                 \
                       : JSON_IS_SCALED, double                                                    \
                       : JSON_IS_DOUBLE)
/* ... an enum by its words, ... */
#define JSON_WORDS(type, name, names)                                                              \
    .offset = offsetof(type, name), .words = (names),                                              \
    .member = _Generic(((type *)0)->name, int                                                      \
                       : JSON_IS_ENUM, unsigned                                                    \
                       : JSON_IS_ENUM)
/* ... the name in a struct that a member points to, ... */
#define JSON_NAME(type, pointer)                                                                   \
    .offset = offsetof(type, pointer), .member = JSON_IS_NAME,                                     \
    .inner = offsetof(__typeof__(*((type *)0)->pointer), name)
/* ... a struct by its table, ... */
#define JSON_INNER(type, name, table)                                                              \
    .offset = offsetof(type, name), .member = JSON_IS_OBJECT, .fields = (table)
/* ... or what a function makes of the object or of a member, and of the context that the caller
 * gives. */
#define JSON_MADE(function)                .make = (function)
#define JSON_MADE_OF(type, name, function) .offset = offsetof(type, name), .make = (function)
/* Alone, behind a key "": the keys of a struct, by its table, are keys of the object itself. */
#define JSON_SPREAD(type, name, table)                                                             \
    .offset = offsetof(type, name), .member = JSON_IS_SPREAD, .fields = (table)
#define JSON_OPTIONAL .is_optional = true

/* The first row of the table of a document. */
#define JSON_DOCUMENT                                                                              \
    {                                                                                              \
        "", .member = JSON_IS_SPREAD, .fields = json_document_fields                               \
    }
extern const struct json_field json_document_fields[];

/* Each is a new reference. `object`: the struct that the table is for. Without memory the result is
 * NULL, or lacks values. */
json_t *json_field_value(const struct json_field *field, const void *object, const void *context);
json_t *json_object_of(const struct json_field *fields, const void *object, const void *context);
/* `count` items of `size` bytes each. */
json_t *json_list_of(const struct json_field *fields, const void *items, size_t size, size_t count,
                     const void *context);

/* "properties" of a schema, in which "optional" marks keys that an object may lack. */
json_t *json_fields_schema(const struct json_field *fields);

/* The keys that each document begins with (JSON_DOCUMENT). NULL: out of memory. */
json_t *json_document(void);

#endif
