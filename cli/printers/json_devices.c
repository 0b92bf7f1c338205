/*
 * json_devices.c - the NICs that the ranks use, in the JSON document of a run.
 */
#include "cli/printers/json_devices.h"

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

void devices_put(json_t *document, const struct connectivity *connectivity)
{
    const struct device_table *table = &connectivity->devices;
    json_t *nics = json_array(), *differences = json_array();
    json_t *ranks = json_object_get(document, "ranks");
    for (int i = 0; i < table->row_count; i++)
        json_array_append_new(nics, row_object(table, &table->rows[i]));
    for (char **sentence = connectivity->differences; sentence && *sentence; sentence++)
        json_array_append_new(differences, json_string(*sentence));
    for (int r = 0; r < connectivity->ranks; r++)
        json_object_set_new(json_array_get(ranks, (size_t)r), "nics", json_array());
    for (int i = 0; i < table->use_count; i++) {
        const struct device_use *use = &table->uses[i];
        json_t *rank = json_array_get(ranks, (size_t)use->rank);
        json_array_append_new(json_object_get(rank, "nics"),
                              json_string(table->rows[use->row].device->name));
    }
    json_object_set_new(document, "nics", nics);
    json_object_set_new(document, "nic_differences", differences);
}

static json_t *class_object(const struct counter_list *list, enum counter_class class)
{
    json_t *object = json_object();
    for (int i = 0; i < list->count; i++)
        if (list->counters[i].class == class)
            json_object_set_new(object, list->counters[i].name,
                                json_integer((json_int_t)list->counters[i].value));
    return object;
}

json_t *readings_array(const struct device_readings *readings)
{
    json_t *array = json_array();
    for (int i = 0; i < readings->count; i++) {
        const struct device_reading *reading = &readings->of[i];
        json_array_append_new(
            array, json_pack("{s:s, s:s, s:o, s:o, s:o}", "host", reading->host, "name",
                             reading->name, "sick", class_object(&reading->counters, COUNTER_SICK),
                             "congested", class_object(&reading->counters, COUNTER_CONGESTED),
                             "other", class_object(&reading->counters, COUNTER_OTHER)));
    }
    return array;
}

json_t *sick_array(const struct device_readings *sick)
{
    json_t *array = json_array();
    for (int i = 0; i < sick->count; i++)
        json_array_append_new(array, json_pack("{s:s, s:s, s:o}", "host", sick->of[i].host, "name",
                                               sick->of[i].name, "counters",
                                               class_object(&sick->of[i].counters, COUNTER_SICK)));
    return array;
}
