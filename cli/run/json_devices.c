/*
 * json_devices.c - the NICs and GPUs that the ranks use, as JSON.
 */
#include "cli/run/internal.h"

#include <string.h>

/* The keys of devices of a kind. */
static const struct family {
    const char *kind;
    const char *list; /* of the document, of its ranks and of its lines */
    const char *differences, *faults, *unfinished;
} families[] = {
    {"port", "nics", "nic_differences", "nic_faults", "nics_unfinished"},
    {"GPU", "gpus", "gpu_differences", "gpu_faults", "gpus_unfinished"},
};
#define FAMILIES (sizeof families / sizeof *families)

static bool is_of(const struct family *family, const char *kind)
{
    return strcmp(family->kind, kind) == 0;
}

static json_t *row_object(const struct device_table *table, const struct device_row *row)
{
    const struct device *device = row->device;
    json_t *facts = json_object();
    for (int i = 0; i < device->fact_count; i++)
        json_object_set_new(facts, device->facts[i].name, json_string(device->facts[i].text));
    return json_pack("{s:s, s:s, s:o, s:o}", "host", table->members[row->rank].host, "name",
                     device->name, "model",
                     device->model[0] ? json_string(device->model) : json_null(), "facts", facts);
}

static void family_put(const struct family *family, json_t *document,
                       const struct connectivity *connectivity)
{
    const struct device_table *table = &connectivity->devices;
    const struct difference *difference = connectivity->differences;
    json_t *list = json_array(), *differences = json_array();
    json_t *ranks = json_object_get(document, "ranks");
    for (int i = 0; i < table->row_count; i++)
        if (is_of(family, table->rows[i].device->kind))
            json_array_append_new(list, row_object(table, &table->rows[i]));
    for (; difference && difference->text; difference++)
        if (is_of(family, difference->kind))
            json_array_append_new(differences, json_string(difference->text));
    for (int i = 0; i < table->use_count; i++) {
        const struct device *device = table->rows[table->uses[i].row].device;
        json_t *rank = json_array_get(ranks, (size_t)table->uses[i].rank);
        if (is_of(family, device->kind))
            json_array_append_new(json_object_get(rank, family->list), json_string(device->name));
    }
    json_object_set_new(document, family->list, list);
    json_object_set_new(document, family->differences, differences);
}

void devices_begin(json_t *document)
{
    for (size_t f = 0; f < FAMILIES; f++) {
        json_object_set_new(document, families[f].list, json_array());
        json_object_set_new(document, families[f].differences, json_array());
        json_object_set_new(document, families[f].faults, json_array());
        json_object_set_new(document, families[f].unfinished, json_array());
    }
}

void devices_begin_rank(json_t *rank)
{
    for (size_t f = 0; f < FAMILIES; f++)
        json_object_set_new(rank, families[f].list, json_array());
}

void devices_put(json_t *document, const struct connectivity *connectivity)
{
    for (size_t f = 0; f < FAMILIES; f++)
        family_put(&families[f], document, connectivity);
}

json_t *counters_object(const struct counter_list *list, enum counter_class class)
{
    json_t *object = json_object();
    for (int i = 0; i < list->count; i++)
        if (list->counters[i].class == class)
            json_object_set_new(object, list->counters[i].name,
                                json_integer((json_int_t)list->counters[i].value));
    return object;
}

static json_t *reading_object(const struct device_reading *reading)
{
    const struct counter_list *counters = &reading->counters;
    json_t *object =
        json_pack("{s:s, s:s, s:o, s:o, s:o}", "host", reading->host, "name", reading->device->name,
                  "faults", counters_object(counters, COUNTER_FAULTY), "congested",
                  counters_object(counters, COUNTER_CONGESTED), "other",
                  counters_object(counters, COUNTER_OTHER));
    if (counters_of_class(counters, COUNTER_GAUGE) > 0)
        json_object_set_new(object, "gauges", counters_object(counters, COUNTER_GAUGE));
    return object;
}

/* With what tells the device from others of its host, as the facts of "nics" and "gpus" have it. */
static json_t *fault_object(const struct device_reading *reading)
{
    const struct device *device = reading->device;
    json_t *object = json_pack("{s:s, s:s, s:o}", "host", reading->host, "name", device->name,
                               "counters", counters_object(&reading->counters, COUNTER_FAULTY));
    for (int i = 0; i < device->fact_count; i++)
        if (device->facts[i].scope == FACT_IDENTITY)
            json_object_set_new(object, device->facts[i].name, json_string(device->facts[i].text));
    return object;
}

static json_t *family_array(const struct family *family, const struct device_readings *readings,
                            json_t *(*object)(const struct device_reading *reading))
{
    json_t *array = json_array();
    for (int i = 0; i < readings->count; i++)
        if (is_of(family, readings->items[i].device->kind))
            json_array_append_new(array, object(&readings->items[i]));
    return array;
}

void readings_put(json_t *line, const struct device_readings *readings)
{
    for (size_t f = 0; f < FAMILIES; f++)
        json_object_set_new(line, families[f].list,
                            family_array(&families[f], readings, reading_object));
}

void devices_end(json_t *document, const struct job_end *end)
{
    for (size_t f = 0; f < FAMILIES; f++) {
        json_object_set_new(document, families[f].faults,
                            family_array(&families[f], &end->faults, fault_object));
        json_object_set_new(document, families[f].unfinished,
                            family_array(&families[f], &end->unfinished, reading_object));
    }
}
