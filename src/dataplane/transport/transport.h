/*
 * transport.h - the interface of a transport: one kind of link (transports/, a folder each).
 *
 * A transport moves bytes along ordered one-way channels from one rank to another. It knows pieces
 * of memory, and no algorithms or collectives. Each rank opens one endpoint of each transport that
 * the user allows. An endpoint belongs to one thread.
 *
 * The life of an endpoint: open -> address (a blob for the other ranks) -> attach (with the blob of
 * each peer: is it reachable?) -> connect (to the peers that will be used, all ranks at the same
 * time; again for more peers or lanes) -> settle -> channel, post, progress ... -> close.
 *
 * A sender does not know what its peer does with a message. So whatever both ends must agree on (in
 * shm: the ring that a message takes) follows from its length and the --copy policy alone. The rest
 * travels with the data: each cell of a ring says whether it holds bytes or a reference.
 */
#ifndef CCTEST_DATAPLANE_TRANSPORT_TRANSPORT_H
#define CCTEST_DATAPLANE_TRANSPORT_TRANSPORT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/bytes.h"
#include "base/rank_state.h"
#include "base/status.h"
#include "base/text.h"
#include "base/tick.h"
#include "dataplane/memory/memory.h"
#include "host/host.h"

enum copy_policy {
    COPY_AUTO,  /* the transport chooses, message by message */
    COPY_BCOPY, /* every message through the receiver's slots */
    COPY_ZCOPY, /* every message directly to its destination */
    COPY_LL,    /* every message as words that each carry their own flag */
};
extern const char *const copy_names[]; /* ended by NULL: "auto", "bcopy", "zcopy", "ll" */

/* The paths of payload bytes, counted per endpoint. */
enum path { PATH_LINE, PATH_BCOPY, PATH_ZCOPY, PATH_LL, PATHS };
extern const char *const path_names[PATHS + 1]; /* ended by NULL: "line", "bcopy", "zcopy", "ll" */

struct traffic {
    uint64_t received[PATHS]; /* payload bytes */
    uint64_t sent[PATHS];     /* payload bytes */
    uint64_t copied_sending;  /* bytes that this rank copied in order to send */
    /* Bytes that this rank copied, or that landed in a slot, in order to receive. To place or
     * combine them at their destination does not count. */
    uint64_t copied_receiving;
};

/* Bytes of the shortest message that counts in wait_stats. Shorter ones mostly wait for other
 * things than the link, and to measure them would delay them. */
#define WAIT_STATS_LEAST ((size_t)64 << 10)

/* Whose core moves the bytes of a message. */
enum movement {
    MOVEMENT_PUSH,  /* the sender's puts them into slots or the kernel, the receiver's takes them */
    MOVEMENT_PULL,  /* the receiver's reads them in the sender's memory, once the sender says so */
    MOVEMENT_GRANT, /* none: a NIC does, once the receiver has said where to */
    MOVEMENTS
};

/* Messages of so many bytes and more that take a path, up to the next row of the path. What costs
 * are measured by, and predicted. */
struct path_range {
    enum path path;
    size_t least, most;    /* bytes of messages by which the costs are measured; most 0: any */
    enum copy_policy copy; /* that lets them take it */
    enum movement movement;
    bool combines_apart; /* a receiver that combines copies what arrives first */
    bool whole; /* a rank that has only messages of such ranges moves each by eager_move() */
};

/* The facts that decide a message's path, in host or shared memory, where its transport chooses. */
struct path_query {
    enum copy_policy copy;
    size_t bytes;    /* of the message */
    size_t run;      /* of the shortest piece of memory that it consists of */
    bool shared;     /* the sender's memory is shared, so that a peer can map it */
    bool combines;   /* as in struct transfer */
    bool one_way;    /* likewise */
    bool has_core;   /* both ranks have a core of their own */
    bool is_far;     /* their cores share no cache */
    bool only_sends; /* the sender has no other message under way */
};

/* The waits of a channel since it was made. */
struct wait_stats {
    /* Receiving: ns in which a transfer could take bytes and none arrived. Counted only while
     * endpoint->watched, and for messages of WAIT_STATS_LEAST and more. */
    uint64_t starved;
    /* Sending: ns in which bytes were in flight and the peer had room for them. */
    uint64_t busy;
    uint64_t packets;  /* with data, that were sent, again or not; 0: not known */
    uint64_t resent;   /* of them, those that were sent again and did not arrive twice; it may fall
                         by a few, since the peer says later that one did */
    uint64_t least_ns; /* sending: the shortest round trip so far; 0: not known */
};

/* The state of the network, or of a device, while a rank moves nothing. */
struct idle_report {
    int unheard;      /* a peer that does not acknowledge bytes, which are sent again and again;
                         -1: none is known */
    uint64_t arrived; /* bytes that the network has delivered, awaited or not */
    bool busy;        /* a device, such as a GPU, is at work on what was begun */
};

/* Adds `more` to `sum`, or (sign -1) takes it away. */
void traffic_add(struct traffic *sum, const struct traffic *more, int sign);

enum transport_option_kind {
    TRANSPORT_OPTION_NUMBER,
    TRANSPORT_OPTION_WORD, /* one of `words` */
    TRANSPORT_OPTION_TEXT, /* any text without a comma; the transport reads it in open() */
};

/* An option of one transport, which the user writes behind its name: "tcp:name=value". */
struct transport_option {
    const char *name; /* "gid" */
    enum transport_option_kind kind;
    const char *values;       /* as help shows them: "0..255", "memory|cq", "NAME[:PORT]+..." */
    const char *help;         /* one line */
    long least, most;         /* NUMBER: bounds */
    const char *const *words; /* WORD: ended by NULL */
    /* TEXT: a folder with the names that this machine has for it, to be joined by a '+'; for
     * completion. NULL: not known. */
    const char *folder;
    bool per_rank; /* each rank may have a value of its own; else all must agree */
};

#define TRANSPORT_OPTIONS_MOST 16
#define TRANSPORT_LIST_MOST    1024 /* bytes of -x */

/* The value of an option. */
struct transport_setting {
    bool given;
    long number;      /* NUMBER: the value; WORD: its index in `words` */
    const char *text; /* TEXT: as the user wrote it, never empty */
};

/* A transport's way to its peers over the control plane. While it connects, all ranks call call()
 * together, with mutual peers: it sends `each` bytes to each of `peers` (`mine`: count * each
 * bytes, in their order) and receives as many from each (`theirs`). The bytes go encrypted;
 * `theirs` come from ranks of this job, and are to be checked. Blocks; the job's end and its
 * deadline end it. */
struct peer_exchange {
    enum status (*call)(void *argument, const int *peers, int count, const void *mine, size_t each,
                        void *theirs);
    /* Whether a peer is known to be dead, for links that cannot know. Cheap. NULL: unknown. */
    bool (*lost)(void *argument, int peer);
    void *argument;
};

static inline bool peer_is_lost(const struct peer_exchange *exchange, int peer)
{
    return exchange && exchange->lost && exchange->lost(exchange->argument, peer);
}

struct transport_config {
    int rank, ranks;
    int local_ranks;   /* ranks on this host, to size what is per peer */
    int local_rank;    /* this rank's place among them, from 0 */
    int process_ranks; /* those of them that are threads of this process, with one set of limits; 0
                          or 1: this one alone */
    bool has_core;     /* this host has a core for each of its ranks; else they share */
    bool is_bound;     /* this rank stays on its core, so that latencies measured once hold */
    enum copy_policy copy;
    bool combines;     /* some transfers are TRANSFER_RECV_REDUCE */
    size_t slot_bytes; /* 0: the transport's choice; else payload bytes of one slot */
    int slots;         /* 0: the transport's choice; else slots of one lane */
    /* All memory that transfers name: every byte of them lies in one of these regions, from open()
     * to close(), also of messages that an injected fault drops. So a transport may register or
     * share them once, and needs no cache. The array and the regions are valid until close(). One
     * region may have a NULL base in open(): until connect() it gets memory of its kind, of at most
     * `bytes` bytes, or becomes empty. A CPU reads that kind, and no peer maps it. */
    const struct region *regions;
    int region_count;
    /* PCI address of the device that has the buffers' memory; NULL or "": the host has it. */
    const char *memory_bus;
    const char *interface;                    /* address or device name to listen on; NULL: any */
    const struct transport_setting *settings; /* by index in transport->options; NULL: none is
                                                 given; valid until close() */
    /* Devices move the messages (the device executor), so channels carry none that a copy policy is
     * about. */
    bool maps_only;
    bool stages;  /* messages in memory that the endpoint does not reach go through rings */
    bool watches; /* wait_stats() will be called */
    const unsigned char *secret; /* 32 bytes that peers must prove to know */
    double timeout;          /* seconds without progress that end the job. The transport does not
                                    count them, but fits its retries into them. */
    const struct tick *tick; /* tick_on() for each connection that is made; tick_wait() by whatever
                                waits inside a call; NULL: it waits as long as it takes */
    /* Valid until close(). NULL: only for transports that neither exchange nor ask for the dead. */
    const struct peer_exchange *exchange;
};

struct endpoint {
    const struct transport *transport;
    struct transport_config config;
    struct traffic traffic;
    _Atomic uint64_t rejected; /* connections from outside the job, which were rejected */
    bool watched;              /* its channels count what they wait for */
    bool exhausted;            /* attach() failed for lack of file descriptors */
};

/* A one-way ordered channel: the first member of a transport's own struct. */
struct channel {
    struct endpoint *endpoint;
    int peer, lane;
    bool sends;
    struct transfer *first, *last; /* posted, not yet done, in order */
};

struct transport {
    const char *name;                       /* "shm" */
    const char *summary;                    /* one line for `cctest info` */
    const struct transport_option *options; /* ended by a NULL name; NULL: it has none */
    bool local; /* it connects ranks of one host alone, so it is not missed between hosts */
    /* Devices move its messages, in memory of peers that they map: where it may be used, the device
     * executor may be, too, whose messages count as its own. */
    bool maps;
    /* It combines (TRANSFER_RECV_REDUCE) also in memory that no CPU reads. Else such messages are
     * received in rings, out of which the engine of the memory combines. */
    bool combines_anywhere;
    /* How often connect() calls config.exchange, the same on every rank; 0: never. Else each rank
     * that has an endpoint calls connect(), if need be with no peers. */
    int exchanges;

    /* Is it made for this kind of memory? Else `-x auto` leaves it out, and to name it is a usage
     * error. Asks no device. NULL: it is for any kind, if need be by way of rings. */
    bool (*carries)(const struct memory_kind *kind);

    /* May some machine run with these settings, under --timeout (seconds)? Each of them has its
     * kind and its bounds. Asks no device. False: a usage error: writes why into `reason`
     * (TRANSPORT_REASON_MOST bytes; one clause, with what to do). NULL: yes. */
    bool (*accepts)(const struct transport_setting *settings, double timeout, char *reason);

    /* NULL if this machine can use the transport, else why not, and which package is missing.
     * Called before ranks are forked, too: it must leave nothing behind that a fork breaks. */
    const char *(*unavailable)(void);

    /* Has this machine devices for the transport, even if it is unavailable()? Then the table says
     * so wherever another transport serves, since that is most likely a fault of the installation.
     * NULL: no. */
    bool (*present)(void);

    /* Makes an endpoint; keeps a copy of the config. STATUS_UNAVAILABLE: it cannot be used here:
     * writes why into `reason` (TRANSPORT_REASON_MOST bytes; one clause, with what to do), and
     * records no failure. Other errors are recorded with fail(). */
    enum status (*open)(const struct transport_config *config, struct endpoint **endpoint,
                        char *reason);

    /* May transfers name memory of this kind, of which the endpoint has regions? All those of one
     * kind are alike. A TRANSFER_RECV_REDUCE may name only memory that a CPU reads, unless
     * combines_anywhere is set. False: writes why into `reason` (TRANSPORT_REASON_MOST bytes; one
     * clause). NULL: memory that a CPU reads. */
    bool (*reaches)(const struct endpoint *endpoint, const struct memory_kind *kind, char *reason);

    /* Writes this endpoint's address (at most TRANSPORT_ADDRESS_MOST bytes); returns its size. */
    size_t (*address)(struct endpoint *endpoint, void *blob);

    /* NULL if this endpoint can reach `peer`, whose address is `blob` (checked as input from
     * outside). Else the reason, valid until the next attach. Keeps what it needs of `blob`. Asked
     * again about a peer that it did not reach. */
    const char *(*attach)(struct endpoint *endpoint, int peer, const void *blob, size_t size);

    /* Makes channels in both directions to `peers`, which are attached, on lanes 0 .. lanes - 1.
     * All ranks call it together, and their peer sets are mutual. Existing channels stay. May
     * block; config.tick then tells whether to go on. */
    enum status (*connect)(struct endpoint *endpoint, const int *peers, int count, int lanes);

    /* No connect() will follow: closes what only connect() needs, so that no socket listens while a
     * job runs. NULL: nothing to close. */
    void (*settle)(struct endpoint *endpoint);

    /* The channel, owned by the endpoint; NULL if it is not connected. */
    struct channel *(*channel)(struct endpoint *endpoint, int peer, int lane, bool sends);

    /* Its paths, in host memory: ascending by path, then by length; path_range_count of them. None:
     * its costs are not measured. */
    const struct path_range *path_ranges;
    int path_range_count;

    /* The path that a message takes over it, between ranks that can read each other's memory; what
     * simulations go by. NULL: PATH_BCOPY, where the policy says so, else PATH_ZCOPY. */
    enum path (*path_of)(const struct path_query *query);

    /* How the transport treats a connected peer: a few static words, the same for all peers that
     * are treated alike. *ns: the one-way latency of the smallest message; 0: not measured. NULL:
     * it treats all alike. */
    const char *(*describe)(const struct endpoint *endpoint, int peer, uint64_t *ns);

    /* Tells what the channel has waited for. NULL: the transport does not know. */
    void (*wait_stats)(const struct channel *channel, struct wait_stats *wait_stats);

    /* Called by channel_post() after it has appended a transfer to the queue. */
    void (*activate)(struct channel *channel);

    /* Short messages without posting. All three NULL: not offered.
     * eager_most(): the longest such message, in bytes; 0: none.
     * eager_move(): sends or receives all of `transfer` at once (*moved is set), or nothing yet.
     *   The bytes travel as in a posted transfer. None may be posted on the channel.
     * eager_await(): the caller waits for an eager_move() on the channel, on which nothing is
     *   posted; the next check() looks at its peer. */
    size_t (*eager_most)(const struct channel *channel);
    enum status (*eager_move)(struct channel *channel, const struct transfer *transfer,
                              bool *moved);
    void (*eager_await)(struct channel *channel);

    /* Moves what can be moved now; never blocks. Its cost grows with the number of channels that
     * have transfers posted. Errors: a peer is gone (fail_peer(), naming it), or the link
     * failed. */
    enum status (*progress)(struct endpoint *endpoint);

    /* Called now and then while nothing moves: fails if a peer that the endpoint waits for is gone.
     * NULL: progress() notices. */
    enum status (*check)(struct endpoint *endpoint);

    /* Called when nothing has moved for a while: adds to *idle. NULL: the transport does not
     * know. */
    void (*idle_report)(const struct endpoint *endpoint, struct idle_report *idle);

    /* The NICs that carry the bytes. NULL: none is known.
     * devices(): adds all that this machine has, usable or not; without an endpoint.
     * endpoint_devices(): adds those that the endpoint uses, from open() on always the same; in
     *   another thread, while the endpoint rests.
     * device_meter(): the meter of one, by its name; without an endpoint, in any thread. NULL: it
     *   has no counters.
     * device_sent(): payload bytes that the endpoint has sent by one of its devices. */
    void (*devices)(struct device_list *list);
    void (*endpoint_devices)(const struct endpoint *endpoint, struct device_list *list);
    struct meter *(*device_meter)(const char *device);
    uint64_t (*device_sent)(const struct endpoint *endpoint, const char *device);

    /* Drops posted transfers, which may be gone already, and frees everything. NULL is allowed.
     * After a good end all ranks have moved all their data before any of them calls it, and none
     * frees its regions before all have returned from it. After a bad end neither holds, but the
     * regions of a rank stay until its process ends. Calls tick_on() where it takes long. */
    void (*close)(struct endpoint *endpoint);
};

/* transport->path_of(), or its default. */
enum path transport_path(const struct transport *transport, const struct path_query *query);

/* Is a message on this path one of a range that moves whole? */
bool transport_moves_whole(const struct transport *transport, enum path path, size_t bytes);

/* transport->reaches(), or its default. */
bool endpoint_reaches(const struct endpoint *endpoint, const struct memory_kind *kind,
                      char *reason);

/* Does it move messages in this kind of memory itself, also (`combines`) those that are combined
 * there? Else they go through rings. False: writes why into `reason`, as reaches(). */
bool endpoint_serves(const struct endpoint *endpoint, const struct memory_kind *kind, bool combines,
                     char *reason);

/* Has it regions of memory that it does not reach, so that their messages go through rings? */
bool endpoint_stages(const struct endpoint *endpoint);

#define TRANSPORT_ADDRESS_MOST 640
#define TRANSPORT_REASON_MOST  512

/* Ended by NULL, in the order of preference for `-x auto`; transports/list.c names them. */
extern const struct transport *const transports[];
const struct transport *transport_find(const char *name);

/* A transport that the user allows. */
struct transport_choice {
    const struct transport *transport; /* NULL ends a list */
    bool named; /* by the user: if it cannot be used, the job ends; else another is taken */
    struct transport_setting settings[TRANSPORT_OPTIONS_MOST];
};

/* Adds the settings that are given, ":gid=3", in the order of the transport's options; those that
 * `keeps` says false of are left out; NULL: none is. */
void transport_settings_put(const struct transport_choice *choice,
                            bool (*keeps)(const struct transport_option *option),
                            struct text *text);

/* Ends the process, with a sentence, if `transfer` names a byte outside of the regions of the
 * channel's endpoint: a fault of the program, which a link that needs no registered memory would
 * not notice. Called by channel_post(), and once for each transfer that eager_move() will move. */
void channel_require_regions(const struct channel *channel, const struct transfer *transfer);

/* Posts a transfer (kind, layouts, length, grain, limit, moved set; done 0) and starts its cursors:
 * `cursor` on what is sent or written, `with_cursor` on `with`. A transfer of no bytes is complete
 * at once. The caller owns the transfer, which must live until done == length. After an error
 * it may go before the endpoint is closed: close() does not look at it. */
void channel_post(struct channel *channel, struct transfer *transfer);

/* For transports: removes channel->first, which is done. */
void channel_pop(struct channel *channel);

/* ---- Why pairs of ranks run over a transport that they do not prefer, grouped by reason.
 *
 * A pair that silently runs over TCP is the classic wrong result of an acceptance test.
 * ---- */

enum fallback_cause {
    FALLBACK_ABSENT,      /* a rank's machine does not have the preferred transport */
    FALLBACK_REFUSED,     /* it has, but cannot use it */
    FALLBACK_UNREACHABLE, /* both use it, and it does not connect them: attach() */
    FALLBACK_CAUSES
};

/* Pairs of ranks with the same two transports and the same reason. */
struct fallback {
    enum fallback_cause cause;
    char preferred[16], taken[16];
    char reason[TRANSPORT_REASON_MOST]; /* "": several reasons, which are not told apart */
    uint64_t pairs;
    int low, high; /* one of the pairs: low < high */
    int rank;      /* that gives the reason: one of this pair */
    bool others;   /* other ranks give it, too */
};

#define FALLBACKS_MOST 8

struct fallbacks {
    struct fallback list[FALLBACKS_MOST];
    int count;
    struct fallback further; /* of all further reasons; pairs 0: there are none */
};

/* Adds pairs to the group of their reason, or to that of all further reasons. */
void fallbacks_add(struct fallbacks *fallbacks, const struct fallback *more);

void fallbacks_encode(const struct fallbacks *fallbacks, struct bytes *share);
/* Adds another rank's, of a job of `ranks` ranks. False: they are invalid. */
bool fallbacks_decode(struct fallbacks *fallbacks, int ranks, struct reader *reader);

#define FALLBACK_TEXT_MOST (TRANSPORT_REASON_MOST + 384)
/* "12 pairs of ranks run over tcp, such as ranks 0 and 3, because verbs cannot be used on rank 3
 * (n07): no port is active". `members`: of the job. Returns `text`. */
const char *fallback_text(const struct fallback *fallback, const struct member *members,
                          char text[FALLBACK_TEXT_MOST]);

/* ---- One rank's links to all others: which transport serves which peer.
 *
 * For each pair of ranks the first transport of the user's list that works both ways is taken. The
 * order of calls, with an exchange of the encoded share after each encoding: links_open,
 * links_wish, links_encode_offers, links_decode_offers (of each rank), links_attach,
 * links_encode_reach, links_decode_reach (of each peer), links_choose, links_connect. A decoder
 * returns false for invalid data.
 * ---- */

struct links;

/* `allowed`: transports in the order of preference, ended by a NULL transport; the texts of their
 * settings are valid until links_close(). STATUS_UNAVAILABLE if one that the user named cannot be
 * used here; another is no error. *links is to be closed even after an error. */
enum status links_open(const struct transport_choice *allowed,
                       const struct transport_config *config, struct links **links);

#define LINKS_LANES_MOST 4096

/* A rank's wishes of a peer, as bits. */
#define LINKS_WISHED   1 /* the lanes */
#define LINKS_ONE_MORE 2 /* and a lane behind them */

/* The connections that this rank needs: `wishes`, by rank, on `lanes` lanes. A peer wishes the same
 * of this rank. */
void links_wish(struct links *links, const unsigned char *wishes, int lanes);

/* For each allowed transport, its address or the reason why it cannot be used; and what bounds the
 * wishes of all. */
void links_encode_offers(const struct links *links, struct bytes *share);
bool links_decode_offers(struct links *links, int rank, struct reader *reader);

/* Finds out which transports reach the peers that are wished for, from the offers. */
void links_attach(struct links *links);

/* The peers that are wished for, ascending, and for each the transports that reach it, as bits:
 * `peers` and `reach` have room for all ranks. Returns how many they are. */
int links_encode_reach(const struct links *links, int *peers, unsigned char *reach);
/* Takes what the same peers say of this rank. */
void links_decode_reach(struct links *links, const int *peers, int count,
                        const unsigned char *reach);

/* Chooses the transport of each peer that is wished for. STATUS_UNAVAILABLE if none connects a pair
 * of ranks: names both and the reasons. */
enum status links_choose(struct links *links, const struct member *members);

/* How many of a lane's two channels to and from `peer` need rings (dataplane/execute/execute.h) for
 * messages in this kind of memory: 2 where the peer's transport does not reach it, 1 where it
 * reaches it but does not combine there what it receives, else 0. Between links_choose() and
 * links_connect(). */
int links_ring_directions(const struct links *links, int peer, const struct memory_kind *kind);

/* Makes the connections; blocks. Called once, by all ranks together. Endpoints that serve no peer
 * are closed, and nothing listens any more. Errors: the transport's. */
enum status links_connect(struct links *links, const struct member *members);

/* The channel to or from `peer`; NULL if it is not connected. */
struct channel *links_channel(struct links *links, int peer, int lane, bool sends);

enum status links_progress(struct links *links); /* of all endpoints in use */
enum status links_check(struct links *links);
/* The state of the network while nothing moves. */
struct idle_report links_idle_report(const struct links *links);

/* The words of the transport's describe() for the link to `peer`; "" if it has none; NULL: the peer
 * is not connected. */
const char *links_describe(struct links *links, int peer, uint64_t *ns);

/* Do messages to and from `peer` go through rings, since its transport does not reach the memory
 * of this rank's buffers? */
bool links_stages(const struct links *links, int peer);

/* Why peers that are connected are served by another transport than the one that comes first. Of
 * the two ends of a pair, one has it. Empty before links_connect(). */
const struct fallbacks *links_fallbacks(const struct links *links);

/* The transport that serves `peer`; NULL: it is not connected. */
const struct transport *links_transport(const struct links *links, int peer);

/* Endpoints that are open, also before it is known whom they serve: index 0, 1, ...; NULL when
 * there are no more. */
const struct endpoint *links_open_endpoint(const struct links *links, int index);

/* Endpoints in use, for their counters: index 0, 1, ...; NULL when there are no more. */
struct endpoint *links_endpoint(struct links *links, int index);

/* Connections that were rejected as not the job's, by all endpoints that there were. */
uint64_t links_rejected(const struct links *links);

/* Makes the endpoints note what their channels wait for, or not. */
void links_watch(struct links *links, bool watched);

void links_close(struct links *links); /* NULL is allowed */

/* ---- transport.c ---- */

/* May the transport use this port, "mlx5_2" (its port 1) or "mlx5_2:2"? Its nic= names it, or is
 * not given. */
bool choice_allows_nic(const struct transport_choice *choice, const char *nic);

/* ---- Memory that ranks share is input from outside: a peer, another process or a
 * fault may write anything there.
 * ---- */

/* Copies from shared memory. What the caller then checks is what it uses: the compiler does not
 * read the original again, which may have changed. */
static inline void shared_snapshot(void *copy, const void *shared, size_t bytes)
{
    memcpy(copy, shared, bytes);
    atomic_signal_fence(memory_order_seq_cst);
}

/* Fails: `what` in the memory that rank `peer` and this rank share has a value that no rank writes
 * there. */
enum status fail_garbage(int peer, const char *what);

#endif
