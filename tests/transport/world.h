/*
 * world.h - several ranks as threads of one process, joined by one transport, for its tests.
 *
 * No control plane, no executor: the endpoints' addresses and what they exchange with peers travel
 * through memory, and a test is a function that every rank runs with its own endpoint. Ranks that
 * have finished wait without progress(): no other rank may depend on it.
 */
#ifndef CCTEST_TEST_WORLD_H
#define CCTEST_TEST_WORLD_H

#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/log.h"
#include "chosen.h"
#include "dataplane/memory/memory.h"
#include "parcels.h"
#include "texts.h"
#include "dataplane/transport/transport.h"

#include <cmocka.h> /* after log.h: it makes a macro of fail() */

#define MIB              ((size_t)1 << 20)
#define WORLD_RANKS_MOST PARCEL_RANKS_MOST

/* Longer, and a test has hung. TEST_SECONDS: on a slow machine. */
static inline double world_seconds(void)
{
    const char *text = getenv("TEST_SECONDS");
    return text ? strtod(text, NULL) : 20.0;
}

struct world;

struct rank {
    struct world *world;
    int number;
    struct endpoint *endpoint;
    struct region region;
    struct memory memory; /* of the region's kind, if no CPU reads that */
    char *image;          /* what the test knows of the region; the region itself if a CPU does */
    size_t taken;         /* bytes of the region */
    struct region regions[2]; /* the endpoint's: that one, and one of world->second */
    struct moved_list moved;
    struct log log;
    uint64_t random;
    double deadline;
    struct tick tick; /* its transport's */
    struct peer_exchange exchange;
    pthread_t thread;
};

struct world {
    /* Set by the test. */
    const struct transport *transport;
    const struct memory_kind *memory;
    const struct memory_kind *second; /* of a second region, as large; NULL: there is none */
    int ranks, lanes;
    struct transport_config config; /* copy, slot_bytes, slots; exchange, or NULL */
    size_t grain;                   /* of the transfers */
    size_t bytes;                   /* of each rank's region */
    unsigned coreless;              /* a bit for each rank: it shares its core */
    void (*body)(struct rank *rank);
    enum tick_answer (*tick)(void *rank, int peer); /* NULL: rank_tick() */
    void (*before_connect)(struct rank *rank);      /* NULL: nothing */
    void (*after_connect)(struct rank *rank);
    bool unconnected; /* the body connects, and settles */

    struct rank rank[WORLD_RANKS_MOST];
    char blob[WORLD_RANKS_MOST][TRANSPORT_ADDRESS_MOST];
    size_t blob_size[WORLD_RANKS_MOST];
    struct parcel_office parcels;
    pthread_barrier_t barrier;
    pthread_mutex_t lock;
    _Atomic bool failed;
    char message[1400];       /* the first failure */
    char refused[256];        /* why the transport does not serve this configuration; "": it does */
    _Atomic size_t shared[8]; /* for the bodies */
};

static const unsigned char world_secret[32] = "a secret for tests and no others";

static inline void rank_fail(struct rank *rank, const char *file, int line, const char *what)
{
    struct world *world = rank->world;
    pthread_mutex_lock(&world->lock);
    if (!world->failed)
        snprintf(world->message, sizeof(world->message), "%s:%d: rank %d (%s, %s, copy %d): %s %s",
                 file, line, rank->number, world->transport->name, world->memory->name,
                 (int)world->config.copy, what, rank->log.failure.text);
    world->failed = true;
    pthread_mutex_unlock(&world->lock);
}

/* For bodies, which run in threads, where cmocka's assertions must not be used. */
#define require(rank, condition)                                                                   \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            rank_fail((rank), __FILE__, __LINE__, "not so: " #condition);                          \
            return;                                                                                \
        }                                                                                          \
    } while (0)

static inline char *rank_take(struct rank *rank, size_t bytes)
{
    char *start = rank->region.base + rank->taken;
    rank->taken += (bytes + 63) / 64 * 64;
    if (rank->taken > rank->region.bytes) {
        fprintf(stderr, "a test asks for more memory than it said\n");
        abort();
    }
    return start;
}

/* The bytes at an address of the region, for the test to read and write. Of memory that no CPU
 * reads they are an image: rank_show() writes it to the region, rank_look() reads it from there. */
static inline char *rank_view(const struct rank *rank, const void *at)
{
    return rank->image + ((const char *)at - rank->region.base);
}

static inline void rank_show(struct rank *rank, char *at, size_t bytes)
{
    if (!rank->region.kind->host_reads && bytes > 0)
        require(rank, rank->region.kind->write(&rank->memory, rank_view(rank, at), bytes, at) ==
                          STATUS_OK);
}

static inline char *rank_look(struct rank *rank, const char *at, size_t bytes)
{
    if (!rank->region.kind->host_reads && bytes > 0 &&
        rank->region.kind->read(&rank->memory, at, bytes, rank_view(rank, at)) != STATUS_OK)
        rank_fail(rank, __FILE__, __LINE__, "cannot read the region:");
    return rank_view(rank, at);
}

/* Writes text number `seed` to the region; and is it there? */
static inline void rank_write(struct rank *rank, uint64_t seed, char *at, size_t bytes)
{
    text_write(seed, 0, rank_view(rank, at), bytes);
    rank_show(rank, at, bytes);
}

static inline bool rank_has(struct rank *rank, uint64_t seed, const char *at, size_t bytes)
{
    return text_is(seed, rank_look(rank, at, bytes), bytes);
}

/* The views of pieces, in `room`. */
static inline struct layout rank_view_layout(const struct rank *rank, struct layout layout,
                                             struct piece *room)
{
    for (size_t i = 0; i < layout.count; i++) {
        room[i] = layout.pieces[i];
        room[i].base = rank_view(rank, room[i].base);
    }
    return (struct layout){.pieces = room, .count = layout.count};
}

/* A transfer of contiguous bytes; `piece` must live as long. */
static inline struct transfer transfer_make(struct rank *rank, enum transfer_kind kind,
                                            struct piece *piece, char *base, size_t bytes)
{
    *piece = (struct piece){.base = base, .run = bytes, .stride = bytes, .times = 1};
    struct layout layout = {.pieces = piece, .count = bytes > 0};
    return (struct transfer){.kind = kind,
                             .from = layout,
                             .to = layout,
                             .element = 1,
                             .length = bytes,
                             .grain = rank->world->grain,
                             .limit = bytes,
                             .moved = &rank->moved};
}

static inline void rank_post(struct rank *rank, int peer, int lane, struct transfer *transfer)
{
    bool sends = transfer->kind == TRANSFER_SEND;
    struct channel *channel = rank->endpoint->transport->channel(rank->endpoint, peer, lane, sends);
    require(rank, channel != NULL);
    channel_post(channel, transfer);
}

/* eager_move(), of a transfer that stays inside the regions as a posted one does. */
static inline enum status channel_move(struct channel *channel, const struct transfer *transfer,
                                       bool *moved)
{
    channel_require_regions(channel, transfer);
    return channel->endpoint->transport->eager_move(channel, transfer, moved);
}

/* One call of progress(). False: the test has failed. */
static inline bool rank_turn(struct rank *rank)
{
    enum status status = rank->endpoint->transport->progress(rank->endpoint);
    if (status != STATUS_OK)
        rank_fail(rank, __FILE__, __LINE__, "progress() failed:");
    else if (clock_seconds() > rank->deadline)
        rank_fail(rank, __FILE__, __LINE__, "it hangs");
    bool moved = false;
    while (moved_take(&rank->moved))
        moved = true;
    if (!moved)
        sched_yield();
    return !rank->world->failed;
}

static inline bool rank_complete(struct rank *rank, const struct transfer *transfers, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        while (transfers[i].done < transfers[i].length) {
            if (!rank_turn(rank))
                return false;
        }
    }
    return true;
}

static inline enum status rank_connect(struct rank *rank, const int *peers, int count, int lanes)
{
    return rank->endpoint->transport->connect(rank->endpoint, peers, count, lanes);
}

static inline void rank_settle(struct rank *rank)
{
    if (rank->endpoint->transport->settle)
        rank->endpoint->transport->settle(rank->endpoint);
}

static inline void rank_attach(struct rank *rank)
{
    struct world *world = rank->world;
    for (int peer = 0; peer < world->ranks; peer++) {
        const char *reason = peer == rank->number
                                 ? NULL
                                 : world->transport->attach(rank->endpoint, peer, world->blob[peer],
                                                            world->blob_size[peer]);
        if (reason) {
            pthread_mutex_lock(&world->lock);
            snprintf(world->refused, sizeof(world->refused), "%s", reason);
            pthread_mutex_unlock(&world->lock);
        }
    }
}

static inline void rank_join(struct rank *rank)
{
    struct world *world = rank->world;
    int peers[WORLD_RANKS_MOST], count = 0;
    for (int peer = 0; peer < world->ranks; peer++) {
        if (peer != rank->number)
            peers[count++] = peer;
    }
    if (world->before_connect)
        world->before_connect(rank);
    if (!world->unconnected) {
        require(rank, rank_connect(rank, peers, count, world->lanes) == STATUS_OK);
        rank_settle(rank);
    }
    if (world->after_connect)
        world->after_connect(rank);
}

/* Bounds connect(), too. */
static inline enum tick_answer rank_tick(void *argument, int peer)
{
    const struct rank *rank = argument;
    (void)peer;
    return clock_seconds() > rank->deadline ? TICK_LATE : TICK_GO_ON;
}

static inline enum status rank_exchange(void *argument, const int *peers, int count,
                                        const void *mine, size_t each, void *theirs)
{
    struct rank *rank = argument;
    return parcels_exchange(&rank->world->parcels, &rank->tick, rank->number, peers, count, mine,
                            each, theirs);
}

static inline void rank_open(struct rank *rank)
{
    struct world *world = rank->world;
    struct transport_config config = world->config;
    char reason[TRANSPORT_REASON_MOST];
    config.rank = rank->number;
    config.ranks = config.local_ranks = world->ranks;
    config.has_core = !(world->coreless >> rank->number & 1);
    config.is_bound = true;
    config.regions = rank->regions;
    config.region_count = world->second ? 2 : 1;
    config.secret = world_secret;
    if (config.timeout == 0)
        config.timeout = world_seconds() / 2;
    rank->tick = (struct tick){.call = world->tick ? world->tick : rank_tick, .argument = rank};
    config.tick = &rank->tick;
    rank->exchange = (struct peer_exchange){.call = rank_exchange, .argument = rank};
    if (!config.exchange)
        config.exchange = &rank->exchange;
    struct memory_device device;
    if (world->memory->settle)
        require(rank, world->memory->settle(NULL, rank->number, NULL, &device) == STATUS_OK);
    require(rank, world->memory->allocate(world->bytes, NULL, &rank->region) == STATUS_OK);
    rank->regions[0] = rank->region;
    rank->image = rank->region.base;
    /* A kind without an engine has another way in, which the test knows. */
    if (!world->memory->host_reads && world->memory->engine_open) {
        require(rank, memory_open(world->memory, NULL, &rank->memory) == STATUS_OK);
        rank->image = malloc(world->bytes);
        require(rank, rank->image != NULL);
    }
    require(rank, !world->second ||
                      world->second->allocate(world->bytes, NULL, &rank->regions[1]) == STATUS_OK);
    require(rank, world->transport->open(&config, &rank->endpoint, reason) == STATUS_OK);
    size_t size = world->transport->address(rank->endpoint, world->blob[rank->number]);
    require(rank, size <= TRANSPORT_ADDRESS_MOST);
    world->blob_size[rank->number] = size;
}

/* All have closed their endpoints. */
static inline void rank_release(struct rank *rank)
{
    memory_close(&rank->memory);
    if (rank->image != rank->region.base)
        free(rank->image);
    if (rank->region.base)
        rank->world->memory->release(&rank->region);
    if (rank->regions[1].base)
        rank->world->second->release(&rank->regions[1]);
}

static inline void *rank_live(void *argument)
{
    struct rank *rank = argument;
    struct world *world = rank->world;
    log_init(&rank->log, rank->number, 0);
    log_attach(&rank->log);
    rank->deadline = clock_seconds() + world_seconds();
    rank->random = (uint64_t)rank->number;
    rank->region.fd = -1;
    rank_open(rank);
    pthread_barrier_wait(&world->barrier);
    if (!world->failed)
        rank_attach(rank);
    pthread_barrier_wait(&world->barrier);
    if (!world->failed && !world->refused[0])
        rank_join(rank);
    if (!world->failed && !world->refused[0])
        world->body(rank);
    pthread_barrier_wait(&world->barrier);
    world->transport->close(rank->endpoint);
    pthread_barrier_wait(&world->barrier);
    rank_release(rank);
    log_attach(NULL);
    return NULL;
}

/* Runs the body in all ranks and asserts that nothing failed. False: the transport refuses this
 * configuration (world->refused). */
static inline bool world_run(struct world *world)
{
    pthread_barrier_init(&world->barrier, NULL, (unsigned)world->ranks);
    pthread_mutex_init(&world->lock, NULL);
    parcel_office_open(&world->parcels);
    for (int i = 0; i < world->ranks; i++) {
        world->rank[i].world = world;
        world->rank[i].number = i;
        assert_int_equal(pthread_create(&world->rank[i].thread, NULL, rank_live, &world->rank[i]),
                         0);
    }
    for (int i = 0; i < world->ranks; i++)
        pthread_join(world->rank[i].thread, NULL);
    pthread_barrier_destroy(&world->barrier);
    pthread_mutex_destroy(&world->lock);
    parcel_office_close(&world->parcels);
    if (world->failed)
        fail_msg("%s", world->message);
    return !world->refused[0];
}

/* The kinds of memory that the transport reaches, by number; NULL: there are no more. */
static inline const struct memory_kind *world_kind(const struct transport *transport, int number)
{
    for (int i = 0; memory_kinds[i]; i++) {
        const struct memory_kind *kind = memory_kinds[i];
        bool is_reached = transport->carries ? transport->carries(kind) : kind->host_reads;
        if (is_reached && !(kind->unavailable && kind->unavailable()) && number-- == 0)
            return kind;
    }
    return NULL;
}

/* Every kind of memory with every copy policy. */
static inline int world_combinations(const struct transport *transport)
{
    int kinds = 0;
    while (world_kind(transport, kinds))
        kinds++;
    return 4 * kinds;
}

static inline struct world world_make(const struct transport *transport, int combination, int ranks)
{
    const struct transport_choice *chosen = transport_chosen();
    return (struct world){
        .transport = transport,
        .memory = world_kind(transport, combination / 4),
        .ranks = ranks,
        .lanes = 1,
        .bytes = 4 * MIB,
        .config = {.copy = (enum copy_policy[]){COPY_AUTO, COPY_BCOPY, COPY_ZCOPY,
                                                COPY_LL}[combination % 4],
                   .settings = chosen ? chosen->settings : NULL},
        .grain = (combination + combination / 4) % 2 ? SIZE_MAX : 100000,
    };
}

/* TEST_COMBINATIONS=0 or 1, half of them: every copy policy, in one kind of host memory and with
 * one grain each, in which tests take turns. For a transport that does not ask what kind of host
 * memory it has. */
static inline bool world_left_out(int combination, int turn)
{
    const char *half = getenv("TEST_COMBINATIONS");
    return half && (combination + combination / 4 + turn + atoi(half)) % 2;
}

/* Runs `body` in all combinations. `bend` changes the world before; may be NULL. */
static inline void run_everywhere(void **state, void (*body)(struct rank *),
                                  void (*bend)(struct world *), int ranks)
{
    static int turn;
    int served = 0;
    struct world *world = malloc(sizeof(*world));
    turn++;
    for (int i = 0; i < world_combinations(*state); i++) {
        if (world_left_out(i, turn))
            continue;
        *world = world_make(*state, i, ranks);
        world->body = body;
        if (bend)
            bend(world);
        served += world_run(world);
        if (world->refused[0])
            print_message("[ REFUSED  ] %s memory, copy %d: %s\n", world->memory->name,
                          (int)world->config.copy, world->refused);
    }
    if (!served)
        fail_msg("%s can be used here, but serves nobody: %s", world->transport->name,
                 world->refused);
    free(world);
}

static inline void bend_small_slots(struct world *world)
{
    world->config.slot_bytes = 64;
    world->config.slots = 1;
}

struct world_test {
    const char *name;
    void (*function)(void **state); /* *state: the transport */
};

/* In place of a test of a transport that is not available: skipped, and counted so. */
static inline void test_unavailable(void **state)
{
    print_message("[ SKIPPED  ] %s\n", ((const struct transport *)*state)->unavailable());
    skip();
}

/* Runs all tests over all transports, or the chosen one; returns the exit status. */
static inline int world_tests(const struct world_test *tests, size_t count)
{
    struct CMUnitTest list[200] = {{0}}; /* the end has no name */
    char names[200][80];
    const struct transport_choice *chosen = transport_chosen();
    size_t filled = 0;
    for (const struct transport *const *transport = transports; *transport; transport++) {
        if (chosen && chosen->transport != *transport)
            continue;
        for (size_t i = 0; i < count && filled < 200; i++, filled++) {
            snprintf(names[filled], sizeof(names[filled]), "%s: %s", (*transport)->name,
                     tests[i].name);
            const void *state = *transport;
            list[filled].name = names[filled];
            list[filled].test_func =
                (*transport)->unavailable() ? test_unavailable : tests[i].function;
            memcpy(&list[filled].initial_state, &state, sizeof(state));
        }
    }
    return cmocka_run_group_tests_name("transports", list, NULL, NULL);
}

/* A byte from rank 0 arrives at rank 1; there are two ranks. */
static inline void rank_try(struct rank *me, int peer)
{
    struct transfer transfer;
    struct piece piece;
    char *byte = rank_take(me, 1);
    *rank_view(me, byte) = (char)(me->number ? 0 : 'x');
    rank_show(me, byte, 1);
    transfer = transfer_make(me, me->number ? TRANSFER_RECV : TRANSFER_SEND, &piece, byte, 1);
    rank_post(me, peer, 0, &transfer);
    if (rank_complete(me, &transfer, 1))
        require(me, *rank_look(me, byte, 1) == 'x');
}

#endif
