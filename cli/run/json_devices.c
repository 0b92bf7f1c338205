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

/* The facts of a device by their names: `all`, or those that tell it from others of its host. */
static void facts_put(json_t *object, const struct device *device, bool all)
{
    for (int i = 0; i < device->fact_count; i++)
        if (all || device->facts[i].scope == FACT_IDENTITY)
            json_object_set_new(object, device->facts[i].name, json_string(device->facts[i].text));
}

/* A row of the table of devices; the context is the table. */
static json_t *row_host_make(const void *row, const void *table)
{
    int rank = ((const struct device_row *)row)->rank;
    return json_string(((const struct device_table *)table)->members[rank].host);
}

static json_t *row_name_make(const void *row, const void *table)
{
    (void)table;
    return json_string(((const struct device_row *)row)->device->name);
}

static json_t *row_model_make(const void *row, const void *table)
{
    const char *model = ((const struct device_row *)row)->device->model;
    (void)table;
    return model[0] ? json_string(model) : json_null();
}

static json_t *row_facts_make(const void *row, const void *table)
{
    json_t *facts = json_object();
    (void)table;
    facts_put(facts, ((const struct device_row *)row)->device, true);
    return facts;
}

const struct json_field device_in_use_fields[] = {
    {"host", "name", "host that has the device", JSON_MADE(row_host_make)},
    {"name", "name", "DEVICE:PORT of a NIC, PCI address of a GPU", JSON_MADE(row_name_make)},
    {"model", "name?", "model of the device; null: not known", JSON_MADE(row_model_make)},
    {"facts", "facts", NULL, JSON_MADE(row_facts_make)},
    {0},
};

static void family_put(const struct family *family, json_t *document,
                       const struct connectivity *connectivity)
{
    const struct device_table *table = &connectivity->devices;
    const struct difference *difference = connectivity->differences;
    json_t *list = json_array(), *differences = json_array();
    json_t *ranks = json_object_get(document, "ranks");
    for (int i = 0; i < table->row_count; i++)
        if (is_of(family, table->rows[i].device->kind))
            json_array_append_new(list,
                                  json_object_of(device_in_use_fields, &table->rows[i], table));
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

/* A reading of a device. */
static json_t *reading_name_make(const void *reading, const void *context)
{
    (void)context;
    return json_string(((const struct device_reading *)reading)->device->name);
}

static json_t *faults_make(const void *reading, const void *context)
{
    (void)context;
    return counters_object(&((const struct device_reading *)reading)->counters, COUNTER_FAULTY);
}

static json_t *congested_make(const void *reading, const void *context)
{
    (void)context;
    return counters_object(&((const struct device_reading *)reading)->counters, COUNTER_CONGESTED);
}

static json_t *other_make(const void *reading, const void *context)
{
    (void)context;
    return counters_object(&((const struct device_reading *)reading)->counters, COUNTER_OTHER);
}

static json_t *gauges_make(const void *reading, const void *context)
{
    const struct counter_list *counters = &((const struct device_reading *)reading)->counters;
    (void)context;
    return counters_of_class(counters, COUNTER_GAUGE) > 0 ? counters_object(counters, COUNTER_GAUGE)
                                                          : NULL;
}

const struct json_field reading_fields[] = {
    {"host", "name", "host that has the device", JSON_MEMBER(struct device_reading, host)},
    {"name", "name", "name of the device, as in nics or gpus of the run",
     JSON_MADE(reading_name_make)},
    {"faults", "counters", "what a healthy device does not count", JSON_MADE(faults_make)},
    {"congested", "counters", "signs of congestion, or of a power limit",
     JSON_MADE(congested_make)},
    {"other", "counters", "traffic, and names that only the driver knows", JSON_MADE(other_make)},
    {"gauges", "counters", "clocks, temperature and the like of a GPU at the end of the line",
     JSON_OPTIONAL, JSON_MADE(gauges_make)},
    {0},
};

/* A device that counted faults; the facts that tell it from others of its host are keys, too. */
const struct json_field faulty_device_fields[] = {
    {"host", "name", "host that has the device", JSON_MEMBER(struct device_reading, host)},
    {"name", "name", "DEVICE:PORT of a NIC, PCI address of a GPU", JSON_MADE(reading_name_make)},
    {"counters", "counters", NULL, JSON_MADE(faults_make)},
    {0},
};

json_t *readings_json(const char *kind, const struct device_readings *readings)
{
    json_t *array = json_array();
    for (int i = 0; i < readings->count; i++)
        if (strcmp(readings->items[i].device->kind, kind) == 0)
            json_array_append_new(array, json_object_of(reading_fields, &readings->items[i], NULL));
    return array;
}

static json_t *faulty_json(const char *kind, const struct device_readings *readings)
{
    json_t *array = json_array();
    for (int i = 0; i < readings->count; i++) {
        const struct device *device = readings->items[i].device;
        if (strcmp(device->kind, kind) != 0)
            continue;
        json_t *object = json_object_of(faulty_device_fields, &readings->items[i], NULL);
        facts_put(object, device, false);
        json_array_append_new(array, object);
    }
    return array;
}

void devices_end(json_t *document, const struct job_end *end)
{
    for (size_t f = 0; f < FAMILIES; f++) {
        json_object_set_new(document, families[f].faults,
                            faulty_json(families[f].kind, &end->faults));
        json_object_set_new(document, families[f].unfinished,
                            readings_json(families[f].kind, &end->unfinished));
    }
}
