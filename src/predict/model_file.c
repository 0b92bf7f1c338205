/*
 * model_file.c - a model as a file.
 */
#include "predict/predict.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/io/io.h"
#include "base/log.h"

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

static json_t *curve_json(const void *member, const void *context)
{
    const struct curve *curve = member;
    json_t *list = json_array();
    (void)context;
    for (int i = 0; i < curve->count; i++)
        json_array_append_new(
            list, json_pack("[f, f]", curve->points[i].bytes, curve->points[i].value * NS));
    return list;
}

const struct json_field path_cost_fields[] = {
    {"path", "line|bcopy|zcopy|ll", "way of the bytes, as in bytes_by_path",
     JSON_WORDS(struct path_cost, path, path_names)},
    {"least_bytes", "count", "for messages of so many bytes and more",
     JSON_MEMBER(struct path_cost, least)},
    {"movement", "push|pull|grant",
     "the sender's core pushes bytes, the receiver's pulls them, or a NIC moves them once they are "
     "granted",
     JSON_WORDS(struct path_cost, movement, movement_names)},
    {"latency_us", "microseconds", "from the end of the sender's part until the receiver may begin",
     JSON_MEMBER(struct path_cost, latency)},
    {"send_overhead_us", "microseconds", "of the sender's core, for each message",
     JSON_MEMBER(struct path_cost, send_overhead)},
    {"receive_overhead_us", "microseconds", "of the receiver's",
     JSON_MEMBER(struct path_cost, receive_overhead)},
    {"send_ns_per_byte", "curve", NULL, JSON_MADE_OF(struct path_cost, send_byte, curve_json)},
    {"receive_ns_per_byte", "curve", NULL,
     JSON_MADE_OF(struct path_cost, receive_byte, curve_json)},
    {"sharing", "amount",
     "where ranks share a core, each byte costs it so many times as much; 0: as much",
     JSON_MEMBER(struct path_cost, sharing)},
    {"combines_apart", "boolean", "is what is to be combined received first?",
     JSON_MEMBER(struct path_cost, combines_apart)},
    {"wire_ns_per_byte", "amount", "of a port; 0: there is none",
     JSON_SCALED(struct path_cost, wire, NS)},
    {"gap_us", "microseconds", "of a port, for each message", JSON_MEMBER(struct path_cost, gap)},
    {"window_bytes", "count", "that the sender may be ahead; 0: any",
     JSON_MEMBER(struct path_cost, window)},
    {0},
};

static json_t *link_rail(const void *object, const void *context)
{
    const struct link_model *link = object;
    (void)context;
    return link->rail[0] ? json_string(link->rail) : NULL;
}

static json_t *one_way_least(const void *member, const void *context)
{
    const struct core_latency *core = member;
    (void)context;
    return core->most > 0 ? json_real(core->least) : NULL;
}

static json_t *one_way_most(const void *member, const void *context)
{
    const struct core_latency *core = member;
    (void)context;
    return core->most > 0 ? json_real(core->most) : NULL;
}

static json_t *link_paths(const void *object, const void *context)
{
    const struct link_model *link = object;
    return json_list_of(path_cost_fields, link->paths, sizeof *link->paths,
                        (size_t)link->path_count, context);
}

const struct json_field link_model_fields[] = {
    {"transport", "name", "name of the transport", JSON_MEMBER(struct link_model, transport)},
    {"rail", "name", "the NIC port that it goes through; absent: that which the transport takes",
     true, JSON_MADE(link_rail)},
    {"distance", "same-cache|same-node|network", "of the two ranks",
     JSON_WORDS(struct link_model, distance, distance_names)},
    {"port", "none|rank|node",
     "what shares the wire: nothing, the messages of a rank, those of a host over one rail",
     JSON_WORDS(struct link_model, port, port_names)},
    {"one_way_least_ns", "amount",
     "the least latency of a cache line between the two cores, as each job of the link connected; "
     "absent: the transport does not measure it",
     true, JSON_MADE_OF(struct link_model, core, one_way_least)},
    {"one_way_most_ns", "amount", "the largest such latency", true,
     JSON_MADE_OF(struct link_model, core, one_way_most)},
    {"paths", "[path_cost]{1,16}", "costs by path", JSON_MADE(link_paths)},
    {0},
};

const struct json_field combine_cost_fields[] = {
    {"datatype", "name", "type of the elements", JSON_MEMBER(struct combine_cost, datatype)},
    {"op", "name", "operation that combines them", JSON_MEMBER(struct combine_cost, reduction)},
    {"ns_per_byte", "curve", NULL, JSON_MADE_OF(struct combine_cost, byte, curve_json)},
    {0},
};

static json_t *model_combines(const void *object, const void *context)
{
    const struct model *model = object;
    return json_list_of(combine_cost_fields, model->combines, sizeof *model->combines,
                        (size_t)model->combine_count, context);
}

static json_t *model_links(const void *object, const void *context)
{
    const struct model *model = object;
    return json_list_of(link_model_fields, model->links, sizeof *model->links,
                        (size_t)model->link_count, context);
}

static json_t *model_residuals(const void *object, const void *context)
{
    json_t *const *residuals = context;
    (void)object;
    return *residuals ? json_incref(*residuals) : json_array();
}

const struct json_field model_fields[] = {
    {"host", "string", "where it was made", JSON_MEMBER(struct model, host)},
    {"processor", "string", "model of the CPUs of that host; empty: not known",
     JSON_MEMBER(struct model, processor)},
    {"made", "string", "when", JSON_MEMBER(struct model, made)},
    {"cores", "positive", "of a host, for ranks", JSON_MEMBER(struct model, cores)},
    {"caches", "positive", "of a host", JSON_MEMBER(struct model, caches)},
    {"cache_cores", "positive", "of each cache; their numbers are consecutive",
     JSON_MEMBER(struct model, cache_cores)},
    {"start_us", "microseconds", "of a rank's core, for each iteration",
     JSON_MEMBER(struct model, start)},
    {"core_switch_us", "microseconds",
     "until a shared core serves the next of its ranks, which take turns",
     JSON_MEMBER(struct model, core_switch)},
    {"copy_overhead_us", "microseconds", "of a local operation",
     JSON_MEMBER(struct model, copy_overhead)},
    {"copy_ns_per_byte", "curve", NULL, JSON_MADE_OF(struct model, copy, curve_json)},
    {"bus_ns_per_byte", "curve",
     "of a host's memory: k cores at work take k times as long for a byte, where that is more",
     JSON_MADE_OF(struct model, bus, curve_json)},
    {"combine", "[combine_cost]", "what it costs to combine elements", JSON_MADE(model_combines)},
    {"links", "[link_model]", "one for each transport, rail and distance", JSON_MADE(model_links)},
    {"residuals", "[residual]", "each benchmark, as measured and as the model says",
     JSON_MADE(model_residuals)},
    {0},
};

const struct json_field fit_fields[] = {
    JSON_DOCUMENT,
    {"model", "model", "costs of cores and links, by which times are predicted",
     .member = JSON_IS_OBJECT, .fields = model_fields},
    {0},
};

json_t *model_json(const struct model *model, json_t *residuals)
{
    json_t *document = json_object_of(fit_fields, model, &residuals);
    json_decref(residuals);
    return document;
}
