/*
 * info_devices.c - the NICs and GPUs of this machine, for `cctest info`.
 */
#include "cli/info_devices.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "cli/printers/text.h"
#include "device/pci.h"

#define COLUMN 13

static json_t *text_or_null(const char *text)
{
    return text[0] ? json_string(text) : json_null();
}

static json_t *device_object(const struct device *device)
{
    json_t *facts = json_object();
    for (int i = 0; i < device->fact_count; i++)
        json_object_set_new(facts, device->facts[i].name, json_string(device->facts[i].text));
    return json_pack("{s:s, s:o, s:o, s:o, s:o}", "name", device->name, "model",
                     text_or_null(device->model), "pci", text_or_null(device->bus), "numa_node",
                     device->numa_node < 0 ? json_null() : json_integer(device->numa_node), "facts",
                     facts);
}

/* A port: also whether it is usable, and how far each GPU is. */
static json_t *port_object(const struct transport *transport, const struct device *port,
                           const struct device_list *gpus, const char *sysfs)
{
    json_t *object = device_object(port), *distances = json_object();
    for (int i = 0; i < gpus->count; i++) {
        const char *bus = gpus->devices[i].bus;
        json_object_set_new(distances, gpus->devices[i].name,
                            json_string(pci_distance_names[pci_distance(sysfs, port->bus, bus)]));
    }
    json_object_set_new(object, "transport", json_string(transport->name));
    json_object_set_new(object, "usable", json_boolean(port->usable));
    json_object_set_new(object, "why_not", text_or_null(port->why_not));
    json_object_set_new(object, "gpus", distances);
    return object;
}

void devices_add(json_t *document, const struct transport *const *list, const char *sysfs)
{
    json_t *ports = json_array(), *cards = json_array();
    struct device_list gpus = {0};
    pci_gpus(sysfs, &gpus);
    for (int i = 0; i < gpus.count; i++)
        json_array_append_new(cards, device_object(&gpus.devices[i]));
    for (; *list; list++) {
        struct device_list found = {0};
        if ((*list)->devices)
            (*list)->devices(&found);
        for (int i = 0; i < found.count; i++)
            json_array_append_new(ports, port_object(*list, &found.devices[i], &gpus, sysfs));
        device_list_free(&found);
    }
    device_list_free(&gpus);
    json_object_set_new(document, "nics", ports);
    json_object_set_new(document, "gpus", cards);
}

void devices_judge(json_t *document)
{
    size_t i, k;
    json_t *transport, *port;
    json_array_foreach(json_object_get(document, "transports"), i, transport)
    {
        bool ports = false, usable = false;
        json_array_foreach(json_object_get(document, "nics"), k, port)
        {
            bool own =
                json_equal(json_object_get(port, "transport"), json_object_get(transport, "name"));
            ports = ports || own;
            usable = usable || (own && json_is_true(json_object_get(port, "usable")));
        }
        if (!ports || usable || !json_is_true(json_object_get(transport, "available")))
            continue;
        json_object_set_new(transport, "available", json_false());
        json_object_set_new(transport, "why_not", json_string("no NIC port is usable: see ports"));
    }
}

/* The text. */

static const char *string_of(const json_t *object, const char *key)
{
    return json_string_value(json_object_get(object, key));
}

static void words_add(struct text *text, const char *title, const char *words)
{
    if (words)
        text_add(text, "%s%s %s", text->used ? ", " : "", title, words);
}

/* Facts in one paragraph; each GID has a line of its own below it. */
static void facts_print(const json_t *device, int used)
{
    char buffer[4096];
    struct text text = text_in(buffer, sizeof buffer);
    const json_t *node = json_object_get(device, "numa_node");
    const char *name;
    json_t *value;
    json_t *facts = json_object_get(device, "facts");
    json_object_foreach(facts, name, value)
    {
        if (strncmp(name, "GID ", 4) != 0)
            words_add(&text, name, json_string_value(value));
    }
    words_add(&text, "model", string_of(device, "model"));
    words_add(&text, "PCI", string_of(device, "pci"));
    if (json_is_integer(node))
        text_add(&text, "%sNUMA node %lld", text.used ? ", " : "",
                 (long long)json_integer_value(node));
    text_print(buffer, used, COLUMN);
    json_object_foreach(facts, name, value)
    {
        if (strncmp(name, "GID ", 4) == 0)
            printf("%*s%s: %s\n", COLUMN, "", name, json_string_value(value));
    }
}

static void port_print(const json_t *port)
{
    char buffer[4096];
    struct text text = text_in(buffer, sizeof buffer);
    const char *why = string_of(port, "why_not"), *gpu;
    json_t *distance;
    facts_print(port, printf("  %-10s", string_of(port, "name")));
    json_object_foreach(json_object_get(port, "gpus"), gpu, distance)
    {
        text_add(&text, "%s%s %s", text.used ? ", " : "distance to GPUs: ", gpu,
                 json_string_value(distance));
    }
    if (text.used)
        text_print(buffer, 0, COLUMN);
    if (why) {
        text = text_in(buffer, sizeof buffer);
        text_add(&text, "not usable by %s: %s", string_of(port, "transport"), why);
        text_print(buffer, 0, COLUMN);
    }
}

void devices_print(const json_t *document)
{
    const json_t *ports = json_object_get(document, "nics");
    const json_t *gpus = json_object_get(document, "gpus");
    size_t index;
    json_t *item;
    puts(json_array_size(ports) ? "ports" : "ports       none: this machine has no RDMA device");
    json_array_foreach(ports, index, item) port_print(item);
    if (json_array_size(gpus))
        puts("GPUs");
    json_array_foreach(gpus, index, item)
        facts_print(item, printf("  %-10s", string_of(item, "name")));
}
