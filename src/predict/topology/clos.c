/*
 * clos.c - fat trees.
 */
#include "predict/topology/internal.h"

#include <math.h>

#include "base/list.h"

static const char *const routings[] = {"hash", "dmodk", NULL};
enum routing { ROUTING_HASH, ROUTING_DMODK };

struct clos {
    int levels;
    int down, up;       /* ports of an edge switch */
    int pod_edges;      /* edge switches of a pod */
    int aggregation_up; /* ports of an aggregation switch that lead to core switches */
    int edges, pods;
    enum routing routing;
};

/* The links above hosts, above edge switches and above aggregation switches. */
enum clos_class { CLASS_HOST, CLASS_EDGE, CLASS_CORE };

/* ---- making one ---- */

static bool ports_divide(const struct spec *spec, int radix, struct clos *clos)
{
    double over = spec_value(spec, "oversubscription");
    clos->down = (int)lround(radix * over / (over + 1));
    clos->up = radix - clos->down;
    return clos->down >= 1 && clos->up >= 1;
}

static void words_write(struct topology *t, int radix)
{
    const struct clos *clos = t->shape;
    struct text words = text_in(t->words, sizeof t->words);
    int above = clos->levels == 2 ? clos->up : clos->pods * clos->up;
    text_add(&words, "%s of %d hosts, switches of %d ports: %d %s with %d hosts and %d links up",
             t->family->name, t->hosts, radix, clos->edges,
             clos->levels == 2 ? "leaves" : "edge switches", clos->down, clos->up);
    if (clos->levels == 2)
        text_add(&words, ", %d spines", above);
    else
        text_add(&words, ", %d aggregation and %d core switches", above,
                 clos->up * clos->aggregation_up);
}

static enum status clos_make(struct topology *t, const struct spec *spec, int levels, int radix)
{
    struct clos *clos = t->shape = new_array(1, sizeof *clos);
    clos->levels = levels;
    clos->routing = (enum routing)spec_value(spec, "routing");
    if (!ports_divide(spec, radix, clos))
        return spec_refuse(spec,
                           "switches of %d ports have none left for hosts or for links up at "
                           "this oversubscription",
                           radix);
    clos->pod_edges = levels == 2 ? 1 : radix / 2;
    clos->aggregation_up = levels == 2 ? 0 : radix - radix / 2;
    double most = (double)clos->down * clos->pod_edges * radix, hosts = spec_value(spec, "hosts");
    if (hosts > most)
        return spec_refuse(spec,
                           "it holds %.0f hosts at most: give fewer than hosts=%.0f, or "
                           "switches of more ports",
                           most, hosts);
    if (hosts == 0 && most > HOSTS_MOST)
        return spec_refuse(spec, "it holds %.0f hosts: give hosts= of at most %d", most,
                           HOSTS_MOST);
    t->hosts = (int)(hosts > 0 ? hosts : most);
    clos->edges = (t->hosts + clos->down - 1) / clos->down;
    clos->pods = (clos->edges + clos->pod_edges - 1) / clos->pod_edges;
    t->route_most = 6;
    words_write(t, radix);
    uint64_t up = (uint64_t)clos->up;
    links_add(t, (uint64_t)t->hosts, 2, t->rate, 0);
    links_add(t, (uint64_t)clos->edges * up, 2, t->rate, t->latency_us);
    links_add(t, (uint64_t)clos->pods * up * (uint64_t)clos->aggregation_up, 2, t->rate,
              t->latency_us);
    return STATUS_OK;
}

static enum status fat_tree_make(struct topology *t, struct spec *spec)
{
    bool has_k = spec_given(spec, "k");
    int k = (int)spec_value(spec, "k");
    if (has_k == spec_given(spec, "radix"))
        return spec_refuse(spec, "give k= or radix=%s", has_k ? ", and not both" : "");
    if (has_k && spec_given(spec, "oversubscription"))
        return spec_refuse(spec, "a tree of k= has no oversubscription: give radix=%d", k);
    if (has_k && k % 2)
        return spec_refuse(spec, "half of the ports lead up: give an even k=");
    return clos_make(t, spec, 3, has_k ? k : (int)spec_value(spec, "radix"));
}

static enum status leaf_spine_make(struct topology *t, struct spec *spec)
{
    if (!spec_given(spec, "radix"))
        return spec_refuse(spec, "give radix=, the ports of a switch");
    return clos_make(t, spec, 2, (int)spec_value(spec, "radix"));
}

/* ---- ways ---- */

static void clos_route(const struct topology *t, int from_end, int to_end,
                       struct topology_way *route)
{
    const struct clos *clos = t->shape;
    int from = from_end / t->ranks, to = to_end / t->ranks;
    if (from == to)
        return;
    int edge = from / clos->down, other = to / clos->down;
    uint32_t up = (uint32_t)clos->up, climbs = (uint32_t)clos->aggregation_up;
    uint64_t pick = clos->routing == ROUTING_DMODK ? (uint64_t)to : pair_hash(from, to);
    uint32_t above = (uint32_t)(pick % up);
    route_add(route, link_up(t, CLASS_HOST, (uint32_t)from));
    if (edge != other) {
        int pod = edge / clos->pod_edges, other_pod = other / clos->pod_edges;
        route_add(route, link_up(t, CLASS_EDGE, (uint32_t)edge * up + above));
        if (clos->levels == 3 && pod != other_pod) {
            uint32_t core = (uint32_t)(pick / up % climbs);
            uint32_t leaving = ((uint32_t)pod * up + above) * climbs + core;
            uint32_t entering = ((uint32_t)other_pod * up + above) * climbs + core;
            route_add(route, link_up(t, CLASS_CORE, leaving));
            route_add(route, link_down(t, CLASS_CORE, entering));
        }
        route_add(route, link_down(t, CLASS_EDGE, (uint32_t)other * up + above));
    }
    route_add(route, link_down(t, CLASS_HOST, (uint32_t)to));
}

/* ---- names ---- */

static void clos_name_link(const struct topology *t, int class, uint32_t at, struct text *below,
                           struct text *above)
{
    const struct clos *clos = t->shape;
    const char *edge = clos->levels == 2 ? "leaf" : "edge";
    uint32_t up = (uint32_t)clos->up, climbs = (uint32_t)clos->aggregation_up;
    if (class == CLASS_HOST) {
        text_add(below, "host %u", at);
        text_add(above, "%s %u", edge, at / (uint32_t)clos->down);
    } else if (class == CLASS_EDGE) {
        text_add(below, "%s %u", edge, at / up);
        if (clos->levels == 2)
            text_add(above, "spine %u", at % up);
        else
            text_add(above, "aggregation %u.%u", at / up / (uint32_t)clos->pod_edges, at % up);
    } else {
        text_add(below, "aggregation %u.%u", at / climbs / up, at / climbs % up);
        text_add(above, "core %u.%u", at / climbs % up, at % climbs);
    }
}

#define CLOS_KEYS                                                                                  \
    {.name = "hosts", .most = HOSTS_MOST, .help = "hosts; 0: all that it holds"},                  \
        {.name = "oversubscription",                                                               \
         .least = 0.01,                                                                            \
         .most = 1000,                                                                             \
         .standard = 1,                                                                            \
         .is_real = true,                                                                          \
         .help = "a switch's ports to hosts by its ports up"},                                     \
    {                                                                                              \
        .name = "routing", .words = routings,                                                      \
        .help = "of several ways: hash (of the pair, as ECMP), dmodk (as InfiniBand's ftree)"      \
    }

#define CLOS_HOOKS .route = clos_route, .name_link = clos_name_link

const struct topology_family family_fat_tree = {
    .name = "fat-tree",
    .help = "three levels of switches",
    .keys =
        {{.name = "k", .least = 2, .most = 1024, .help = "ports of a switch, even: k^3/4 hosts"},
         {.name = "radix", .least = 2, .most = 1024, .help = "ports of a switch"},
         CLOS_KEYS},
    .make = fat_tree_make,
    CLOS_HOOKS,
};

const struct topology_family family_leaf_spine = {
    .name = "leaf-spine",
    .help = "two levels of switches",
    .keys = {{.name = "radix", .least = 2, .most = 4096, .help = "ports of a switch"}, CLOS_KEYS},
    .make = leaf_spine_make,
    CLOS_HOOKS,
};
