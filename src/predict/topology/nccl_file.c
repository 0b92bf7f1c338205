/*
 * nccl_file.c - a node as NCCL writes it.
 */
#include "predict/topology/internal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/list.h"
#include "base/log.h"
#include "base/xml.h"

#define GPUS_MOST    1024
#define CPUS_MOST    1024
#define NVLINKS_MOST 64
#define NAME_BYTES   64
#define COST_WIDEST  1000 /* of a link that carries 1 */
#define COST_MOST    100000000

struct nccl_gpu {
    const struct xml_element *element;
    const char *bus; /* of its PCI element */
    int64_t device;  /* its number */
    int vertex;
    double nvlink; /* GB/s of one NVLink */
};

/* Links in GB/s, until the unit is known. */
struct nccl_link {
    int a, b;
    double rate;
};

struct nccl_reader {
    struct topology *t;
    struct link_graph *graph;
    struct xml xml;
    struct nccl_gpu *gpus;
    int gpu_count;
    int *cpus; /* vertices */
    int cpu_count;
    double cpu_rate; /* between CPUs */
    int nvswitch;    /* -1: there is none */
    struct nccl_link *links;
    size_t link_count;
};

static enum status no_memory(const struct nccl_reader *reader)
{
    return fail(STATUS_ERROR, "out of memory for the topology of %.200s", reader->xml.path);
}

static enum status element_refuse(const struct nccl_reader *reader,
                                  const struct xml_element *element, const char *why)
{
    return fail_line(STATUS_USAGE, reader->xml.path, element->line, "<%.60s> %s", element->name,
                     why);
}

static enum status link_add(struct nccl_reader *reader, int a, int b, double rate)
{
    if (!list_reserve(&reader->links, reader->link_count, sizeof *reader->links))
        return no_memory(reader);
    reader->links[reader->link_count++] = (struct nccl_link){a, b, rate};
    return STATUS_OK;
}

/* ---- what links carry ---- */

/* "16.0 GT/s PCIe" x 16. NCCL writes no speed where it is not known, and takes 12 GB/s then. */
static double pci_rate(const struct xml_element *pci)
{
    static const struct {
        const char *speed;
        double lane; /* units of 100 Mb/s */
    } generations[] = {{"2.5", 15},   {"5", 30},   {"5.0", 30},   {"8", 60},
                       {"8.0", 60},   {"16", 120}, {"16.0", 120}, {"32", 240},
                       {"32.0", 240}, {"64", 480}, {"64.0", 480}};
    const char *speed = xml_attribute(pci, "link_speed"), *width = xml_attribute(pci, "link_width");
    size_t length = speed ? strcspn(speed, " ") : 0;
    int lanes = width ? atoi(width) : 0;
    for (size_t g = 0; lanes > 0 && lanes <= 64 && g < sizeof generations / sizeof *generations;
         g++)
        if (strlen(generations[g].speed) == length &&
            strncmp(speed, generations[g].speed, length) == 0)
            return lanes * generations[g].lane / 80;
    return 12;
}

/* One NVLink, by the GPU's compute capability. */
static double nvlink_rate(int64_t capability)
{
    return capability < 70    ? 18
           : capability < 80  ? 20
           : capability == 86 ? 12
           : capability < 90  ? 20
           : capability < 100 ? 20.6
                              : 40.1;
}

static double cpu_rate(const struct xml_element *cpu)
{
    const char *arch = xml_attribute(cpu, "arch"), *vendor = xml_attribute(cpu, "vendor");
    if (arch && strncmp(arch, "ppc64", 5) == 0)
        return 32;
    if (arch && strcmp(arch, "arm64") == 0)
        return 6;
    if (vendor && strcmp(vendor, "AuthenticAMD") == 0)
        return 16;
    return vendor && strcmp(vendor, "GenuineIntel") == 0 ? 10 : 6;
}

/* ---- elements ---- */

static enum status gpu_take(struct nccl_reader *reader, const struct xml_element *pci,
                            const struct xml_element *gpu, int above)
{
    int64_t device, capability;
    TRY(xml_number(&reader->xml, gpu, "dev", 0, 65535, &device));
    TRY(xml_number(&reader->xml, gpu, "sm", 10, 999, &capability));
    if (reader->gpu_count == GPUS_MOST)
        return element_refuse(reader, gpu, "is the GPU after 1024, which are the most");
    for (int g = 0; g < reader->gpu_count; g++) {
        if (reader->gpus[g].device == device)
            return element_refuse(reader, gpu, "has the dev= of another GPU: give each its own");
        if (strcasecmp(reader->gpus[g].bus, xml_attribute(pci, "busid")) == 0)
            return element_refuse(reader, gpu, "has the busid= of another GPU: give each its own");
    }
    char name[NAME_BYTES];
    snprintf(name, sizeof name, "GPU %d", (int)device);
    int vertex = link_graph_add_vertex(reader->graph, name);
    if (vertex < 0 || !link_graph_add_place(reader->graph, name, vertex, 1))
        return no_memory(reader);
    reader->gpus[reader->gpu_count++] = (struct nccl_gpu){gpu, xml_attribute(pci, "busid"), device,
                                                          vertex, nvlink_rate(capability)};
    return link_add(reader, above, vertex, pci_rate(pci));
}

static const struct xml_element *child_find(const struct xml_element *element, const char *name)
{
    const struct xml_element *child = element->children;
    while (child && strcmp(child->name, name) != 0)
        child = child->next;
    return child;
}

/* Devices and switches below a vertex. Recursion ends at the depth that the file's reader
 * allows. */
static enum status pcis_take(struct nccl_reader *reader, const struct xml_element *element,
                             int above)
{
    enum status status = STATUS_OK;
    for (const struct xml_element *pci = element->children; pci && status == STATUS_OK;
         pci = pci->next) {
        if (strcmp(pci->name, "pci") != 0)
            continue;
        const char *bus = xml_attribute(pci, "busid");
        if (!bus)
            return element_refuse(reader, pci, "has no busid=");
        const struct xml_element *gpu = child_find(pci, "gpu");
        if (gpu) {
            status = gpu_take(reader, pci, gpu, above);
        } else if (child_find(pci, "pci")) {
            char name[NAME_BYTES];
            snprintf(name, sizeof name, "PCI %.32s", bus);
            int vertex = link_graph_add_vertex(reader->graph, name);
            status =
                vertex < 0 ? no_memory(reader) : link_add(reader, above, vertex, pci_rate(pci));
            if (status == STATUS_OK)
                status = pcis_take(reader, pci, vertex);
        }
    }
    return status;
}

static enum status cpu_take(struct nccl_reader *reader, const struct xml_element *cpu)
{
    char name[NAME_BYTES];
    const char *number = xml_attribute(cpu, "numaid");
    if (reader->cpu_count == CPUS_MOST)
        return element_refuse(reader, cpu, "is the CPU after 1024, which are the most");
    snprintf(name, sizeof name, "CPU %.32s", number ? number : "?");
    int vertex = link_graph_add_vertex(reader->graph, name);
    if (vertex < 0)
        return no_memory(reader);
    reader->cpus[reader->cpu_count++] = vertex;
    if (reader->cpu_rate == 0)
        reader->cpu_rate = cpu_rate(cpu);
    return pcis_take(reader, cpu, vertex);
}

/* ---- NVLink ---- */

static int gpu_find(const struct nccl_reader *reader, const char *bus)
{
    for (int g = 0; g < reader->gpu_count; g++)
        if (strcasecmp(reader->gpus[g].bus, bus) == 0)
            return g;
    return -1;
}

static bool is_linked(const struct nccl_gpu *gpu, const char *bus)
{
    for (const struct xml_element *link = gpu->element->children; link; link = link->next) {
        const char *target = xml_attribute(link, "target");
        if (strcmp(link->name, "nvlink") == 0 && target && strcasecmp(target, bus) == 0)
            return true;
    }
    return false;
}

static enum status switch_link(struct nccl_reader *reader, int vertex, double rate)
{
    if (reader->nvswitch < 0)
        reader->nvswitch = link_graph_add_vertex(reader->graph, "NVSwitch");
    return reader->nvswitch < 0 ? no_memory(reader)
                                : link_add(reader, vertex, reader->nvswitch, rate);
}

/* An NVLink that two GPUs name is one. All NVSwitches are taken for one. */
static enum status nvlink_take(struct nccl_reader *reader, int index,
                               const struct xml_element *link)
{
    const struct nccl_gpu *gpu = &reader->gpus[index];
    const char *target = xml_attribute(link, "target"), *class = xml_attribute(link, "tclass");
    int64_t count;
    TRY(xml_number(&reader->xml, link, "count", 1, 1024, &count));
    if (!target)
        return element_refuse(reader, link, "has no target=");
    double rate = (double)count * gpu->nvlink;
    if (class && strcmp(class, "0x068000") == 0)
        return switch_link(reader, gpu->vertex, rate);
    int peer = gpu_find(reader, target);
    if (peer == index)
        return element_refuse(reader, link, "leads to its own GPU");
    if (peer < 0 || (peer < index && is_linked(&reader->gpus[peer], gpu->bus)))
        return STATUS_OK;
    return link_add(reader, gpu->vertex, reader->gpus[peer].vertex, rate);
}

static enum status nvlinks_take(struct nccl_reader *reader)
{
    enum status status = STATUS_OK;
    for (int g = 0; g < reader->gpu_count; g++) {
        int count = 0;
        for (const struct xml_element *link = reader->gpus[g].element->children;
             link && status == STATUS_OK; link = link->next)
            if (strcmp(link->name, "nvlink") == 0)
                status =
                    count++ < NVLINKS_MOST
                        ? nvlink_take(reader, g, link)
                        : element_refuse(reader, link, "is one too many of a GPU: 64 are the most");
    }
    return status;
}

/* ---- the topology ---- */

static enum status cpus_link(struct nccl_reader *reader)
{
    enum status status = STATUS_OK;
    for (int a = 0; a < reader->cpu_count; a++)
        for (int b = a + 1; b < reader->cpu_count && status == STATUS_OK; b++)
            status = link_add(reader, reader->cpus[a], reader->cpus[b], reader->cpu_rate);
    return status;
}

/* The rate that counts as 1, in GB/s. */
static double unit_find(const struct nccl_reader *reader)
{
    double unit = 0;
    for (size_t l = 0; l < reader->link_count; l++) {
        const struct nccl_link *link = &reader->links[l];
        if (link->a == reader->gpus[0].vertex || link->b == reader->gpus[0].vertex)
            unit = fmax(unit, link->rate);
    }
    return unit;
}

/* A wide link is cheap, so that messages take NVLink where there is one. */
static enum status links_finish(struct nccl_reader *reader, double unit)
{
    for (size_t l = 0; l < reader->link_count; l++) {
        const struct nccl_link *link = &reader->links[l];
        double capacity = link->rate / unit;
        double cost = fmin(COST_MOST, fmax(1, round(COST_WIDEST / capacity)));
        if (!link_graph_add_edges(reader->graph, link->a, link->b, capacity * reader->t->rate,
                                  (uint32_t)cost))
            return no_memory(reader);
    }
    return STATUS_OK;
}

static enum status nccl_read(struct nccl_reader *reader, const struct spec *spec)
{
    enum status status = STATUS_OK;
    const struct xml_element *root = reader->xml.root;
    for (const struct xml_element *cpu = root->children; cpu && status == STATUS_OK;
         cpu = cpu->next)
        if (strcmp(cpu->name, "cpu") == 0)
            status = cpu_take(reader, cpu);
    TRY(status);
    if (reader->gpu_count == 0)
        return fail(STATUS_USAGE,
                    "%.200s has no GPU, and GPUs are the places of ranks: give the topology of a "
                    "host with some",
                    spec->name);
    TRY(nvlinks_take(reader));
    TRY(cpus_link(reader));
    double unit = unit_find(reader);
    TRY(links_finish(reader, unit));
    struct text words = text_in(reader->t->words, sizeof reader->t->words);
    text_add(&words, "%.100s: a node of %d GPUs and %d CPUs%s, 1 is %.4g GB/s", spec->name,
             reader->gpu_count, reader->cpu_count, reader->nvswitch >= 0 ? ", NVSwitch" : "", unit);
    return link_graph_finish(reader->t, spec);
}

static enum status nccl_make(struct topology *t, struct spec *spec)
{
    struct arena *arena = arena_create();
    struct nccl_reader reader = {.t = t,
                                 .graph = link_graph_create(t),
                                 .gpus = new_array(GPUS_MOST, sizeof *reader.gpus),
                                 .cpus = new_array(CPUS_MOST, sizeof *reader.cpus),
                                 .nvswitch = -1};
    enum status status =
        arena ? STATUS_OK : fail(STATUS_ERROR, "out of memory for %.200s", spec->name);
    t->hosts = 1;
    if (status == STATUS_OK)
        status = xml_parse(spec->name, spec->content, strlen(spec->content), arena, &reader.xml);
    if (status == STATUS_OK)
        status = nccl_read(&reader, spec);
    arena_free(arena);
    free(reader.gpus);
    free(reader.cpus);
    free(reader.links);
    return status;
}

const struct topology_family family_nccl = {
    .name = "NCCL's XML",
    .help = "the GPUs of a node",
    .make = nccl_make,
    LINK_GRAPH_HOOKS,
};
