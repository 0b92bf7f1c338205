/*
 * topology.c - a topology by its specification: which family it is of, and the questions to it.
 */
#include "predict/topology/internal.h"

#include "base/failure.h"
#include "base/list.h"
#include "base/log.h"
#include "base/parse.h"
#include "base/text_file.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/*
 * The text of a topology, by a table of keys.
 */
enum status spec_refuse(const struct spec *spec, const char *format, ...)
{
    char sentence[MESSAGE_MOST];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(sentence, sizeof sentence, format, arguments);
    va_end(arguments);
    return fail(STATUS_USAGE, "topology '%.200s': %s", spec->text, sentence);
}

/* An index of spec->values; their number: there is no such key. */
static int value_find(const struct spec *spec, const char *name)
{
    int v = 0;
    while (v < spec->value_count && !name_equal(spec->values[v].key->name, name))
        v++;
    return v;
}

double spec_value(const struct spec *spec, const char *key)
{
    return spec->values[value_find(spec, key)].number;
}

bool spec_given(const struct spec *spec, const char *key)
{
    return spec->values[value_find(spec, key)].given;
}

static enum status key_unknown(const struct spec *spec, const char *name)
{
    char list[400];
    struct text text = text_in(list, sizeof list);
    for (int v = 0; v < spec->value_count; v++)
        text_add(&text, "%s%s=", v ? ", " : "", spec->values[v].key->name);
    return spec_refuse(spec, "'%.60s' is none of its keys: give %s", name, list);
}

static bool word_read(const struct spec_key *key, const char *text, double *value)
{
    for (int w = 0; key->words[w]; w++)
        if (name_equal(key->words[w], text)) {
            *value = w;
            return true;
        }
    return false;
}

static enum status word_refuse(const struct spec *spec, const struct spec_key *key,
                               const char *text)
{
    char list[200];
    struct text words = text_in(list, sizeof list);
    for (int w = 0; key->words[w]; w++)
        text_add(&words, "%s%s", w ? ", " : "", key->words[w]);
    return spec_refuse(spec, "%s=%.60s: give one of %s", key->name, text, list);
}

static enum status value_read(const struct spec *spec, const struct spec_key *key, const char *text,
                              double *value)
{
    if (key->words)
        return word_read(key, text, value) ? STATUS_OK : word_refuse(spec, key, text);
    char *end = NULL;
    *value = strtod(text, &end);
    bool plain = strspn(text, "0123456789.eE+-") == strlen(text); /* no hexadecimal, inf or nan */
    if (!plain || end == text || *end || (!key->is_real && *value != floor(*value)))
        return spec_refuse(spec, "%s=%.60s is no %snumber", key->name, text,
                           key->is_real ? "" : "whole ");
    if (*value < key->least || *value > key->most)
        return spec_refuse(spec, "%s=%.60s: give %.10g to %.10g", key->name, text, key->least,
                           key->most);
    return STATUS_OK;
}

static enum status part_read(struct spec *spec, char *part)
{
    char *equals = strchr(part, '=');
    if (!equals) {
        if (*part == '\0')
            return spec_refuse(spec, "a part between colons is empty");
        if (spec->shape)
            return spec_refuse(spec, "'%.60s' has no '=': give KEY=VALUE", part);
        spec->shape = part;
        return STATUS_OK;
    }
    *equals = '\0';
    struct spec_value *value = &spec->values[value_find(spec, part)];
    if (!value->key)
        return key_unknown(spec, part);
    if (value->given)
        return spec_refuse(spec, "%s= stands twice", part);
    value->given = true;
    return value_read(spec, value->key, equals + 1, &value->number);
}

static void keys_take(struct spec *spec, const struct spec_key *keys)
{
    for (; keys->name; keys++)
        spec->values[spec->value_count++] =
            (struct spec_value){.key = keys, .number = keys->standard};
}

/* Reads `parts`, what stands behind the name ("" or ":k=4:rate=2"). STATUS_USAGE if a key is
 * unknown or stands twice, a value is wrong, or more than one part has no '='. */
static enum status spec_read(struct spec *spec, const char *parts)
{
    if (strlen(parts) >= sizeof spec->parts)
        return spec_refuse(spec, "is longer than %zu bytes", sizeof spec->parts - 1);
    strcpy(spec->parts, parts);
    char *rest = spec->parts[0] == ':' ? spec->parts + 1 : NULL;
    enum status status = STATUS_OK;
    while (rest && status == STATUS_OK)
        status = part_read(spec, strsep(&rest, ":"));
    return status;
}

/*
 * A topology by its specification.
 */
#define RANKS_MOST 1024 /* of a host */

static const struct topology_family *const families[] = {
    &family_fat_tree, &family_leaf_spine, &family_rail,      &family_torus,
    &family_mesh,     &family_ring,       &family_dragonfly, NULL,
};

/* Families of files. */
static const struct topology_family *const file_families[] = {&family_slurm, &family_hwloc,
                                                              &family_nccl, NULL};

static const struct spec_key common_keys[] = {
    {.name = "ranks", .least = 1, .most = RANKS_MOST, .standard = 1, .help = "places of a host"},
    {.name = "rate",
     .least = 1e-3,
     .most = 1e6,
     .standard = 1,
     .is_real = true,
     .help = "what a port carries, in multiples of what one rank sends"},
    {.name = "latency",
     .most = 1e6,
     .is_real = true,
     .help = "us that a link between switches adds"},
    {0},
};

/* ---- reading ---- */

static const struct topology_family *family_find(const char *name)
{
    for (int f = 0; families[f]; f++)
        if (name_equal(families[f]->name, name))
            return families[f];
    return NULL;
}

static enum status name_refuse(const struct spec *spec)
{
    const char *names[sizeof families / sizeof *families] = {NULL};
    char list[200];
    struct text text = text_in(list, sizeof list);
    for (int f = 0; families[f]; f++) {
        names[f] = families[f]->name;
        text_add(&text, "%s, ", names[f]);
    }
    const char *nearest = name_nearest(spec->name, names);
    return fail(STATUS_USAGE,
                "topology '%.200s': '%.100s' is no topology, and there is no such file%s%s%s: give "
                "%sor a file",
                spec->text, spec->name, nearest ? " (did you mean " : "", nearest ? nearest : "",
                nearest ? "?)" : "", list);
}

/* The family of a file, by its beginning: XML of hwloc, whose root is <topology>, or of NCCL,
 * <system>; else Slurm's lines. */
static const struct topology_family *file_family(const char *content)
{
    content += strspn(content, " \t\r\n");
    if (*content != '<')
        return &family_slurm;
    const char *hwloc = strstr(content, "<topology"), *nccl = strstr(content, "<system");
    return hwloc && (!nccl || hwloc < nccl) ? &family_hwloc : &family_nccl;
}

/* Splits the text: a family, or a path, which may contain colons; and what stands behind. */
static const char *name_take(struct spec *spec, const struct topology_family **family)
{
    size_t length = strcspn(spec->text, ":");
    snprintf(spec->name, sizeof spec->name, "%.*s", (int)length, spec->text);
    *family = family_find(spec->name);
    if (!*family && access(spec->text, F_OK) == 0) {
        length = strlen(spec->text);
        strcpy(spec->name, spec->text);
    }
    return spec->text + length;
}

bool topology_reads(const char *text, char *path, size_t size)
{
    struct spec spec = {.text = text};
    const struct topology_family *family;
    if (strlen(text) >= sizeof spec.name)
        return false;
    name_take(&spec, &family);
    snprintf(path, size, "%s", spec.name);
    return !family;
}

static enum status topology_read(struct topology *t, struct spec *spec)
{
    if (strlen(spec->text) >= sizeof spec->name)
        return fail(STATUS_USAGE, "a topology of more than %zu bytes", sizeof spec->name - 1);
    const char *parts = name_take(spec, &t->family);
    if (!t->family) {
        if (access(spec->name, F_OK) != 0)
            return name_refuse(spec);
        TRY(text_file_read(spec->name, &spec->content));
        t->family = file_family(spec->content);
    }
    keys_take(spec, t->family->keys);
    keys_take(spec, common_keys);
    TRY(spec_read(spec, parts));
    if (spec->shape && !t->family->shape)
        return spec_refuse(spec, "'%.60s' has no '=': give KEY=VALUE", spec->shape);
    t->ranks = (int)spec_value(spec, "ranks");
    t->rate = spec_value(spec, "rate");
    t->latency_us = spec_value(spec, "latency");
    TRY(t->family->make(t, spec));
    if (t->links > LINKS_MOST)
        return spec_refuse(spec, "it has %.3g links, and %u are the most: give fewer hosts",
                           (double)t->links, LINKS_MOST);
    if ((double)t->hosts * t->ranks > ENDS_MOST)
        return spec_refuse(spec, "it has places for %.0f ranks, and %d are the most",
                           (double)t->hosts * t->ranks, ENDS_MOST);
    return STATUS_OK;
}

enum status topology_parse(const char *text, struct topology **made)
{
    struct spec *spec = new_array(1, sizeof *spec);
    *made = new_array(1, sizeof **made);
    spec->text = text;
    enum status status = topology_read(*made, spec);
    if (status != STATUS_OK) {
        topology_free(*made);
        *made = NULL;
    }
    free(spec->content);
    free(spec);
    return status;
}

void topology_free(struct topology *topology)
{
    if (!topology)
        return;
    if (topology->shape && topology->family->release)
        topology->family->release(topology->shape);
    else
        free(topology->shape);
    free(topology);
}

/* ---- links ---- */

void links_add(struct topology *topology, uint64_t count, unsigned directions, double capacity,
               double latency_us)
{
    topology->classes[topology->class_count++] = (struct topology_class){
        .first = topology->links, .count = count, .capacity = capacity, .latency_us = latency_us};
    topology->links += directions * count;
}

/* A link as its class has it. */
struct class_link {
    int class;
    uint32_t number;
    bool up;
};

static struct class_link link_find(const struct topology *topology, uint32_t link)
{
    int class = topology->class_count - 1;
    while (link < topology->classes[class].first) /* a class may be empty */
        class --;
    uint64_t at = link - topology->classes[class].first, count = topology->classes[class].count;
    return (struct class_link){class, (uint32_t)(at % count), at < count};
}

/* ---- questions ---- */

const char *topology_words(const struct topology *topology)
{
    return topology->words;
}

int topology_hosts(const struct topology *topology)
{
    return topology->hosts;
}

int topology_ends(const struct topology *topology)
{
    return topology->hosts * topology->ranks;
}

int topology_host(const struct topology *topology, int end)
{
    return end / topology->ranks;
}

void topology_end_name(const struct topology *topology, int end, char name[LINK_NAME_MOST])
{
    struct text text = text_in(name, LINK_NAME_MOST);
    if (topology->family->name_end)
        topology->family->name_end(topology, end, &text);
    else if (topology->ranks == 1)
        text_add(&text, "host %d", end);
    else
        text_add(&text, "host %d rank %d", end / topology->ranks, end % topology->ranks);
}

uint32_t topology_links(const struct topology *topology)
{
    return (uint32_t)topology->links;
}

double topology_capacity(const struct topology *topology, uint32_t link)
{
    struct class_link found = link_find(topology, link);
    return topology->family->capacity
               ? topology->family->capacity(topology, found.class, found.number)
               : topology->classes[found.class].capacity;
}

void topology_link_get(const struct topology *topology, uint32_t link, struct topology_link *got)
{
    struct class_link found = link_find(topology, link);
    char low[LINK_NAME_MOST], high[LINK_NAME_MOST];
    struct text name = text_in(got->name, sizeof got->name), below = text_in(low, sizeof low),
                above = text_in(high, sizeof high);
    topology->family->name_link(topology, found.class, found.number, &below, &above);
    text_add(&name, "%s -> %s", found.up ? low : high, found.up ? high : low);
    got->capacity = topology_capacity(topology, link);
    got->latency_us = topology->classes[found.class].latency_us;
}

size_t topology_route(const struct topology *topology, int from, int to, uint32_t *links,
                      size_t most)
{
    struct topology_way route = {links, most, 0};
    if (from != to)
        topology->family->route(topology, from, to, &route);
    return route.count;
}

#define LINKS_AT_ONCE 64
uint32_t topology_distance(const struct topology *topology, int from, int to)
{
    uint32_t few[LINKS_AT_ONCE];
    size_t count = topology_route(topology, from, to, few, LINKS_AT_ONCE);
    double distance = 0;
    for (size_t l = 0; l < count; l++) /* of a longer way, all links are like the first ones */
        distance += 1000 / topology_capacity(topology, few[l < LINKS_AT_ONCE ? l : 0]);
    return distance < (double)UINT32_MAX ? (uint32_t)distance : UINT32_MAX;
}

size_t topology_route_most(const struct topology *topology)
{
    return topology->route_most;
}

/* ---- help ---- */

static void keys_add(const struct spec_key *keys, help_taker *take)
{
    for (; keys->name; keys++) {
        char term[64];
        snprintf(term, sizeof term, "  :%s=", keys->name);
        take(term, keys->help);
    }
}

static void family_add(const struct topology_family *family, help_taker *take)
{
    char term[64];
    snprintf(term, sizeof term, "%s%s%s", family->name, family->shape ? ":" : "",
             family->shape ? family->shape : "");
    take(term, family->help);
    keys_add(family->keys, take);
}

bool topology_help(const char *name, help_taker *take)
{
    const struct topology_family *const *const lists[] = {families, file_families};
    bool found = false;
    for (size_t l = 0; l < sizeof lists / sizeof *lists; l++)
        for (int f = 0; lists[l][f]; f++)
            if (!name || strcmp(name, lists[l][f]->name) == 0) {
                family_add(lists[l][f], take);
                found = true;
            }
    if (found) {
        take("all of them:", "");
        keys_add(common_keys, take);
    }
    return found;
}

void topology_names(struct names *names)
{
    for (int f = 0; families[f]; f++)
        names_add(names, families[f]->name, NULL, 0);
}
