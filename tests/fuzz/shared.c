/*
 * shared.c - what a hostile peer, or failing memory, writes where ranks of a host meet: the rings,
 * credits and connect slots of shm, and the flags of the start barrier.
 *
 * Input: options, then steps. Rank 0 is the program's; all that rank 1 would write comes from the
 * input. Whatever it is, rank 0 touches no byte outside of its memory and of what rank 1 lends, and
 * each of its calls returns.
 */
#include <stddef.h>
#include <unistd.h>

#include "base/log.h"
#include "run/run.h"
#include "transports/shm/internal.h"
#include "transports/transports.h"
#include "fuzz.h"

#define BYTES     ((size_t)64 << 10) /* of each region */
#define SLOT      256
#define TRANSFERS 8
#define STEPS     64

/* The options' bits: two of the copy policy, then these. */
enum { FOREIGN = 4, SHARES = 8, WIDE = 16, INVENTS = 32, MEETS = 64 };

static struct {
    struct endpoint *ends[2];
    struct region regions[2][3]; /* of each rank: private, shared, and one that comes later */
    struct shm_channel *channels[2];
    struct transfer transfers[TRANSFERS];
    struct piece pieces[TRANSFERS];
    int posted, turns;
    size_t element;
    bool shares;
    struct moved_list moved;
} world;

/* The job is late after a few turns of a wait. */
static enum tick_answer world_tick(void *argument, int peer)
{
    (void)argument;
    return peer == TICK_WORKED ? TICK_GO_ON : ++world.turns > 3 ? TICK_LATE : TICK_GO_ON;
}

static const struct tick tick = {.call = world_tick};

static void world_regions(int rank)
{
    struct region *regions = world.regions[rank];
    const struct memory_kind *host = memory_find("host"), *shared = memory_find("shared");
    regions[0] = (struct region){.kind = host, .bytes = BYTES, .fd = -1};
    regions[0].base = calloc(1, BYTES); /* of the exact size, so that sanitizers watch its ends */
    require(regions[0].base);
    require(shared->allocate(BYTES, NULL, &regions[1]) == STATUS_OK);
    regions[2] = (struct region){.kind = host, .bytes = BYTES, .fd = -1};
}

/* Rank 1 seems to be of another process, though it is of this one. */
static void peer_estrange(struct shm_peer *peer)
{
    peer->same_process = false;
    peer->fd = dup(peer->segment->fd);
    require(peer->fd >= 0);
}

static struct shm_endpoint *end_of(int rank)
{
    return (struct shm_endpoint *)world.ends[rank];
}

/* An offer of rank 1: one that a rank would make, with changes, or one that the input invents. */
static void peer_offer(struct reader *input, unsigned options)
{
    struct shm_segment *segment = end_of(1)->segment;
    struct shm_connect_slot *slot = &segment->header->connect_slots[0];
    struct shm_block *block = &segment->offered[0];
    void *base;
    block->late_bytes = BYTES;
    block->offer = (struct shm_offer){.lanes = 1,
                                      .geometry = {.cells = {4, 2, 2}, .slot_bytes = 256},
                                      .reads_peer = 1,
                                      .late = (uintptr_t)world.regions[1][0].base};
    if (options % 4 == COPY_LL)
        block->offer.geometry = (struct shm_geometry){.cells = {[SHM_LL] = 2}, .slot_bytes = 256};
    world.regions[1][2].base = world.regions[1][0].base;
    require(shm_segment_grow(segment, 16 << 10, &base, &block->offer.offset) == STATUS_OK);
    block->base = base;
    slot->offer = block->offer;
    atomic_store(&slot->offered, 1);
    atomic_store(&slot->accepted, 1);
    if (options & INVENTS) {
        unsigned at = input_u8(input) % sizeof *slot, count = input_u8(input) % 8;
        for (unsigned i = 0; i < count && at + i < sizeof *slot; i++)
            ((char *)slot)[at + i] = (char)input_u8(input);
    }
}

/* False: rank 0 takes no such peer. */
static bool world_open(struct reader *input, unsigned options)
{
    static const int peer = 1;
    char reason[TRANSPORT_REASON_MOST];
    memset(&world, 0, sizeof world);
    world.element = options & WIDE ? 8 : 1;
    world.shares = options & SHARES;
    for (int rank = 0; rank < 2; rank++) {
        world_regions(rank);
        const struct transport_config config = {.rank = rank,
                                                .ranks = 2,
                                                .local_ranks = 2,
                                                .copy = (enum copy_policy)(options % 4),
                                                .slots = 2,
                                                .slot_bytes = SLOT,
                                                .regions = world.regions[rank],
                                                .region_count = 3,
                                                .timeout = 1,
                                                .tick = &tick};
        require(transport_shm.open(&config, &world.ends[rank], reason) == STATUS_OK);
    }
    struct shm_address address;
    transport_shm.address(world.ends[1], &address);
    require(!transport_shm.attach(world.ends[0], 1, &address, sizeof address));
    if (options & FOREIGN)
        peer_estrange(end_of(0)->peers[1]);
    peer_offer(input, options);
    if (transport_shm.connect(world.ends[0], &peer, 1, 1) != STATUS_OK)
        return false;
    for (int sends = 0; sends < 2; sends++)
        world.channels[sends] =
            (struct shm_channel *)transport_shm.channel(world.ends[0], 1, 0, sends);
    return true;
}

static void world_close(void)
{
    for (int rank = 0; rank < 2; rank++)
        transport_shm.close(world.ends[rank]);
    for (int rank = 0; rank < 2; rank++) {
        free(world.regions[rank][0].base);
        world.regions[rank][1].kind->release(&world.regions[rank][1]);
    }
}

static void add_bytes(void *to, const void *a, const void *b, size_t count)
{
    unsigned char *sum = to;
    const unsigned char *left = a, *right = b;
    for (size_t i = 0; i < count * world.element; i++)
        sum[i] = (unsigned char)(left[i] + right[i]);
}

/* A transfer of rank 0, somewhere in one of its regions. */
static struct transfer *transfer_make(struct reader *input, bool sends)
{
    struct transfer *transfer = &world.transfers[world.posted];
    struct piece *piece = &world.pieces[world.posted];
    unsigned words = input_u16(input) + 1u, where = input_u8(input);
    size_t length = words * world.element % (BYTES / 2) + world.element;
    const struct region *region = &world.regions[0][world.shares];
    *piece = (struct piece){.base = region->base + (where % 2 ? BYTES - length : 0),
                            .run = length,
                            .stride = length,
                            .times = 1};
    const struct layout layout = {.pieces = piece, .count = 1};
    bool combines = !sends && where & 2;
    *transfer = (struct transfer){.kind = sends      ? TRANSFER_SEND
                                          : combines ? TRANSFER_RECV_REDUCE
                                                     : TRANSFER_RECV,
                                  .to = layout,
                                  .from = layout,
                                  .with = layout,
                                  .reduce = add_bytes,
                                  .element = world.element,
                                  .length = length,
                                  .grain = length,
                                  .limit = length,
                                  .moved = &world.moved};
    return transfer;
}

static enum status step_post(struct reader *input, bool sends)
{
    if (world.posted == TRANSFERS)
        return STATUS_OK;
    struct transfer *transfer = transfer_make(input, sends);
    world.posted++;
    channel_post(&world.channels[sends]->base, transfer);
    transport_shm.activate(&world.channels[sends]->base);
    return STATUS_OK;
}

/* An eager message, if the channel is idle, as the executor asks for it. */
static enum status step_move(struct reader *input, bool sends)
{
    struct channel *channel = &world.channels[sends]->base;
    if (world.posted == TRANSFERS || channel->first)
        return STATUS_OK;
    struct transfer *transfer = transfer_make(input, sends);
    size_t most = transport_shm.eager_most(channel);
    if (transfer->length > most)
        return STATUS_OK;
    bool moved;
    return transport_shm.eager_move(channel, transfer, &moved);
}

static struct shm_ring *input_ring(struct reader *input, bool sends)
{
    return &world.channels[sends]->rings[input_u8(input) % SHM_RINGS];
}

/* The next cell, with its right number or another one. */
static void step_head(struct reader *input)
{
    const struct shm_ring *ring = input_ring(input, false);
    uint32_t number = (uint32_t)(ring->position + 1), off = input_u8(input);
    uint32_t length = input_u16(input), kind = input_u8(input);
    if (ring->count == 0 || ring->payload_at == 0)
        return;
    struct shm_cell *cell = (struct shm_cell *)(void *)(ring->cells + ring->index * ring->stride);
    atomic_store(&cell->head, (uint64_t)(number + (off > 200 ? off - 200 : 0)) << 32 |
                                  (uint64_t)(length & 0xffff) << (kind & 0x40 ? 15 : 2) |
                                  (kind & 3));
}

/* A reference in the next cell: small numbers, and some that are huge. */
static void step_reference(struct reader *input)
{
    const struct shm_ring *ring = input_ring(input, false);
    uint64_t words[5];
    unsigned huge = input_u8(input);
    for (int i = 0; i < 5; i++)
        words[i] = i == 4 ? input_u8(input) : input_u16(input);
    if (huge % 8 < 5)
        words[huge % 8] <<= huge / 8 * 2;
    struct shm_reference reference = {.offset = words[0],
                                      .run = words[1],
                                      .stride = words[2],
                                      .times = words[3],
                                      .region = words[4]};
    if (ring->count > 0 && ring->payload_at > 0)
        memcpy(((struct shm_cell *)(void *)(ring->cells + ring->index * ring->stride))->data,
               &reference, sizeof reference);
}

static void step_credit(struct reader *input)
{
    const struct shm_ring *ring = input_ring(input, true);
    unsigned by = input_u8(input), huge = input_u8(input);
    atomic_store(ring->credit, (ring->returned + by) << (huge > 128 ? huge % 64 : 0));
}

/* Any bytes, anywhere in the blocks and the headers. */
static void step_write(struct reader *input)
{
    unsigned where = input_u8(input), at = input_u16(input) % (16 << 10), count = input_u8(input);
    char *bases[] = {(char *)end_of(0)->segment->header, (char *)end_of(1)->segment->header,
                     end_of(0)->segment->offered[1].base, end_of(1)->segment->offered[0].base};
    size_t limit = where % 4 < 3 ? 4096 : 16 << 10;
    for (unsigned i = 0; i < count; i++)
        bases[where % 4][(at + i) % limit] = (char)input_u8(input);
}

/* Bytes that rank 0 has taken out of lines and slots; none holds more than a slot. */
static uint64_t taken_bytes(void)
{
    const struct traffic *traffic = &world.ends[0]->traffic;
    return traffic->received[PATH_LINE] + traffic->received[PATH_BCOPY];
}

static uint64_t taken_cells(void)
{
    uint64_t cells = 0;
    for (int kind = 0; kind < SHM_RINGS; kind++)
        cells += world.channels[false]->rings[kind].position;
    return cells;
}

/* Positions and bytes that a channel has taken from shared memory lie where they may. */
static void channel_require(const struct shm_channel *channel)
{
    for (int kind = 0; kind < SHM_RINGS; kind++) {
        const struct shm_ring *ring = &channel->rings[kind];
        require(ring->count == 0 || ring->index < ring->count);
        require(!channel->base.sends || ring->returned <= ring->position);
        require(!channel->base.sends || ring->position - ring->returned <= ring->count);
    }
    if (channel->base.sends || channel->left == 0)
        return;
    require(channel->left % world.element == 0);
    if (!channel->bytes) {
        require(channel->left <= SHM_SLOT_MOST);
        return;
    }
    bool within = false;
    for (int kind = 0; kind < SHM_RINGS; kind++) {
        const struct shm_ring *ring = &channel->rings[kind];
        const char *cell = ring->cells + ring->index * ring->stride;
        within |= ring->count > 0 && channel->bytes >= cell &&
                  channel->bytes + channel->left <= cell + ring->stride;
    }
    require(within);
}

static enum status step(struct reader *input)
{
    unsigned kind = input_u8(input);
    switch (kind % 8) {
    case 0:
    case 1:
        return step_post(input, kind % 8);
    case 2:
        return step_move(input, kind & 8);
    case 3:
        step_head(input);
        return STATUS_OK;
    case 4:
        step_reference(input);
        return STATUS_OK;
    case 5:
        step_credit(input);
        return STATUS_OK;
    case 6:
        step_write(input);
        return STATUS_OK;
    default:
        return transport_shm.progress(world.ends[0]);
    }
}

static void try_rings(struct reader *input, unsigned options)
{
    struct log log;
    log_init(&log, 0, 0);
    log_attach(&log);
    enum status status = world_open(input, options) ? STATUS_OK : STATUS_ERROR;
    for (int i = 0; i < STEPS && input->left > 0 && status == STATUS_OK; i++) {
        uint64_t bytes = taken_bytes(), cells = taken_cells();
        status = step(input);
        require(taken_bytes() - bytes <= (taken_cells() - cells + 1) * SLOT);
        for (int t = 0; t < world.posted; t++)
            require(world.transfers[t].issued % world.element == 0);
        for (int sends = 0; sends < 2 && status == STATUS_OK; sends++)
            channel_require(world.channels[sends]);
    }
    require(status == STATUS_OK || log.failure.text[0]); /* no error without a sentence */
    world_close();
    log_attach(NULL);
}

/* Rank 0 of some meets others whose flags the input writes. */
static void try_barrier(struct reader *input)
{
    int ranks = (int)(input_u8(input) % 40) + 1, rank = (int)input_u8(input) % ranks;
    size_t bytes = node_barrier_bytes(ranks);
    char *memory = aligned_alloc(128, bytes);
    require(memory);
    memset(memory, 0, bytes);
    struct node_barrier barrier;
    node_barrier_open(&barrier, memory, rank, ranks);
    node_barrier_arrive(&barrier);
    for (int i = 0; i < STEPS && input->left > 0; i++) {
        unsigned kind = input_u8(input), place = input_u16(input);
        uint32_t value = kind & 8 ? input_u16(input) << 16 : barrier.meeting + input_u8(input) - 4;
        size_t flag = kind & 16 ? (size_t)(barrier.round * ranks + rank) : place;
        memcpy(memory + flag * 128 % bytes, &value, sizeof value);
        bool waits = barrier.round < barrier.rounds;
        uint32_t raised;
        memcpy(&raised, memory + (size_t)(barrier.round * ranks + rank) * 128 % bytes,
               sizeof raised);
        uint32_t ahead = raised - barrier.meeting;
        int round = barrier.round;
        require(!waits || node_barrier_is_sound(&barrier) == (ahead + 1 <= 2));
        bool passed = node_barrier_passed(&barrier);
        require(!waits || ahead <= 1 || (!passed && barrier.round == round));
        require(barrier.round >= round && barrier.round <= barrier.rounds);
        require(passed ||
                (node_barrier_awaited(&barrier) >= 0 && node_barrier_awaited(&barrier) < ranks &&
                 node_barrier_awaited(&barrier) != rank));
        if (passed)
            node_barrier_arrive(&barrier);
    }
    free(memory);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct reader input = {.at = data, .left = size};
    unsigned options = input_u8(&input);
    if (options & MEETS)
        try_barrier(&input);
    else
        try_rings(&input, options);
    return 0;
}

/* A seed is its options and its steps. */
#define SEED(name, ...)                                                                            \
    do {                                                                                           \
        const unsigned char steps[] = {__VA_ARGS__};                                               \
        fuzz_seed(name, steps, sizeof steps);                                                      \
    } while (0)

#define POST_RECV(length)        0, (length)-1, 0, 1
#define POST_ADD(length)         0, (length)-1, 0, 3
#define POST_SEND(length)        1, (length)-1, 0, 1
#define MOVE_RECV(length)        2, (length)-1, 0, 1
#define MOVE_SEND(length)        10, (length)-1, 0, 1
#define HEAD(ring, length, kind) 3, ring, 0, length, 0, kind
#define HEAD_FAR(ring, length)   3, ring, 201, length, 0, SHM_BYTES
#define REFERENCE(ring, offset, run, stride, times, region)                                        \
    4, ring, 7, offset, 0, run, 0, stride, 0, times, 0, region
#define REFERENCE_HUGE(ring, which, bits, offset, run, stride, times, region)                      \
    4, ring, (which) + (bits) / 2 * 8, offset, 0, run, 0, stride, 0, times, 0, region
#define CREDIT(ring, by)      5, ring, by, 0
#define CREDIT_HUGE(ring, by) 5, ring, by, 190
#define GO                    7

void fuzz_seeds(void)
{
    SEED("line", COPY_AUTO, POST_RECV(7), HEAD(SHM_LINES, 8, SHM_BYTES), GO);
    SEED("line-eager", COPY_AUTO, MOVE_RECV(7), HEAD(SHM_LINES, 8, SHM_BYTES), MOVE_RECV(7));
    SEED("line-long", COPY_AUTO, POST_RECV(7), HEAD(SHM_LINES, 200, SHM_BYTES), GO);
    SEED("line-number", COPY_AUTO, POST_RECV(7), HEAD_FAR(SHM_LINES, 8), GO);
    SEED("line-none", COPY_AUTO, POST_RECV(7), HEAD(SHM_LINES, 0, SHM_BYTES), GO, GO);
    SEED("line-part", WIDE, POST_ADD(5), HEAD(SHM_LINES, 3, SHM_BYTES), GO);
    SEED("slot", COPY_BCOPY, POST_ADD(100), HEAD(SHM_SHORT, 101, SHM_BYTES), GO);
    SEED("slot-kind", COPY_BCOPY, POST_RECV(100), HEAD(SHM_SHORT, 101, 3), GO);
    SEED("slot-reference", COPY_BCOPY, POST_RECV(100), REFERENCE(SHM_SHORT, 0, 101, 0, 1, 0),
         HEAD(SHM_SHORT, 101, SHM_REFERENCE), GO);
    SEED("slot-eager-reference", COPY_AUTO, REFERENCE(SHM_SHORT, 0, 101, 0, 1, 0),
         HEAD(SHM_SHORT, 101, SHM_REFERENCE), MOVE_RECV(100));
    SEED("slot-long", COPY_AUTO, 0, 255, 3, 1, 3, SHM_LONG, 0, 0xff, 3, SHM_BYTES, GO);
    for (int from = 0; from < 2; from++) {
        const unsigned char options = COPY_ZCOPY | (from ? FOREIGN : 0);
        SEED(from ? "foreign" : "own", options, POST_RECV(100),
             REFERENCE(SHM_SHORT, 5, 101, 101, 1, 0), HEAD(SHM_SHORT, 101, SHM_REFERENCE), GO);
        SEED(from ? "foreign-shared" : "own-shared", options, POST_ADD(100),
             REFERENCE(SHM_SHORT, 5, 101, 101, 1, 1), HEAD(SHM_SHORT, 101, SHM_REFERENCE), GO);
        SEED(from ? "foreign-late" : "own-late", options, POST_ADD(100),
             REFERENCE(SHM_SHORT, 5, 101, 101, 1, 2), HEAD(SHM_SHORT, 101, SHM_REFERENCE), GO);
        SEED(from ? "foreign-region" : "own-region", options, POST_RECV(100),
             REFERENCE(SHM_SHORT, 5, 101, 101, 1, 77), HEAD(SHM_SHORT, 101, SHM_REFERENCE), GO);
        SEED(from ? "foreign-offset" : "own-offset", options, POST_RECV(100),
             REFERENCE_HUGE(SHM_SHORT, 0, 16, 1, 101, 101, 1, 0),
             HEAD(SHM_SHORT, 101, SHM_REFERENCE), GO);
        SEED(from ? "foreign-stride" : "own-stride", options, POST_RECV(100),
             REFERENCE_HUGE(SHM_SHORT, 2, 30, 0, 50, 9, 2, 0), HEAD(SHM_SHORT, 100, SHM_REFERENCE),
             GO, GO);
        SEED(from ? "foreign-times" : "own-times", options, POST_RECV(100),
             REFERENCE(SHM_SHORT, 0, 50, 60, 9, 0), HEAD(SHM_SHORT, 101, SHM_REFERENCE), GO, GO);
    }
    SEED("reference-part", COPY_ZCOPY | WIDE, POST_ADD(15), REFERENCE(SHM_SHORT, 0, 3, 8, 16, 1),
         HEAD(SHM_SHORT, 48, SHM_REFERENCE), GO);
    SEED("credit", COPY_BCOPY, POST_SEND(7), POST_SEND(7), POST_SEND(7), GO, CREDIT(SHM_SHORT, 1),
         GO);
    SEED("credit-too-many", COPY_BCOPY, POST_SEND(7), POST_SEND(7), POST_SEND(7), GO,
         CREDIT(SHM_SHORT, 9), GO);
    SEED("credit-huge", COPY_ZCOPY, POST_SEND(7), POST_SEND(7), POST_SEND(7), GO,
         CREDIT_HUGE(SHM_SHORT, 9), GO);
    SEED("credit-lines", COPY_AUTO, MOVE_SEND(7), MOVE_SEND(7), MOVE_SEND(7), MOVE_SEND(7),
         CREDIT_HUGE(SHM_LINES, 9), MOVE_SEND(7));
    SEED("credit-ll", COPY_LL, POST_SEND(200), POST_SEND(200), POST_SEND(200), GO,
         CREDIT_HUGE(SHM_LL, 9), GO);
    SEED("ll", COPY_LL, POST_RECV(20), 6, 2, 0, 1, 16, 1, 2, 3, 4, 2, 0, 0, 0, 1, 2, 3, 4, 2, 0, 0,
         0, GO);
    SEED("offer", COPY_AUTO | FOREIGN | INVENTS, offsetof(struct shm_connect_slot, offer.geometry),
         4, 1, 0, 0, 0, POST_SEND(7), GO);
    SEED("offer-regions", COPY_LL | FOREIGN | INVENTS,
         offsetof(struct shm_connect_slot, offer.geometry.cells[SHM_LL]), 4, 1, 0, 0, 0,
         POST_SEND(200), POST_SEND(200), GO, GO);
    SEED("offer-lane", COPY_AUTO | FOREIGN | INVENTS,
         offsetof(struct shm_connect_slot, offer.first_lane), 4, 1, 0, 0, 0, POST_SEND(7), GO);
    SEED("offer-offset", COPY_AUTO | FOREIGN | INVENTS,
         offsetof(struct shm_connect_slot, offer.offset), 4, 0, 0xf0, 0xff, 0, POST_SEND(7), GO);
    SEED("offered", COPY_AUTO | INVENTS, offsetof(struct shm_connect_slot, offered), 1, 3,
         POST_SEND(7), GO);
    SEED("accepted", COPY_AUTO | INVENTS, offsetof(struct shm_connect_slot, accepted), 1, 0,
         POST_SEND(7), GO);
    SEED("header", COPY_AUTO, 6, 0, 0, 0, 20, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
         1, 1, POST_SEND(7), GO);
    SEED("barrier", MEETS, 4, 1, 16, 0, 0, 4, 16, 0, 0, 4, 16, 0, 0, 5, 16, 0, 0, 3);
    SEED("barrier-far", MEETS, 4, 1, 16, 0, 0, 6, 16, 0, 0, 9);
    SEED("barrier-behind", MEETS, 4, 1, 16, 0, 0, 1, 16, 0, 0, 0);
    SEED("barrier-huge", MEETS, 39, 7, 24, 0, 0, 0xff, 0x7f, 24, 0, 0, 0, 0x80);
}
