/*
 * test_json_field.c - objects of JSON by tables: the values, those that there are not, the keys
 * that an object may lack, and the schema.
 * tier: check; load: cpu1
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/json_field.h"

enum colour { RED, GREEN, NO_COLOUR };
static const char *const colours[] = {[RED] = "red", [GREEN] = "green", [NO_COLOUR] = NULL};

struct inner {
    long most;
};

struct outer {
    bool good;
    int rank;
    unsigned number;
    size_t bytes;
    double share;
    uint64_t ns;
    const char *word;
    char text[8];
    enum colour colour;
    struct inner inner, spread;
};

static json_t *double_make(const void *outer, const void *context)
{
    return json_integer(((const struct outer *)outer)->rank * *(const int *)context);
}

static json_t *absent_make(const void *outer, const void *context)
{
    (void)outer, (void)context;
    return NULL;
}

static const struct json_field inner_fields[] = {
    {"most", "count?", NULL, JSON_MEMBER(struct inner, most)},
    {0},
};

static const struct json_field outer_fields[] = {
    {"good", "boolean", "is it?", JSON_MEMBER(struct outer, good)},
    {"rank", "rank", NULL, JSON_MEMBER(struct outer, rank)},
    {"number", "integer", NULL, JSON_MEMBER(struct outer, number)},
    {"bytes", "count", NULL, JSON_MEMBER(struct outer, bytes)},
    {"share", "share?", NULL, JSON_MEMBER(struct outer, share)},
    {"us", "number", NULL, JSON_SCALED(struct outer, ns, 1e-3)},
    {"percent", "number", NULL, JSON_OPTIONAL, JSON_SCALED(struct outer, share, 100)},
    {"word", "name?", NULL, JSON_MEMBER(struct outer, word)},
    {"text", "name", NULL, JSON_OPTIONAL, JSON_MEMBER(struct outer, text)},
    {"colour", "red|green?", NULL, JSON_WORDS(struct outer, colour, colours)},
    {"inner", "inner", NULL, JSON_INNER(struct outer, inner, inner_fields)},
    {"", JSON_SPREAD(struct outer, spread, inner_fields)},
    {"", "number", "a column alone", JSON_MEMBER(struct outer, rank)},
    {"twice", "[[rank]]{1,2}?", NULL, JSON_MADE(double_make)},
    {"absent", "[rank]", NULL, JSON_OPTIONAL, JSON_MADE(absent_make)},
    {0},
};

static void assert_json(json_t *json, const char *expected)
{
    char *text = json_dumps(json, JSON_COMPACT | JSON_ENCODE_ANY | JSON_REAL_PRECISION(9));
    assert_string_equal(text, expected);
    free(text);
    json_decref(json);
}

static void test_values(void **state)
{
    (void)state;
    const int factor = 2;
    const struct outer whole = {.good = true,
                                .rank = 3,
                                .number = 4000000000u,
                                .bytes = (size_t)1 << 40,
                                .share = 0.5,
                                .ns = 1500,
                                .word = "w",
                                .text = "t",
                                .colour = GREEN,
                                .inner = {7},
                                .spread = {0}};
    assert_json(json_object_of(outer_fields, &whole, &factor),
                "{\"good\":true,\"rank\":3,\"number\":4000000000,\"bytes\":1099511627776,"
                "\"share\":0.5,\"us\":1.5,\"percent\":50.0,\"word\":\"w\",\"text\":\"t\","
                "\"colour\":\"green\",\"inner\":{\"most\":7},\"most\":0,\"twice\":6}");
}

static void test_none(void **state)
{
    (void)state;
    const int factor = 0;
    const struct outer none = {
        .rank = -1, .share = NAN, .colour = NO_COLOUR, .inner = {-1}, .spread = {-1}};
    assert_json(json_object_of(outer_fields, &none, &factor),
                "{\"good\":false,\"rank\":-1,\"number\":0,\"bytes\":0,\"share\":null,\"us\":0.0,"
                "\"word\":null,\"colour\":null,\"inner\":{\"most\":null},\"most\":null,"
                "\"twice\":0}");
}

/* A text of another encoding stands there all the same. */
static void test_bytes(void **state)
{
    (void)state;
    const int factor = 0;
    const struct outer odd = {.word = "c\xff.txt", .text = "\xfe"};
    json_t *object = json_object_of(outer_fields, &odd, &factor);
    assert_json(json_incref(json_object_get(object, "word")), "\"c?.txt\"");
    assert_json(json_incref(json_object_get(object, "text")), "\"?\"");
    json_decref(object);
}

static void test_lists(void **state)
{
    (void)state;
    const struct inner items[] = {{1}, {2}};
    assert_json(json_list_of(inner_fields, items, sizeof *items, 2, NULL),
                "[{\"most\":1},{\"most\":2}]");
    assert_json(json_list_of(inner_fields, NULL, sizeof *items, 0, NULL), "[]");
}

static void test_schema(void **state)
{
    (void)state;
    json_t *schema = json_fields_schema(outer_fields);
    assert_int_equal(json_object_size(schema), 14);
    assert_json(json_incref(json_object_get(schema, "good")),
                "{\"type\":\"boolean\",\"description\":\"is it?\"}");
    assert_json(json_incref(json_object_get(schema, "most")),
                "{\"oneOf\":[{\"$ref\":\"#/$defs/count\"},{\"type\":\"null\"}]}");
    assert_json(json_incref(json_object_get(schema, "colour")),
                "{\"oneOf\":[{\"enum\":[\"red\",\"green\"]},{\"type\":\"null\"}]}");
    assert_json(json_incref(json_object_get(schema, "twice")),
                "{\"oneOf\":[{\"type\":\"array\",\"items\":{\"type\":\"array\",\"items\":{\"$ref\":"
                "\"#/$defs/rank\"}},\"minItems\":1,\"maxItems\":2},{\"type\":\"null\"}]}");
    assert_json(json_incref(json_object_get(schema, "absent")),
                "{\"type\":\"array\",\"items\":{\"$ref\":\"#/$defs/rank\"},\"optional\":true}");
    json_decref(schema);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_values), cmocka_unit_test(test_none),
                                       cmocka_unit_test(test_bytes), cmocka_unit_test(test_lists),
                                       cmocka_unit_test(test_schema)};
    return cmocka_run_group_tests_name("json_field", tests, NULL, NULL);
}
