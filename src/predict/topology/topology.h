/*
 * topology.h - a network, or the inside of a node: places where ranks sit, the links between them,
 * and the way that each message takes.
 *
 * A topology is written as a specification, FAMILY[:KEY=VALUE...], or as the path of a file:
 *
 *     fat-tree:k=K                       three levels of switches with K ports (Al-Fares, Loukissas,
 *     fat-tree:radix=R:oversubscription=S  Vahdat, SIGCOMM 2008): K^3/4 hosts
 *     leaf-spine:radix=R:oversubscription=S  two levels
 *     rail:hosts=N:rails=R               GPU i of each host at leaf switch i; a switch inside a host
 *     torus:8x8x8  mesh:4x4  ring:16     hosts that are switches, with links to their neighbours
 *     dragonfly:a=A:h=H:p=P              groups of A switches with P hosts and H links to other
 *                                        groups each (Kim, Dally, Scott, Abts, ISCA 2008)
 *     FILE                               Slurm's topology.conf; a node as hwloc or NCCL writes it
 *
 * Each takes `ranks=` (places on a host, 1), `rate=` (what a host's port carries) and `latency=`.
 * `cctest help topology` shows the keys of each family.
 *
 * An end is a place where a rank can sit. Ends are numbered host by host. Links have one direction
 * each. Rates are in multiples of what one end sends by itself: so a model of measured times scales
 * a topology. Nothing here knows of ranks, schedules or times: placement.h, link_load.h.
 */
#ifndef CCTEST_PREDICT_TOPOLOGY_TOPOLOGY_H
#define CCTEST_PREDICT_TOPOLOGY_TOPOLOGY_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

struct topology;

#define LINK_NAME_MOST 96

/* A link of one direction. */
struct topology_link {
    char name[LINK_NAME_MOST]; /* "host 3 -> leaf 0" */
    double capacity;           /* in multiples of what one end sends by itself; above 0 */
    double latency_us;         /* that it adds one way; 0 unless the specification gives it */
};

/* Reads a specification, or a file. STATUS_USAGE with a sentence (of a file: its name and line) if it
 * is wrong; STATUS_ERROR: out of memory. The caller frees *made with topology_free(). */
enum status topology_parse(const char *spec, struct topology **made);

/* The file that a specification names; false: it names none. */
bool topology_reads(const char *text, char *path, size_t size);
void topology_free(struct topology *topology); /* NULL is allowed */

/* What it is, in a few words: "fat-tree of 3 levels, 128 hosts, 320 switches ...". */
const char *topology_words(const struct topology *topology);

int topology_ends(const struct topology *topology);
int topology_hosts(const struct topology *topology);
int topology_host(const struct topology *topology, int end);

/* "host 3", "host 3, rank 1", a name of the file, "GPU 0". */
void topology_end_name(const struct topology *topology, int end, char name[LINK_NAME_MOST]);

/* Links are numbered from 0. */
uint32_t topology_links(const struct topology *topology);
void topology_link_get(const struct topology *topology, uint32_t link, struct topology_link *got);
double topology_capacity(const struct topology *topology,
                         uint32_t link); /* the same, without the name */

/*
 * The links that a message from one end to another crosses, in order: always the same ones. Writes the first
 * `most` of them, and returns how many there are: none from an end to itself, or between ends of a
 * host whose inside is not part of the topology. topology_route_most() are always enough. Takes time in
 * proportion to the links of the way.
 *
 * Where several ways are equally short, the rule is a hash of the pair of hosts, as switches balance
 * flows by a hash of addresses (ECMP), or the destination's number (dmodk), as InfiniBand's routing
 * of fat trees does (Zahavi, "D-Mod-K routing providing non-blocking traffic for shift permutations
 * on real life fat trees", 2010). A torus is routed one dimension after the other.
 */
size_t topology_route(const struct topology *topology, int from, int to, uint32_t *links,
                      size_t most);

/* How far apart two ends are: a thousand times the sum of 1/capacity of the links between them. */
uint32_t topology_distance(const struct topology *topology, int from, int to);

/* An upper bound of what topology_route() returns; at least 1. */
size_t topology_route_most(const struct topology *topology);

/* Calls `line` with each line of a text on all families and their keys. */
void topology_help(void (*line)(void *argument, const char *text), void *argument);

#endif
