/*
 * family.h - what a kind of topology has for topology.c: its keys, and formulas of its links and ways.
 */
#ifndef CCTEST_PREDICT_TOPOLOGY_FAMILY_H
#define CCTEST_PREDICT_TOPOLOGY_FAMILY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/random.h"
#include "base/status.h"
#include "base/text.h"
#include "predict/topology/spec.h"

/* More than anybody builds: they keep numbers within their types. */
#define HOSTS_MOST (1 << 22)
#define ENDS_MOST  (1 << 24)
#define LINKS_MOST (1u << 30)

struct topology {
    const struct topology_family *family;
    int hosts, ranks; /* ends on each host */
    double rate;      /* of a host's port */
    double latency_us;
    uint32_t links;
    size_t route_most;
    char words[200];
    void *shape; /* the family's own */
};

/* The links of a way, as topology_route() returns them. */
struct topology_way {
    uint32_t *links;
    size_t most, count;
};

static inline void route_add(struct topology_way *route, uint32_t link)
{
    if (route->count < route->most)
        route->links[route->count] = link;
    route->count++;
}

struct topology_family {
    const char *name;  /* "torus" */
    const char *shape; /* what stands behind the name: "8x8x8"; NULL: nothing */
    const char *help;
    struct spec_key keys[SPEC_KEYS_MOST]; /* beside topology_keys */
    /* Fills hosts, ranks, links, route_most, words and shape; the other fields are there. What it
     * allocated stays in `shape`, also after an error. */
    enum status (*make)(struct topology *topology, struct spec *spec);
    void (*release)(void *shape); /* NULL: free() */
    /* Between different ends. */
    void (*route)(const struct topology *topology, int from, int to, struct topology_way *route);
    double (*capacity)(const struct topology *topology, uint32_t link);
    double (*latency)(const struct topology *topology, uint32_t link);
    void (*name_link)(const struct topology *topology, uint32_t link, struct text *name);
    void (*name_end)(const struct topology *topology, int end, struct text *name); /* or NULL */
};

/* Takes over the number of links. STATUS_USAGE if there are more than LINKS_MOST. */
static inline enum status links_set(struct topology *topology, const struct spec *spec,
                                    double links)
{
    if (links > LINKS_MOST)
        return spec_refuse(spec, "it has %.3g links, and %u are the most: give fewer hosts", links,
                           LINKS_MOST);
    topology->links = (uint32_t)links;
    return STATUS_OK;
}

/* Which of several equally short ways: the same for each message of a pair. */
static inline uint64_t pair_hash(int from, int to)
{
    uint64_t state = (uint64_t)(uint32_t)from << 32 | (uint32_t)to;
    return random_next(&state);
}

#endif
