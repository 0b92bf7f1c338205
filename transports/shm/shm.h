/*
 * shm.h - the types that the files of the shm transport share, and the format of a segment.
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
 * outside. Cells and credits are read by ring.h, references by peer.c, offers by connect.c, all of
 * which check before they hand out. What a rank wrote itself it keeps in private memory, too.
 */
#ifndef CCTEST_TRANSPORTS_SHM_SHM_H
#define CCTEST_TRANSPORTS_SHM_SHM_H

#include <stdatomic.h>
#include <sys/types.h>

#include "base/host.h"
#include "dataplane/transport/transport.h"

#define SHM_CACHE_LINE   64
#define SHM_REGIONS_MOST 8
#define SHM_LINE_BYTES   56 /* of a message that travels in one line, beside its head */
#define SHM_SLOT_MOST    ((size_t)1 << 29) /* limit of the length field of a cell */
#define SHM_SHORT_BYTES  ((size_t)4 << 10) /* the most that a short slot holds */
#define SHM_BCOPY_MOST   ((size_t)8 << 10) /* of shared memory under auto; more goes by reference */
#define SHM_BOUNCE_BYTES ((size_t)256 << 10) /* one call costs 2 us, then reads 10 GB/s */
#define SHM_BOUNCE_ROOM  (SHM_BOUNCE_BYTES + SHM_CACHE_LINE) /* it begins anywhere in the first line */

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

/* What a rank offers a peer in one connect(). */
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

#endif
