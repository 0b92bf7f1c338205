/*
 * executor_world.h - all ranks of a world in one thread, step by step, for the tests of the
 * executor.
 *
 * The links of this file replace the real ones (the linker takes links_channel(), links_progress()
 * and links_check() from here), so that a test sees every step. Their transport moves a few bytes
 * in each step. If the world offers it, it also takes eager messages, into a few cells for each
 * channel.
 */
#ifndef CCTEST_TESTS_UNIT_EXECUTOR_WORLD_H
#define CCTEST_TESTS_UNIT_EXECUTOR_WORLD_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "card_memory.h"
#include "run/check/check.h"
#include "dataplane/execute/execute.h"
#include "dataplane/memory/memory.h"
#include "collective/schedule/schedule.h"
#include "problems.h"

#define RANKS_MOST  9
#define LANES_MOST  9
#define EPOCHS_MOST 128 /* of a schedule: fences, and scopes */
#define CELLS_MOST  4
#define TURNS       (SANITIZED ? 11 : 3)
#define CELL_BYTES  4096
#define SPARE_BYTES 4096 /* of each rank, for a dropped message */
#define RINGS       (RANKS_MOST * LANES_MOST * 2)

/* The links of a world, and the configuration of its executors. */
struct world_config {
    int channels;      /* 0: 1 */
    size_t chunk;      /* of the executors */
    size_t odd_chunk;  /* of the executors of odd ranks; 0: the same */
    size_t step;       /* bytes that one channel moves in one progress call */
    size_t eager_most; /* 0: eager messages are not offered */
    size_t cells;      /* eager messages that a channel holds */
    unsigned turn;     /* world_runs_all() runs one in TURNS of its worlds: which one */
    uint64_t
        random; /* not 0: ranks step in random order, and eager_move() fails to move at random */
    const struct memory_kind *memory; /* NULL: the first */
    size_t ring; /* bytes of the ring of a channel that does not reach that memory */
};

/* The eager messages between a sender and its receiver. */
struct in_flight {
    size_t count, taken; /* cells; bytes of the first that were taken */
    size_t length[CELLS_MOST];
    char (*bytes)[CELL_BYTES];
};

struct stepped_channel {
    struct channel channel; /* first: a channel is its stepped one */
    struct in_flight wire;  /* of what it sends */
    size_t came;            /* bytes of an eager message that it received from a posted one */
    size_t finished;        /* messages of this run */
    long eager, awaited;    /* calls of eager_move(), of eager_await() */
    bool stuck, fails;      /* eager_move() moves nothing; returns an error */
};

struct links {
    struct endpoint endpoint;
    const struct world_config *config;
    int rank, ranks;
    uint64_t random;
    long moved, refused, posted; /* eager messages; those that found no room; posted transfers */
    struct stepped_channel sends[RANKS_MOST][LANES_MOST], receives[RANKS_MOST][LANES_MOST];
    struct links *world;                                        /* of all ranks */
    char cells[RANKS_MOST][LANES_MOST][CELLS_MOST][CELL_BYTES]; /* of the wires of `sends` */
};

static inline struct links *links_of(const struct channel *channel)
{
    return (struct links *)(void *)channel->endpoint; /* its first member */
}

static inline uint64_t random_next(uint64_t *random)
{
    *random = *random * 6364136223846793005u + 1442695040888963407u;
    return *random >> 33;
}

static inline void stepped_activate(struct channel *channel)
{
    links_of(channel)->posted++;
}

static inline void stepped_eager_await(struct channel *channel)
{
    ((struct stepped_channel *)channel)->awaited++;
}

static inline size_t stepped_eager_most(const struct channel *channel)
{
    return links_of(channel)->config->eager_most;
}

static inline bool stepped_send(struct stepped_channel *out, const struct transfer *transfer)
{
    struct in_flight *wire = &out->wire;
    if (wire->count == links_of(&out->channel)->config->cells)
        return false;
    struct cursor from;
    cursor_start(&from, transfer->from);
    cursor_gather(&from, wire->bytes[wire->count], transfer->length);
    wire->length[wire->count++] = transfer->length;
    return true;
}

static inline void wire_take(struct in_flight *wire)
{
    wire->count--;
    wire->taken = 0;
    memmove(wire->length, wire->length + 1, wire->count * sizeof wire->length[0]);
    memmove(wire->bytes, wire->bytes + 1, wire->count * sizeof wire->bytes[0]);
}

static inline void posted_advance(struct channel *channel, size_t bytes)
{
    struct transfer *transfer = channel->first;
    transfer_advance(transfer, bytes);
    if (transfer->done == transfer->length) {
        channel_pop(channel);
        ((struct stepped_channel *)channel)->finished++;
    }
}

/* Receives a whole cell, or else what the peer has posted, up to its limit. */
static inline bool stepped_receive(struct stepped_channel *in, struct stepped_channel *out,
                                   const struct transfer *transfer)
{
    struct in_flight *wire = &out->wire;
    struct transfer *from = out->channel.first;
    if (wire->count > 0 && in->came == 0) {
        assert_int_equal(wire->length[0], transfer->length);
        assert_int_equal(wire->taken, 0);
        transfer_place(transfer, 0, wire->bytes[0], transfer->length);
        wire_take(wire);
        return true;
    }
    if (!from)
        return false;
    assert_int_equal(from->length, transfer->length);
    char bytes[CELL_BYTES];
    size_t ready = from->limit - from->done;
    cursor_gather(&from->cursor, bytes, ready);
    transfer_place(transfer, in->came, bytes, ready);
    in->came += ready;
    if (ready > 0)
        posted_advance(&out->channel, ready);
    if (in->came < transfer->length)
        return false;
    in->came = 0;
    return true;
}

static inline enum status stepped_eager_move(struct channel *channel,
                                             const struct transfer *transfer, bool *moved)
{
    struct stepped_channel *stepped = (struct stepped_channel *)channel;
    struct links *links = links_of(channel);
    assert_null(channel->first);
    assert_true(transfer->length > 0 && transfer->length <= links->config->eager_most);
    *moved = false;
    stepped->eager++;
    if (stepped->fails)
        return STATUS_TIMEOUT;
    if (stepped->stuck || (links->config->random && random_next(&links->random) % 4 == 0))
        return STATUS_OK;
    *moved = channel->sends
                 ? stepped_send(stepped, transfer)
                 : stepped_receive(stepped,
                                   &links->world[channel->peer].sends[links->rank][channel->lane],
                                   transfer);
    stepped->finished += *moved;
    links->moved += *moved;
    links->refused += channel->sends && !*moved;
    return STATUS_OK;
}

static const struct transport transport_stepped = {.name = "stepped", .activate = stepped_activate};
static const struct transport transport_eager = {.name = "stepped, eager",
                                                 .activate = stepped_activate,
                                                 .eager_most = stepped_eager_most,
                                                 .eager_move = stepped_eager_move,
                                                 .eager_await = stepped_eager_await};

struct channel *links_channel(struct links *links, int peer, int lane, bool sends)
{
    struct channel *channel =
        sends ? &links->sends[peer][lane].channel : &links->receives[peer][lane].channel;
    channel->endpoint = &links->endpoint;
    channel->peer = peer;
    channel->lane = lane;
    channel->sends = sends;
    return channel;
}

/* Moves up to a step into our first receive: from the wire, or from the peer's first send. */
static inline void stepped_move(struct links *links, struct stepped_channel *in,
                                struct stepped_channel *out)
{
    char bytes[64];
    struct transfer *to = in->channel.first, *from = out->channel.first;
    struct in_flight *wire = &out->wire;
    if (!to || (!from && wire->count == 0))
        return;
    size_t room = to->limit - to->done;
    size_t ready = wire->count > 0 ? wire->length[0] - wire->taken : from->limit - from->done;
    size_t move = room < ready ? room : ready;
    move = move < links->config->step ? move : links->config->step;
    move -= move % to->element;
    if (move == 0)
        return;
    assert_int_equal(to->length, wire->count > 0 ? wire->length[0] : from->length);
    if (wire->count > 0) {
        memcpy(bytes, wire->bytes[0] + wire->taken, move);
        wire->taken += move;
        if (wire->taken == wire->length[0])
            wire_take(wire);
    } else {
        cursor_gather(&from->cursor, bytes, move);
        posted_advance(&out->channel, move);
    }
    if (to->kind == TRANSFER_RECV)
        cursor_scatter(&to->cursor, bytes, move);
    else
        cursor_reduce(&to->cursor, &to->with_cursor, bytes, move, to->reduce, to->element);
    posted_advance(&in->channel, move);
}

enum status links_progress(struct links *links)
{
    for (int peer = 0; peer < links->ranks; peer++)
        for (int lane = 0; lane < LANES_MOST; lane++)
            stepped_move(links, &links->receives[peer][lane],
                         &links->world[peer].sends[links->rank][lane]);
    return STATUS_OK;
}

enum status links_check(struct links *links)
{
    (void)links;
    return STATUS_OK;
}

/* The hooks of an executor. */

static inline enum status executor_start(struct execution *executor)
{
    return executor->hooks->start(executor);
}

static inline enum status executor_progress(struct execution *executor, bool *moved, bool *complete)
{
    return executor->hooks->progress(executor, moved, complete);
}

static inline enum status executor_check(const struct execution *executor)
{
    return executor->hooks->check(executor);
}

static inline void executor_position(const struct execution *executor, struct position *position)
{
    executor->hooks->position(executor, position);
}

static inline void executor_inject(struct execution *executor, enum fault_kind fault, int nth)
{
    executor->hooks->inject(executor, fault, nth);
}

static inline bool executor_inject_pending(const struct execution *executor)
{
    return executor->hooks->inject_pending(executor);
}

/* A world of ranks that run one collective. */

struct world {
    int ranks;
    struct world_config links_config;
    struct problem problem;
    uint64_t random;
    struct links *links;
    struct schedule *schedule[RANKS_MOST];
    struct execution *executor[RANKS_MOST];
    struct memory kind[RANKS_MOST]; /* of its memory */
    char *memory[RANKS_MOST][BUFFERS];
    char *spare[RANKS_MOST];
    char *rings[RANKS_MOST]; /* where messages of memory that no CPU reads are staged */
    struct staging *staging[RANKS_MOST];
    struct region regions[RANKS_MOST][BUFFERS + 2]; /* all of that */
    struct executor_config config[RANKS_MOST];
    bool fenced[RANKS_MOST]; /* its schedule has fences */
};

static inline const char *world_reduction(const struct problem *problem)
{
    return problem->collective->id == COLLECTIVE_BARRIER ? "bor"
           : problem->finishes                           ? "avg"
                                                         : "sum";
}

/* Memory of the world's kind. What a CPU reads comes from the heap, whose ends sanitizers guard. */
static inline char *world_allocate(const struct world *world, size_t bytes, struct region *region)
{
    if (world->links_config.memory->host_reads)
        *region = (struct region){.base = calloc(1, bytes + sizeof(int32_t)), .bytes = bytes};
    else
        card_allocate(world->links_config.memory, bytes + sizeof(int32_t), region);
    region->bytes = bytes;
    return region->base;
}

static inline void world_release(const struct world *world, struct region *region)
{
    if (world->links_config.memory->host_reads)
        free(region->base);
    else
        card_release(region);
}

static inline void world_open_rank(struct world *world, int r, const struct choice *choice)
{
    const struct world_config *shared = &world->links_config;
    struct executor_config *config = &world->config[r];
    struct links *links = &world->links[r];
    links->endpoint.transport = shared->eager_most ? &transport_eager : &transport_stepped;
    links->config = shared;
    links->rank = r;
    links->ranks = world->ranks;
    links->random = shared->random + (uint64_t)r;
    links->world = world->links;
    for (int peer = 0; peer < world->ranks; peer++)
        for (int lane = 0; lane < LANES_MOST; lane++)
            links->sends[peer][lane].wire.bytes = links->cells[peer][lane];
    assert_int_equal(
        schedule_build(choice, &world->problem, r, shared->channels, true, &world->schedule[r]),
        STATUS_OK);
    assert_true(world->schedule[r]->lanes <= LANES_MOST);
    for (size_t e = 0; e < world->schedule[r]->epoch_count; e++)
        world->fenced[r] |= world->schedule[r]->epochs[e].previous >= 0;
    assert_int_equal(memory_open(shared->memory, NULL, &world->kind[r]), STATUS_OK);
    *config = (struct executor_config){
        .schedule = world->schedule[r],
        .element = sizeof(int32_t),
        .reduce =
            reduce_kernel(datatype_find("int32"), reduction_find(world_reduction(&world->problem))),
        .finish =
            finish_kernel(datatype_find("int32"), reduction_find(world_reduction(&world->problem))),
        .chunk = shared->odd_chunk && r % 2 ? shared->odd_chunk : shared->chunk,
        .memory = world->kind[r],
        .links = links,
    };
    for (int b = 0; b < BUFFERS; b++)
        world->memory[r][b] = world_allocate(world, world->schedule[r]->extent[b] * sizeof(int32_t),
                                             &world->regions[r][b]);
    world->spare[r] = world_allocate(world, SPARE_BYTES, &world->regions[r][BUFFERS]);
    world->rings[r] = calloc(RINGS, shared->ring + 1);
    world->regions[r][BUFFERS + 1] =
        (struct region){.base = world->rings[r], .bytes = RINGS * shared->ring};
    world->staging[r] = staging_create(&world->kind[r], world->rings[r], shared->ring, RINGS);
    config->staging = world->staging[r];
    links->endpoint.config.regions = world->regions[r];
    links->endpoint.config.region_count = BUFFERS + 2;
    config->spare = world->spare[r];
    for (int b = 0; b < BUFFERS; b++)
        config->buffer[b] = world->memory[r][world->schedule[r]->storage[b]] +
                            world->schedule[r]->base[b] * sizeof(int32_t);
    assert_int_equal(executor_create(config, &world->executor[r]), STATUS_OK);
}

static inline void world_open(struct world *world, const struct choice *choice,
                              const struct problem *problem, const struct world_config *config)
{
    *world = (struct world){.ranks = problem->ranks,
                            .links_config = *config,
                            .random = config->random,
                            .problem = *problem};
    if (config->channels == 0)
        world->links_config.channels = 1;
    if (!config->memory)
        world->links_config.memory = memory_kinds[0];
    assert_true(config->eager_most <= CELL_BYTES && config->cells <= CELLS_MOST);
    /* By mmap(): few cells are ever used, and calloc() would clear them all. */
    world->links = mmap(NULL, (size_t)world->ranks * sizeof *world->links, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(world->links != MAP_FAILED);
    for (int r = 0; r < world->ranks; r++)
        world_open_rank(world, r, choice);
}

static inline void world_close(struct world *world)
{
    for (int r = 0; r < world->ranks; r++) {
        execution_destroy(world->executor[r]);
        schedule_free(world->schedule[r]);
        memory_close(&world->kind[r]);
        for (int b = 0; b <= BUFFERS; b++)
            world_release(world, &world->regions[r][b]);
        staging_destroy(world->staging[r]);
        free(world->rings[r]);
    }
    munmap(world->links, (size_t)world->ranks * sizeof *world->links);
}

static inline struct pattern world_pattern(const struct world *world, uint64_t iteration)
{
    return (struct pattern){
        .problem = world->problem,
        .inputs = {.datatype = datatype_find("int32"),
                   .reduction = reduction_find(world_reduction(&world->problem)),
                   .ranks = world->problem.ranks,
                   .seed = 7,
                   .iteration = iteration}};
}

static inline struct stepped_channel *operation_channel(struct links *links,
                                                        const struct operation *operation)
{
    return operation->kind == OPERATION_SEND ? &links->sends[operation->peer][operation->lane]
                                             : &links->receives[operation->peer][operation->lane];
}

/* No message has begun, so much as by being posted, before those of earlier epochs of its scope are
 * complete here. A channel takes its messages in the order of the schedule. */
static inline void rank_expect_fences(const struct world *world, int r)
{
    const struct schedule *schedule = world->schedule[r];
    size_t unfinished[EPOCHS_MOST] = {0}, before[RANKS_MOST][LANES_MOST][2] = {0};

    assert_true(schedule->epoch_count <= EPOCHS_MOST);
    for (size_t i = 0; i < schedule->count; i++) {
        const struct operation *operation = &schedule->operations[i];
        bool sends = operation->kind == OPERATION_SEND;

        if (!operation_travels(operation->kind))
            continue;
        const struct stepped_channel *on = operation_channel(&world->links[r], operation);
        size_t place = before[operation->peer][operation->lane][sends]++, begun = on->finished;

        for (const struct transfer *t = on->channel.first; t; t = t->next)
            begun++;
        unfinished[operation->epoch] += place >= on->finished;
        for (int e = schedule->epochs[operation->epoch].previous; e >= 0 && place < begun;
             e = schedule->epochs[e].previous)
            if (unfinished[e] > 0)
                fail_msg("rank %d of %d of %s: operation %zu passes a fence", r, world->ranks,
                         world->problem.collective->name, i);
    }
}

static inline void world_start(struct world *world, uint64_t iteration)
{
    struct pattern pattern = world_pattern(world, iteration);
    for (int r = 0; r < world->ranks; r++) {
        for (int peer = 0; peer < world->ranks; peer++)
            for (int lane = 0; lane < LANES_MOST; lane++)
                world->links[r].sends[peer][lane].finished =
                    world->links[r].receives[peer][lane].finished = 0;
    }
    for (int r = 0; r < world->ranks; r++) {
        const struct memory *kind = &world->kind[r];
        assert_int_equal(kind->kind->make(kind, &pattern.inputs, r, 0,
                                          world->schedule[r]->extent[BUFFER_SOURCE],
                                          world->config[r].buffer[BUFFER_SOURCE]),
                         STATUS_OK);
        assert_int_equal(executor_start(world->executor[r]), STATUS_OK);
    }
}

/* One step of every rank. False when all are complete. */
static inline bool world_step(struct world *world)
{
    bool all = true;
    int order[RANKS_MOST];
    for (int r = 0; r < world->ranks; r++) {
        int other = world->random ? (int)(random_next(&world->random) % (uint64_t)(r + 1)) : r;
        order[r] = order[other];
        order[other] = r;
    }
    for (int i = 0; i < world->ranks; i++) {
        bool moved, complete;
        assert_int_equal(executor_progress(world->executor[order[i]], &moved, &complete),
                         STATUS_OK);
        if (world->fenced[order[i]])
            rank_expect_fences(world, order[i]);
        all &= complete;
    }
    return !all;
}

static inline void world_finish(struct world *world)
{
    for (long steps = 0; world_step(world); steps++)
        assert_true(steps < 100000);
}

/* Are these the first bytes of a rank's destination? */
static inline bool world_holds(const struct world *world, int r, const void *expected, size_t bytes)
{
    const struct memory *kind = &world->kind[r];
    char *got = malloc(bytes + 1);
    assert_int_equal(
        kind->kind->read(kind, world->config[r].buffer[BUFFER_DESTINATION], bytes, got), STATUS_OK);
    bool holds = memcmp(got, expected, bytes) == 0;
    free(got);
    return holds;
}

static inline void world_expect(const struct world *world, uint64_t iteration, const char *what)
{
    struct pattern pattern = world_pattern(world, iteration);
    for (int r = 0; r < world->ranks; r++) {
        size_t count = world->schedule[r]->extent[BUFFER_DESTINATION];
        int32_t *expected = malloc(count * sizeof *expected + 1);
        pattern_expect(&pattern, r, 0, count, expected);
        if (!world_holds(world, r, expected, count * sizeof *expected))
            fail_msg("%s: rank %d of %d holds wrong data", what, r, world->ranks);
        free(expected);
    }
}

/* Three runs of one executor. `look` is called for each world before it closes; may be NULL. */
static inline void world_runs(const struct choice *choice, const struct problem *problem,
                              const struct world_config *config, void (*look)(const struct world *))
{
    struct world world;
    world_open(&world, choice, problem, config);
    for (uint64_t run = 0; run < 3; run++) {
        world_start(&world, run);
        world_finish(&world);
        world_expect(&world, run, choice->algorithm->name);
    }
    if (look)
        look(&world);
    world_close(&world);
}

/* Every algorithm of every collective, on real data, through the real executor; runs repeat on one
 * executor. After all turns, all numbers of ranks have been tested. */
static inline void world_runs_all(const struct world_config *config, bool in_place,
                                  void (*look)(const struct world *))
{
    static const struct counts_spec spread = {.distribution = DISTRIBUTION_SPREAD};

    for (int i = 0; collectives[i]; i++) {
        for (int a = 0; algorithms[a]; a++) {
            if (!algorithm_serves(algorithms[a], collectives[i]->id) || algorithms[a]->vendor)
                continue;
            struct choice choice = choice_of(algorithms[a]);
            for (int ranks = 1; ranks <= RANKS_MOST; ranks++) {
                char why[160];
                struct shape *shape = shape_of_sizes(&(int){ranks % 2 ? ranks : ranks / 2}, 1,
                                                     ranks, why, sizeof(why));
                struct problem problem = {
                    .collective = collectives[i],
                    .ranks = ranks,
                    .count = collectives[i]->sized ? (size_t)ranks + 3 : 1,
                    .in_place = in_place,
                    .root = collectives[i]->rooted ? ranks - 1 : 0,
                    .shape = shape,
                };
                bool turn = ((unsigned)a + (unsigned)ranks + config->turn) % TURNS == 0;

                if (turn && choice_serves(&choice, &problem)) {
                    struct counts *counts = problem_counts(&problem, &choice, &spread);

                    world_runs(&choice, &problem, config, look);
                    problem.finishes = true;
                    if (collectives[i]->reduces && collectives[i]->sized)
                        world_runs(&choice, &problem, config, look);
                    counts_free(counts);
                }
                shape_free(shape);
            }
        }
    }
}

/* A dropped message of an allreduce, whose effect is known. */

static inline void drop_open(struct world *world, const struct world_config *config)
{
    struct problem problem = {.collective = collective_find("allreduce"), .ranks = 4, .count = 40};
    struct choice choice = choice_of(algorithm_find(COLLECTIVE_ALLREDUCE, "ring"));
    world_open(world, &choice, &problem, config);
}

static inline void drop_run(struct world *world, uint64_t run, bool dropped)
{
    struct pattern pattern = world_pattern(world, run);
    int32_t expected[40], without[40];
    unsigned char how[4] = {0, CONTRIBUTION_MISSING, 0, 0};
    if (dropped)
        executor_inject(world->executor[2], FAULT_DROP, 0);
    world_start(world, run);
    world_finish(world);
    assert_false(executor_inject_pending(world->executor[2]));
    pattern_expect(&pattern, 0, 0, 40, expected);
    inputs_combine(&pattern.inputs, how, 0, 40, without);
    if (dropped) /* rank 2 ignored rank 1's part of block 0 */
        memcpy(expected, without, 10 * sizeof *expected);
    for (int r = 0; r < 4; r++)
        assert_true(world_holds(world, r, expected, sizeof expected));
}

#endif
