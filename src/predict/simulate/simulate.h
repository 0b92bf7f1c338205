/*
 * simulate.h - the interface of predict/simulate/.
 */
#ifndef CCTEST_PREDICT_SIMULATE_SIMULATE_H
#define CCTEST_PREDICT_SIMULATE_SIMULATE_H

#include "base/status.h"
#include "collective/schedule/schedule.h"
#include "dataplane/memory/datatype.h"
#include "dataplane/memory/memory.h"
#include "dataplane/transport/transport.h"
#include "predict/topology/topology.h"

/* ---- What a simulation knows of a machine: the costs of cores, memory and links, as numbers.
 *
 * `cctest fit` measures them. They extend LogGP (Alexandrov et al., 1995): a message costs its
 * sender and its receiver time on their cores (o), arrives after a latency (L), and each of its
 * bytes costs time on both cores and on the wire (G). All times are microseconds.
 * ---- */

/* How far two ranks are from each other. */
enum rank_distance {
    DISTANCE_CACHE,   /* their cores share a cache */
    DISTANCE_NODE,    /* the same host, but no cache */
    DISTANCE_NETWORK, /* other hosts */
    DISTANCES
};
extern const char *const distance_names[]; /* ended by NULL: "same-cache", "same-node", "network" */

/* A number that depends on a number of bytes: between two points linear in the logarithm of the
 * bytes, outside of them as at the nearest one. */
#define CURVE_MOST 24
struct curve {
    int count; /* 0: the number is 0 */
    struct curve_point {
        double bytes, value;
    } points[CURVE_MOST]; /* ascending by bytes */
};

extern const char *const movement_names[]; /* ended by NULL: "push", "pull", "grant" */

/* The costs of a message. */
struct path_cost {
    enum path path;
    size_t least; /* for messages of so many bytes and more, up to the next row of its path */
    enum movement movement;
    double latency;          /* from the end of the sender's part until the receiver may begin */
    double send_overhead;    /* of the sender's core, for each message */
    double receive_overhead; /* of the receiver's */
    struct curve send_byte, receive_byte; /* of the two cores for each byte, by the bytes of all
                                             buffers of the rank */
    double sharing; /* where ranks share a core, a byte costs so many times as much; 0: as much */
    bool combines_apart; /* what is to be combined is received first, and combined then */
    double wire;         /* of a port, for each byte; 0: there is no port */
    double gap;          /* of a port, for each message */
    size_t window;       /* bytes that the sender may be ahead of the receiver; 0: any */
};

/* The port that the flows of a link share. */
enum port_kind {
    PORT_NONE, /* nothing: each connection has a wire of its own */
    PORT_RANK, /* those of a rank, in each direction */
    PORT_NODE, /* those of a host over one rail, in each direction */
    PORT_KINDS
};
extern const char *const port_names[]; /* ended by NULL: "none", "rank", "node" */

/* The latency of a cache line from one core to another, ns, as a transport measures it when it
 * connects ranks. */
struct core_latency {
    double least, most; /* both 0: not measured */
};
/* A latency that is so many times another is of other cores, most likely. */
#define CORES_MOVED_FACTOR 2

/* Adds more measurements; none if `most` is 0. */
void core_latency_add(struct core_latency *latency, double least, double most);

#define PATH_COSTS_MOST 16
#define RAIL_NAME_MOST  72
struct link_model {
    char transport[16];        /* its name */
    char rail[RAIL_NAME_MOST]; /* the NIC port, "mlx5_2:1"; "": whatever the transport takes */
    enum rank_distance distance;
    enum port_kind port;
    struct path_cost paths[PATH_COSTS_MOST]; /* by path, then ascending by `least` */
    int path_count;
    struct core_latency core; /* of the ranks of all jobs that measured it */
};

/* The cost of combining elements, for each byte of the result, by the bytes of all buffers of
 * the rank. */
struct combine_cost {
    char datatype[24], reduction[16];
    struct curve byte;
};

#define LINK_MODELS_MOST   48 /* with the rails of a host, each of which is one */
#define COMBINE_COSTS_MOST 64
#define MODEL_TEXT_MOST    128

struct model {
    char host[MODEL_TEXT_MOST], processor[MODEL_TEXT_MOST], made[MODEL_TEXT_MOST]; /* where, when */
    int cores;               /* of a host, for ranks */
    int caches, cache_cores; /* of a host; and the cores of each, with consecutive numbers */
    double start;            /* of a rank's core, for each iteration */
    double core_switch;      /* until a core that ranks share goes from one to another */
    struct curve copy;    /* local copies: for each byte, by the bytes of all buffers of the rank */
    struct curve bus;     /* the same, of what a host's memory gives to all its cores together: k
                             cores at work take k times as long for a byte, where that is more */
    double copy_overhead; /* for each local operation */
    struct combine_cost combines[COMBINE_COSTS_MOST];
    int combine_count;
    struct link_model links[LINK_MODELS_MOST];
    int link_count;
};

/* The link that ranks at this distance use: that of the first of the transports (ended by a NULL
 * transport) that the model has for it; NULL: it has none. Of several, which are rails, that with
 * this number, from 0, around. Where the transport's nic= names some of them, only these count. */
const struct link_model *model_link(const struct model *model,
                                    const struct transport_choice *choices,
                                    enum rank_distance distance, int rail);

/* The first link whose cores seem to have moved while it was measured; NULL: there is none. */
const struct link_model *model_link_moved(const struct model *model);

/* Between how many rails the ranks of a host take turns to reach others; at least 1. */
int model_rails(const struct model *model, const struct transport_choice *choices);

/* The row for a message of so many bytes on a path; where the path has none, that of the next
 * costlier way. Never NULL. */
const struct path_cost *link_path(const struct link_model *link, enum path path, size_t bytes);

/* The cost of combining elements of this type; where the model lacks it, that of the nearest that
 * it has. NULL: it has none. */
const struct curve *model_combine(const struct model *model, const struct datatype *datatype,
                                  const struct reduction *reduction);

/* ---- One rank's schedule without addresses: what a simulation needs of it.
 *
 * A simulation of many ranks holds the programs of all of them. Ranks whose programs differ only in
 * their peers share one (simulate.h), so the peers stand apart.
 * ---- */

/* Lengths in elements, as in a schedule. */
struct program_operation {
    size_t length;
    size_t run;          /* of the shortest piece of memory of a message that is sent; else 0 */
    uint32_t first_wait; /* its waits are waits[first_wait] .. waits[next one's first_wait - 1] */
    uint32_t epoch;
    int32_t step;
    uint16_t lane;
    uint8_t kind;    /* enum operation_kind */
    uint8_t awaited; /* a later operation waits for it */
};

struct program_epoch {
    int32_t previous, next; /* -1: none */
    uint32_t operations, first_member;
};

struct rank_program {
    uint32_t count, wait_count, epoch_count;
    int32_t lanes;
    size_t elements;                      /* of all buffers */
    struct program_operation *operations; /* one more than `count`, for first_wait */
    struct wait *waits;
    struct program_epoch *epochs;
    uint32_t *members; /* of epochs, by first_member */
};

/* ---- The programs of all ranks, and whether one of them stands for all.
 *
 * Ranks are those of the job: several groups of them may run at the same time, each its own
 * problem.
 *
 * Many algorithms treat all ranks alike: rank r does what rank 0 does, with peers that are as far
 * from it. Then all ranks do everything at the same time, and a simulation of rank 0 alone is
 * exact, as long as links and cores treat all ranks alike, too. "As far" means: the same distance
 * around the ring of ranks; the same bits flipped in the rank's number; or, where ranks form groups
 * of one size, the same distance around the ring of groups, and around that of the ranks in a
 * group.
 *
 * The programs show whether that is so. An algorithm may declare that all its ranks are alike; then
 * only some programs are written and compared, since those of p ranks with p messages each take p^2
 * time.
 * ---- */

enum symmetry {
    SYMMETRY_NONE,   /* each rank has a program of its own */
    SYMMETRY_RING,   /* peer - rank, modulo the ranks */
    SYMMETRY_XOR,    /* peer ^ rank */
    SYMMETRY_GROUPS, /* the difference of groups, and of places in them, each modulo their number */
    SYMMETRIES
};

struct programs {
    int ranks;
    enum symmetry symmetry;
    int held;          /* programs: 1 where rank 0 stands for all, else those of all ranks */
    size_t operations; /* of these */
    struct rank_program **program;  /* of each; ranks with equal programs share them */
    int32_t **peers;                /* of each, by operation */
    struct rank_program **distinct; /* each program once */
    int distinct_count;
    const struct shape *shape; /* of the problem; NULL: none */
};

/* The property of a pair of ranks that must be equal where a symmetry is to hold, such as the class
 * of the link. */
typedef int link_kind(const void *context, int rank, int peer);

struct program_source {
    const struct choice *choice;
    const struct problem *problem; /* of each group; a single one has the job's ranks */
    int groups;
    int channels;
    bool symmetric;  /* one rank may stand for all: of a single group */
    link_kind *kind; /* NULL: all pairs are alike */
    const void *context;
    size_t operations_most; /* that may be held, of all ranks */
};

/* Builds the schedules of all ranks. Errors as of schedule_build(); STATUS_USAGE: they have more
 * than operations_most; STATUS_ERROR: memory ran out. On success the caller calls
 * programs_close(). */
enum status programs_open(const struct program_source *source, struct programs *programs);
void programs_close(struct programs *programs);

/* How far a peer is from a rank, under a symmetry: the peer that rank 0 has at that distance. */
int symmetry_peer(const struct programs *programs, enum symmetry symmetry, int rank, int peer);

/* ---- What is to be simulated. ---- */

struct simulation {
    const struct model *model;
    const struct choice *choice;
    const struct problem *problem; /* one for each group; all have the same number of ranks */
    int groups;                    /* that run at the same time; 1: all ranks, numbered as in it */
    int channels;                  /* slices of every block */
    const struct datatype *datatype;
    const struct reduction *reduction; /* NULL: the collective does not combine */
    const struct memory_kind *memory;
    const struct transport_choice *transports; /* that may be used, ended by a NULL transport */
    enum copy_policy copy;
    size_t chunk;                    /* bytes; 0: whole messages; GRAIN_AUTO */
    const struct topology *topology; /* between the hosts; NULL: only their ports are shared */
    const int *end;                  /* of each of the job's ranks, in the topology */
    bool shared;                     /* the buffers lie in memory that peers of the host can map */
    const int *node; /* the host of each of the job's ranks, from 0, fewer than the ranks; NULL: all
                        have one host */
    const int *core; /* of each of the job's ranks, on its host: which ranks share a cache; NULL: in
                        turn, as a run binds them */
    const int *rail; /* of each of the job's ranks: by which of the model's rails it reaches other
                        hosts, from 0; NULL: the ranks of a host take turns */
    bool barrier;    /* an iteration begins for each rank when the start barrier of a run releases
                        it, where there are several hosts and not too many ranks; else for all at
                        once */
    const double *released; /* when: simulate() finds it */
    int beside;             /* cores of each host that are busy with other work */
    bool each_rank;         /* simulates all ranks, also where rank 0 stands for all */
    double *step_end;       /* filled in: when the last rank ends each step, us; 0: no rank has it.
                             NULL, and 0 steps: not asked for */
    int steps;              /* that it has room for */
    double *group_time;     /* filled in: of each group, until its last rank has ended, us; where
                             ranks share cores, in the simulation of which simulated->time is.
                             NULL: not asked for */
    uint64_t events_most;   /* then it is given up, all runs together; 0: any number */
    int pieces; /* into which a long message is cut at most, so that its ends work at the same
                        time; 1: none is cut */
};

/* The ranks of all groups. */
static inline int simulation_ranks(const struct simulation *simulation)
{
    return simulation->groups * simulation->problem->ranks;
}

/* ---- How long a collective takes: computes it from the schedules and the costs of a model.
 *
 * The simulator interprets the schedules that the executor runs, in the same way: operations are
 * open at once but for fences, each goes as far as earlier ones allow
 * (collective/schedule/limit.h), messages on a lane keep their order, and what a message does
 * depends on its path. Time is that of cores, each of which serves one operation at a time, piece
 * by piece and in turn, and of wires, which flows share fairly (internal.h).
 * ---- */

struct simulated {
    double time;            /* us, until the last rank has ended */
    int slowest;            /* that rank */
    double first;           /* us, of rank 0, from its own beginning */
    int ranks;              /* that were simulated */
    enum symmetry symmetry; /* that let rank 0 stand for all */
};

/* Errors: STATUS_USAGE: the algorithm refuses the problem, or the model lacks the links that it
 * needs; STATUS_ERROR: memory ran out, or it takes more than simulation->events_most. */
enum status simulate(const struct simulation *simulation, struct simulated *simulated);

#endif
