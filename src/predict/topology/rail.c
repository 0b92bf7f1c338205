/*
 * rail.c - rail-optimised networks.
 */
#include "predict/topology/internal.h"

#include <math.h>

#include "base/list.h"

static const char *const crossings[] = {"pxn", "spine", NULL};
enum crossing { CROSSING_PXN, CROSSING_SPINE };

struct rail {
    int rails, sharing; /* GPUs that share a NIC */
    int pod, pods;      /* hosts of a pod */
    int spines;
    enum crossing crossing;
};

/* The links of GPUs into their host's switch, of NICs up to leaves, and of leaves up to spines. */
enum rail_class { CLASS_GPU, CLASS_NIC, CLASS_LEAF };

static enum status rail_make(struct topology *t, struct spec *spec)
{
    struct rail *rail = t->shape = new_array(1, sizeof *rail);
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
    rail->crossing = (enum crossing)spec_value(spec, "cross");
    if (rail->pods > 1 || rail->crossing == CROSSING_SPINE)
        rail->spines = (int)ceil(rail->pod / spec_value(spec, "oversubscription"));
    t->route_most = 6;
    struct text words = text_in(t->words, sizeof t->words);
    text_add(&words, "rail of %d hosts with %d GPUs: %d pods of %d leaves, %d spines", t->hosts,
             t->ranks, rail->pods, rail->rails, rail->spines);
    uint64_t hosts = (uint64_t)t->hosts, rails = (uint64_t)rail->rails;
    links_add(t, hosts * (uint64_t)t->ranks, 2, spec_value(spec, "inside"), 0);
    links_add(t, hosts * rails, 2, t->rate, 0);
    links_add(t, (uint64_t)rail->pods * rails * (uint64_t)rail->spines, 2, t->rate, t->latency_us);
    return STATUS_OK;
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
    route_add(route, link_up(t, CLASS_LEAF, (uint32_t)leaf * spines + spine));
    route_add(route, link_down(t, CLASS_LEAF, (uint32_t)other * spines + spine));
}

static void rail_route(const struct topology *t, int from, int to, struct topology_way *route)
{
    const struct rail *rail = t->shape;
    int host = from / t->ranks, other = to / t->ranks, leaves = rail->rails;
    int out = rail_of(t, from), in = rail_of(t, to);
    if (host == other) {
        route_add(route, link_up(t, CLASS_GPU, (uint32_t)from));
        route_add(route, link_down(t, CLASS_GPU, (uint32_t)to));
        return;
    }
    if (out != in && rail->crossing == CROSSING_PXN) {
        route_add(route, link_up(t, CLASS_GPU, (uint32_t)from));
        route_add(route, link_down(t, CLASS_GPU, (uint32_t)(host * t->ranks + to % t->ranks)));
        out = in;
    }
    int leaf = host / rail->pod * leaves + out, last = other / rail->pod * leaves + in;
    route_add(route, link_up(t, CLASS_NIC, (uint32_t)(host * leaves + out)));
    if (leaf != last)
        spine_cross(t, leaf, last, pair_hash(from, to), route);
    route_add(route, link_down(t, CLASS_NIC, (uint32_t)(other * leaves + in)));
}

static void rail_name_link(const struct topology *t, int class, uint32_t number, struct text *below,
                           struct text *above)
{
    const struct rail *rail = t->shape;
    int at = (int)number, leaf;
    if (class == CLASS_GPU) {
        text_add(below, "host %d GPU %d", at / t->ranks, at % t->ranks);
        text_add(above, "host %d switch", at / t->ranks);
    } else if (class == CLASS_NIC) {
        text_add(below, "host %d NIC %d", at / rail->rails, at % rail->rails);
        leaf = at / rail->rails / rail->pod * rail->rails + at % rail->rails;
        text_add(above, "leaf %d.%d", leaf / rail->rails, leaf % rail->rails);
    } else {
        leaf = at / rail->spines;
        text_add(below, "leaf %d.%d", leaf / rail->rails, leaf % rail->rails);
        text_add(above, "spine %d", at % rail->spines);
    }
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
    .name_link = rail_name_link,
    .name_end = rail_name_end,
};
