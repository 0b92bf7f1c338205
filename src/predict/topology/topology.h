/*
 * topology.h - a network, or the inside of a node: places where ranks sit, the links between them,
 * and the way that each message takes.
 *
 * A topology is written as a specification, FAMILY[:KEY=VALUE...], or as the path of a file:
 *
 *     fat-tree:k=K                       three levels of switches with K ports (Al-Fares,
 *     fat-tree:radix=R:oversubscription=S  Loukissas, Vahdat, SIGCOMM 2008): K^3/4 hosts
 *     leaf-spine:radix=R:oversubscription=S  two levels
 *     rail:hosts=N:rails=R               GPU i of each host at leaf switch i; a switch in each host
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
 * a topology. Nothing here knows of ranks, schedules or times: topology.h, topology.h.
 */
#ifndef CCTEST_PREDICT_TOPOLOGY_TOPOLOGY_H
#define CCTEST_PREDICT_TOPOLOGY_TOPOLOGY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/parse.h"
#include "base/status.h"

struct topology;

#define LINK_NAME_MOST 96

/* A link of one direction. */
struct topology_link {
    char name[LINK_NAME_MOST]; /* "host 3 -> leaf 0" */
    double capacity;           /* in multiples of what one end sends by itself; above 0 */
    double latency_us;         /* that it adds one way; 0 unless the specification gives it */
};

/* Reads a specification, or a file. STATUS_USAGE with a sentence (of a file: its name and line) if
 * it is wrong; STATUS_ERROR: out of memory. The caller frees *made with topology_free(). */
enum status topology_parse(const char *spec, struct topology **made);

/* The file that a specification names; false: it names none. */
bool topology_reads(const char *text, char *path, size_t size);
void topology_free(struct topology *topology); /* NULL is allowed */

/* The topology in a few words: "fat-tree of 3 levels, 128 hosts, 320 switches ...". */
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
 * The links that a message from one end to another crosses, in order: always the same ones. Writes
 * the first `most` of them, and returns how many there are: none from an end to itself, or between
 * ends of a host whose inside is not part of the topology. topology_route_most() are always enough.
 * Takes time in proportion to the links of the way.
 *
 * Where several ways are equally short, the rule is a hash of the pair of hosts, as switches
 * balance flows by a hash of addresses (ECMP), or the destination's number (dmodk), as InfiniBand's
 * routing of fat trees does (Zahavi, "D-Mod-K routing providing non-blocking traffic for shift
 * permutations on real life fat trees", 2010). A torus is routed one dimension after the other.
 */
size_t topology_route(const struct topology *topology, int from, int to, uint32_t *links,
                      size_t most);

/* How far apart two ends are: a thousand times the sum of 1/capacity of the links between them. */
uint32_t topology_distance(const struct topology *topology, int from, int to);

/* An upper bound of what topology_route() returns; at least 1. */
size_t topology_route_most(const struct topology *topology);

/* Takes a family or, behind two blanks, one of its keys, and its sentence; "": a heading. */
typedef void help_taker(const char *term, const char *help);

/* Gives a family and its keys; all families, if `name` is NULL. False: there is no such family. */
bool topology_help(const char *name, help_taker *take);

/* Adds the names of the families that a text names ("torus"). */
void topology_names(struct names *names);

/* ---- What an algorithm puts on each link of a topology, step by step, and what that costs.
 *
 * The messages come from schedules, one rank after the other. In step s link l carries B(s, l)
 * bytes, and has the rate c(l), in multiples of an end's. The ends themselves bound the step, too:
 * an end sends O(s, e) bytes and receives I(s, e) bytes, at rate 1 in each direction. So
 *
 *     E(s) = max over e of max(O(s, e), I(s, e))          the step, if only the ends had limits
 *     T(s) = max(E(s), max over l of B(s, l) / c(l))      with the links
 *     congestion factor = sum over s of T(s) / sum over s of E(s)
 *
 * 1 says that no link inside slows the algorithm down. The sums are bounds of the time in bytes:
 * they treat steps as if each began when the one before it has ended, and leave out latency.
 * ---- */

struct link_load;

#define NO_LINK UINT32_MAX

/* A step. In bytes, and bytes by rate. */
struct step_load {
    double ends;   /* E: of the busiest end */
    double links;  /* of the busiest link: its bytes by its rate */
    uint32_t link; /* that one, the first of equal ones; NO_LINK: no message crosses a link */
};

/* A link's load, over all steps. */
struct loaded_link {
    uint32_t link;
    double bytes;
    double time; /* bytes by rate */
    double peak; /* of the busiest step, bytes by rate */
};

/* `end_of_rank` (of `ranks` ranks) and the topology must live as long. STATUS_ERROR: out of
 * memory. */
enum status link_load_create(const struct topology *topology, const int *end_of_rank, int ranks,
                             struct link_load **made);
void link_load_free(struct link_load *load); /* NULL is allowed */

/* A message of `bytes` bytes between two ranks in a step, from 0. STATUS_USAGE if all steps of all
 * links together take more than LOAD_BYTES_MOST. */
#define LOAD_BYTES_MOST ((size_t)2 << 30)
enum status link_load_add(struct link_load *load, int step, int from, int to, double bytes);

/* When all messages are added; what follows may be asked then. STATUS_ERROR: out of memory. */
enum status link_load_finish(struct link_load *load);

const struct topology *link_load_topology(const struct link_load *load);
int link_load_steps(const struct link_load *load);
struct step_load link_load_step(const struct link_load *load, int step);
double link_load_bytes(const struct link_load *load, int step, uint32_t link);

/* The sums over all steps, of which the congestion factor is the quotient. */
struct load_sums {
    double ends; /* of E(s) */
    double all;  /* of T(s) */
};
struct load_sums link_load_sums(const struct link_load *load);
double link_load_factor(const struct link_load *load); /* 1 without messages */

/* The most loaded links by `time`, the first of equal ones first: at most `most` of those that
 * carry anything. Returns how many. */
int link_load_top(const struct link_load *load, struct loaded_link *top, int most);

/* ---- Which rank sits where: block, cyclic, random:SEED, or a file. ---- */

/*
 * Writes the end of each of `ranks` ranks, no two of which share one.
 *
 *     block        rank r at end r: a host is filled before the next
 *     cyclic       one rank to each host in turn, as many hosts as block placement uses
 *     random:SEED  all ends of the topology in random order, of which the first `ranks` are taken
 *     FILE         a line for each rank, in their order: an end's number, or a host's name (its
 *                  first end that is free); '#' begins a comment
 *
 * `spec` NULL: block. STATUS_USAGE if the topology has fewer ends than ranks, or the specification
 * or the file (with its line) is wrong.
 */
enum status placement_make(const struct topology *topology, const char *spec, int ranks,
                           int *end_of_rank);

/* ---- A file of switches: which hosts and which switches are below each.
 *
 * A line of the file is Slurm's, as in topology.conf, or a switch and its hosts:
 *
 *     SwitchName=s1 Nodes=n[1-16]             s1: n[1-16,18]
 *     SwitchName=spine Switches=s[1-4] LinkSpeed=4
 *
 * '#' begins a comment; a line whose last character is a backslash goes on in the next one. Case
 * matters in names, and not in Slurm's keys. Other keys than these are skipped. Switches of several
 * parents are allowed, as in a fat tree.
 * ---- */

#define SWITCH_LEVELS_MOST 16 /* above the leaves: more is a circle */

struct tree_switch {
    const char *name;
    const char *hosts; /* a list; NULL: it has switches */
    const char *below; /* a list of switches; NULL: it has hosts */
    long line;
    int level;    /* 0: it has hosts; else one above the highest that is below it */
    double speed; /* LinkSpeed=, in units of the user; 0: not given */
};

struct tree_cable {
    int above, below; /* switches */
};

struct switch_tree {
    const char *path;
    char *text; /* that names and lists point into */
    struct tree_switch *switches;
    int switch_count;
    int *by_name; /* switches */
    struct tree_cable *cables;
    int cable_count;
};

/* Reads the text of the file `path`, of which it becomes the owner: allocated, and free to be
 * changed. STATUS_USAGE with file and line. To be freed with switch_tree_free(), also after an
 * error; `path` must live as long. */
enum status switch_tree_parse(const char *path, char *text, struct switch_tree *tree);
void switch_tree_free(struct switch_tree *tree); /* zeroed is allowed */

/* Calls `each` with each host of a switch. It returns STATUS_OK to go on, or what it has failed
 * with. STATUS_USAGE if the list is wrong. */
enum status switch_tree_hosts(const struct switch_tree *tree, int number,
                              enum status (*each)(void *argument, const char *host),
                              void *argument);

#endif
