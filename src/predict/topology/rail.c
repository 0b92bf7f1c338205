/*
 * rail.c - rail-optimised networks. Links are numbered: from each GPU into its host's switch, and
 * back; from each NIC up, and down to it; from each leaf up to each spine, and back.
 */
#include "predict/topology/internal.h"

#include <math.h>
#include <stdlib.h>

#include "base/log.h"

static const char *const crossings[] = {"pxn", "spine", NULL};
enum crossing { CROSSING_PXN, CROSSING_SPINE };

struct rail {
    int rails, sharing; /* GPUs that share a NIC */
    int pod, pods;      /* hosts of a pod */
    int spines;
    double inside; /* rate of a GPU's link into the switch of its host */
    enum crossing crossing;
};

enum rail_links { GPU_UP, GPU_DOWN, NIC_UP, NIC_DOWN, LEAF_UP, LEAF_DOWN, RAIL_LINKS };

static double class_size(const struct topology *t, enum rail_links class)
{
    const struct rail *rail = t->shape;
    switch (class) {
    case GPU_UP:
    case GPU_DOWN:
        return (double)t->hosts * t->ranks;
    case NIC_UP:
    case NIC_DOWN:
        return (double)t->hosts * rail->rails;
    default:
        return (double)rail->pods * rail->rails * rail->spines;
    }
}

static uint32_t class_first(const struct topology *t, enum rail_links class)
{
    double first = 0;
    for (int c = 0; c < (int)class; c++)
        first += class_size(t, (enum rail_links)c);
    return (uint32_t)first;
}

/* Its number within the class is what is left in *link. */
static enum rail_links class_of(const struct topology *t, uint32_t *link)
{
    enum rail_links class = GPU_UP;
    while (class < LEAF_DOWN && *link >= (uint32_t)class_size(t, class))
        *link -= (uint32_t)class_size(t, class ++);
    return class;
}

static enum status rail_make(struct topology *t, struct spec *spec)
{
    struct rail *rail = t->shape = calloc(1, sizeof *rail);
    if (!rail)
        return fail(STATUS_ERROR, "out of memory for a topology");
    if (!spec_given(spec, "hosts") || !spec_given(spec, "rails"))
        return spec_refuse(spec, "give hosts= and rails=");
    t->hosts = (int)spec_value(spec, "hosts");
    rail->rails = (int)spec_value(spec, "rails");
    if (!spec_given(spec, "ranks"))
        t->ranks = rail->rails;
    if (t->ranks % rail->rails)
        return spec_refuse(spec, "ranks=%d do not share %d rails evenly: give a multiple", t->ranks,
                           rail->rails);
    rail->sharing = t->ranks / rail->rails;
    rail->pod = spec_value(spec, "pod") > 0 ? (int)spec_value(spec, "pod") : t->hosts;
    rail->pods = (t->hosts + rail->pod - 1) / rail->pod;
    rail->inside = spec_value(spec, "inside");
    rail->crossing = (enum crossing)spec_value(spec, "cross");
    if (rail->pods > 1 || rail->crossing == CROSSING_SPINE)
        rail->spines = (int)ceil(rail->pod / spec_value(spec, "oversubscription"));
    t->route_most = 6;
    struct text words = text_in(t->words, sizeof t->words);
    text_add(&words, "rail of %d hosts with %d GPUs: %d pods of %d leaves, %d spines", t->hosts,
             t->ranks, rail->pods, rail->rails, rail->spines);
    double links = 0;
    for (int c = 0; c < RAIL_LINKS; c++)
        links += class_size(t, (enum rail_links)c);
    return links_set(t, spec, links);
}

static int rail_of(const struct topology *t, int end)
{
    return end % t->ranks / ((const struct rail *)t->shape)->sharing;
}

/* From a leaf to another over a spine that the pair of ends picks. */
static void spine_cross(const struct topology *t, int leaf, int other, uint64_t pick,
                        struct topology_way *route)
{
    const struct rail *rail = t->shape;
    uint32_t spines = (uint32_t)rail->spines, spine = (uint32_t)(pick % spines);
    route_add(route, class_first(t, LEAF_UP) + (uint32_t)leaf * spines + spine);
    route_add(route, class_first(t, LEAF_DOWN) + (uint32_t)other * spines + spine);
}

static void rail_route(const struct topology *t, int from, int to, struct topology_way *route)
{
    const struct rail *rail = t->shape;
    int host = from / t->ranks, other = to / t->ranks, leaves = rail->rails;
    int out = rail_of(t, from), in = rail_of(t, to);
    uint32_t gpu_down = class_first(t, GPU_DOWN);
    if (host == other) {
        route_add(route, (uint32_t)from);
        route_add(route, gpu_down + (uint32_t)to);
        return;
    }
    if (out != in && rail->crossing == CROSSING_PXN) {
        route_add(route, (uint32_t)from);
        route_add(route, gpu_down + (uint32_t)(host * t->ranks + to % t->ranks));
        out = in;
    }
    int leaf = host / rail->pod * leaves + out, last = other / rail->pod * leaves + in;
    route_add(route, class_first(t, NIC_UP) + (uint32_t)(host * leaves + out));
    if (leaf != last)
        spine_cross(t, leaf, last, pair_hash(from, to), route);
    route_add(route, class_first(t, NIC_DOWN) + (uint32_t)(other * leaves + in));
}

static double rail_capacity(const struct topology *t, uint32_t link)
{
    const struct rail *rail = t->shape;
    return class_of(t, &link) <= GPU_DOWN ? rail->inside : t->rate;
}

static double rail_latency(const struct topology *t, uint32_t link)
{
    return class_of(t, &link) < LEAF_UP ? 0 : t->latency_us;
}

static void rail_name_link(const struct topology *t, uint32_t link, struct text *name)
{
    const struct rail *rail = t->shape;
    enum rail_links class = class_of(t, &link);
    int at = (int)link, leaf = at;
    char below[60], above[40];
    struct text a = text_in(below, sizeof below), b = text_in(above, sizeof above);
    if (class <= GPU_DOWN) {
        text_add(&a, "host %d GPU %d", at / t->ranks, at % t->ranks);
        text_add(&b, "host %d switch", at / t->ranks);
    } else if (class <= NIC_DOWN) {
        text_add(&a, "host %d NIC %d", at / rail->rails, at % rail->rails);
        leaf = at / rail->rails / rail->pod * rail->rails + at % rail->rails;
        text_add(&b, "leaf %d.%d", leaf / rail->rails, leaf % rail->rails);
    } else {
        leaf = at / rail->spines;
        text_add(&a, "leaf %d.%d", leaf / rail->rails, leaf % rail->rails);
        text_add(&b, "spine %d", at % rail->spines);
    }
    bool up = class == GPU_UP || class == NIC_UP || class == LEAF_UP;
    text_add(name, "%s -> %s", up ? below : above, up ? above : below);
}

static void rail_name_end(const struct topology *t, int end, struct text *name)
{
    text_add(name, "host %d GPU %d", end / t->ranks, end % t->ranks);
}

const struct topology_family family_rail = {
    .name = "rail",
    .help = "GPU i of each host at leaf i, a switch inside a host",
    .keys = {{.name = "hosts", .least = 1, .most = HOSTS_MOST, .help = "hosts"},
             {.name = "rails", .least = 1, .most = 64, .help = "GPUs and NICs of a host"},
             {.name = "pod",
              .most = HOSTS_MOST,
              .help = "hosts of a pod, which has a leaf for each rail; 0: all"},
             {.name = "oversubscription",
              .least = 0.01,
              .most = 1000,
              .standard = 1,
              .is_real = true,
              .help = "a leaf's hosts by its links up"},
             {.name = "inside",
              .least = 1e-3,
              .most = 1e6,
              .standard = 9,
              .is_real = true,
              .help = "what a GPU's link into its host's switch carries"},
             {.name = "cross",
              .words = crossings,
              .help = "between rails: pxn (inside the sender's host), spine"}},
    .make = rail_make,
    .route = rail_route,
    .capacity = rail_capacity,
    .latency = rail_latency,
    .name_link = rail_name_link,
    .name_end = rail_name_end,
};
