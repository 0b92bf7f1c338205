/*
 * internal.h - for the files of predict/simulate/ alone.
 */
#ifndef CCTEST_PREDICT_SIMULATE_INTERNAL_H
#define CCTEST_PREDICT_SIMULATE_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "predict/simulate/simulate.h"

/* ---- What is to happen in a simulation, by time; of one time, in the order of its making. ---- */

struct event {
    double at;      /* us */
    uint64_t order; /* events_add() numbers them */
    uint32_t kind;  /* the caller's, like the two numbers */
    uint32_t subject;
    size_t bytes;
};

struct events {
    struct event *heap;
    size_t count, room;
    uint64_t made;
};

bool events_add(struct events *events, double at, uint32_t kind, uint32_t subject, size_t bytes);
struct event events_take(struct events *events); /* the next one; there must be one */
void events_free(struct events *events);

/* ---- Flows through shared resources, each at its max-min fair rate.
 *
 * A rate is max-min fair if no flow can have more without taking from one that has no more than it.
 * Progressive filling finds it: all rates rise together, and those through a resource stop when
 * that is full (Bertsekas and Gallager, Data Networks, 1992, section 6.5.2).
 *
 * flows_settle() computes rates anew, once for all changes of one moment, and only of flows that
 * the changes may concern.
 * ---- */

struct flows;

/* Flows through resources with these capacities (bytes per us), which are copied; a flow has at
 * most `hops` of them. NULL: out of memory. */
struct flows *flows_create(const double *capacities, uint32_t resources, uint32_t hops);
void flows_free(struct flows *flows); /* NULL is allowed */

/* A flow of `bytes` begins at `now` (us), through `count` resources, each named once; alone it
 * would have the rate `most` (bytes per us). `tag` is the caller's. False: out of memory. */
bool flows_start(struct flows *flows, double now, double bytes, double most,
                 const uint32_t *resources, uint32_t count, uint32_t tag);

/* Gives all flows their rates, after the changes at `now`. */
void flows_settle(struct flows *flows, double now);

/* When the next flow ends (us), after flows_settle(); infinity: there is none. */
double flows_next(const struct flows *flows);

/* Removes the flow that ends next; returns its tag. */
uint32_t flows_end(struct flows *flows);

/* ---- The state of a simulation: what ranks, cores, channels and operations are doing. ---- */

#define NONE UINT32_MAX /* no operation, channel or rank */

/* The state of an operation of a rank that is simulated. One numbering has those of all such ranks.
 * Lengths are in bytes. */
struct sim_operation {
    size_t limit, done; /* as in struct transfer */
    size_t issued;      /* of a send: put into slots, announced or given to the NIC */
    size_t granted;     /* of a recv: that the sender was told of, where it must be */
    size_t moving;      /* that its core is moving now */
    uint32_t rank, channel;
    uint32_t first_wait;          /* all waits before it are satisfied */
    uint32_t partner;             /* the other end of its message */
    uint32_t next;                /* the next message on its channel, of the same end */
    uint32_t watchers;            /* operations that it holds back */
    uint32_t next_watcher;        /* of the operation that holds this one back */
    uint32_t next_ready;          /* behind it in the queue of its rank */
    const struct path_cost *cost; /* of a send, once it has begun */
    bool is_open, is_ready;
};

/* From one rank to another, on a lane. Byte counts are of all its messages. */
struct sim_channel {
    const struct link_model *link;
    uint32_t sender, receiver; /* ranks */
    uint32_t lane;
    uint32_t send_head, recv_head;      /* the next messages to move; NONE: none is left */
    uint32_t pull_head;                 /* sends by reference, the oldest that is not read */
    size_t taken_before;                /* bytes of messages before the head of the receiver */
    size_t arrived;                     /* that the receiver may have taken */
    size_t granted, given;              /* that the receiver has room for; and of those, sent */
    size_t outstanding;                 /* pushed, and not taken */
    double last_arrival;                /* us: messages keep their order */
    uint32_t first_piece, last_piece;   /* that wait for the wire, the first on it */
    uint32_t first_resource, resources; /* of its wire, in engine->routes */
    double route_latency;               /* us, of the links of a topology */
    bool grants;                        /* its link has paths that need grants */
    bool is_blocked;                    /* its window is full, and it has more to send */
};

/* A part of a message that waits for the wire. */
struct sim_piece {
    size_t bytes;
    double load; /* bytes for which it takes the wire */
    double wire, latency;
    uint32_t next;
};

struct sim_rank {
    const struct rank_program *program;
    uint32_t first;             /* its operation 0 */
    uint32_t left;              /* operations that have not ended */
    uint32_t epoch_first;       /* in engine->epoch_left */
    uint32_t ready, last_ready; /* operations that its core may serve, in turn */
    uint32_t core, place;       /* its core, and which of the core's ranks it is, from 0 */
    uint32_t next_rank;         /* of its core, around */
    int sends, recvs;           /* messages that are open and have not ended */
    bool is_released, has_started;
    bool is_whole;     /* each of its operations moves all at once */
    double begun, end; /* us: when its core first serves it, and when all is done */
};

struct sim_core {
    uint32_t ranks;     /* that share it, and take turns */
    uint32_t busy;      /* cores of its host that are at work */
    uint32_t rank;      /* whose turn it is, or was last */
    uint32_t operation; /* that it serves; NONE: none */
    bool is_busy;
    double idle_since; /* us: then the last turn ended */
    uint32_t next;     /* if it is not busy: the rank that it serves next, */
    double wake;       /* and when; INFINITY: none has anything to do */
};

struct sim_engine {
    const struct simulation *simulation;
    const struct programs *programs;
    size_t element;
    double now;
    uint32_t ranks; /* that are simulated */
    struct sim_rank *rank;
    struct sim_operation *operations;
    uint32_t operation_count;
    size_t *visible; /* of each operation: what others know of `done`, whole grains */
    uint32_t *epoch_left;
    struct sim_channel *channels;
    uint32_t channel_count;
    struct sim_core *cores;
    uint32_t core_count;
    struct sim_piece *pieces;
    uint32_t piece_count, free_piece;
    struct events events;
    struct flows *flows;
    uint32_t *routes;            /* resources: as engine_setup.c numbers them */
    double phase;                /* 0 to 1: where cores stand in their turns at the start */
    const struct curve *combine; /* NULL: nothing is combined */
    uint64_t handled;            /* events */
    bool has_cores;              /* each rank has a core of its own */
    bool failed;                 /* memory ran out */
    bool is_long;                /* it takes more than events_most */
};

/* The kind of an event. Its subject is a core, a rank or a channel. */
enum sim_event_kind {
    EVENT_SERVED,   /* the core has moved a piece, or has started its rank */
    EVENT_TURN,     /* the core goes to another rank */
    EVENT_RELEASED, /* the rank may start */
    EVENT_ARRIVED,  /* bytes at the receiver */
    EVENT_READ,     /* the sender learns that bytes were read */
    EVENT_GRANTED,  /* the sender may send bytes more */
    EVENT_ROOM,     /* the sender learns of room */
};

static inline void engine_add(struct sim_engine *engine, double at, enum sim_event_kind kind,
                              uint32_t subject, size_t bytes)
{
    if (!events_add(&engine->events, at, kind, subject, bytes))
        engine->failed = true;
}

static inline const struct program_operation *engine_operation(const struct sim_engine *engine,
                                                               uint32_t operation)
{
    const struct sim_rank *rank = &engine->rank[engine->operations[operation].rank];
    return &rank->program->operations[operation - rank->first];
}

static inline size_t engine_length(const struct sim_engine *engine, uint32_t operation)
{
    return engine_operation(engine, operation)->length * engine->element;
}

/* ---- cost.c ---- */

/* The cost of a send: by the path that its transport takes. Decided when it begins, as there. */
const struct path_cost *cost_of_send(const struct sim_engine *engine, uint32_t index);

/* Does each message of the rank move whole, so that nothing is streamed? As the executor
 * decides. */
bool cost_rank_is_whole(const struct sim_engine *engine, const struct sim_rank *rank);

/* Bytes of an operation's next piece, of `bytes` that can move. */
size_t cost_piece(const struct sim_engine *engine, uint32_t index, size_t bytes);

/* The time that the core takes for such a piece (us). */
double cost_time(const struct sim_engine *engine, uint32_t index, size_t bytes);

/* Bytes after which other operations learn that this one has moved: the grain of the executor. */
size_t cost_grain(const struct sim_engine *engine, uint32_t operation);

/* ---- The state of a simulation moves on. ---- */

/* Runs it until nothing happens any more. */
void engine_run(struct sim_engine *engine);

/* ---- engine_setup.c ---- */

/* All at rest, at time 0. `phase`, 0 to 1: where cores that ranks share stand in the rounds of
 * their ranks. Errors as of simulate(). */
enum status engine_open(const struct simulation *simulation, const struct programs *programs,
                        double phase, struct sim_engine *engine);
void engine_close(struct sim_engine *engine);

/* How many operations of all ranks a simulation can hold in the memory that is left. */
size_t engine_operations_most(void);

/* How far two ranks are from each other. */
enum rank_distance engine_distance(const struct simulation *simulation, int a, int b);

/* ---- Numbers, each with a key that may change: the one with the least key is at hand. ---- */

/* Zeroed is an empty one. */
struct index_heap {
    uint32_t *items; /* items[0] has the least key */
    uint32_t *at;    /* of each number: its place in `items`; UINT32_MAX: it is not there */
    double *key;     /* of each number */
    uint32_t count, room;
};

/* Makes place for the numbers below `room`. False: out of memory. */
bool index_heap_reserve(struct index_heap *heap, uint32_t room);
void index_heap_free(struct index_heap *heap);

/* Gives a number its key; it is added if it is not there. */
void index_heap_set(struct index_heap *heap, uint32_t number, double key);
void index_heap_remove(struct index_heap *heap, uint32_t number); /* it must be there */

/* ---- When the start barrier of a run releases the ranks of several hosts.
 *
 * Between hosts the barrier is a dissemination barrier (run/run.h). It releases a host as soon as
 * the tokens of all others are there: the last host that comes at once, the others up to
 * log2(hosts) messages later. A rank's time begins with its own release. So a rank that is released
 * early waits in the iteration for messages of others that are not, and this lead lasts from
 * iteration to iteration.
 * ---- */

/* released[r]: of each rank, us, the first at 0, by when the ranks came to the barrier (came[r],
 * us). The two may be one array. False: out of memory. */
bool release_find(const struct simulation *simulation, const double *came, double *released);

#endif
