/*
 * shm.h - what the files of the shm transport share: the format of a segment, and who is on the
 * other side of it.
 *
 * Every rank owns one segment (a memfd, so that nothing is left behind) in which its peers write:
 *
 *     header | desks, one for each rank | block | block | ...
 *
 * A desk is where two ranks arrange a connect(): the owner writes it, the peer reads it. A block
 * holds the channels from one peer, made in one connect(), and is mapped by that peer alone. A
 * channel is
 *
 *     a credit line for each ring | line cells | slot cells for short messages | for long ones
 *
 * or, where --copy ll was asked for, two regions of words in place of all cells (ll.c). A
 * region is a cell that has no first word, because all its words say where they belong.
 *
 * Another cell's first word says which number it is, how much it holds and of what kind; it is
 * written last and polled, so flag and data come in one line. Numbers grow for ever, nothing is
 * cleared. The receiver counts the cells that it is done with in the ring's credit line, which the
 * sender reads only when it knows of no free cell.
 */
#ifndef CCTEST_TRANSPORTS_SHM_SHM_H
#define CCTEST_TRANSPORTS_SHM_SHM_H

#include <stdatomic.h>
#include <sys/types.h>

#include "transport/transport.h"

#define SHM_CACHE_LINE   64
#define SHM_REGIONS_MOST 8
#define SHM_SLOT_MOST    ((size_t)1 << 29)   /* what a cell's length field can tell */
#define SHM_BCOPY_MOST   ((size_t)8 << 10)   /* of shared memory under auto; more is referred to */
#define SHM_BOUNCE_BYTES ((size_t)256 << 10) /* a call costs 2 us, and then reads 10 GB/s */

/* Which ring a message takes follows from its length: one line; one slot; more. Short messages have
 * few slots, which stay in the cache; long ones stream through many. With --copy ll all are
 * words. */
enum shm_ring_kind { SHM_LINES, SHM_SHORT, SHM_LONG, SHM_LL, SHM_RINGS };
enum shm_cell_kind { SHM_BYTES, SHM_REFERENCE };

/* Bytes of a line cell stand in `data`; those of a slot cell behind it; a reference in `data`. */
struct shm_cell {
    _Atomic uint64_t head; /* number (32 bits), length (30), kind (2) */
    char data[56];
};

/* Bytes that the sender left where they are: `times` runs of its memory. */
struct shm_reference {
    uint64_t address; /* in the sender's address space */
    uint64_t run, stride, times;
    int32_t region; /* of the sender's shared regions; -1: private memory */
};

/* The rings of a channel, as their owner made them. */
struct shm_geometry {
    uint32_t cells[SHM_RINGS], slot_bytes;
};

/* May a cell refer to memory? */
static inline bool shm_refers(enum copy_policy copy)
{
    return copy == COPY_AUTO || copy == COPY_ZCOPY;
}

struct shm_connect_slot {
    _Atomic uint32_t offered;  /* round of connect() with this peer; covers what follows */
    _Atomic uint32_t accepted; /* the same, when the owner has made the channels */
    uint64_t offset;           /* of the block in the segment */
    uint64_t address;          /* of the block in the owner's address space */
    uint32_t first_lane, lanes;
    struct shm_geometry geometry;
    uint8_t reads;              /* the owner can read the peer's private memory */
    uint8_t has_core, is_bound; /* of the owner's transport_config */
    _Atomic uint32_t ping;      /* thrown to and fro to measure how far apart the two are */
} __attribute__((aligned(SHM_CACHE_LINE)));

struct shm_header {
    uint64_t cookie;
    uint64_t segment;         /* the owner's struct shm_segment, for ranks of the same process */
    _Atomic uint32_t users;   /* ranks of the owner's process that use its mapping */
    _Atomic uint32_t closed;  /* the owner has left; its memory may go away */
    _Atomic uint32_t reading; /* 1 + the rank of its process whose memory the owner reads, or 0 */
    char room[SHM_CACHE_LINE - 28];
    struct shm_connect_slot connect_slots[];
};

/* What a rank tells the others about itself: its transport address. */
struct shm_address {
    char host[65];
    char boot[37];
    uint64_t namespace; /* of process numbers */
    uint64_t cookie;
    uint64_t private_cookie; /* address of a copy of the cookie in private memory */
    uint64_t header_bytes;
    int32_t pid, fd, region_count;
    struct {
        uint64_t base, bytes;
        int32_t fd;
    } regions[SHM_REGIONS_MOST];
};

/* A list of mapped pieces of a segment. */
struct shm_mapping {
    void *address;
    size_t bytes;
    struct shm_mapping *next;
};

struct shm_segment {
    struct shm_header *header;
    size_t header_bytes;
    int fd;
    size_t bytes; /* of the file */
    struct shm_mapping *blocks;
};

struct shm_ring {
    char *cells;
    size_t stride, payload_at, payload; /* bytes from cell to cell, to its bytes, of its bytes */
    uint32_t count;
    uint32_t index;    /* of the next cell */
    uint64_t position; /* cells sent, or taken, since ever */
    uint64_t returned; /* sender: credit that it knows of */
    _Atomic uint64_t *credit;
    struct shm_issue *issues; /* sender: one for each cell; NULL: its cells are of no interest */
    uint32_t oldest;          /* sender: the cell that comes back next */
    uint32_t epoch;           /* of words: what those of the next region bear */
    size_t at;                /* of words: bytes of the next region that were sent, or taken */
};

/* Sender: whose bytes are done when a slot cell comes back. NULL: nobody's, they were copied. */
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
    uint32_t out; /* issues with a transfer */

    size_t came; /* receiver: bytes of an eager message that came in several cells */

    /* Receiver: what is left of the cell that it is taking. */
    size_t left;
    char *bytes; /* where they are; NULL: at `source` */
    bool remote; /* `source` walks over the sender's address space, not this one */
    struct piece piece;
    struct cursor source;
};

struct shm_peer {
    int rank;
    pid_t pid;
    int pidfd; /* -1: the same process */
    bool same_process;
    bool reads, read; /* this rank can read its private memory; it can read this rank's */
    int fd;           /* its segment; -1: the same process */
    struct shm_header *header;
    size_t header_bytes;
    struct shm_mapping *blocks;
    int region_count;
    struct {
        uint64_t base, bytes;
        int fd;
        char *mapped; /* NULL: not mapped */
    } regions[SHM_REGIONS_MOST];
    bool regions_mapped;
    uint32_t round; /* of connect() */
    int lanes;
    struct shm_channel **channels[2]; /* [sends][lane] */
    unsigned look;                    /* of check(): the last one that looked at it */
    bool have_cores;                  /* both ends, each its own */
    bool is_measured;                 /* the way to it is to be: both stay on their cores */
    uint64_t line_ns;                 /* a cache line's way to its core; 0: not measured */
    bool is_far;                      /* its core shares no cache with this one */
};

/* Channels with something to do, in the order in which that was posted. */
struct shm_active {
    struct shm_channel *first, **end;
};

struct shm_endpoint {
    struct endpoint base;
    struct shm_segment *segment;
    size_t used, budget; /* bytes of the segment */
    struct shm_address address;
    uint64_t *cookie;
    struct shm_peer **peers;     /* by rank; NULL: not attached */
    struct shm_active active[2]; /* [sends] */
    unsigned look;               /* number of the last check() */
    char *bounce;                /* where private memory lands before it is combined */
    char reason[512];
};

#endif
