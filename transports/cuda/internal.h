/*
 * internal.h - for the files of transports/cuda/ alone.
 */
#ifndef CCTEST_TRANSPORTS_CUDA_INTERNAL_H
#define CCTEST_TRANSPORTS_CUDA_INTERNAL_H

#include <stdatomic.h>

#include "base/host.h"
#include "dataplane/transport/transport.h"

/* ---- The types that the files of the cuda transport share, and what two ranks see of each
 * other.
 *
 * The receiver pulls, hence the names pull_*. It has mapped the sender's regions, and its own
 * engine reads them there: a copy for what is received, a kernel for what is combined. CPUs move no
 * bytes of messages; they pass on where the bytes lie, and how far the reader has come:
 *
 *     sender      publishes cells, each of which refers to bytes that may be read
 *     receiver    makes a step of the cells at hand: a local operation of its engine
 *                 counts the bytes of the steps that are done, which are the sender's `done`
 *
 * The wire of a lane, one in each direction, holds these cells and counts. Both ranks see it in
 * memory of the host. All numbers only grow. Any number of messages are under way: as many as the
 * wire has cells for.
 *
 * The executor raises a limit when the operation that made the bytes is done, so when its event has
 * fired. So what a cell refers to is there for any GPU that reads it later.
 *
 * Nothing here knows CUDA: memory_kind.lend(), map() and unmap() do.
 * ---- */

#define PULL_CACHE_LINE   64
#define PULL_CELLS        64 /* of a wire */
#define PULL_STEPS        8  /* of a channel under way */
#define PULL_PIECES       24 /* of each layout of a step, and two for a cut at its end */
#define PULL_REGIONS_MOST 8

/* Bytes that may be read: `times` runs in a region of the sender. */
struct pull_cell {
    uint64_t offset; /* in the region */
    uint64_t run, stride, times;
    uint64_t region; /* its number among those that the sender has lent */
};

struct pull_wire {
    /* By the sender. */
    _Atomic uint64_t published __attribute__((aligned(PULL_CACHE_LINE))); /* cells */
    /* By the receiver. */
    _Atomic uint64_t done __attribute__((aligned(PULL_CACHE_LINE))); /* bytes */
    _Atomic uint64_t taken; /* cells that the sender may write again */
    _Atomic uint64_t busy;  /* ns, as in struct wait_stats */
    struct pull_cell cells[PULL_CELLS] __attribute__((aligned(PULL_CACHE_LINE)));
};

/* The wires that one connect() makes for two ranks: for each lane two, the first of which the lower
 * rank sends on. */
struct pull_block {
    uint64_t cookie;
    _Atomic uint32_t users; /* ranks, if both are threads of a process; the last one frees it */
    struct pull_wire wires[] __attribute__((aligned(PULL_CACHE_LINE)));
};

/* The transport address of a rank. */
struct pull_address {
    struct host_id host;
    uint64_t namespace; /* of process ids (inode) */
    int32_t pid;
    uint32_t lent; /* regions */
    char kind[16]; /* of their memory */
    struct memory_handle first;
};

/* A rank's message to a peer in connect(). */
struct pull_parcel {
    uint64_t cookie;       /* of the block, which the lower rank makes */
    uint64_t address;      /* of the block, for a thread of the same process */
    int32_t fd;            /* of the block, for another process */
    uint32_t first, lanes; /* wires for lanes first .. lanes - 1 */
    struct memory_handle regions[PULL_REGIONS_MOST];
};

/* A local operation of the engine, which reads the peer's memory. */
struct pull_step {
    struct transfer work;      /* the engine's */
    struct transfer *transfer; /* the message */
    size_t told;               /* bytes of the work that the message knows as done */
    struct piece to[PULL_PIECES + 2], with[PULL_PIECES + 2], from[PULL_PIECES + 2];
};

struct pull_channel {
    struct channel base;
    struct pull_peer *peer;
    struct pull_wire *wire;
    struct pull_channel *next_active;
    bool is_active;
    struct transfer *next; /* the first that is not wholly issued */
    uint64_t cells;        /* published, or begun to be read, in all */
    uint64_t known;        /* as last read: the other's `taken`, or `published` */
    uint64_t done;         /* bytes in all */

    /* Receiver. */
    struct pull_step *steps; /* PULL_STEPS of them, in turn */
    unsigned begun, ended;
    size_t left; /* bytes of the cell that it reads */
    struct piece piece;
    struct cursor source;
    uint64_t starved, busy;             /* ns, as in struct wait_stats */
    uint64_t starved_since, busy_since; /* ns; 0: it is not */
};

/* A mapped block. */
struct pull_mapping {
    struct pull_block *block;
    size_t bytes;
    bool is_shared; /* with another process */
    struct pull_mapping *next;
};

struct pull_peer {
    int rank;
    pid_t pid;
    bool same_process;
    uint32_t region_count, mapped; /* lent by the peer; mapped here */
    struct memory_mapping regions[PULL_REGIONS_MOST];
    struct pull_mapping *blocks;
    int lanes;
    struct pull_channel **channels[2]; /* [sends][lane] */
    bool is_checked;                   /* by this check() */
};

/* Active channels, in the order of activation. */
struct pull_active {
    struct pull_channel *first, **end;
};

struct pull_endpoint {
    struct endpoint base;
    const struct memory_kind *kind; /* of the regions that are lent */
    struct engine *engine;          /* of that kind */
    struct moved_list moved;        /* of the steps */
    unsigned steps;                 /* under way */
    struct region lent[PULL_REGIONS_MOST];
    struct memory_handle handles[PULL_REGIONS_MOST];
    struct pull_address address;
    struct pull_peer **peers;     /* by rank; NULL: not attached */
    struct pull_active active[2]; /* [sends] */
    char reason[MEMORY_REASON_MOST + 64];
};

/* ---- channel.c ---- */

/* Sending: learns what the peer has read, and publishes what it may read. */
enum status pull_channel_send(struct pull_channel *channel);

/* Receiving: gives the engine what the peer has published; and, after the engine has made progress,
 * tells what is done. */
enum status pull_channel_begin(struct pull_channel *channel);
void pull_channel_end(struct pull_channel *channel);

/* As transport.wait_stats(): a link is busy while a step of the receiver reads its bytes. */
void pull_wait_stats(const struct channel *base, struct wait_stats *wait_stats);

/* ---- Makes the channels of the cuda transport. ---- */

#define PULL_EXCHANGES 2 /* of a connect() */

/* As transport.connect(). */
enum status pull_connect(struct endpoint *base, const int *ranks, int count, int lanes);

/* ---- peer.c ---- */

/* Lends the regions, and fills in the endpoint's address. */
enum status pull_address_fill(struct pull_endpoint *endpoint);

/* As transport.attach(): makes a peer, with its first region mapped. */
const char *pull_peer_attach(struct pull_endpoint *endpoint, int rank,
                             const struct pull_address *address, struct pull_peer **attached);

/* Maps the regions that are not mapped. */
enum status pull_peer_map(struct pull_endpoint *endpoint, struct pull_peer *peer,
                          const struct memory_handle *regions);

/* Checks what a cell of the peer says, and finds the bytes. False: it is outside of the regions. */
bool pull_peer_find(const struct pull_peer *peer, const struct pull_cell *cell,
                    struct piece *piece);

/* Frees the peer. `unmaps`: nothing reads its regions any more; else they stay mapped until the
 * process ends. NULL is allowed. */
void pull_peer_drop(struct pull_endpoint *endpoint, struct pull_peer *peer, bool unmaps);

#endif
