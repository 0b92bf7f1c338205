/*
 * info_devices.c - the NICs and GPUs of this machine, for `cctest info`.
 */
#include "cli/info/internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/host.h"
#include "base/list.h"
#include "base/log.h"
#include "base/text.h"
#include "base/timed_call.h"
#include "host/host.h"
#include "host/nvml/nvml.h"

#define COLUMN 13

/* The surroundings of a device. */
struct device_context {
    const struct device_list *others; /* GPUs for a port, ports for a GPU */
    const char *sysfs, *transport;
};

static json_t *device_facts(const void *object, const void *context)
{
    const struct device *device = object;
    json_t *facts = json_object();
    (void)context;
    for (int i = 0; i < device->fact_count; i++)
        json_object_set_new(facts, device->facts[i].name, json_string(device->facts[i].text));
    return facts;
}

static json_t *device_distances(const void *object, const void *context)
{
    const struct device *device = object;
    const struct device_context *around = context;
    json_t *distances = json_object();
    for (int i = 0; i < around->others->count; i++) {
        const struct device *other = &around->others->devices[i];
        enum pci_distance distance = pci_distance(around->sysfs, device->bus, other->bus);
        json_object_set_new(distances, other->name, json_string(pci_distance_names[distance]));
    }
    return distances;
}

static json_t *device_transport(const void *object, const void *context)
{
    (void)object;
    return json_string(((const struct device_context *)context)->transport);
}

static const struct json_field device_fields[] = {
    {"model", "name?", "model of the device; null: not known", JSON_MEMBER(struct device, model)},
    {"pci", "name?", "address, or null", JSON_MEMBER(struct device, bus)},
    {"numa_node", "count?", "null: unknown", JSON_MEMBER(struct device, numa_node)},
    {"facts", "facts", NULL, JSON_MADE(device_facts)},
    {"usable", "boolean", "can cctest use it?", JSON_MEMBER(struct device, usable)},
    {"why_not", "name?", "reason why it cannot, and remedy; null: it can",
     JSON_MEMBER(struct device, why_not)},
    {0},
};

const struct json_field port_fields[] = {
    {"name", "name", "DEVICE:PORT", JSON_MEMBER(struct device, name)},
    {"", .member = JSON_IS_SPREAD, .fields = device_fields},
    {"gpus", "distances", NULL, JSON_MADE(device_distances)},
    {"transport", "name", "that would use it", JSON_MADE(device_transport)},
    {0},
};

const struct json_field gpu_fields[] = {
    {"name", "name", "PCI address", JSON_MEMBER(struct device, name)},
    {"", .member = JSON_IS_SPREAD, .fields = device_fields},
    {"nics", "distances", NULL, JSON_MADE(device_distances)},
    {0},
};

/* Adds the GPUs that the PCI hierarchy shows, and no driver. `why`: what keeps the driver from it;
 * NULL: unknown. */
static void gpus_without_driver(const char *sysfs, const char *why, struct device_list *gpus)
{
    struct device_list found = {0};
    pci_gpus(sysfs, &found);
    for (int i = 0; i < found.count; i++) {
        const struct device *gpu = &found.devices[i];
        struct device *added =
            device_is_listed(gpus, gpu->bus) ? NULL : device_add(gpus, gpu->kind, gpu->name);
        if (!added)
            continue;
        *added = *gpu;
        added->facts = NULL;
        added->fact_count = 0;
        for (int f = 0; f < gpu->fact_count; f++)
            device_fact(added, gpu->facts[f].scope, gpu->facts[f].name, "%s", gpu->facts[f].text);
        added->usable = false;
        snprintf(added->why_not, sizeof added->why_not, "no NVIDIA driver shows it: %s",
                 why ? why : "give the container this GPU, or look at the kernel log");
    }
    device_list_free(&found);
}

/* A search for devices, in a thread of its own, which has it for good if a driver hangs. */
struct device_search {
    struct inquiry inquiry;
    struct device_sources sources;
    const struct transport *transport; /* whose NICs; NULL: GPUs */
    struct device_list list;
};

static void search_work(void *argument)
{
    struct device_search *search = argument;
    if (search->transport) {
        search->transport->devices(&search->list);
        return;
    }
    for (const struct memory_kind *const *kind = search->sources.kinds; *kind; kind++)
        if ((*kind)->devices)
            (*kind)->devices(&search->list);
    gpus_without_driver(search->sources.sysfs, nvml_load(), &search->list);
}

static enum tick_answer search_tick(void *argument, int peer)
{
    struct device_search *search = argument;
    (void)peer;
    return inquiry_seconds(&search->inquiry) < search->sources.patience ? TICK_GO_ON : TICK_LATE;
}

/* `end`: of a search that has not ended well. */
static enum status search_fail(struct device_search *search, int end, struct device_list *found)
{
    char host[HOST_NAME_BYTES], text[INQUIRY_TEXT_MOST];
    if (end != ETIMEDOUT) {
        free(search);
        return fail(STATUS_ERROR, "cannot look for devices: %s",
                    timed_call_text(end, text, sizeof text));
    }
    host_name(host, sizeof host);
    inquiry_text(&search->inquiry, host, text);
    say("%s: " INQUIRY_ADVICE, text);
    if (!search->transport)
        gpus_without_driver(search->sources.sysfs, text, found);
    return STATUS_TIMEOUT;
}

/* Adds the NICs of a transport, or the GPUs (NULL). */
static enum status devices_search(const struct device_sources *sources,
                                  const struct transport *transport, struct device_list *found)
{
    struct device_search *search = new_array(1, sizeof *search);
    *search = (struct device_search){.sources = *sources, .transport = transport};
    inquiry_init(&search->inquiry, transport ? "the NICs" : "the GPUs");
    search->list.inquiry = &search->inquiry;
    const struct tick tick = {.call = search_tick, .argument = search};
    int end = timed_call_ticking(search_work, search, &tick, 0);
    if (end)
        return search_fail(search, end, found);
    device_list_move(found, &search->list);
    free(search);
    return STATUS_OK;
}

enum status devices_add(json_t *document, const struct device_sources *sources)
{
    json_t *ports = json_array();
    struct device_list gpus = {0}, nics = {0};
    enum status status = devices_search(sources, NULL, &gpus);
    for (const struct transport *const *list = sources->transports; *list; list++) {
        const struct device_context near = {&gpus, sources->sysfs, (*list)->name};
        int first = nics.count;
        if ((*list)->devices)
            status = status_worse(status, devices_search(sources, *list, &nics));
        for (int i = first; i < nics.count; i++)
            json_array_append_new(ports, json_object_of(port_fields, &nics.devices[i], &near));
    }
    const struct device_context near = {.others = &nics, .sysfs = sources->sysfs};
    json_object_set_new(document, "nics", ports);
    json_object_set_new(
        document, "gpus",
        json_list_of(gpu_fields, gpus.devices, sizeof *gpus.devices, (size_t)gpus.count, &near));
    device_list_free(&gpus);
    device_list_free(&nics);
    return status;
}

static void item_refuse(json_t *item, json_t *why)
{
    json_object_set_new(item, "available", json_false());
    json_object_set_new(item, "why_not", why);
}

/* A transport by RDMA needs a usable port among its own. */
static void ports_judge(const json_t *document, json_t *transport)
{
    size_t k;
    json_t *port;
    bool ports = false, usable = false;
    json_array_foreach(json_object_get(document, "nics"), k, port)
    {
        bool own =
            json_equal(json_object_get(port, "transport"), json_object_get(transport, "name"));
        ports = ports || own;
        usable = usable || (own && json_is_true(json_object_get(port, "usable")));
    }
    if (ports && !usable)
        item_refuse(transport, json_string("no NIC port is usable: see ports"));
}

/* Why no GPU can be used; NULL: one can. */
static const char *gpus_lack(const json_t *document)
{
    size_t k;
    json_t *gpu;
    const char *why = NULL;
    json_array_foreach(json_object_get(document, "gpus"), k, gpu)
    {
        if (json_is_true(json_object_get(gpu, "usable")))
            return NULL;
        why = why ? why : json_string_value(json_object_get(gpu, "why_not"));
    }
    return why ? why : "none was found, or CUDA_VISIBLE_DEVICES hides it";
}

/* Does it carry no memory that a CPU reads? */
static bool needs_gpu(const struct transport *transport, const struct memory_kind *const *kinds)
{
    bool carries_host = !transport->carries;
    for (; *kinds; kinds++)
        carries_host |= (*kinds)->host_reads && transport->carries && transport->carries(*kinds);
    return !carries_host;
}

void devices_judge(json_t *document, const struct device_sources *sources)
{
    size_t i;
    json_t *item;
    const char *lack = gpus_lack(document);
    json_array_foreach(json_object_get(document, "transports"), i, item)
    {
        const struct transport *transport = sources->transports[i];
        if (!json_is_true(json_object_get(item, "available")))
            continue;
        if (lack && needs_gpu(transport, sources->kinds))
            item_refuse(item, json_sprintf("no GPU can be used: %s", lack));
        else
            ports_judge(document, item);
    }
    json_array_foreach(json_object_get(document, "memory_kinds"), i, item)
    {
        if (lack && sources->kinds[i]->devices && json_is_true(json_object_get(item, "available")))
            item_refuse(item, json_sprintf("no GPU can be used: %s", lack));
    }
}

/* The text. */

const char *string_of(const json_t *object, const char *key)
{
    return json_string_value(json_object_get(object, key));
}

static void words_add(struct text *text, const char *title, const char *words)
{
    if (words)
        text_add(text, "%s%s %s", text->used ? ", " : "", title, words);
}

/* A GID, a part of a GPU, or the way to another GPU. */
static bool has_own_line(const char *fact)
{
    return strncmp(fact, "GID ", 4) == 0 || strncmp(fact, "MIG ", 4) == 0 ||
           strncmp(fact, "to ", 3) == 0;
}

/* Facts in one paragraph; below it those with lines of their own. */
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
        if (!has_own_line(name))
            words_add(&text, name, json_string_value(value));
    }
    if (!json_object_get(facts, "product"))
        words_add(&text, "model", string_of(device, "model"));
    if (!json_equal(json_object_get(device, "pci"), json_object_get(device, "name")))
        words_add(&text, "PCI", string_of(device, "pci"));
    if (json_is_integer(node))
        text_add(&text, "%sNUMA node %lld", text.used ? ", " : "",
                 (long long)json_integer_value(node));
    text_print(buffer, used, COLUMN);
    json_object_foreach(facts, name, value)
    {
        if (has_own_line(name))
            printf("%*s%s: %s\n", COLUMN, "", name, json_string_value(value));
    }
}

/* `others`: the key of the distances to them, and what they are. `user`: of the device. */
static void device_print(const json_t *device, const char *others, const char *what,
                         const char *user)
{
    char buffer[4096];
    struct text text = text_in(buffer, sizeof buffer);
    const char *why = string_of(device, "why_not"), *other;
    json_t *distance;
    facts_print(device, printf("  %-10s", string_of(device, "name")));
    json_object_foreach(json_object_get(device, others), other, distance)
    {
        if (!text.used)
            text_add(&text, "distance to %s: ", what);
        else
            text_add(&text, ", ");
        text_add(&text, "%s %s", other, json_string_value(distance));
    }
    if (text.used)
        text_print(buffer, 0, COLUMN);
    if (why) {
        text = text_in(buffer, sizeof buffer);
        text_add(&text, "not usable by %s: %s", user, why);
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
    json_array_foreach(ports, index, item)
        device_print(item, "gpus", "GPUs", string_of(item, "transport"));
    if (json_array_size(gpus))
        puts("GPUs");
    json_array_foreach(gpus, index, item) device_print(item, "nics", "NICs", "cctest");
}
