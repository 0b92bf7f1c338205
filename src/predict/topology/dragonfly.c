/*
 * dragonfly.c - dragonflies.
 */
#include "predict/topology/internal.h"

#include "base/list.h"

static const char *const routings[] = {"minimal", "valiant", NULL};

struct dragonfly {
    int switches;     /* of a group: a */
    int up;           /* links of a switch to other groups: h */
    int switch_hosts; /* p */
    int groups;
    bool valiant;
};

/* The links of hosts; from each switch to each other one of its group; from each group to each
 * other one. The last two lead one way. */
enum dragonfly_class { CLASS_HOST, CLASS_LOCAL, CLASS_GLOBAL };

static enum status dragonfly_make(struct topology *t, struct spec *spec)
{
    struct dragonfly *fly = t->shape = new_array(1, sizeof *fly);
    if (!spec_given(spec, "a") || !spec_given(spec, "h") || !spec_given(spec, "p"))
        return spec_refuse(spec, "give a=, h= and p=: switches of a group, and links to other "
                                 "groups and hosts of a switch");
    fly->switches = (int)spec_value(spec, "a");
    fly->up = (int)spec_value(spec, "h");
    fly->switch_hosts = (int)spec_value(spec, "p");
    int most = fly->switches * fly->up + 1;
    fly->groups = spec_value(spec, "groups") > 0 ? (int)spec_value(spec, "groups") : most;
    fly->valiant = spec_value(spec, "routing") > 0;
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
    uint64_t groups = (uint64_t)fly->groups, switches = (uint64_t)fly->switches;
    links_add(t, (uint64_t)t->hosts, 2, t->rate, 0);
    links_add(t, groups * switches * (switches - 1), 1, t->rate, t->latency_us);
    links_add(t, groups * (groups - 1), 1,
              spec_given(spec, "global") ? spec_value(spec, "global") : t->rate, t->latency_us);
    return STATUS_OK;
}

/* ---- ways ---- */

static void local_add(const struct topology *t, int group, int from, int to,
                      struct topology_way *route)
{
    const struct dragonfly *fly = t->shape;
    int first = (group * fly->switches + from) * (fly->switches - 1);
    if (from != to)
        route_add(route, link_up(t, CLASS_LOCAL, (uint32_t)(first + (to < from ? to : to - 1))));
}

/* The link of a group that leads to another group. */
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
    route_add(route, link_up(t, CLASS_GLOBAL, (uint32_t)(group * (fly->groups - 1) + link)));
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
    route_add(route, link_up(t, CLASS_HOST, (uint32_t)from));
    if (group != target && fly->valiant && fly->groups > 2) {
        int third = third_group(fly, group, target, pair_hash(from, to));
        at = group_cross(t, group, at, third, route);
        group = third;
    }
    if (group != target)
        at = group_cross(t, group, at, target, route);
    local_add(t, target, at, last % fly->switches, route);
    route_add(route, link_down(t, CLASS_HOST, (uint32_t)to));
}

static void dragonfly_name_link(const struct topology *t, int class, uint32_t number,
                                struct text *below, struct text *above)
{
    const struct dragonfly *fly = t->shape;
    int at = (int)number, others = fly->switches - 1, to_others = fly->groups - 1;
    if (class == CLASS_HOST) {
        int place = at / fly->switch_hosts;
        text_add(below, "host %d", at);
        text_add(above, "group %d switch %d", place / fly->switches, place % fly->switches);
    } else if (class == CLASS_LOCAL) {
        int group = at / others / fly->switches, from = at / others % fly->switches;
        int to = at % others;
        text_add(below, "group %d switch %d", group, from);
        text_add(above, "group %d switch %d", group, to + (to >= from));
    } else {
        int group = at / to_others, along = at % to_others;
        int other = (group + along + 1) % fly->groups;
        text_add(below, "group %d switch %d", group, along / fly->up);
        text_add(above, "group %d switch %d", other, global_link(fly, other, group) / fly->up);
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
    .name_link = dragonfly_name_link,
};
