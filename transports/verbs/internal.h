/*
 * internal.h - for the files of transports/verbs/ alone.
 */
#ifndef CCTEST_TRANSPORTS_VERBS_INTERNAL_H
#define CCTEST_TRANSPORTS_VERBS_INTERNAL_H

#include <infiniband/verbs.h>
#include <sched.h>
#include <stddef.h>
#include <sys/socket.h>

#include "dataplane/transport/transport.h"
#include "host/host.h"

/* ---- The facts of RDMA ports, read from sysfs.
 *
 * Needs no verbs library and no permission, so that `cctest info` can say what is missing. A port
 * is named "mlx5_0:1": the NIC, and the port's number there.
 * ---- */

#define PORT_SYSFS "/sys"
#define PORT_DEV   "/dev/infiniband"
#define PORT_PROC  "/proc"

/* Where the facts come from. */
struct port_source {
    const char *sysfs;   /* PORT_SYSFS, but in tests */
    const char *dev;     /* PORT_DEV, likewise */
    const char *library; /* why the verbs library cannot be loaded; NULL: it can */
    /* The active MTU in bytes, by ibv_query_port(); 0: unknown. NULL: it stays unknown. */
    int (*mtu)(const char *nic, int port);
    const char *proc; /* PORT_PROC, but in tests */
    /* Does the driver of the NIC import dmabufs? NULL: GPU memory is not asked for. */
    bool (*imports_dmabuf)(const char *nic);
};

/* Has this machine a NIC, usable or not? `sysfs`: PORT_SYSFS. */
bool ports_present(const char *sysfs);

/* Adds all ports of this machine to the list, with facts, usable or not and why not. */
void ports_add(const struct port_source *source, struct device_list *list);

/* Adds one port. A port that is not there is not usable. NULL: out of memory, which the list
 * remembers. */
struct device *port_add(const struct port_source *source, const char *nic, int number,
                        struct device_list *list);

/* Fills `order` with 0 .. count - 1: the NIC nearest to the device with this PCI address first, or,
 * if that is NULL, "" or unknown, the one nearest to the CPUs that the calling thread may run on;
 * ties keep their order. `distances`: of each NIC, equal where they tie. A virtual NIC stands where
 * its network device stands, or behind all others. */
void ports_by_nearness(const char *sysfs, const char *const *nics, int count, const char *device,
                       int *order, uint64_t *distances);

/* ---- The options behind the transport's name, also of a cctest without libibverbs. ---- */

#define VERBS_RAILS_MOST 8

/* By index in verbs_options[]. */
enum verbs_option {
    VERBS_NIC,
    VERBS_RAILS,
    VERBS_GID,
    VERBS_PKEY,
    VERBS_SL,
    VERBS_TCLASS,
    VERBS_MTU,
    VERBS_TIMEOUT,
    VERBS_RETRY,
    VERBS_QPS,
    VERBS_CONNECT,
    VERBS_POLL,
    VERBS_GDR,
    VERBS_OPTIONS
};
enum verbs_connecting { VERBS_CONNECT_EXCHANGE, VERBS_CONNECT_RDMACM };
enum verbs_poll { VERBS_POLL_MEMORY, VERBS_POLL_CQ };

extern const struct transport_option verbs_options[];

/* A name behind nic=. Port 0: all ports of the NIC. */
struct verbs_nic_name {
    char nic[RDMA_NIC_MOST];
    int port;
};

#define VERBS_MANY_NICS "nic= names more than %d NIC ports: name fewer" /* VERBS_RAILS_MOST */

/* Reads "NAME[:PORT]+...". Returns how many; 0: `reason` (TRANSPORT_REASON_MOST bytes) says what is
 * wrong: no name, no port number, a NIC port twice, or too many. */
int verbs_nic_names(const char *text, struct verbs_nic_name names[VERBS_RAILS_MOST], char *reason);

/* Of a queue pair: it waits 4.096 us * 2^timeout for an answer, and sends again `retries` times. */
struct verbs_patience {
    uint8_t timeout, retries;
};

/* A queue pair gives up within `most` seconds (--timeout), so that it names the peer before the
 * job's deadline does. It sends once, and `retries` times again. A NIC may wait four times as long
 * as it was told; most do not, and give up within a quarter. False: the settings ask for longer:
 * `reason` (TRANSPORT_REASON_MOST bytes). */
bool verbs_patience_choose(const struct transport_setting *settings, double most,
                           struct verbs_patience *patience, char *reason);

/* As transport->accepts(). */
bool verbs_accepts(const struct transport_setting *settings, double timeout, char *reason);

/* ---- The types that the files of the verbs transport share, and the protocol.
 *
 * A rank opens one or several NIC ports, its rails. Each has a completion queue and a shared
 * receive queue for all peers. A lane between two ranks has one reliable queue pair (RC) on each
 * rail, which serves both directions. Bytes travel by RDMA WRITE only. For each lane a rank owns a
 * block of registered memory:
 *
 *     credit line   the peer writes how many slots and segments it has freed
 *     offers        the peer, as receiver, writes where a message is to go
 *     slots         the peer, as sender, writes short messages, and whatever is to be combined
 *     staging       this rank packs into it what it writes into the peer's slots
 *
 *   bcopy   The sender has room if a slot is free, by the credit line. It packs up to a slot of
 *           bytes and writes them into the peer's next slot.
 *   zcopy   The receiver offers one strided piece of memory after another: address, keys for all
 *           rails, and how far it may be written. The sender writes segments, each followed by
 *           immediate data, which says its length. The segments of a lane go round its queue
 *           pairs. Both ends count them, so the received prefix is known.
 *
 * A WRITE notifies the receiver in one of two ways. If the receiver's NIC places a message in
 * order (ibv_query_qp_data_in_order()), the receiver polls the last bytes of the slot. Else the
 * WRITE carries immediate data, which takes an entry of the receive queue and gives a completion.
 * iWARP has no immediate data, so a SEND of the same 4 bytes follows. Words of 8 bytes (credits,
 * limits) are polled in memory in any case, and carry bits that check them. But two WRITEs may be
 * placed in any order. So a word that changes has several places, which the writer takes in turn,
 * each when its last WRITE there is complete; the reader takes the highest value.
 *
 * A CPU cannot copy memory of a GPU. If an end of a lane has such memory, each message of the lane
 * goes zcopy, whatever its length and its runs, and the NIC gathers it.
 *
 * No receive queue runs dry: the owner of a block grants slots, offers and segments, and posts an
 * entry for each that may be outstanding. Entries are posted again in batches: the queue has as many
 * entries more as may wait for that.
 * ---- */

#define VERBS_RAIL_PAIRS_MOST 56 /* least common multiple of two numbers of rails */
#define VERBS_PATHS_MOST      16 /* queue pairs of a lane */
#define VERBS_NAME_MOST       24 /* "mlx5_0:1" */
#define VERBS_HOST_MOST       64
#define VERBS_OTHERS_MOST     3  /* addresses of a port beside the first */
#define VERBS_GATHER_MOST     16 /* pieces of one WRITE */
#define VERBS_RECEIVE_BATCH   16 /* posted in one call */
#define VERBS_CREDITS         64 /* bytes of the credit line: VERBS_WORDS words */
#define VERBS_DEPTH           256 /* work requests of a queue pair, if there are few and room is enough */

/* How NICs reach memory that no CPU reads (GPUDirect RDMA). In the order of preference. */
enum verbs_gdr {
    VERBS_GDR_AUTO,
    VERBS_GDR_DMABUF,  /* its kind exports a dmabuf, which the NIC's driver imports */
    VERBS_GDR_PEERMEM, /* a peer memory module translates its addresses for the NIC's driver */
    VERBS_GDR_STAGED,  /* they do not */
};

/* A port of a NIC that this host has. */
struct verbs_nic {
    struct ibv_device *device;
    const char *name; /* "mlx5_0" */
    int port;
};

/* A further address of a RoCE port, in another subnet than those in front of it. */
struct verbs_subnet {
    unsigned char address[4]; /* IPv4, of a GID */
    uint8_t prefix;           /* bits of the subnet */
};

/* A rail as its peers see it. */
struct verbs_port {
    char name[VERBS_NAME_MOST];
    uint8_t link_layer; /* IBV_LINK_LAYER_... */
    uint8_t iwarp;
    uint8_t mtu;    /* enum ibv_mtu */
    uint8_t prefix; /* RoCE: bits of the subnet of the GID's IPv4 address; 0: not known */
    uint16_t lid, pkey;
    union ibv_gid gid;
    uint8_t gid_kind; /* enum gid_kind + 1; 0: not known */
    uint8_t other_count;
    struct verbs_subnet others[VERBS_OTHERS_MOST];
    uint16_t cm_port; /* connect=rdmacm: where it listens; else 0 */
};

/* The address of a rank. */
struct verbs_address {
    uint64_t nonce;
    char host[VERBS_HOST_MOST];
    int rail_count;
    int home;    /* the rail that the rank is nearest to */
    bool direct; /* it has registered memory that no CPU reads */
    struct verbs_port ports[VERBS_RAILS_MOST];
};

/* How many of each the owner of a block grants to the peer of the lane. Counts are powers of two:
 * numbers that wrap at 2^32 find their place in a ring by their remainder. */
struct verbs_grants {
    uint32_t slots, slot_bytes, offers, segments;
};

struct verbs_pair;
struct verbs_lane;

struct verbs_rail {
    struct verbs_endpoint *endpoint;
    int index;
    struct ibv_context *context;
    struct ibv_device_attr device;
    struct ibv_port_attr attr;
    bool is_down;      /* the port is there, but not active */
    bool is_abandoned; /* a thread hangs in a registration, with the device and domain */
    uint8_t port_number;
    uint8_t gid_index;
    uint8_t other_indices[VERBS_OTHERS_MOST]; /* of the GIDs of port.others */
    bool other_used[VERBS_OTHERS_MOST];       /* by a queue pair */
    uint16_t pkey_index;
    struct verbs_port port;
    struct ibv_pd *pd;
    struct ibv_cq *cq;
    struct ibv_srq *srq;
    /* connect=rdmacm: by address; NULL: it does not listen there (any more) */
    struct rdma_cm_id *listeners[1 + VERBS_OTHERS_MOST];
    uint32_t scope;                   /* the interface of a link-local IPv6 address; 0: none */
    uint32_t receives, receives_most; /* promised to lanes, and that may be */
    uint32_t *receive_room; /* iWARP: 4 bytes for each entry of the queue, where a SEND lands */
    struct ibv_mr *receive_mr;
    uint32_t due[VERBS_RECEIVE_BATCH];      /* entries to post, when there are due_most of them */
    uint32_t due_count, due_most;           /* due_most - 1 entries are spare */
    uint32_t vain_polls;                    /* since a completion came */
    struct ibv_mr **region_mrs;             /* by region; NULL: not registered */
    uint32_t completions, completions_most; /* promised to pairs, and of the CQ */
    struct verbs_pair **pairs;              /* hash table by the number of the queue pair */
    uint32_t pairs_mask, pair_count;        /* the mask is its size - 1 */
    uint64_t bytes;                         /* payload sent */
};

/* What becomes of a work request when it is complete. */
struct verbs_work {
    struct verbs_sender *segment_of; /* a segment of this sender is free then; NULL: none */
    uint32_t segment;                /* its number */
};

/* A queue pair. Positions count work requests from the start and wrap. */
struct verbs_pair {
    struct ibv_qp *qp;
    struct verbs_rail *rail;
    struct verbs_lane *lane;
    int path;        /* of the lane */
    int remote_rail; /* of the peer */
    uint32_t depth;  /* work requests that it holds: a power of 2 */
    uint32_t inline_most;
    uint64_t posted, retired; /* positions */
    uint32_t unsignaled;      /* the last requests, that ask for no completion */
    struct verbs_work *work;  /* ring of `depth` */
    uint32_t *arrived;        /* receiver: ring of the lengths of segments that have arrived */
    uint32_t arrived_first, arrived_last;
    uint64_t seen_retired; /* at the last check() */
    uint64_t last_success; /* ns: when a completion was last good; 0: never */
    bool stalled;          /* requests are outstanding and none completed since */
    bool broken;           /* its first error has been told */
    bool flushed;          /* requests were flushed, and no cause is known yet */
    uint32_t first_packet, remote_number, remote_packet;
    int gather_most;
    /* connect=rdmacm: */
    struct rdma_cm_id *cm; /* NULL: not yet */
    int resolved;          /* how often the address was looked up */
    bool established;
    bool greeted; /* iWARP: the first message has been sent, or has come */
};

#define VERBS_WORDS 6 /* places of a word that changes */

/* Where the next value of such a word goes, and the request in front of which each place was
 * written last. */
struct verbs_words {
    uint64_t written; /* so that places come in turn for ever */
    uint64_t positions[VERBS_WORDS];
};

/* An offer, as it lies in the block of a lane. Written by its receiver in one WRITE, up to
 * `sequence`; then its limits, a word that changes. */
struct verbs_offer {
    uint64_t address, run, stride, times; /* times 0: the message goes through slots */
    uint32_t keys[VERBS_RAILS_MOST];      /* of the receiver's rails */
    uint64_t first_limit; /* bytes of the piece that may be written when the offer is made */
    uint64_t sequence;    /* from 1 */
    uint64_t limits[VERBS_WORDS]; /* sequence (8 bits) | bytes that may be written (40) */
};
_Static_assert(sizeof(struct verbs_offer) == 128, "two cache lines");
#define VERBS_OFFER_BYTES offsetof(struct verbs_offer, limits) /* of the WRITE */
#define VERBS_LIMIT_BITS  40 /* of a piece: an offer is no longer */
#define VERBS_LIMIT_MOST  (((uint64_t)1 << VERBS_LIMIT_BITS) - 1)

/* A segment that has been written and not yet credited. */
struct verbs_segment {
    struct transfer *transfer;
    size_t bytes;
    bool complete; /* its memory is free */
};

/* The work request that read a staging slot last: it stands in front of `position`. */
struct verbs_staged {
    const struct verbs_pair *pair; /* NULL: none */
    uint64_t position;
};

struct verbs_sender {
    struct channel base;
    bool active;
    struct verbs_grants grants; /* of the peer */
    uint64_t remote;            /* address of the peer's block */
    uint32_t remote_keys[VERBS_RAILS_MOST];
    bool peer_polls;                            /* the peer polls memory */
    uint32_t slots_credited, segments_credited; /* as known */
    /* bcopy */
    uint32_t slots_sent;
    uint32_t staging_next;       /* the next staging slot, of own_grants.slots */
    struct verbs_staged *staged; /* by staging slot: the last use */
    /* zcopy */
    uint32_t segments_sent, segments_done; /* done: prefix whose memory is free */
    struct verbs_segment *segments;        /* ring of grants.segments */
    uint32_t offers_taken, offers_arrived; /* arrived: by completions */
    bool has_offer;
    struct verbs_offer offer; /* the present one */
    size_t offer_at;          /* bytes of it that were written */
    size_t offer_limit;       /* and that may be, as known */
    uint64_t busy, busy_since;
};

struct verbs_receiver {
    struct channel base;
    bool active;
    bool polls; /* this rank polls the slots in memory */
    uint32_t slots_taken, segments_taken;
    uint32_t slots_returned, segments_returned;
    struct verbs_words credits;
    uint32_t slots_arrived;     /* by completions, */
    uint32_t *slot_lengths;     /* and their bytes: ring of grants.slots */
    const char *slot, *trailer; /* the next slot, and its end, which this rank polls */
    /* The slot that is being taken. */
    const char *bytes;
    size_t left;
    size_t arrived; /* of an eager message that comes in several slots */
    /* Offers. */
    struct transfer *offered_last; /* all of it is offered, or takes no offer; NULL: none posted */
    struct cursor offer_cursor;    /* in the transfer behind it, */
    size_t offer_begin;            /* at the first byte that is not offered */
    uint32_t offers_made;
    struct verbs_offered *offered; /* ring of the peer's grants.offers */
    uint32_t offers_open;          /* the oldest whose bytes have not all come */
    uint64_t starved, starved_since;
};

/* An offer that was made: bytes [begin, end) of the transfer. */
struct verbs_offered {
    struct transfer *transfer;
    size_t begin, end;
    bool by_slots;            /* the whole transfer comes through slots */
    size_t limit;             /* bytes of the piece that were allowed last */
    struct verbs_words words; /* of the entry of the ring: its limits */
};

struct verbs_lane {
    struct verbs_sender out;
    struct verbs_receiver in;
    struct verbs_peer *peer;
    int number;
    struct verbs_grants grants; /* of this rank, for `block` */
    bool direct; /* an end has memory that no CPU reads: all goes zcopy, and nothing is packed */
    char *block;
    const struct verbs_arena *arena; /* where the block lies */
    int pair_count;
    struct verbs_pair *pairs;
};

/* Registered memory with the blocks of all lanes of one connect(). */
struct verbs_arena {
    char *base;
    size_t bytes;
    struct ibv_mr *mrs[VERBS_RAILS_MOST];
    struct verbs_arena *next;
};

struct verbs_peer {
    int rank;
    bool attached;
    struct verbs_address address;
    /* Pair n of the rails: n modulo their number, at both ends. Those that paths go round. */
    uint8_t rail_pairs[VERBS_RAIL_PAIRS_MOST];
    int rail_pair_count;
    int lane_count;
    struct verbs_lane **lanes;
};

struct verbs_endpoint {
    struct endpoint base;
    struct transport_setting settings[VERBS_OPTIONS];
    bool matches; /* rails=match */
    struct verbs_address address;
    int rail_count;
    struct verbs_rail rails[VERBS_RAILS_MOST];
    struct rdma_event_channel *cm; /* connect=rdmacm; else NULL */
    struct verbs_peer *peers;      /* by rank */
    struct verbs_arena *arenas;
    enum verbs_gdr gdr; /* of the regions that no CPU reads; AUTO: there is none */
    uint64_t segments_arrived;
    uint64_t *flushed; /* by region: segments_arrived when it was flushed last */
    struct verbs_patience patience;
    struct channel **active; /* channels with transfers posted; room for all */
    int active_count, channel_count;
    uint64_t arrived; /* bytes */
    uint64_t registering_ns, connecting_ns;
    size_t pinned; /* bytes that are registered, on all rails together */
    int pair_count;
    char reason[TRANSPORT_REASON_MOST];
};

/* ---- How a rail is addressed, and whether the rails of two ranks reach each other. ---- */

/* Bytes of an MTU; 0: it is none. */
static inline int verbs_mtu_bytes(unsigned mtu)
{
    return mtu >= IBV_MTU_256 && mtu <= IBV_MTU_4096 ? 128 << mtu : 0;
}

/* The MTU that mtu= asks for; else `otherwise`. */
static inline enum ibv_mtu verbs_mtu_asked(const struct transport_setting *settings,
                                           enum ibv_mtu otherwise)
{
    return settings[VERBS_MTU].given ? (enum ibv_mtu)(IBV_MTU_256 + settings[VERBS_MTU].number)
                                     : otherwise;
}

/* Chooses the GID and the P_Key of an open rail, and fills rail->port. False: `reason`. */
bool verbs_rail_address(struct verbs_rail *rail, const struct transport_setting *settings,
                        char *reason);

size_t verbs_address_encode(const struct verbs_address *address, void *blob);
bool verbs_address_decode(const void *blob, size_t size, struct verbs_address *address);

/* NULL if the rail reaches `port` of a rank on `host`. Else why not, written into `reason` with the
 * values of both ends. */
const char *verbs_port_compare(const struct verbs_rail *rail, const struct verbs_port *port,
                               const char *host, const struct transport_setting *settings,
                               char *reason);

/* A GID of the port by its number: 0 is port->gid, the others follow. */
union ibv_gid verbs_port_gid(const struct verbs_port *port, int number);

/* By which GIDs, by number, the rail and the peer's port reach each other. Both ends find the same,
 * since it follows from the two ports alone. A port whose GID is given (gid=) has no other. Notes
 * which one the rail uses. */
void verbs_port_meet(struct verbs_rail *rail, const struct verbs_port *port, int *own, int *theirs);

/* The address of the peer's port for a queue pair of the rail, and its MTU. Notes which address of
 * the rail it uses. */
void verbs_port_route(struct verbs_rail *rail, const struct verbs_port *port,
                      const struct transport_setting *settings, struct ibv_qp_attr *attr);

/* ---- The registered memory of a lane: credit line, offers, slots, staging. ---- */

/* The end of a slot, where the receiver polls: the bytes of the message, and the number of the
 * slot's use from 1. The number lies behind all else: Soft-RoCE may copy a word byte by byte. */
struct verbs_trailer {
    uint64_t word; /* bytes (low 32 bits) | number (high 32) */
};

/* The place of a number in a ring of `count` entries, a power of two. */
static inline uint32_t verbs_ring_at(uint32_t number, uint32_t count)
{
    return number & (count - 1);
}

#define VERBS_ALIGNMENT 16 /* of the bytes in a slot: of an element of any type */

/* Bytes from slot to slot. */
static inline size_t verbs_slot_stride(const struct verbs_grants *grants)
{
    return (grants->slot_bytes + VERBS_ALIGNMENT + sizeof(struct verbs_trailer) + 63) / 64 * 64;
}

static inline size_t verbs_trailer_at(const struct verbs_grants *grants)
{
    return verbs_slot_stride(grants) - sizeof(struct verbs_trailer);
}

/* Where in a slot `bytes` bytes begin: close in front of the trailer, so that one WRITE carries
 * both. */
static inline size_t verbs_payload_at(const struct verbs_grants *grants, size_t bytes)
{
    return (verbs_trailer_at(grants) - bytes) / VERBS_ALIGNMENT * VERBS_ALIGNMENT;
}

static inline size_t verbs_offers_at(void)
{
    return VERBS_CREDITS;
}

static inline size_t verbs_slots_at(const struct verbs_grants *grants)
{
    return VERBS_CREDITS + grants->offers * sizeof(struct verbs_offer);
}

static inline size_t verbs_staging_at(const struct verbs_grants *grants)
{
    return verbs_slots_at(grants) + grants->slots * verbs_slot_stride(grants);
}

static inline size_t verbs_block_bytes(const struct verbs_grants *grants)
{
    return verbs_staging_at(grants) + grants->slots * verbs_slot_stride(grants);
}

/* A value of 48 bits as a word that a peer writes, with 16 bits that check it: a NIC places 8
 * aligned bytes at once, but Soft-RoCE copies them one by one. A word of 0 holds nothing. */
static inline uint64_t verbs_word_check(uint64_t value)
{
    return (value + 1) * 0x9e3779b97f4a7c15u >> 48 << 48;
}

static inline uint64_t verbs_word_of(uint64_t value)
{
    return verbs_word_check(value) | value;
}

/* False: it holds nothing, or is not whole yet. */
static inline bool verbs_word_value(uint64_t word, uint64_t *value)
{
    *value = word & (((uint64_t)1 << 48) - 1);
    return word != 0 && word == verbs_word_of(*value);
}

/* Reads a word that a NIC writes: what was written before it by the same WRITE is visible. */
static inline uint64_t verbs_word_read(const void *at)
{
    return __atomic_load_n((const uint64_t *)at, __ATOMIC_ACQUIRE);
}

/* Empties a word that a NIC may write at the same time. */
static inline void verbs_word_clear(uint64_t *at)
{
    __atomic_store_n(at, 0, __ATOMIC_RELAXED);
}

/* ---- The data path of verbs: which way a message goes. ---- */

/* Moves what the channel's transfers can move now. */
enum status verbs_send_progress(struct verbs_sender *out);
enum status verbs_receive_progress(struct verbs_receiver *in);

/* ---- Makes the lanes between this rank and its peers. ---- */

/* transport->connect; calls config.exchange twice. */
enum status verbs_connect(struct endpoint *base, const int *peers, int count, int lanes);

/* Destroys the queue pairs of a peer and frees its lanes. */
void verbs_disconnect(struct verbs_peer *peer);

/* ---- The hooks of the transport that tell of its NICs: their facts and their counters. ---- */

struct endpoint;

void verbs_devices(struct device_list *list);
void verbs_endpoint_devices(const struct endpoint *endpoint, struct device_list *list);
struct meter *verbs_device_meter(const char *device);
uint64_t verbs_device_sent(const struct endpoint *base, const char *device);

/* ---- Short messages, each whole in one slot. ---- */

/* transport->eager_most and transport->eager_move. */
size_t verbs_eager_most(const struct channel *base);
enum status verbs_eager_move(struct channel *base, const struct transfer *transfer, bool *moved);

/* ---- Failures of the device, of a queue pair or of a port, as sentences for the user. ---- */

/* ibv_post_send() returned `error`, an errno, negative for some providers. */
enum status verbs_post_failed(const struct verbs_pair *pair, int error);

/* A call on the rail failed with an errno: "cannot ...". */
enum status verbs_rail_failed(const struct verbs_rail *rail, const char *what, int error);

/* A completion that is not a success; `pair` NULL: of a queue pair that is not known. A flushed
 * request is a consequence: the cause is told by the first error of the queue pair, or by an
 * event. STATUS_OK: nothing to tell yet. */
enum status verbs_completion_failed(struct verbs_rail *rail, struct verbs_pair *pair,
                                    const struct ibv_wc *completion);

/* Reads the asynchronous events of the rail; never blocks. */
enum status verbs_rail_check(struct verbs_rail *rail);

/* ---- How the NICs of this node reach the memory of its GPUs (GPUDirect RDMA), and what is
 * missing for a better way.
 * ---- */

/* Adds the fact "GPU memory" (dmabuf, peermem, or not reached), and one for each better way,
 * which is missing; and "ACS" where a bridge above the NIC redirects what it sends to a GPU.
 * Without a GPU driver it adds none. `imports`: the NIC's driver imports dmabufs. `sysfs`, `proc`:
 * /sys and /proc, but in tests. */
void gdr_describe(const char *sysfs, const char *proc, bool imports, struct device_list *list,
                  struct device *device);

/* ---- How many slots, offers and segments a receiver grants on each lane. ---- */

/* New queue pairs of a rail, and how many of them are the first of their lane: these take slots and
 * offers, too. */
struct verbs_demand {
    uint32_t pairs, firsts;
};

/* For `lanes` new lanes, with these demands by rail: as much as is fast, within what is left of this
 * rank's share of the host's memory for slots, within `memory` bytes (verbs_memory_share()), and
 * within the receives that its NICs have left.
 * --slots (rounded down to a power of two) and --slot-size prevail. */
struct verbs_grants verbs_grants_choose(const struct verbs_endpoint *endpoint, size_t lanes,
                                        const struct verbs_demand *demands, size_t memory);

#define VERBS_MEMORY_PART 4 /* of what is available, for the slots of all ranks here */

/* Bytes of slots that fit into this rank's part of the memory that is available now. */
size_t verbs_memory_share(const struct verbs_endpoint *endpoint);

/* Receives that they may take at a time. */
size_t verbs_grants_receives(const struct verbs_grants *grants, const struct verbs_demand *demand);

/* May a peer grant this? */
bool verbs_grants_valid(const struct verbs_grants *grants);

/* ---- Work requests: posting them to queue pairs, and taking their completions. ---- */

/* Requests that data leaves free, so that credits, offers and limits find room. */
#define VERBS_RESERVE 4

#define VERBS_RECEIVES_LEAST 8192 /* of a shared receive queue, if the device has so many */
#define VERBS_SENDS_LEAST    4096 /* completions of sends that a completion queue has room for */

/* About the bytes of queues with so many entries: as mlx5 has them, with requests of 256 bytes
 * inline. */
static inline size_t verbs_queue_bytes(size_t requests, size_t receives, size_t completions)
{
    return 320 * requests + 32 * receives + 64 * completions;
}

/* What a notification tells the receiver: 2 bits of kind, 30 of a number of bytes. */
enum verbs_notice {
    VERBS_NO_NOTICE,      /* sent: the first message over a connection of iWARP */
    VERBS_NOTICE_SLOT,    /* the next slot holds so many bytes */
    VERBS_NOTICE_OFFER,   /* the next offer has been written */
    VERBS_NOTICE_SEGMENT, /* a segment of so many bytes has been written */
};
#define VERBS_NOTICE_MOST ((1u << 30) - 1) /* bytes of a slot or segment */

#define VERBS_CHAIN_MOST 16 /* WRITEs in one post */

/* WRITEs that are posted together. */
struct verbs_chain {
    int count;
    struct ibv_send_wr writes[VERBS_CHAIN_MOST + 1]; /* and the SEND of a notice */
    struct ibv_sge pieces[VERBS_CHAIN_MOST][VERBS_GATHER_MOST];
};

/* Work requests that the queue pair takes now. */
static inline uint32_t verbs_pair_room(const struct verbs_pair *pair)
{
    return pair->depth - (uint32_t)(pair->posted - pair->retired);
}

/* Are all requests in front of `position` complete? */
static inline bool verbs_pair_is_past(const struct verbs_pair *pair, uint64_t position)
{
    return pair->retired >= position;
}

/* Adds a WRITE without pieces yet, to `remote` in memory with the key `key`. */
static inline struct ibv_send_wr *verbs_chain_add(struct verbs_chain *chain, uint64_t remote,
                                                  uint32_t key)
{
    struct ibv_send_wr *write = &chain->writes[chain->count];
    /* Field by field: to clear all 128 bytes takes longer than the rest of a short message. */
    write->next = NULL;
    write->sg_list = chain->pieces[chain->count];
    write->num_sge = 0;
    write->opcode = IBV_WR_RDMA_WRITE;
    write->send_flags = 0;
    write->wr.rdma.remote_addr = remote;
    write->wr.rdma.rkey = key;
    if (chain->count > 0)
        write[-1].next = write;
    chain->count++;
    return write;
}

/* Adds a piece of local memory to the last WRITE. */
static inline void verbs_chain_gather(struct verbs_chain *chain, const void *address, size_t bytes,
                                      uint32_t key)
{
    struct ibv_send_wr *write = &chain->writes[chain->count - 1];
    write->sg_list[write->num_sge++] =
        (struct ibv_sge){.addr = (uintptr_t)address, .length = (uint32_t)bytes, .lkey = key};
}

/* Takes away the last WRITE. */
static inline void verbs_chain_drop(struct verbs_chain *chain)
{
    if (--chain->count > 0)
        chain->writes[chain->count - 1].next = NULL;
}

/* Posts a chain, for which there is room (one request more than WRITEs for a notice). A completion
 * tells when all of it is complete, if `work` is set (copied) or `signals`; and now and then by
 * itself. Errors: the device refuses the request. */
enum status verbs_pair_post(struct verbs_pair *pair, struct verbs_chain *chain,
                            enum verbs_notice notice, size_t bytes, const struct verbs_work *work,
                            bool signals);

/* Posts an offer, which the caller may overwrite at once. There is room for two requests. */
enum status verbs_pair_write_offer(struct verbs_pair *pair, const struct verbs_offer *offer,
                                   uint64_t remote, enum verbs_notice notice);

/* Is the next place of a word that changes free? */
static inline bool verbs_words_are_free(const struct verbs_pair *pair,
                                        const struct verbs_words *words)
{
    return words->written < VERBS_WORDS ||
           verbs_pair_is_past(pair, words->positions[words->written % VERBS_WORDS]);
}

/* Posts a new value of such a word, whose places begin at `remote`. There is room, and the next
 * place is free. */
enum status verbs_pair_write_word(struct verbs_pair *pair, struct verbs_words *words,
                                  uint64_t value, uint64_t remote);

/* Posts the first message of the end that has connected, for which iWARP's other end waits. */
enum status verbs_pair_greet(struct verbs_pair *pair);

/* Takes the completions of a rail. */
enum status verbs_rail_poll(struct verbs_rail *rail);

/* Posts the entries [first, first + count) of the rail's receive queue. */
enum status verbs_rail_post_receives(struct verbs_rail *rail, uint32_t first, uint32_t count);

/* Enters a queue pair into the rail's table; false: out of memory. */
bool verbs_rail_enter(struct verbs_rail *rail, struct verbs_pair *pair);

/* ---- What the two ways of a lane share: its queue pairs, credits and staging. ---- */

/* By the length, --copy and lane->direct, which both ends know. */
bool verbs_is_zcopy(const struct channel *channel, size_t length);

/* The lane that a channel belongs to, and the queue pair for slots, credits and offers. */
static inline struct verbs_lane *verbs_lane_of(const struct channel *channel)
{
    size_t offset = channel->sends ? offsetof(struct verbs_lane, out.base)
                                   : offsetof(struct verbs_lane, in.base);
    return (struct verbs_lane *)((uintptr_t)channel - offset);
}

static inline struct verbs_pair *verbs_pair_of(const struct channel *channel)
{
    return &verbs_lane_of(channel)->pairs[0];
}

/* Is there room to post offers and limits, and credits too? */
static inline bool verbs_has_control_room(const struct channel *channel)
{
    return verbs_pair_room(verbs_pair_of(channel)) >= VERBS_RESERVE;
}

static inline bool verbs_has_credit_room(const struct verbs_receiver *in)
{
    return verbs_has_control_room(&in->base) &&
           verbs_words_are_free(verbs_pair_of(&in->base), &in->credits);
}

/* Sender: reads the credits that the peer has written. */
void verbs_credits_read(struct verbs_sender *out);

/* Tells the sender what has been taken. There is room. */
enum status verbs_credits_write(struct verbs_receiver *in);

/* The same, if that is half of what was granted. */
static inline enum status verbs_credits_return(struct verbs_receiver *in)
{
    const struct verbs_grants *grants = &verbs_lane_of(&in->base)->grants;
    uint32_t slots = in->slots_taken - in->slots_returned;
    uint32_t segments = in->segments_taken - in->segments_returned;
    bool due = slots >= (grants->slots + 1) / 2 || segments >= (grants->segments + 1) / 2;
    return due ? verbs_credits_write(in) : STATUS_OK;
}

/* Tells the sender all that has been taken, if the receiver is idle. */
enum status verbs_credits_return_rest(struct verbs_receiver *in);

/* Bytes of a message that fit into a slot at both ends: whole elements. */
size_t verbs_slot_bytes(const struct verbs_sender *out, size_t element);

/* Is the next staging slot free? */
static inline bool verbs_staging_is_free(const struct verbs_sender *out)
{
    const struct verbs_grants *grants = &verbs_lane_of(&out->base)->grants;
    const struct verbs_staged *staged =
        &out->staged[verbs_ring_at(out->staging_next, grants->slots)];
    return !staged->pair || verbs_pair_is_past(staged->pair, staged->position);
}

/* A staging slot, in use until the pair's requests in front of `position` are complete; NULL: the
 * next one is in use still. */
char *verbs_staging_take(struct verbs_sender *out, const struct verbs_pair *pair,
                         uint64_t position);

/* Fails: the peer sent a longer message than this rank expects. */
enum status verbs_too_long(const struct channel *channel);

/* ---- Where a rail listens for the requests of librdmacm, and its addresses there. ---- */

#define VERBS_CM_ADVICE                                                                            \
    "load rdma_ucm, and give this user or container access to /dev/infiniband/rdma_cm"

/* The IP address that GID `number` of the port stands for, with this port number. `scope`: as in
 * struct verbs_rail. */
struct sockaddr_storage verbs_cm_address(const struct verbs_port *port, int number,
                                         uint16_t port_number, uint32_t scope);

/* Listens at each address of the rail, at one port number, and sets its cm_port. Forgets further
 * addresses where it cannot listen. STATUS_UNAVAILABLE: not at the first, for `reason`. */
enum status verbs_listen(struct verbs_rail *rail, char *reason);
void verbs_listen_end(struct verbs_rail *rail);

/* ---- Which NIC ports a rank uses. ---- */

/* Opens the ports that the option nic names, or the nearest one that is usable; ranks of a host
 * share equally near ones. STATUS_UNAVAILABLE: `reason` says why (TRANSPORT_REASON_MOST bytes). */
enum status verbs_nics_open(struct verbs_endpoint *endpoint, char *reason);

/* ---- A queue pair: creates it, and brings it to the state in which it sends. ---- */

/* Work requests of each queue pair on a rail that has `pairs` of them: its memory is this rank's. */
uint32_t verbs_pair_depth(uint32_t pairs);

/* What a queue pair holds. */
struct verbs_pair_limits {
    uint32_t depth;       /* work requests: as asked */
    uint32_t inline_most; /* bytes of one: as many as the device accepts, */
    int gather_most;      /* and pieces */
};

/* Tries to create a queue pair on rail->cq and rail->srq. NULL: errno says why not. */
struct ibv_qp *verbs_pair_try(const struct verbs_rail *rail, struct verbs_pair_limits *limits);

/* Creates a queue pair of `depth` work requests on pair->rail, in the state INIT. */
enum status verbs_pair_create(struct verbs_pair *pair, uint32_t depth);

/* Connects it to pair->remote_number: it receives and sends then. May block while the address of
 * the peer is looked up; ticks between attempts. */
enum status verbs_pair_connect(struct verbs_pair *pair);

/* Does the NIC promise that the bytes of a WRITE land in their order? */
bool verbs_pair_keeps_order(const struct verbs_pair *pair);

/* Does this rank poll the slots that the peer writes over this queue pair (poll=memory), or its
 * completion queue? */
bool verbs_pair_polls_memory(const struct verbs_pair *pair);

#define VERBS_RNR_RETRIES 6 /* how often a message that finds no receive is sent again */

/* Changes its state to attr->qp_state, as librdmacm has found it out, but with the retries of this
 * job and what options ask for. */
enum status verbs_pair_change(struct verbs_pair *pair, struct ibv_qp_attr *attr, int mask);

/* Destroys it; one that was not created is allowed. */
void verbs_pair_destroy(struct verbs_pair *pair);

/* ---- The queue pairs to a peer. ---- */

/* The queue pair behind `pair`, in the order of lanes and paths; of NULL: the first. NULL: there is
 * none. */
static inline struct verbs_pair *verbs_peer_next(const struct verbs_peer *peer,
                                                 const struct verbs_pair *pair)
{
    int lane = pair ? pair->lane->number : 0, path = pair ? pair->path + 1 : 0;
    while (lane < peer->lane_count && path >= peer->lanes[lane]->pair_count) {
        lane++;
        path = 0;
    }
    return lane < peer->lane_count ? &peer->lanes[lane]->pairs[path] : NULL;
}

/* ---- Modules of the kernel by which NICs reach the memory of GPUs at its addresses. ---- */

/* The name of a module that is loaded; NULL: none. `sysfs`: PORT_SYSFS, but in tests. */
const char *peermem_module(const char *sysfs);

/* ---- Whether a NIC has what the transport needs: queue pairs of the kind RC, with a shared
 * receive queue.
 * ---- */

/* Creates and destroys one of each on an open rail. False: the NIC cannot serve, for `reason`
 * (TRANSPORT_REASON_MOST bytes). */
bool verbs_rail_probe(const struct verbs_rail *rail, char *reason);

/* ---- What two ranks prove to each other when librdmacm connects a queue pair of theirs.
 *
 * A proof is a hash of what the connection is for, of both ranks' nonces and of its direction,
 * keyed with the job's secret: it opens no other queue pair, and none of another job.
 * ---- */

#define VERBS_ANSWER_BYTES  32        /* the proof */
#define VERBS_REQUEST_BYTES (16 + 32) /* which queue pair, and the proof; InfiniBand carries 56 */

/* Does this rank connect to the peer of the queue pair, and not the peer to this rank? */
bool verbs_rank_connects(const struct verbs_pair *pair);

/* What the rank that connects sends. */
void verbs_request_encode(const struct verbs_pair *pair,
                          unsigned char request[VERBS_REQUEST_BYTES]);

/* The queue pair on this rail that a request of `size` bytes is for, and which has no connection
 * yet; NULL: no rank of this job sent it. */
struct verbs_pair *verbs_request_find(const struct verbs_rail *rail, const unsigned char *request,
                                      size_t size);

/* What the other one answers. */
void verbs_answer_encode(const struct verbs_pair *pair, unsigned char answer[VERBS_ANSWER_BYTES]);

/* Is it the answer of the peer's rank? */
bool verbs_answer_holds(const struct verbs_pair *pair, const unsigned char *answer, size_t size);

/* ---- The NIC ports that a rank uses, and the queues that it creates on each. ---- */

/* Opens a port. False: it cannot be used, for `reason` (TRANSPORT_REASON_MOST bytes); the rail is to
 * be closed even so. */
bool verbs_rail_open(struct verbs_rail *rail, struct verbs_endpoint *endpoint,
                     const struct verbs_nic *nic, char *reason);

/* Makes the queues of completions and receives, if they do not exist, and posts `receives` more
 * receives, for queue pairs of `sends` more requests together. */
enum status verbs_rail_prepare(struct verbs_rail *rail, uint32_t receives, uint32_t sends);

/* About the bytes of all its queues. */
size_t verbs_rail_queue_bytes(const struct verbs_rail *rail);

/* Frees everything but what a thread that hangs in the driver still uses; its queue pairs are
 * destroyed. */
void verbs_rail_close(struct verbs_rail *rail);

/* ---- Connects queue pairs through librdmacm (connect=rdmacm). ---- */

/* Does nothing unless the option or an iWARP rail asks for librdmacm. Else listens on each open
 * rail, and sets the cm_port of each. STATUS_UNAVAILABLE: it cannot, for `reason`. */
enum status verbs_cm_open(struct verbs_endpoint *endpoint, char *reason);

/* Connects all queue pairs to these peers that are not connected yet. They are in the state INIT at
 * both ends. Blocks, and ticks. */
enum status verbs_cm_connect(struct verbs_endpoint *endpoint, const int *peers, int count);

/* iWARP: the end that connected each of these queue pairs sends the first message, and the other
 * one waits for it. Called when both know that they are connected: siw overlooks what comes before. */
enum status verbs_cm_greet(struct verbs_endpoint *endpoint, const int *peers, int count);

/* No queue pair will be connected any more: stops listening. */
void verbs_cm_settle(struct verbs_endpoint *endpoint);

/* Frees the connection of a queue pair, which is destroyed already. */
void verbs_cm_disconnect(struct verbs_pair *pair);

/* Frees the rest, once all connections are freed. */
void verbs_cm_close(struct verbs_endpoint *endpoint);

/* ---- Why this rank cannot use verbs, and what to do. ---- */

#define VERBS_NO_DEVICE                                                                            \
    "this host has no RDMA device: load the driver of its NIC (such as mlx5_ib), or use another "  \
    "transport"

/* All write one clause into `reason` (TRANSPORT_REASON_MOST bytes). */

/* The library finds no device. */
void verbs_refuse_host(char *reason);

/* The device cannot be opened: `error`, an errno. */
void verbs_refuse_device(const struct verbs_rail *rail, int error, char *reason);
/* The port is not active. */
void verbs_refuse_port(const struct verbs_rail *rail, char *reason);

/* The device creates no queue of a kind that verbs needs: `error`, an errno. */
void verbs_refuse_queue(const struct verbs_rail *rail, const char *what, int error, char *reason);

/* No NIC port is `asked`. The reason lists the ports that there are, and the nearest name. */
void verbs_refuse_name(const struct verbs_nic *nics, int count, const struct verbs_nic_name *asked,
                       char *reason);

/* The limit of locked memory leaves no room for the buffers, once for each rail, for its queues, and
 * for the slots of a peer, of all ranks of this process. False: it leaves room, as far as can be
 * known before ranks connect. */
bool verbs_refuse_memory(const struct verbs_endpoint *endpoint, char *reason);

/* The limit of locked memory, and what to do so that each rank can register `bytes`: the limit is
 * that of a process, whose ranks may be several. Returns `text`. */
#define VERBS_MEMORY_ADVICE_MOST 320
const char *verbs_memory_advice(const struct verbs_endpoint *endpoint, size_t bytes,
                                char text[VERBS_MEMORY_ADVICE_MOST]);

/* ---- The memory that NICs reach: registers it, and finds what was registered. ---- */

/* Does the driver of the NIC import dmabufs? Leaves nothing behind. */
bool verbs_imports_dmabuf(struct ibv_pd *pd);

/* Chooses how the rails, which are open, reach the regions that no CPU reads: endpoint->gdr. By the
 * option gdr, else the first way that works for all rails and all kinds of memory.
 * STATUS_UNAVAILABLE: the rank lacks what the option asks for: `reason` (TRANSPORT_REASON_MOST
 * bytes). */
enum status verbs_gdr_choose(struct verbs_endpoint *endpoint, char *reason);

bool verbs_reaches(const struct endpoint *base, const struct memory_kind *kind, char *reason);

/* Has this rank memory that no CPU reads and its NICs reach? */
static inline bool verbs_is_direct(const struct verbs_endpoint *endpoint)
{
    return endpoint->gdr == VERBS_GDR_DMABUF || endpoint->gdr == VERBS_GDR_PEERMEM;
}

/* Registers the endpoint's regions on all rails, once, unless --copy bcopy needs none. */
enum status verbs_regions_register(struct verbs_endpoint *endpoint);
void verbs_regions_deregister(struct verbs_rail *rail);

/* Registers [address, address + bytes) of host memory. NULL: it failed; the failure is recorded. */
struct ibv_mr *verbs_register(struct verbs_rail *rail, void *address, size_t bytes, int access);
/* For writes of peers that this rank polls, so without relaxed ordering. */
struct ibv_mr *verbs_register_polled(struct verbs_rail *rail, void *address, size_t bytes);

/* The registered region of this rank that holds `address`; NULL: none. */
const struct ibv_mr *verbs_region_find(const struct verbs_rail *rail, const void *address);

/* Fails if nobody can move the transfer: it lies in memory that no CPU reads, and it goes through
 * slots, or the NICs do not reach that memory. Looks at it when it begins. */
enum status verbs_unreached_fail(const struct channel *channel, const struct transfer *transfer);
static inline enum status verbs_require_reach(const struct channel *channel,
                                              const struct transfer *transfer, bool by_slots)
{
    const struct verbs_endpoint *endpoint = (const struct verbs_endpoint *)channel->endpoint;
    if (endpoint->gdr == VERBS_GDR_AUTO || transfer->issued > 0 ||
        (verbs_is_direct(endpoint) && !by_slots))
        return STATUS_OK;
    return verbs_unreached_fail(channel, transfer);
}

/* Makes the segments of the transfer that have arrived visible: once for all that came together. */
enum status verbs_flush(struct endpoint *base, const struct transfer *transfer);

/* ---- Short messages, and messages that are combined: through the receiver's slots. ---- */

/* Is there room to send a slot? If not, completions or credits may bring it. */
static inline bool verbs_slot_is_free(struct verbs_sender *out)
{
    if (out->slots_sent - out->slots_credited >= out->grants.slots)
        verbs_credits_read(out);
    return out->slots_sent - out->slots_credited < out->grants.slots &&
           verbs_pair_room(verbs_pair_of(&out->base)) > VERBS_RESERVE + 2 &&
           verbs_staging_is_free(out);
}

/* Sends `bytes` bytes of the message at `from` (at most a slot, not 0), and advances. A slot is
 * free. */
enum status verbs_slot_send(struct verbs_sender *out, struct cursor *from, size_t bytes);

/* Receiver: the next slot is the one that slots_taken says. */
static inline void verbs_slot_await(struct verbs_receiver *in)
{
    const struct verbs_lane *lane = verbs_lane_of(&in->base);
    const struct verbs_grants *grants = &lane->grants;
    in->slot = lane->block + verbs_slots_at(grants) +
               verbs_ring_at(in->slots_taken, grants->slots) * verbs_slot_stride(grants);
    in->trailer = in->slot + verbs_trailer_at(grants);
}

/* Has the next slot arrived? */
static inline bool verbs_slot_is_there(const struct verbs_receiver *in)
{
    return in->polls ? verbs_word_read(in->trailer) >> 32 == in->slots_taken + 1
                     : in->slots_arrived != in->slots_taken;
}

/* The bytes of the next slot, which has arrived: *bytes of them. NULL: no slot holds so many, or
 * none. */
static inline const char *verbs_slot_arrived(const struct verbs_receiver *in, size_t *bytes)
{
    const struct verbs_grants *grants = &verbs_lane_of(&in->base)->grants;
    *bytes = in->polls ? (uint32_t)verbs_word_read(in->trailer)
                       : in->slot_lengths[verbs_ring_at(in->slots_taken, grants->slots)];
    bool valid = *bytes > 0 && *bytes <= grants->slot_bytes;
    return valid ? in->slot + verbs_payload_at(grants, *bytes) : NULL;
}

/* The next slot is taken. There was room for its credit when it began (internal.h), and none has been
 * written since. */
static inline enum status verbs_slot_taken(struct verbs_receiver *in)
{
    in->slots_taken++;
    verbs_slot_await(in);
    return verbs_credits_return(in);
}

/* ---- What a lane waited for, and what it does while nothing moves. ---- */

/* Segments are in flight from here on, or none is any more. */
void verbs_busy_begin(struct verbs_sender *out);
void verbs_busy_end(struct verbs_sender *out);

/* A visit of a receiving channel has moved bytes, or not. */
void verbs_starve_note(struct verbs_receiver *in, bool moved);

/* transport->wait_stats and transport->idle_report. */
void verbs_wait_stats(const struct channel *base, struct wait_stats *wait_stats);
void verbs_idle_report(const struct endpoint *base, struct idle_report *idle);

/* Called now and then while nothing moves: notes which queue pairs make no progress. */
void verbs_stalls_note(struct verbs_endpoint *endpoint);

/* ---- Long messages: offers by the receiver, and segments that the sender writes into place. ---- */

/* Does the receiver let this message of the zcopy path come through slots? */
bool verbs_takes_slots(const struct channel *channel, const struct transfer *transfer);

/* Offers the memory of posted transfers, as far as the ring of offers goes, and tells the sender
 * how far limits have moved. */
enum status verbs_offers_make(struct verbs_receiver *in);

/* All of the transfer has come. */
void verbs_offers_end(struct verbs_receiver *in, const struct transfer *transfer);

/* Takes the next segment. *bytes: its length; 0: none has come. */
enum status verbs_segment_receive(struct verbs_receiver *in, struct transfer *transfer,
                                  size_t *bytes);

/* Sender: is there an offer for the next byte of the transfer, in out->offer? */
bool verbs_offer_take(struct verbs_sender *out, const struct transfer *transfer,
                      enum status *status);

/* Writes the next segment. *bytes: its length; 0: no room, or a limit. */
enum status verbs_segment_send(struct verbs_sender *out, struct transfer *transfer, size_t *bytes);

#endif
