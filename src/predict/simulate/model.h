/*
 * model.h - what a simulation knows of a machine: the costs of cores, memory and links, as numbers.
 *
 * `cctest fit` measures them. They extend LogGP (Alexandrov et al., 1995): a message costs its
 * sender and its receiver time on their cores (o), arrives after a latency (L), and each of its
 * bytes costs time on both cores and on the wire (G). All times are microseconds.
 */
#ifndef CCTEST_PREDICT_SIMULATE_MODEL_H
#define CCTEST_PREDICT_SIMULATE_MODEL_H

#include "dataplane/memory/datatype.h"
#include "dataplane/transport/transport.h"

/* How far two ranks are from each other. */
enum rank_distance {
    DISTANCE_CACHE,   /* their cores share a cache */
    DISTANCE_NODE,    /* the same host, but no cache */
    DISTANCE_NETWORK, /* other hosts */
    DISTANCES
};
extern const char *const distance_names[]; /* ended by NULL: "same-cache", "same-node", "network" */

/* A number that depends on a number of bytes: between two points linear in the logarithm of the bytes,
 * outside of them as at the nearest one. */
#define CURVE_MOST 24
struct curve {
    int count; /* 0: the number is 0 */
    struct curve_point {
        double bytes, value;
    } points[CURVE_MOST]; /* ascending by bytes */
};
double curve_at(const struct curve *curve, double bytes);

extern const char *const movement_names[]; /* ended by NULL: "push", "pull", "grant" */

/* What a message costs. */
struct path_cost {
    enum path path;
    size_t least; /* for messages of so many bytes and more, up to those of the next row of its path */
    enum movement movement;
    double latency;          /* from the end of the sender's part until the receiver may begin */
    double send_overhead;    /* of the sender's core, for each message */
    double receive_overhead; /* of the receiver's */
    struct curve send_byte, receive_byte; /* of the two cores for each byte, by the bytes of all
                                             buffers of the rank */
    double sharing; /* where ranks share a core, each byte costs it so many times as much; 0: as much */
    bool combines_apart; /* what is to be combined is received first, and combined then */
    double wire;   /* of a port, for each byte; 0: there is no port */
    double gap;    /* of a port, for each message */
    size_t window; /* bytes that the sender may be ahead of the receiver; 0: any */
};

/* What the flows of a link share. */
enum port_kind {
    PORT_NONE, /* nothing: each connection has a wire of its own */
    PORT_RANK, /* those of a rank, in each direction */
    PORT_NODE, /* those of a host over one rail, in each direction */
    PORT_KINDS
};
extern const char *const port_names[]; /* ended by NULL: "none", "rank", "node" */

/* The latency of a cache line from one core to another, ns, as a transport measures it when it connects ranks. */
struct core_latency {
    double least, most; /* both 0: not measured */
};
#define CORES_MOVED_FACTOR 2 /* a latency that is so many times another is of other cores, most likely */

/* Adds more measurements; none if `most` is 0. */
void core_latency_add(struct core_latency *latency, double least, double most);

#define PATH_COSTS_MOST 16
#define RAIL_NAME_MOST  72
struct link_model {
    char transport[16]; /* its name */
    char rail[RAIL_NAME_MOST]; /* the NIC port, "mlx5_2:1"; "": whatever the transport takes */
    enum rank_distance distance;
    enum port_kind port;
    struct path_cost paths[PATH_COSTS_MOST]; /* by path, then ascending by `least` */
    int path_count;
    struct core_latency core; /* of the ranks of all jobs that measured it */
};

/* What it takes to combine elements, for each byte of the result, by the bytes of all buffers of the
 * rank. */
struct combine_cost {
    char datatype[24], reduction[16];
    struct curve byte;
};

#define LINK_MODELS_MOST   48 /* with the rails of a host, each of which is one */
#define COMBINE_COSTS_MOST 64
#define MODEL_TEXT_MOST    128

struct model {
    char host[MODEL_TEXT_MOST], processor[MODEL_TEXT_MOST], made[MODEL_TEXT_MOST]; /* where, when */
    int cores;            /* of a host, for ranks */
    int caches, cache_cores; /* of a host; and the cores of each, with consecutive numbers */
    double start;         /* of a rank's core, for each iteration */
    double core_switch;   /* until a core that ranks share goes from one to another */
    struct curve copy;    /* local copies: for each byte, by the bytes of all buffers of the rank */
    struct curve bus;     /* the same, of what a host's memory gives to all its cores together: k cores
                             that are at work take k times as long for a byte, where that is more */
    double copy_overhead; /* for each local operation */
    struct combine_cost combines[COMBINE_COSTS_MOST];
    int combine_count;
    struct link_model links[LINK_MODELS_MOST];
    int link_count;
};

/* The link that ranks at this distance use: that of the first of the transports (ended by a NULL
 * transport) that the model has for it; NULL: it has none. Of several, which are rails, that with this
 * number, from 0, around. Where the transport's nic= names some of them, only these count. */
const struct link_model *model_link(const struct model *model, const struct transport_choice *choices,
                                    enum rank_distance distance, int rail);

/* The first link whose cores seem to have moved while it was measured; NULL: there is none. */
const struct link_model *model_link_moved(const struct model *model);

/* Between how many rails the ranks of a host take turns to reach others; at least 1. */
int model_rails(const struct model *model, const struct transport_choice *choices);

/* The row for a message of so many bytes on a path; where the path has none, that of the next
 * costlier way. Never NULL. */
const struct path_cost *link_path(const struct link_model *link, enum path path, size_t bytes);

/* What it takes to combine elements of this type; where the model lacks it, as for the nearest that it
 * has. NULL: it has none. */
const struct curve *model_combine(const struct model *model, const struct datatype *datatype,
                                  const struct reduction *reduction);

#endif
