/*
 * keys.c - reads cli/schema.json, which the program has in itself, for help and the manual. The
 * options in it are those of the option table, and the keys of most objects those of the tables by
 * which the objects are written.
 */
#include "cli/info/keys.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "accept/accept.h"
#include "base/io/io.h"
#include "base/text.h"
#include "cli/accept/accept.h"
#include "cli/info/internal.h"
#include "cli/options/options.h"
#include "cli/predict/predict.h"
#include "cli/run/run.h"
#include "cli/tune/tune.h"
#include "collective/formats/formats.h"
#include "predict/predict.h"
#include "tune/tune.h"

extern const char schema_text[]; /* the file, of which the Makefile makes a source */

#define OPTIONS_OF "options_of" /* a definition's command, whose options it has */

/* The tables that definitions have their keys from. */
/* clang-format off */
#define TABLE(name) {#name, name##_fields}
static const struct {
    const char *definition;
    const struct json_field *fields;
} tables[] = {
    TABLE(run), TABLE(times), TABLE(median_interval), TABLE(mode), TABLE(trend),
    TABLE(slowest_rank), TABLE(group_result), TABLE(step_end), TABLE(bytes_by_path),
    TABLE(traffic), TABLE(rank_and_host), TABLE(slow_host), TABLE(bottleneck), TABLE(loss),
    TABLE(delay), TABLE(outlier), TABLE(outliers), TABLE(peer), TABLE(sample), TABLE(profile),
    TABLE(fault_place), TABLE(fault), TABLE(result), TABLE(group), {"one_way_ns", one_way_fields},
    TABLE(link_class), TABLE(fallback), TABLE(memory_device), TABLE(member), TABLE(library),
    TABLE(error), TABLE(device_in_use), TABLE(reading), {"faulty_port", faulty_device_fields},
    {"faulty_gpu", faulty_device_fields}, TABLE(accept), TABLE(accepted_host), TABLE(host_fact),
    TABLE(stage_result), TABLE(stage_job), TABLE(counter_growth), TABLE(host_number),
    TABLE(pair_reading), TABLE(rotation), TABLE(rotation_stage), TABLE(rotation_series),
    TABLE(reason), TABLE(finding), TABLE(finding_action), TABLE(missed), TABLE(accept_error),
    TABLE(this_host), {"limits", limit_fields}, TABLE(available), TABLE(part), TABLE(port),
    TABLE(gpu), TABLE(network), TABLE(load), TABLE(load_step), TABLE(loaded_link), TABLE(tune),
    TABLE(tuned_cell), TABLE(tuned_algorithm), TABLE(pruned_algorithm), TABLE(fit), TABLE(model),
    TABLE(combine_cost), TABLE(link_model), TABLE(path_cost), TABLE(residual), TABLE(guidelines),
    TABLE(violation), TABLE(timed), TABLE(planned), TABLE(schedule), TABLE(extents), TABLE(sent),
    TABLE(operation), TABLE(span), TABLE(wait),
};
/* clang-format on */
#define TABLES (sizeof tables / sizeof *tables)

static void tables_define(json_t *definitions)
{
    for (size_t i = 0; i < TABLES; i++)
        json_object_set_new(json_object_get(definitions, tables[i].definition), "properties",
                            json_fields_schema(tables[i].fields));
}

static void options_define(json_t *definition)
{
    const char *name = json_string_value(json_object_get(definition, OPTIONS_OF));
    for (const struct command *command = commands; name && command->name; command++)
        if (strcmp(command->name, name) == 0)
            json_object_update_new(definition, json_options_schema(command->bit));
    json_object_del(definition, OPTIONS_OF);
}

/*
 * An object takes its "properties" alone, unless it has "additionalProperties", and needs all of
 * them but those with "optional". These functions write that as a schema does.
 */
static void schema_complete(json_t *node);

static void object_complete(json_t *object, json_t *properties)
{
    const char *name;
    json_t *property, *required = json_array();
    bool closed = !json_object_get(object, "additionalProperties");
    json_object_foreach(properties, name, property)
    {
        if (!json_is_true(json_object_get(property, "optional")))
            json_array_append_new(required, json_string(name));
        json_object_del(property, "optional");
        schema_complete(property);
    }
    json_object_set(object, "required", required);
    if (closed)
        json_object_update_new(
            object, json_pack("{s:s, s:b}", "type", "object", "additionalProperties", false));
    json_decref(required);
}

static void schema_complete(json_t *node)
{
    size_t index;
    json_t *form, *properties = json_object_get(node, "properties");
    if (!json_is_object(node))
        return;
    if (properties)
        object_complete(node, properties);
    json_array_foreach(json_object_get(node, "oneOf"), index, form) schema_complete(form);
    schema_complete(json_object_get(node, "items"));
    schema_complete(json_object_get(node, "additionalProperties"));
}

/* It stays for the whole program, as the texts of keys do. */
static json_t *schema_load(void)
{
    static json_t *schema;
    const char *name;
    json_t *definition;
    if (schema)
        return schema;
    schema = json_loads(schema_text, 0, NULL);
    json_object_del(schema, "$comment");
    tables_define(json_object_get(schema, "$defs"));
    json_object_foreach(json_object_get(schema, "$defs"), name, definition)
    {
        options_define(definition);
        schema_complete(definition);
    }
    return schema;
}

void schema_print(void)
{
    json_dumpf(schema_load(), stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(9));
    putchar('\n');
}

/* The definition that a node names; NULL: it names none. */
static const char *reference_of(json_t *node)
{
    const char *reference = json_string_value(json_object_get(node, "$ref"));
    return reference ? reference + strlen(SCHEMA_DEFINITION) : NULL;
}

/* "rank", or "result/properties/trend". */
static json_t *definition_of(const char *name)
{
    json_t *node = json_object_get(schema_load(), "$defs");
    char part[64];
    while (node && *name) {
        int length = (int)strcspn(name, "/");
        snprintf(part, sizeof part, "%.*s", length, name);
        node = json_object_get(node, part);
        name += length + (name[length] == '/');
    }
    return node;
}

/* Has the node keys of its own, be it as an object, or one of several forms or of a list? */
static bool has_keys(json_t *node)
{
    size_t index;
    json_t *form;
    if (!node || json_object_get(node, "properties"))
        return node;
    json_array_foreach(json_object_get(node, "oneOf"), index, form)
    {
        if (has_keys(form))
            return true;
    }
    return has_keys(json_object_get(node, "items"));
}

/*
 * Types in words.
 */
static void type_add(struct text *text, json_t *node);

static void value_add(struct text *text, json_t *value)
{
    if (json_is_string(value))
        text_add(text, "%s", json_string_value(value));
    else if (json_is_number(value))
        text_add(text, "%.15g", json_number_value(value));
    else
        text_add(text, "%s",
                 json_is_true(value)    ? "true"
                 : json_is_false(value) ? "false"
                                        : "null");
}

static void list_add(struct text *text, json_t *list, const char *separator,
                     void (*add)(struct text *text, json_t *item))
{
    size_t index;
    json_t *item;
    json_array_foreach(list, index, item)
    {
        text_add(text, "%s", index ? separator : "");
        add(text, item);
    }
}

static void type_add(struct text *text, json_t *node)
{
    json_t *type = json_object_get(node, "type"),
           *inner = json_object_get(node, "additionalProperties");
    const char *reference = reference_of(node);
    if (reference && !strchr(reference, '/') && has_keys(definition_of(reference)))
        text_add(text, "%s", reference);
    else if (reference)
        type_add(text, definition_of(reference));
    else if (json_object_get(node, "oneOf"))
        list_add(text, json_object_get(node, "oneOf"), " or ", type_add);
    else if (json_object_get(node, "enum"))
        list_add(text, json_object_get(node, "enum"), ", ", value_add);
    else if (json_object_get(node, "const"))
        value_add(text, json_object_get(node, "const"));
    else if (json_is_array(type))
        list_add(text, type, " or ", value_add);
    else if (json_object_get(node, "items")) {
        text_add(text, "list of ");
        type_add(text, json_object_get(node, "items"));
    } else if (json_is_object(inner) && !json_object_get(node, "properties")) {
        text_add(text, "object by name of ");
        type_add(text, inner);
    } else if (type)
        value_add(text, type);
}

/* A node's own description, or that of the definition that it names, unless that is an object. */
static const char *meaning_of(json_t *node)
{
    const char *meaning = json_string_value(json_object_get(node, "description"));
    const char *reference = reference_of(node);
    if (meaning || !reference || has_keys(definition_of(reference)))
        return meaning;
    return meaning_of(definition_of(reference));
}

/*
 * All keys.
 */
struct key_walk {
    void (*take)(void *argument, const struct json_key *key);
    void *argument;
    const char *object;
};

static void node_walk(const struct key_walk *walk, json_t *node, const char *path);

static void property_walk(const struct key_walk *walk, const char *name, json_t *node,
                          const char *path)
{
    char type[512], place[256];
    struct text text = text_in(type, sizeof type);
    snprintf(place, sizeof place, "%s%s%s", path, path[0] ? "." : "", name);
    type_add(&text, node);
    struct json_key key = {walk->object, place, name, type, meaning_of(node)};
    walk->take(walk->argument, &key);
    node_walk(walk, node, place);
}

static void node_walk(const struct key_walk *walk, json_t *node, const char *path)
{
    size_t index;
    const char *name;
    json_t *inner;
    json_object_foreach(json_object_get(node, "properties"), name, inner)
        property_walk(walk, name, inner, path);
    json_array_foreach(json_object_get(node, "oneOf"), index, inner)
    {
        node_walk(walk, inner, path);
    }
}

void keys_walk(void (*take)(void *argument, const struct json_key *key), void *argument)
{
    const char *name;
    json_t *node;
    json_object_foreach(json_object_get(schema_load(), "$defs"), name, node)
    {
        struct key_walk walk = {take, argument, name};
        if (!has_keys(node))
            continue;
        struct json_key key = {name, "", name, "object", meaning_of(node)};
        take(argument, &key);
        node_walk(&walk, node, "");
    }
}
