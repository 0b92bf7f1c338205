/*
 * internal.h - for the files of transports/shm/ alone.
 */
#ifndef CCTEST_TRANSPORTS_SHM_INTERNAL_H
#define CCTEST_TRANSPORTS_SHM_INTERNAL_H

#include <stdatomic.h>
#include <sys/types.h>

#include "base/host.h"
#include "dataplane/transport/transport.h"

/* ---- The types that the files of the shm transport share, and the format of a segment.
 *
 * Every rank owns one segment, into which its peers write. It is a memfd, so that nothing is left
 * behind.
 *
 *     header | connect slots, one for each rank | block | block | ...
 *
 * In a connect slot two ranks arrange a connect(): the owner writes it, the peer reads it. A block
 * holds the channels from one peer, made in one connect(); that peer alone maps it. A channel is
 *
 *     a credit line for each ring | line cells | slot cells for short messages | for long ones
 *
 * or, with --copy ll, two regions of words in place of all cells (ll.c). A region is a cell without
 * a head, because each of its words says where it belongs.
 *
 * The head of any other cell holds its number, the length of its bytes and its kind. It is written
 * last and polled, so flag and data arrive in one cache line. Numbers only grow, and nothing is
 * cleared. The receiver counts the cells that it has finished in the ring's credit line. The sender
 * reads that line only when it knows of no free cell.
 *
 * Every peer writes into a segment, and memory fails: whatever is read there is taken as input from
 * outside. Cells and credits are read by internal.h, references by peer.c, offers by connect.c, all
 * of which check before they hand out. What a rank wrote itself it keeps in private memory, too.
 * ---- */

#define SHM_CACHE_LINE   64
#define SHM_REGIONS_MOST 8
#define SHM_LINE_BYTES   56 /* of a message that travels in one line, beside its head */
#define SHM_SLOT_MOST    ((size_t)1 << 29) /* limit of the length field of a cell */
#define SHM_SHORT_BYTES  ((size_t)4 << 10) /* the most that a short slot holds */
#define SHM_BCOPY_MOST   ((size_t)8 << 10) /* of shared memory under auto; more goes by reference */
#define SHM_BOUNCE_BYTES ((size_t)256 << 10) /* one call costs 2 us, then reads 10 GB/s */
#define SHM_BOUNCE_ROOM  (SHM_BOUNCE_BYTES + SHM_CACHE_LINE) /* it begins within the first line */

/* The length of a message selects its ring: one line; one slot; more. Short messages have few
 * slots, which stay in the cache. Long ones stream through many. With --copy ll all take SHM_LL. */
enum shm_ring_kind { SHM_LINES, SHM_SHORT, SHM_LONG, SHM_LL, SHM_RINGS };
enum shm_cell_kind { SHM_BYTES, SHM_REFERENCE };

/* One entry of a ring. `data` holds the bytes of a line cell, or a reference. The bytes of a
 * slot cell, which is a slot of --slots, follow it. */
struct shm_cell {
    _Atomic uint64_t head; /* number (32 bits), length (30), kind (2) */
    char data[SHM_LINE_BYTES];
};

/* Bytes that the receiver reads in the memory of the sender: `times` runs. */
struct shm_reference {
    uint64_t offset; /* in the region */
    uint64_t run, stride, times;
    uint64_t region; /* the sender's, by its number in the address */
};

/* The sizes of a channel's rings. */
struct shm_geometry {
    uint32_t cells[SHM_RINGS], slot_bytes;
};

/* May a cell refer to memory? */
static inline bool shm_refers(enum copy_policy copy)
{
    return copy == COPY_AUTO || copy == COPY_ZCOPY;
}

/* A rank's offer to a peer in one connect(). */
struct shm_offer {
    uint64_t offset; /* of the block in the segment */
    uint64_t late;   /* base of the region that had none in open(); 0: there is none */
    uint32_t first_lane, lanes;
    struct shm_geometry geometry;
    uint8_t reads_peer;         /* the owner can read the private memory of the peer */
    uint8_t has_core, is_bound; /* of the owner's transport_config */
};

struct shm_connect_slot {
    _Atomic uint32_t offered;  /* round of connect() with this peer; released after the offer */
    _Atomic uint32_t accepted; /* the same round, once the owner has made the channels */
    _Atomic uint32_t ping;     /* ping-pong, to measure the latency between the two cores */
    struct shm_offer offer;
} __attribute__((aligned(SHM_CACHE_LINE)));

/* Values of a header's `closed`. No flip of one bit makes one of them the other. */
#define SHM_OPEN   0u
#define SHM_CLOSED 0xc105edu /* the owner leaves the job; its memory may go away */

struct shm_header {
    uint64_t cookie;
    _Atomic uint32_t closed;
    char room[SHM_CACHE_LINE - 12];
    struct shm_connect_slot connect_slots[];
};

/* The transport address of a rank. */
struct shm_address {
    struct host_id host;
    uint64_t namespace; /* of process ids (inode) */
    uint64_t cookie;
    uint64_t private_cookie; /* where private memory holds a copy of the cookie */
    uint64_t header_bytes;
    int32_t pid, fd, region_count;
    struct {
        uint64_t base; /* in the owner's address space; 0: it gets one later */
        uint64_t bytes;
        int32_t fd; /* -1: private memory */
    } regions[SHM_REGIONS_MOST];
};

/* A list of the mapped blocks of a segment. */
struct shm_mapping {
    void *address;
    size_t bytes;
    struct shm_mapping *next;
};

/* A segment, in private memory of the owner's process. Nothing here comes from the segment's own
 * memory, into which every peer writes. Ranks that are threads of that process share it. */
struct shm_segment {
    struct shm_header *header;
    size_t header_bytes;
    uint64_t cookie;
    int fd;
    size_t bytes; /* of the file */
    struct shm_mapping *blocks;
    struct shm_block *offered; /* by peer: the newest block, as its connect slot has it */
    _Atomic uint32_t reading;  /* 1 + the rank of this process whose memory the owner reads now; 0:
                                  none */
    int users;                 /* ranks of this process that use it */
    struct shm_segment *next;  /* of this process */
};

/* An offer, and what it says of memory that this process maps. */
struct shm_block {
    struct shm_offer offer;
    char *base;
    size_t late_bytes; /* of the region that had no base in open() */
};

struct shm_ring {
    char *cells;
    size_t stride, payload_at, payload; /* bytes: from cell to cell; to the payload; of it */
    uint32_t count;
    uint32_t index;    /* of the next cell */
    uint64_t position; /* cells sent, or taken, in all */
    uint64_t returned; /* sender: the credit when last read */
    _Atomic uint64_t *credit;
    struct shm_issue *issues; /* sender: one for each cell; NULL: cells are never outstanding */
    uint32_t oldest;          /* sender: the cell that returns next */
    uint32_t epoch;           /* ll: the epoch of the next word */
    size_t at;                /* ll: bytes of the region that were sent, or taken */
};

/* Sender: `bytes` of `transfer` are done when the slot cell returns. NULL: they were done when they
 * were copied. */
struct shm_issue {
    struct transfer *transfer;
    size_t bytes;
};

struct shm_channel {
    struct channel base;
    struct shm_peer *peer;
    struct shm_channel *next_active;
    bool is_active;
    struct shm_ring rings[SHM_RINGS];

    /* Sender. */
    uint32_t outstanding; /* issues with a transfer */

    size_t arrived; /* receiver: bytes of an eager message that arrives in several cells */

    /* Receiver: the rest of the cell that it is taking. */
    size_t left;
    char *bytes; /* where they lie; NULL: at `source` */
    bool remote; /* `source` holds addresses of the sender's process, not of this one */
    struct piece piece;
    struct cursor source;
};

/* How far apart the cores of two ranks are, from the first connect() on. */
enum shm_distance {
    SHM_UNKNOWN,    /* not connected */
    SHM_UNMEASURED, /* both stay on cores of their own: connect() measures it */
    SHM_UNBOUND,    /* not bound to cores: treated as near */
    SHM_NEAR,
    SHM_FAR,      /* they share no cache */
    SHM_CORELESS, /* an end has no core of its own: treated as far */
};

static inline bool shm_is_far(enum shm_distance distance)
{
    return distance >= SHM_FAR;
}

struct shm_peer {
    int rank;
    pid_t pid;
    int pidfd; /* -1: the same process */
    bool same_process;
    bool we_read, it_reads; /* the other's private memory */
    int fd;                 /* its segment; -1: the same process */
    struct shm_segment
        *segment; /* of a rank of the same process, which owns the header; else NULL */
    struct shm_header *header;
    size_t header_bytes;
    struct shm_mapping *blocks;
    int region_count;
    struct {
        uint64_t base; /* in its address space; 0: not yet known */
        uint64_t bytes;
        int fd;       /* -1: private memory */
        char *mapped; /* NULL: not mapped */
    } regions[SHM_REGIONS_MOST];
    bool regions_mapped;
    uint32_t round; /* of connect() */
    int lanes;
    struct shm_channel **channels[2]; /* [sends][lane] */
    unsigned check;                   /* number of the last check() that looked at it */
    enum shm_distance distance;
    uint64_t line_ns; /* latency of a cache line between the two; 0: not measured */
};

/* Active channels, in the order of activation. */
struct shm_active {
    struct shm_channel *first, **end;
};

struct shm_endpoint {
    struct endpoint base;
    struct shm_segment *segment;
    size_t used, budget; /* bytes of the segment */
    struct shm_address address;
    int late; /* number of the region that had no base in open(); -1: each had one */
    const struct region *late_region;
    uint64_t *cookie;
    struct shm_peer **peers;     /* by rank; NULL: not attached */
    struct shm_active active[2]; /* [sends] */
    unsigned check;              /* number of the last check() */
    char *bounce;                /* lands private memory that is to be combined, or copied on */
    char reason[512];
};

/* ---- The data path of shared memory. ---- */

/* Moves what its transfers can move now, up to one turn; none need be posted. */
enum status shm_channel_progress(struct shm_channel *channel);
/* No transfer is posted and none is outstanding. */
bool shm_channel_is_idle(const struct shm_channel *channel);

/* *room: is a cell free to be sent? Fails if the receiver's credit cannot be. */
enum status shm_find_room(struct shm_channel *channel, enum shm_ring_kind kind, bool *room);

/* Copies bytes into a slot: past the cache if the peer is far, because to fetch each line out of
 * the other core's cache would take several times as long. */
void shm_gather(const struct shm_channel *channel, struct cursor *from, char *slot, size_t bytes);

/* ---- Makes the channels between this rank and its peers. ---- */

/* transport->connect. */
enum status shm_connect(struct endpoint *base, const int *peers, int count, int lanes);

/* Frees the channels to and from the peer. Nothing may use them any more. */
void shm_disconnect(struct shm_peer *peer);

/* ---- Short messages, each whole in one cell. ---- */

/* transport->eager_most and transport->eager_move. */
size_t shm_eager_most(const struct channel *base);
enum status shm_eager_move(struct channel *base, const struct transfer *transfer, bool *moved);

/* ---- The sizes of the rings of a channel. ---- */

/* The sizes that the user set, and for the others as much as `channels` of them may have in `room`
 * bytes. Fails if the host has too little memory for them. */
enum status shm_geometry_choose(const struct transport_config *config, size_t channels, size_t room,
                                struct shm_geometry *geometry);

/* Bytes that a cell of a ring holds, and bytes from cell to cell. */
size_t shm_payload(enum shm_ring_kind kind, const struct shm_geometry *geometry);
size_t shm_cell_stride(enum shm_ring_kind kind, const struct shm_geometry *geometry);

size_t shm_geometry_bytes(const struct shm_geometry *geometry); /* of one channel */
size_t shm_block_bytes(const struct shm_geometry *geometry, int lanes);

/* Is what a peer offers possible under this policy, and in a segment of so many bytes? */
bool shm_offer_fits(const struct shm_offer *offer, enum copy_policy copy, uint64_t segment_bytes);

/* ---- The ring of --copy ll, whose words each carry their own flag. ---- */

/* Sets the next epoch (2 or more; 0: the first) of an idle ring. Both ends must do so. */
void shm_ll_reset(struct shm_ring *ring, uint32_t epoch);
/* Goes to the next region if a message of `length` bytes begins and does not fit into this one. May
 * be called again before the message has begun. */
void shm_ll_begin(struct shm_ring *ring, size_t length, bool sends);
/* How many bytes shm_ll_put() takes now, of `left` that the message has left, of which `allowed`
 * may be sent. */
size_t shm_ll_room(const struct shm_ring *ring, size_t left, size_t allowed);
/* Sends that many; the ring must have room. `ends`: they are the last of the message. */
void shm_ll_put(struct shm_ring *ring, struct cursor *from, size_t bytes, bool ends);
/* How many of the next `most` bytes of a message have arrived in this region. */
size_t shm_ll_arrived(const struct shm_ring *ring, size_t most);
/* Has all of a message arrived, which lies in this region? Reads the last word first, since to read
 * a line that is being written takes it away from the writer. */
bool shm_ll_is_complete(const struct shm_ring *ring, size_t bytes);
/* Places or combines that many bytes (whole elements). Returns how many were copied before. */
size_t shm_ll_take(struct shm_ring *ring, const struct transfer *transfer, struct cursor *to,
                   struct cursor *with, size_t bytes, bool ends);

/* ---- Another rank of this node: whether it is reachable and alive. ---- */

/* Fills in the endpoint's address. */
void shm_address_fill(struct shm_endpoint *endpoint);
/* Makes *peer if `rank`, at `address`, can be reached. Returns NULL, or the reason why not: static,
 * or in endpoint->reason. */
const char *shm_peer_attach(struct shm_endpoint *endpoint, int rank,
                            const struct shm_address *address, struct shm_peer **peer);
/* Maps the regions of the peer that lie in shared memory. Does nothing the second time. */
enum status shm_peer_map_regions(struct shm_peer *peer);
/* Checks a reference that the peer has written, and finds the bytes. *remote: they lie in the
 * peer's address space, not in this one. False: it leads outside of the peer's regions. */
bool shm_peer_find(const struct shm_peer *peer, const struct shm_reference *reference,
                   struct piece *piece, bool *remote);
/* Fails, and names the peer, if it has died or left the job. */
enum status shm_peer_check(const struct shm_peer *peer);
/* Fails: the peer has died, or its header's `closed` had this value, not SHM_OPEN. */
enum status shm_fail_gone(const struct shm_peer *peer, uint32_t closed);
void shm_peer_drop(struct shm_peer *peer);

/* ---- Which bytes of a message go by reference, and so its path. ---- */

/* The number of bytes, of the next `most` of a transfer, to which a cell refers; 0: it holds bytes
 * itself. */
size_t shm_refer(const struct shm_channel *channel, const struct transfer *transfer, size_t most,
                 struct shm_reference *reference);

/* As the hook of struct transport. */
enum path shm_path_of(const struct path_query *query);

/* ---- Steps along the rings of a channel, whose cells are lines, slots or (ll.c) words. Posted
 * messages (channel.c) and eager ones (eager.c) share them.
 *
 * Heads and credits are read here alone, and checked: no other number than a rank would have
 * written leaves these functions.
 * ---- */

static inline uint64_t shm_head(uint64_t position, size_t length, enum shm_cell_kind kind)
{
    return position << 32 | (uint64_t)length << 2 | (uint64_t)kind;
}

static inline struct shm_cell *shm_ring_cell(const struct shm_ring *ring)
{
    return (struct shm_cell *)(void *)(ring->cells + ring->index * ring->stride);
}

static inline void shm_ring_next(struct shm_ring *ring)
{
    ring->position++;
    if (++ring->index == ring->count)
        ring->index = 0;
}

/* The state in which a receiver finds its next cell. */
enum shm_arrival { SHM_ABSENT, SHM_ARRIVED, SHM_GARBAGE };

/* *bytes: what an arrived cell holds, or refers to: whole elements. `expected`: most often that
 * much; it saves a division. A cell that has not arrived has the number of the round before. */
static inline enum shm_arrival shm_ring_look(const struct shm_ring *ring, size_t element,
                                             size_t expected, size_t *bytes,
                                             enum shm_cell_kind *kind)
{
    uint64_t head = atomic_load_explicit(&shm_ring_cell(ring)->head, memory_order_acquire);
    uint32_t number = (uint32_t)(head >> 32), next = (uint32_t)ring->position + 1;
    if (number != next)
        return number == (ring->position < ring->count ? 0 : next - ring->count) ? SHM_ABSENT
                                                                                 : SHM_GARBAGE;
    *bytes = (uint32_t)head >> 2;
    *kind = (enum shm_cell_kind)(head & 3);
    bool holds = *kind == SHM_BYTES && *bytes <= ring->payload;
    return (holds || *kind == SHM_REFERENCE) && *bytes > 0 &&
                   (*bytes == expected || (uint32_t)*bytes % (uint32_t)element == 0)
               ? SHM_ARRIVED
               : SHM_GARBAGE;
}

/* *credit: how many cells the receiver has returned in all. False: more than were sent, or fewer
 * than it had returned before. */
static inline bool shm_ring_credit(const struct shm_ring *ring, uint64_t *credit)
{
    *credit = atomic_load_explicit(ring->credit, memory_order_acquire);
    return *credit - ring->returned <= ring->position - ring->returned;
}

/* The receiver has finished the cell before: returns it to the sender. */
static inline void shm_ring_return(struct shm_ring *ring)
{
    atomic_store_explicit(ring->credit, ring->position, memory_order_release);
}

/* `bytes`, but at most `most`; if it has to cut, it cuts at whole elements. */
static inline size_t shm_cut(size_t bytes, size_t most, size_t element)
{
    return bytes <= most ? bytes : most - most % element;
}

/* The path of bytes that go in the cells of this ring. */
static inline enum path shm_ring_path(enum shm_ring_kind kind)
{
    return kind == SHM_LINES ? PATH_LINE : kind == SHM_LL ? PATH_LL : PATH_BCOPY;
}

static inline enum shm_ring_kind shm_ring_of(const struct shm_channel *channel, size_t length)
{
    bool tiny = length <= sizeof(((struct shm_cell *)0)->data);
    enum copy_policy copy = channel->base.endpoint->config.copy;
    if (copy == COPY_LL)
        return SHM_LL;
    if (tiny && copy == COPY_AUTO)
        return SHM_LINES;
    return length <= channel->rings[SHM_SHORT].payload ? SHM_SHORT : SHM_LONG;
}

/* ---- The memfd that one rank owns and its peers write into. ---- */

/* Creates a segment with a header and `ranks` connect slots. */
enum status shm_segment_create(int ranks, uint64_t cookie, struct shm_segment **segment);
/* Appends a block of `bytes` bytes (whole pages), mapped, its memory allocated. */
enum status shm_segment_grow(struct shm_segment *segment, size_t bytes, void **block,
                             uint64_t *offset);
/* The segment of this process with this cookie, for one more use; NULL: there is none. */
struct shm_segment *shm_segment_share(uint64_t cookie);
/* Gives up one use. The last one of this process unmaps and frees it. */
void shm_segment_drop(struct shm_segment *segment);
/* Adds a mapping to the list, which then owns it. */
enum status shm_mapping_add(struct shm_mapping **list, void *address, size_t bytes);
/* Unmaps all. */
void shm_mappings_drop(struct shm_mapping **list);

#endif
