/*
 * dragonfly.c - dragonflies. Links are numbered: from each host up, down to each host; in each group
 * from each switch to each other; from each group to each other.
 */
#include "predict/topology/internal.h"

#include <stdlib.h>

#include "base/log.h"

static const char *const routings[] = {"minimal", "valiant", NULL};

struct dragonfly {
    int switches;     /* of a group: a */
    int up;           /* links of a switch to other groups: h */
    int switch_hosts; /* p */
    int groups;
    bool valiant;
    double global; /* rate of a link between groups */
};

static uint32_t local_first(const struct topology *t)
{
    return 2 * (uint32_t)t->hosts;
}

static uint32_t global_first(const struct topology *t)
{
    const struct dragonfly *fly = t->shape;
    return local_first(t) +
           (uint32_t)fly->groups * (uint32_t)fly->switches * (uint32_t)(fly->switches - 1);
}

static enum status dragonfly_make(struct topology *t, struct spec *spec)
{
    struct dragonfly *fly = t->shape = calloc(1, sizeof *fly);
    if (!fly)
        return fail(STATUS_ERROR, "out of memory for a topology");
    if (!spec_given(spec, "a") || !spec_given(spec, "h") || !spec_given(spec, "p"))
        return spec_refuse(spec, "give a=, h= and p=: switches of a group, and links to other "
                                 "groups and hosts of a switch");
    fly->switches = (int)spec_value(spec, "a");
    fly->up = (int)spec_value(spec, "h");
    fly->switch_hosts = (int)spec_value(spec, "p");
    int most = fly->switches * fly->up + 1;
    fly->groups = spec_value(spec, "groups") > 0 ? (int)spec_value(spec, "groups") : most;
    fly->valiant = spec_value(spec, "routing") > 0;
    fly->global = spec_given(spec, "global") ? spec_value(spec, "global") : t->rate;
    if (fly->groups > most)
        return spec_refuse(spec,
                           "a*h links of a group reach %d groups in all: give groups= of at "
                           "most that",
                           most);
    double hosts = (double)fly->groups * fly->switches * fly->switch_hosts;
    if (hosts > HOSTS_MOST)
        return spec_refuse(spec, "it has %.0f hosts, and %d are the most", hosts, HOSTS_MOST);
    t->hosts = (int)hosts;
    t->route_most = 8;
    struct text words = text_in(t->words, sizeof t->words);
    text_add(&words, "dragonfly of %d groups of %d switches with %d hosts each: %d hosts",
             fly->groups, fly->switches, fly->switch_hosts, t->hosts);
    return links_set(t, spec,
                     2 * hosts + (double)fly->groups * fly->switches * (fly->switches - 1) +
                         (double)fly->groups * (fly->groups - 1));
}

/* ---- ways ---- */

static void local_add(const struct topology *t, int group, int from, int to,
                      struct topology_way *route)
{
    const struct dragonfly *fly = t->shape;
    if (from != to)
        route_add(route, local_first(t) +
                             (uint32_t)((group * fly->switches + from) * (fly->switches - 1)) +
                             (uint32_t)(to < from ? to : to - 1));
}

/* Which of a group's links leads to another group. */
static int global_link(const struct dragonfly *fly, int group, int other)
{
    return (other - group - 1 + fly->groups) % fly->groups;
}

/* From switch `at` of a group into another group; returns the switch that is reached. */
static int group_cross(const struct topology *t, int group, int at, int other,
                       struct topology_way *route)
{
    const struct dragonfly *fly = t->shape;
    int link = global_link(fly, group, other);
    local_add(t, group, at, link / fly->up, route);
    route_add(route,
              global_first(t) + (uint32_t)group * (uint32_t)(fly->groups - 1) + (uint32_t)link);
    return global_link(fly, other, group) / fly->up;
}

/* A group that is neither. */
static int third_group(const struct dragonfly *fly, int group, int other, uint64_t pick)
{
    int low = group < other ? group : other, high = group < other ? other : group;
    int third = (int)(pick % (uint64_t)(fly->groups - 2));
    third += third >= low;
    return third + (third >= high);
}

static void dragonfly_route(const struct topology *t, int from_end, int to_end,
                            struct topology_way *route)
{
    const struct dragonfly *fly = t->shape;
    int from = from_end / t->ranks, to = to_end / t->ranks;
    if (from == to)
        return;
    int at = from / fly->switch_hosts, last = to / fly->switch_hosts;
    int group = at / fly->switches, target = last / fly->switches;
    at %= fly->switches;
    route_add(route, (uint32_t)from);
    if (group != target && fly->valiant && fly->groups > 2) {
        int third = third_group(fly, group, target, pair_hash(from, to));
        at = group_cross(t, group, at, third, route);
        group = third;
    }
    if (group != target)
        at = group_cross(t, group, at, target, route);
    local_add(t, target, at, last % fly->switches, route);
    route_add(route, (uint32_t)t->hosts + (uint32_t)to);
}

static double dragonfly_capacity(const struct topology *t, uint32_t link)
{
    return link >= global_first(t) ? ((const struct dragonfly *)t->shape)->global : t->rate;
}

static double dragonfly_latency(const struct topology *t, uint32_t link)
{
    return link < local_first(t) ? 0 : t->latency_us;
}

static void dragonfly_name_link(const struct topology *t, uint32_t link, struct text *name)
{
    const struct dragonfly *fly = t->shape;
    int hosts = t->hosts, others = fly->switches - 1;
    if (link >= global_first(t)) {
        int at = (int)(link - global_first(t)), group = at / (fly->groups - 1);
        int along = at % (fly->groups - 1);
        int other = (group + along + 1) % fly->groups;
        text_add(name, "group %d switch %d -> group %d switch %d", group, along / fly->up, other,
                 global_link(fly, other, group) / fly->up);
    } else if (link >= local_first(t)) {
        int at = (int)(link - local_first(t)), from = at / others % fly->switches, to = at % others;
        int group = at / others / fly->switches;
        text_add(name, "group %d switch %d -> group %d switch %d", group, from, group,
                 to + (to >= from));
    } else {
        int host = (int)link % hosts, at = host / fly->switch_hosts;
        bool up = (int)link < hosts;
        if (up)
            text_add(name, "host %d -> ", host);
        text_add(name, "group %d switch %d", at / fly->switches, at % fly->switches);
        if (!up)
            text_add(name, " -> host %d", host);
    }
}

const struct topology_family family_dragonfly = {
    .name = "dragonfly",
    .help = "groups of switches, all connected with each other",
    .keys = {{.name = "a", .least = 1, .most = 4096, .help = "switches of a group"},
             {.name = "h", .least = 1, .most = 1024, .help = "a switch's links to other groups"},
             {.name = "p", .least = 1, .most = 4096, .help = "hosts of a switch"},
             {.name = "groups", .most = HOSTS_MOST, .help = "groups; 0: a*h + 1, the most"},
             {.name = "global",
              .least = 1e-3,
              .most = 1e6,
              .standard = 1,
              .is_real = true,
              .help = "what a link between groups carries; else as rate="},
             {.name = "routing",
              .words = routings,
              .help = "minimal, or valiant: through a third group"}},
    .make = dragonfly_make,
    .route = dragonfly_route,
    .capacity = dragonfly_capacity,
    .latency = dragonfly_latency,
    .name_link = dragonfly_name_link,
};
