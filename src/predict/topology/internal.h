/*
 * internal.h - for the files of predict/topology/ alone.
 */
#ifndef CCTEST_PREDICT_TOPOLOGY_INTERNAL_H
#define CCTEST_PREDICT_TOPOLOGY_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/numbers.h"
#include "base/text.h"
#include "predict/topology/topology.h"

/* ---- The text of a topology, FAMILY[:SHAPE][:KEY=VALUE...]: its parts, and their values by a
 * table of keys.
 * ---- */

#define SPEC_KEYS_MOST 12
#define SPEC_TEXT_MOST 4096

/* A number from `least` to `most`, or one of `words`, whose value is its index. */
struct spec_key {
    const char *name; /* "radix"; NULL ends a table */
    double least, most, standard;
    bool is_real;             /* else whole */
    const char *const *words; /* ended by NULL; NULL: a number */
    const char *help;
};

struct spec_value {
    const struct spec_key *key;
    double number; /* the key's standard, if it is not given */
    bool given;
};

struct spec {
    const char *text;          /* as the user wrote it */
    char name[SPEC_TEXT_MOST]; /* "torus", or a path */
    char *content;             /* of a file; a family that keeps it sets this to NULL. Else NULL */
    const char *shape;         /* "8x8x8": a part without '=' behind the name; NULL: none */
    /* The family's keys, then the keys of all families; the last is a value without a key. */
    struct spec_value values[2 * SPEC_KEYS_MOST + 1];
    int value_count;
    char parts[SPEC_TEXT_MOST]; /* behind the name */
};

/* The value of a key that the family has, and whether the user gave it. */
double spec_value(const struct spec *spec, const char *key);
bool spec_given(const struct spec *spec, const char *key);

/* STATUS_USAGE: "'TEXT': " and the sentence. */
enum status spec_refuse(const struct spec *spec, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* ---- What a kind of topology has for topology.c: its keys, and formulas of its links and ways.
 * ---- */

/* More than anybody builds: they keep numbers within their types. */
#define HOSTS_MOST (1 << 22)
#define ENDS_MOST  (1 << 24)
#define LINKS_MOST (1u << 30)

#define LINK_CLASSES_MOST 6

/* Links of one kind, numbered one after the other: `count` that lead up and, where there are two
 * directions, as many that lead down behind them. */
struct topology_class {
    uint64_t first, count;
    double capacity, latency_us;
};

struct topology {
    const struct topology_family *family;
    int hosts, ranks; /* ends on each host */
    double rate;      /* of a host's port */
    double latency_us;
    struct topology_class classes[LINK_CLASSES_MOST];
    int class_count;
    uint64_t links; /* of all classes */
    size_t route_most;
    char words[200];
    void *shape; /* the family's own */
};

/* Appends a class, whose number is that of the call. `directions`: 2, or 1: the links lead one way,
 * which counts as up. */
void links_add(struct topology *topology, uint64_t count, unsigned directions, double capacity,
               double latency_us);

/* The links `number` of a class. */
static inline uint32_t link_up(const struct topology *topology, int class, uint32_t number)
{
    return (uint32_t)topology->classes[class].first + number;
}

static inline uint32_t link_down(const struct topology *topology, int class, uint32_t number)
{
    return link_up(topology, class, (uint32_t)topology->classes[class].count + number);
}

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
    /* Fills hosts, ranks, route_most, words and shape, and adds all links; the other fields are
     * there. What it allocated stays in `shape`, also after an error. */
    enum status (*make)(struct topology *topology, struct spec *spec);
    void (*release)(void *shape); /* NULL: free() */
    /* Between different ends. */
    void (*route)(const struct topology *topology, int from, int to, struct topology_way *route);
    /* NULL: what the link's class has. */
    double (*capacity)(const struct topology *topology, int class, uint32_t number);
    /* The two places that the links `number` of a class join, up and down. */
    void (*name_link)(const struct topology *topology, int class, uint32_t number,
                      struct text *below, struct text *above);
    void (*name_end)(const struct topology *topology, int end, struct text *name); /* or NULL */
};

/* A pair's choice among equally short ways: the same for each of its messages. */
static inline uint64_t pair_hash(int from, int to)
{
    uint64_t state = (uint64_t)(uint32_t)from << 32 | (uint32_t)to;
    return random_next(&state);
}

/* ---- Fat trees of two and of three levels of switches.
 *
 *      core          o o   o o        A switch has `radix` ports. Of those of an edge switch `down`
 *                    |X|   |X|        lead to hosts and `up` to switches above; their proportion is
 *      aggregation   o o   o o        the oversubscription. Three levels: radix/2 edge switches and
 *                    |X|   |X|        `up` aggregation switches are a pod, and aggregation switch j
 *      edge, leaf    o o   o o        of each pod meets the others at radix/2 core switches. Two
 *                   /| |\ /| |\       levels: each leaf meets the others at `up` spines.
 *      hosts
 *
 * With radix k and no oversubscription three levels are the k-ary fat tree of Al-Fares, Loukissas
 * and Vahdat, "A scalable, commodity data center network architecture", SIGCOMM 2008, of k^3/4
 * hosts.
 * ---- */

extern const struct topology_family family_fat_tree, family_leaf_spine;

/* ---- Dragonflies: groups of `a` switches, each with `p` hosts, a link to each other switch of its
 * group, and `h` links to other groups. All groups are connected with each other by one link in
 * each direction: link k of a group (of its switch k/h) leads k + 1 groups on. a*h + 1 groups are
 * the most.
 *
 *      group 0            group 1         A minimal way is local, global, local: at most 3 links
 *      o---o---o  ------> o---o---o       between switches. Valiant's goes through a third group,
 *      |\     /|          |\     /|       which a hash of the pair picks: longer, and it spreads
 *      hosts ...          hosts ...       traffic between two groups over all.
 *
 * Source: Kim, Dally, Scott, Abts, "Technology-driven, highly-scalable dragonfly topology", ISCA
 * 2008. Its numbering of global links is the "relative" one of Camarero, Vallejo, Beivide,
 * "Topological characterization of Hamming and dragonfly networks", TACO 2014.
 * ---- */

extern const struct topology_family family_dragonfly;

/* ---- Tori, meshes and rings: hosts in up to six dimensions, each with a link to its neighbour
 * on both sides of each dimension. A torus is closed in each dimension, a mesh is not; a ring is a
 * torus of one.
 *
 * Messages go along the last dimension first, then along the one before it (dimension order: it
 * keeps wormhole networks free of deadlock; Dally, Seitz, 1987), the shorter way round. Half way
 * round, a host whose coordinate is even goes up, and others go down.
 * ---- */

extern const struct topology_family family_torus, family_mesh, family_ring;

/* ---- A node as hwloc writes it (lstopo --of xml): cores below
 * caches, dies, packages and the machine. Its cores are the ends, or what `places` says.
 *
 * hwloc does not know what the links inside a processor carry. So each link up carries together
 * what all ends below it send, unless `cache`, `die` or `package` say less: the rate of the links
 * above third-level caches, dies and packages.
 * ---- */

extern const struct topology_family family_hwloc;

/* ---- A topology that a file describes: links between vertices, the ways between them by a table,
 * and the vertices at which its hosts or ends sit. Its links are those of hosts, if these have
 * ports, and the edges of the graph.
 *
 * A way is one of the least cost, the sum of its links' costs, and leads through no end. Of several
 * next links that lie on such ways and have consecutive numbers, the pair's hash takes one.
 * ---- */

#define GRAPH_VERTICES_MOST 8192 /* the table grows with their square */

struct link_graph_edge {
    uint32_t from, to;
    double capacity;
    uint32_t cost;
};

/* A host, or an end. */
struct graph_place {
    char *name;
    int vertex;
    double port; /* what a host's port carries */
};

struct link_graph {
    /* Places are hosts with a port each, of any number of ends; else ends of one host. */
    bool has_ports;
    struct graph_place *places;
    int place_count;
    int vertices;
    char **names;                  /* of vertices */
    struct link_graph_edge *edges; /* after link_graph_finish() by `from`, then `to` */
    uint32_t edge_count;
    uint32_t *first; /* vertices + 1: the edges of each */
    int *column;     /* of each vertex, in the table; -1: no message ends there */
    int columns;
    struct next_hop *hops; /* [vertex][column] */
    size_t longest;        /* links of the longest way */
};

struct next_hop {
    uint16_t first, count; /* among the vertex's edges; count 0: no way */
};

/* An empty one, as t->shape. */
struct link_graph *link_graph_create(struct topology *t);

/* The number of a new vertex; -1: out of memory. Names are copied. */
int link_graph_add_vertex(struct link_graph *graph, const char *name);
/* False: out of memory. */
bool link_graph_add_place(struct link_graph *graph, const char *name, int vertex, double port);
/* A link in each direction; cost 1 at least. False: out of memory. */
bool link_graph_add_edges(struct link_graph *graph, int a, int b, double capacity, uint32_t cost);

/* When all is added: finds the ways, and fills what family->make() has to, but for the words.
 * STATUS_USAGE if a place is out of reach for another or the graph is too large. */
enum status link_graph_finish(struct topology *t, const struct spec *spec);

void link_graph_release(void *shape);
void link_graph_route(const struct topology *t, int from, int to, struct topology_way *route);
double link_graph_capacity(const struct topology *t, int class, uint32_t number);
void link_graph_name_link(const struct topology *t, int class, uint32_t number, struct text *below,
                          struct text *above);
void link_graph_name_end(const struct topology *t, int end, struct text *name);

#define LINK_GRAPH_HOOKS                                                                           \
    .release = link_graph_release, .route = link_graph_route, .capacity = link_graph_capacity,     \
    .name_link = link_graph_name_link, .name_end = link_graph_name_end

/* ---- A node as NCCL writes it (NCCL_TOPO_DUMP_FILE, NCCL_TOPO_FILE): CPUs, PCI switches,
 * GPUs, NVLink. Its GPUs are the ends.
 *
 * What links carry follows from NCCL's rules (src/graph/topo.h and xml.cc): PCI, width by speed by
 * its coding; NVLink, what one carries in this generation, by their count; between CPUs, by their
 * maker. 1 is what the widest link of the first GPU carries.
 * ---- */

extern const struct topology_family family_nccl;

/* ---- Rail-optimised networks of hosts with several GPUs, each with a NIC.
 *
 *      spines                 o   o   o     GPU i of each host of a pod reaches leaf i of the pod
 *                             |\ /|\ /|     through its own NIC. Inside a host a switch (NVSwitch)
 *      leaves: rail 0, 1, 2   o   o   o     joins the GPUs. A message between two rails goes to the
 *                             |   |   |     receiver's rail inside the sender's host (NCCL's PXN),
 *      GPUs of a host         o   o   o     or over a spine.
 *                              \  |  /
 *      inside it                 [ ]
 *
 * Source: NVIDIA DGX SuperPOD, reference architecture; for PXN: "Doubling all2all performance with
 * NVIDIA Collective Communication Library 2.12", 2022.
 * ---- */

extern const struct topology_family family_rail;

/* ---- The network that Slurm's topology.conf describes (topology/tree; topology.h has its
 * form): hosts behind switches, and switches behind switches.
 *
 * The file does not say how many cables lead from a switch to one above it. LinkSpeed= of the one
 * above gives what each of its links carries, in the unit of the slowest LinkSpeed= of a switch
 * that has hosts (without one: 1). Where it has none, the links up of a switch carry together what
 * comes from below it, divided by `oversubscription`.
 * ---- */

extern const struct topology_family family_slurm;

#endif
