/*
 * verbs.h - the types that the files of the verbs transport share, and the protocol.
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
 * entry for each that may be outstanding. Entries are posted again in batches: the queue has as
 * many entries more as may wait for that.
 */
#ifndef CCTEST_TRANSPORTS_VERBS_VERBS_H
#define CCTEST_TRANSPORTS_VERBS_VERBS_H

#include <infiniband/verbs.h>
#include <stddef.h>

#include "transports/verbs/facts.h"

#define VERBS_RAIL_PAIRS_MOST 56 /* least common multiple of two numbers of rails */
#define VERBS_PATHS_MOST      16 /* queue pairs of a lane */
#define VERBS_NAME_MOST       24 /* "mlx5_0:1" */
#define VERBS_HOST_MOST       64
#define VERBS_OTHERS_MOST     3  /* addresses of a port beside the first */
#define VERBS_GATHER_MOST     16 /* pieces of one WRITE */
#define VERBS_RECEIVE_BATCH   16 /* posted in one call */
#define VERBS_CREDITS         64 /* bytes of the credit line: VERBS_WORDS words */
/* Work requests of a queue pair, if there are few and room is enough. */
#define VERBS_DEPTH 256

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

/* The effect of a work request's completion. */
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

#endif
