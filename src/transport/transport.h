/*
 * transport.h - the interface behind which each kind of link stands (transports/: one file each).
 *
 * A transport moves bytes along ordered one-way channels from one rank to another. It knows pieces
 * of memory and nothing of algorithms or collectives. Each rank opens one endpoint of each
 * transport that the user allows; an endpoint belongs to one thread.
 *
 * The life of an endpoint: open -> address (a blob for the others) -> attach (per peer, with that
 * peer's blob: can I reach it?) -> connect (the peers that will be used, all ranks at the same
 * time) -> connect again when more peers or lanes are needed -> settle -> channel, post, progress
 * ... -> close.
 *
 * A sender cannot know what its peer will do with a message. So whatever both ends must agree on
 * (of shm: which ring it takes) follows from its length and the --copy policy alone, and the rest
 * is said on the way: each cell of a ring says itself whether it holds bytes or refers to them.
 */
#ifndef CCTEST_TRANSPORT_TRANSPORT_H
#define CCTEST_TRANSPORT_TRANSPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "base/tick.h"
#include "memory/memory.h"
#include "memory/transfer.h"

enum copy_policy {
    COPY_AUTO,  /* as the transport finds best, message by message */
    COPY_BCOPY, /* every message through the receiver's slots */
    COPY_ZCOPY, /* every message straight to where it goes */
    COPY_LL,    /* every message as words that each carry their own flag */
};
extern const char *const copy_names[]; /* ended by NULL: "auto", "bcopy", "zcopy", "ll" */

/* The ways that bytes go, counted per endpoint at the receiving side. */
enum path { PATH_LINE, PATH_BCOPY, PATH_ZCOPY, PATH_LL, PATHS };
extern const char *const path_names[PATHS]; /* "line", "bcopy", "zcopy", "ll" */

struct traffic {
    uint64_t received[PATHS]; /* payload bytes that arrived this way */
    uint64_t sent[PATHS];     /* payload bytes that left this way */
    uint64_t copied_sending;  /* bytes that this rank copied in order to send */
    uint64_t
        copied_receiving; /* bytes that this rank copied (or landed in a slot) in order to receive,
                                  over and above placing or combining them where they belong */
};

/* Bytes of the shortest message that says something of its link: what shorter ones wait for are the
 * delays of everything else, and to look closer would be a delay of its own. */
#define WAIT_STATS_LEAST ((size_t)64 << 10)

/* What a channel had to wait for since it was made. */
struct wait_stats {
    /* One that receives: bytes were awaited and had room to go, and none came; ns, counted only
     * while its endpoint is watched, and for messages of WAIT_STATS_LEAST and more. */
    uint64_t starved;
    /* One that sends: bytes were on their way, and the peer had room for them; ns. */
    uint64_t busy;
    uint64_t resent; /* packets that were sent more than once */
};

/* What the network is at while a rank moves nothing. */
struct idle_report {
    int unheard;      /* a peer to which bytes were sent that the network does not deliver, however
                         often they are sent again; -1: none that is known */
    uint64_t arrived; /* bytes that have come for this rank, asked for or not */
};

/* Adds `more` to `sum`, or (sign -1) takes it away. */
void traffic_add(struct traffic *sum, const struct traffic *more, int sign);

struct transport_config {
    int rank, ranks;
    int local_ranks; /* ranks on this host, to size what is per peer */
    bool has_core;   /* there is a core for each rank of this host; else they take turns */
    bool is_bound;   /* it stays on its core, so that what is measured of it will hold */
    enum copy_policy copy;
    bool combines;     /* receivers combine what comes: the collective reduces */
    bool one_way;      /* who sends much receives little: the collective has a root */
    size_t slot_bytes; /* 0: the transport's choice; else payload bytes of one slot */
    int slots;         /* 0: the transport's choice; else slots of one lane */
    const struct region
        *regions; /* this rank's buffers: what may be offered for reading in place */
    int region_count;
    const char *interface;       /* address or device name to listen on; NULL: any */
    bool watches;                /* somebody will ask what its channels waited for */
    const unsigned char *secret; /* 32 bytes: what peers must prove to know */
    double timeout;              /* seconds without progress that end the job; nobody here counts
                                    them, but what is tried one after the other fits into them */
    const struct tick *tick; /* tick_on() for each connection that is made; tick_wait() by whatever
                                waits inside a call; NULL: it waits as long as it takes */
};

struct endpoint {
    const struct transport *transport;
    struct transport_config config;
    struct traffic traffic;
    _Atomic uint64_t strangers; /* connections that were none of the job's, and were dropped */
    bool watched;               /* somebody wants to know what its channels wait for */
    bool exhausted; /* attach() failed for want of file descriptors, not of a way to the peer */
};

/* A one-way ordered channel. Transports embed it as the first member of their own. */
struct channel {
    struct endpoint *endpoint;
    int peer, lane;
    bool sends;
    struct transfer *first, *last; /* posted, not yet done, in order */
};

struct transport {
    const char *name;    /* "shm" */
    const char *summary; /* one line for `cctest info` */

    /* NULL if this machine can use it at all, else why not, and which package has what is
     * missing. */
    const char *(*unavailable)(void);

    enum status (*open)(const struct transport_config *config, struct endpoint **endpoint);

    /* Writes this endpoint's address (at most TRANSPORT_ADDRESS_MOST bytes); returns its size. */
    size_t (*address)(struct endpoint *endpoint, void *blob);

    /* Can this endpoint reach `peer`? NULL: yes. Else the reason, static or in endpoint memory,
     * valid until the next attach. Keeps what it needs of `blob`. */
    const char *(*attach)(struct endpoint *endpoint, int peer, const void *blob, size_t size);

    /* Makes channels in both directions to `peers` on lanes 0 .. lanes - 1. Called by all ranks
     * together, with peer sets that are mutual; channels that exist stay as they are. */
    enum status (*connect)(struct endpoint *endpoint, const int *peers, int count, int lanes);

    /* No connect() will follow: closes what only connecting needs, so that nothing listens while a
     * job runs. NULL: there is nothing of that kind. */
    void (*settle)(struct endpoint *endpoint);

    /* The channel; NULL if it was not connected. Owned by the endpoint. */
    struct channel *(*channel)(struct endpoint *endpoint, int peer, int lane, bool sends);

    /* What was found out about the way to a connected peer, and what follows from it: a few static
     * words, the same for all peers that are treated alike; *ns: how long the least that travels
     * takes one way, 0 if that was not measured. NULL: there is nothing to say of any. */
    const char *(*describe)(const struct endpoint *endpoint, int peer, uint64_t *ns);

    /* What the channel had to wait for until now. NULL: the transport does not know. */
    void (*wait_stats)(const struct channel *channel, struct wait_stats *wait_stats);

    /* Called by channel_post() when a transfer was put behind channel->last. */
    void (*activate)(struct channel *channel);

    /* Short messages without posting. All three NULL: not offered.
     * eager_most(): the longest such message, in bytes; 0: none.
     * eager_move(): sends or receives all of `transfer` at once (*moved is set), or nothing yet.
     *   What travels is the same as for a posted transfer. No transfer may be posted on the channel.
     * eager_await(): the caller waits for an eager_move() on the channel, on which nothing is
     *   posted; the next check() looks at its peer. */
    size_t (*eager_most)(const struct channel *channel);
    enum status (*eager_move)(struct channel *channel, const struct transfer *transfer,
                              bool *moved);
    void (*eager_await)(struct channel *channel);

    /* Moves what can be moved now; never blocks. Its cost follows the channels that have transfers
     * posted. Errors: a peer is gone (STATUS_TIMEOUT, naming it), or the link failed. */
    enum status (*progress)(struct endpoint *endpoint);

    /* Called now and then while nothing moves: looks whether the peers that are waited for still
     * live. May be NULL. */
    enum status (*check)(struct endpoint *endpoint);

    /* Called while nothing has moved for a good while: adds what the network is at. May be NULL. */
    void (*idle_report)(const struct endpoint *endpoint, struct idle_report *idle);

    /* Drops what is still posted and leaves nothing behind. NULL is allowed. */
    void (*close)(struct endpoint *endpoint);
};

#define TRANSPORT_ADDRESS_MOST 512

/* Ended by NULL, in the order of preference for `-x auto`; transports/list.c names them. */
extern const struct transport *const transports[];
const struct transport *transport_find(const char *name);

/* Posts a transfer (kind, layouts, length, grain, limit, moved set; done 0) and starts its cursors:
 * `cursor` on what is sent or written, `with_cursor` on `with`. A transfer of no bytes is complete
 * at once. The transfer stays the caller's and must live until done == length or the endpoint is
 * closed. */
void channel_post(struct channel *channel, struct transfer *transfer);

/* For transports: takes channel->first off when it is done. */
void channel_pop(struct channel *channel);

#endif
