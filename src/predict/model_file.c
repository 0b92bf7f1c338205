/*
 * model_file.c - a model as a file.
 */
#include "predict/predict.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/io/io.h"

#define REMEDY       "make it again with cctest fit -o FILE, or correct it"
#define TIME_MOST    1e9 /* us */
#define NS           1e3 /* in a us */
#define CORES_MOST   65536
#define FACTOR_MOST  1e6
#define WINDOW_LEAST 64 /* bytes: an element of any type passes */

static void curve_read(struct json_reader *reader, const json_t *object, const char *key,
                       struct curve *curve)
{
    const json_t *list = json_reader_array(reader, object, key, CURVE_MOST), *point;
    size_t index;
    json_array_foreach(list, index, point)
    {
        double bytes = json_number_value(json_array_get(point, 0));
        double value = json_number_value(json_array_get(point, 1));
        double before = index ? curve->points[index - 1].bytes : 0.999;
        if (json_array_size(point) != 2 || !(bytes > before) || !(bytes < 1e18) || !(value >= 0) ||
            !(value <= TIME_MOST)) {
            json_reader_fail(reader, key,
                             "has entry %zu, which is no pair of bytes (from 1, ascending) and ns",
                             index);
            return;
        }
        curve->points[curve->count++] = (struct curve_point){bytes, value / NS};
    }
}

static void path_read(struct json_reader *reader, const json_t *object, struct path_cost *path)
{
    path->path = (enum path)json_reader_word(reader, object, "path", path_names);
    path->least = (size_t)json_reader_number(reader, object, "least_bytes", 0, 1e15);
    path->movement = (enum movement)json_reader_word(reader, object, "movement", movement_names);
    path->latency = json_reader_number(reader, object, "latency_us", 0, TIME_MOST);
    path->send_overhead = json_reader_number(reader, object, "send_overhead_us", 0, TIME_MOST);
    path->receive_overhead =
        json_reader_number(reader, object, "receive_overhead_us", 0, TIME_MOST);
    curve_read(reader, object, "send_ns_per_byte", &path->send_byte);
    curve_read(reader, object, "receive_ns_per_byte", &path->receive_byte);
    path->sharing = json_reader_number(reader, object, "sharing", 0, FACTOR_MOST);
    path->combines_apart = json_reader_bool(reader, object, "combines_apart");
    path->wire = json_reader_number(reader, object, "wire_ns_per_byte", 0, TIME_MOST) / NS;
    path->gap = json_reader_number(reader, object, "gap_us", 0, TIME_MOST);
    path->window = (size_t)json_reader_number(reader, object, "window_bytes", 0, 1e15);
    if (path->window > 0 && path->window < WINDOW_LEAST)
        json_reader_fail(reader, "window_bytes", "is less than %d and not 0", WINDOW_LEAST);
}

static void link_read(struct json_reader *reader, const json_t *object, struct link_model *link)
{
    json_reader_text(reader, object, "transport", link->transport, sizeof link->transport);
    if (json_object_get(object, "rail"))
        json_reader_text(reader, object, "rail", link->rail, sizeof link->rail);
    link->distance =
        (enum rank_distance)json_reader_word(reader, object, "distance", distance_names);
    if (reader->status == STATUS_OK && link->rail[0] && link->distance != DISTANCE_NETWORK)
        json_reader_fail(reader, "rail", "is of a link within a host, which has none");
    link->port = (enum port_kind)json_reader_word(reader, object, "port", port_names);
    if (json_object_get(object, "one_way_least_ns") || json_object_get(object, "one_way_most_ns")) {
        struct core_latency *core = &link->core;
        core->least = json_reader_number(reader, object, "one_way_least_ns", 0, TIME_MOST);
        core->most = json_reader_number(reader, object, "one_way_most_ns", core->least, TIME_MOST);
    }
    const json_t *paths = json_reader_array(reader, object, "paths", PATH_COSTS_MOST), *path;
    size_t index;
    if (reader->status == STATUS_OK && !transport_find(link->transport))
        json_reader_fail(reader, "transport", "is no transport (cctest info lists them)");
    if (paths && json_array_size(paths) == 0)
        json_reader_fail(reader, "paths", "is empty");
    json_array_foreach(paths, index, path)
    {
        size_t before = json_reader_enter(reader, "paths", index);
        struct path_cost *row = &link->paths[link->path_count++];
        path_read(reader, path, row);
        if (index > 0 && (row->path < row[-1].path ||
                          (row->path == row[-1].path && row->least <= row[-1].least)))
            json_reader_fail(
                reader, "least_bytes",
                "is not above that of the row before: rows ascend by path (line, bcopy, "
                "zcopy, ll), then by bytes");
        json_reader_leave(reader, before);
    }
}

/* Each of several links of a transport at one distance is a rail of the network. */
static void link_compare(struct json_reader *reader, const struct link_model *link,
                         const struct link_model *before)
{
    if (reader->status != STATUS_OK || strcmp(link->transport, before->transport) != 0 ||
        link->distance != before->distance)
        return;
    if (link->distance != DISTANCE_NETWORK)
        json_reader_fail(reader, "distance", "is that of another link of %s: one is enough",
                         link->transport);
    else if (!link->rail[0] || !before->rail[0] || strcmp(link->rail, before->rail) == 0)
        json_reader_fail(reader, "rail",
                         "does not tell it from another link of %s in the network: each needs a "
                         "rail of its own",
                         link->transport);
}

static void combine_read(struct json_reader *reader, const json_t *object,
                         struct combine_cost *combine)
{
    json_reader_text(reader, object, "datatype", combine->datatype, sizeof combine->datatype);
    json_reader_text(reader, object, "op", combine->reduction, sizeof combine->reduction);
    curve_read(reader, object, "ns_per_byte", &combine->byte);
}

static void machine_read(struct json_reader *reader, const json_t *object, struct model *model)
{
    json_reader_text(reader, object, "host", model->host, sizeof model->host);
    json_reader_text(reader, object, "processor", model->processor, sizeof model->processor);
    json_reader_text(reader, object, "made", model->made, sizeof model->made);
    model->cores = json_reader_whole(reader, object, "cores", 1, CORES_MOST);
    model->caches = json_reader_whole(reader, object, "caches", 1, CORES_MOST);
    model->cache_cores = json_reader_whole(reader, object, "cache_cores", 1, CORES_MOST);
    model->start = json_reader_number(reader, object, "start_us", 0, TIME_MOST);
    model->core_switch = json_reader_number(reader, object, "core_switch_us", 0, TIME_MOST);
    model->copy_overhead = json_reader_number(reader, object, "copy_overhead_us", 0, TIME_MOST);
    curve_read(reader, object, "copy_ns_per_byte", &model->copy);
    curve_read(reader, object, "bus_ns_per_byte", &model->bus);
}

static void lists_read(struct json_reader *reader, const json_t *object, struct model *model)
{
    const json_t *combines = json_reader_array(reader, object, "combine", COMBINE_COSTS_MOST);
    const json_t *links = json_reader_array(reader, object, "links", LINK_MODELS_MOST), *entry;
    size_t index;
    json_array_foreach(combines, index, entry)
    {
        size_t before = json_reader_enter(reader, "combine", index);
        combine_read(reader, entry, &model->combines[model->combine_count++]);
        json_reader_leave(reader, before);
    }
    json_array_foreach(links, index, entry)
    {
        size_t before = json_reader_enter(reader, "links", index);
        link_read(reader, entry, &model->links[model->link_count]);
        for (int i = 0; i < model->link_count; i++)
            link_compare(reader, &model->links[model->link_count], &model->links[i]);
        model->link_count++;
        json_reader_leave(reader, before);
    }
}

enum status model_document_read(const char *path, const json_t *document, struct model **made)
{
    struct json_reader reader = {.path = path, .remedy = REMEDY};
    struct model *model = calloc(1, sizeof *model);
    *made = NULL;
    if (!model)
        return fail(STATUS_ERROR, "out of memory for the model %.200s", path);
    const json_t *object = json_reader_object(&reader, document, "model");
    if (object) {
        strcpy(reader.place, "model.");
        machine_read(&reader, object, model);
        lists_read(&reader, object, model);
    }
    if (reader.status != STATUS_OK) {
        free(model);
        return reader.status;
    }
    *made = model;
    return STATUS_OK;
}

const char *model_moved_text(const struct model *model, char to[MODEL_MOVED_TEXT_MOST])
{
    const struct link_model *moved = model_link_moved(model);
    if (!moved)
        return NULL;
    snprintf(to, MODEL_MOVED_TEXT_MOST,
             "the cores moved, most likely: over %s, %s, a cache line took %.0f ns from core to "
             "core in one job, and %.0f in another",
             moved->transport, distance_names[moved->distance], moved->core.least,
             moved->core.most);
    return to;
}

enum status model_read(const char *path, struct model **made)
{
    json_t *document;
    enum status status = document_read(path, &document);
    if (status == STATUS_OK)
        status = model_document_read(path, document, made);
    json_decref(document);
    char moved[MODEL_MOVED_TEXT_MOST];
    if (status == STATUS_OK && model_moved_text(*made, moved))
        say("while the model %s was made %s; cctest fit makes it again", path, moved);
    return status;
}

/* Writing. */

static json_t *curve_json(const struct curve *curve)
{
    json_t *list = json_array();
    for (int i = 0; i < curve->count; i++)
        json_array_append_new(
            list, json_pack("[f, f]", curve->points[i].bytes, curve->points[i].value * NS));
    return list;
}

static json_t *path_json(const struct path_cost *path)
{
    return json_pack(
        "{s:s, s:I, s:s, s:f, s:f, s:f, s:o, s:o, s:f, s:b, s:f, s:f, s:I}", "path",
        path_names[path->path], "least_bytes", (json_int_t)path->least, "movement",
        movement_names[path->movement], "latency_us", path->latency, "send_overhead_us",
        path->send_overhead, "receive_overhead_us", path->receive_overhead, "send_ns_per_byte",
        curve_json(&path->send_byte), "receive_ns_per_byte", curve_json(&path->receive_byte),
        "sharing", path->sharing, "combines_apart", path->combines_apart, "wire_ns_per_byte",
        path->wire * NS, "gap_us", path->gap, "window_bytes", (json_int_t)path->window);
}

static json_t *link_json(const struct link_model *link)
{
    json_t *paths = json_array();
    for (int i = 0; i < link->path_count; i++)
        json_array_append_new(paths, path_json(&link->paths[i]));
    json_t *object =
        json_pack("{s:s, s:s*, s:s, s:s, s:o}", "transport", link->transport, "rail",
                  link->rail[0] ? link->rail : NULL, "distance", distance_names[link->distance],
                  "port", port_names[link->port], "paths", paths);
    if (link->core.most > 0) {
        json_object_set_new(object, "one_way_least_ns", json_real(link->core.least));
        json_object_set_new(object, "one_way_most_ns", json_real(link->core.most));
    }
    return object;
}

json_t *model_json(const struct model *model, json_t *residuals)
{
    json_t *combines = json_array(), *links = json_array(), *document = json_document();
    for (int i = 0; i < model->combine_count; i++)
        json_array_append_new(combines,
                              json_pack("{s:s, s:s, s:o}", "datatype", model->combines[i].datatype,
                                        "op", model->combines[i].reduction, "ns_per_byte",
                                        curve_json(&model->combines[i].byte)));
    for (int i = 0; i < model->link_count; i++)
        json_array_append_new(links, link_json(&model->links[i]));
    json_t *object = json_pack(
        "{s:s, s:s, s:s, s:i, s:i, s:i, s:f, s:f, s:f, s:o, s:o, s:o, s:o, s:o}", "host",
        model->host, "processor", model->processor, "made", model->made, "cores", model->cores,
        "caches", model->caches, "cache_cores", model->cache_cores, "start_us", model->start,
        "core_switch_us", model->core_switch, "copy_overhead_us", model->copy_overhead,
        "copy_ns_per_byte", curve_json(&model->copy), "bus_ns_per_byte", curve_json(&model->bus),
        "combine", combines, "links", links, "residuals", residuals ? residuals : json_array());
    if (json_object_set_new(document, "model", object) < 0) { /* also where there is no memory */
        json_decref(document);
        return NULL;
    }
    return document;
}
