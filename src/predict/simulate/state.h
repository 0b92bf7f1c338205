/*
 * state.h - the state of a simulation: what ranks, cores, channels and operations are doing.
 */
#ifndef CCTEST_PREDICT_SIMULATE_STATE_H
#define CCTEST_PREDICT_SIMULATE_STATE_H

#include "predict/simulate/events.h"
#include "predict/simulate/flows.h"
#include "predict/simulate/programs.h"
#include "predict/simulate/simulation.h"

#define NONE UINT32_MAX /* no operation, channel or rank */

/* Of an operation of a rank that is simulated; by one numbering of those of all. In bytes. */
struct sim_operation {
    size_t limit, done; /* as in struct transfer */
    size_t issued;      /* of a send: put into slots, announced or given to the NIC */
    size_t granted;     /* of a recv: that the sender was told of, where it must be */
    size_t moving;      /* that its core is moving now */
    uint32_t rank, channel;
    uint32_t first_wait;      /* all waits before it are satisfied */
    uint32_t partner;         /* the other end of its message */
    uint32_t next;            /* the next message on its channel, of the same end */
    uint32_t watchers;        /* operations that it holds back */
    uint32_t next_watcher;    /* of the operation that holds this one back */
    uint32_t next_ready;      /* behind it in the queue of its rank */
    const struct path_cost *cost; /* of a send, once it has begun */
    bool is_open, is_ready;
};

/* From one rank to another, on a lane. Byte counts are of all its messages. */
struct sim_channel {
    const struct link_model *link;
    uint32_t sender, receiver; /* ranks */
    uint32_t lane;
    uint32_t send_head, recv_head; /* the next messages to move; NONE: none is left */
    uint32_t pull_head;            /* sends by reference, the oldest that is not read */
    size_t taken_before;              /* bytes of messages before the head of the receiver */
    size_t arrived;                   /* that the receiver may have taken */
    size_t granted, given;            /* that the receiver has room for; and of those, sent */
    size_t outstanding;               /* pushed, and not taken */
    double last_arrival;              /* us: messages keep their order */
    uint32_t first_piece, last_piece; /* that wait for the wire, the first on it */
    uint32_t first_resource, resources; /* of its wire, in engine->routes */
    double route_latency;             /* us, of the links of a topology */
    bool grants;                      /* its link has paths that need grants */
    bool is_blocked;                  /* its window is full, and it has more to send */
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
    uint32_t first;            /* its operation 0 */
    uint32_t left;             /* operations that have not ended */
    uint32_t epoch_first;      /* in engine->epoch_left */
    uint32_t ready, last_ready; /* operations that its core may serve, in turn */
    uint32_t core, place;      /* its core, and which of the core's ranks it is, from 0 */
    uint32_t next_rank;        /* of its core, around */
    int sends, recvs; /* messages that are open and have not ended */
    bool is_released, has_started;
    bool is_whole; /* each of its operations moves all at once */
    double begun, end; /* us: when its core first serves it, and when all is done */
};

struct sim_core {
    uint32_t ranks;     /* that share it, and take turns */
    uint32_t busy;      /* cores of its host that are at work */
    uint32_t rank;      /* whose turn it is, or was last */
    uint32_t operation; /* that it serves; NONE: none */
    bool is_busy;
    double idle_since;  /* us: then the last turn ended */
    uint32_t next;      /* if it is not busy: the rank that it serves next, */
    double wake;        /* and when; INFINITY: none has anything to do */
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
    uint32_t channel_count, channel_room;
    struct sim_core *cores;
    uint32_t core_count;
    struct sim_piece *pieces;
    uint32_t piece_room, free_piece;
    struct events events;
    struct flows *flows;
    uint32_t *routes; /* resources: as engine_setup.c numbers them */
    double phase;                /* 0 to 1: where cores stand in their turns at the start */
    const struct curve *combine; /* NULL: nothing is combined */
    uint64_t handled; /* events */
    bool has_cores;   /* each rank has a core of its own */
    bool failed;      /* memory ran out */
    bool is_long;     /* it takes more than events_most */
};

/* What an event is about: the subject is a core, a rank or a channel. */
enum sim_event_kind {
    EVENT_SERVED,  /* the core has moved a piece, or has started its rank */
    EVENT_TURN,    /* the core goes to another rank */
    EVENT_RELEASED, /* the rank may start */
    EVENT_ARRIVED, /* bytes at the receiver */
    EVENT_READ,    /* the sender learns that bytes were read */
    EVENT_GRANTED, /* the sender may send bytes more */
    EVENT_ROOM,    /* the sender learns of room */
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

#endif
