/*
 * step_world.h - all ranks of a collective as flat plans, for the tests of the step.
 *
 * A world holds every rank's plan, buffers and wires. Its blocks are stepped in random order by one
 * thread, or by their own. A rank begins its next run when all its blocks are complete, whatever
 * the others do; its result is compared with the contract first.
 */
#ifndef CCTEST_TESTS_STEP_WORLD_H
#define CCTEST_TESTS_STEP_WORLD_H

#include <stdlib.h>

#include "run/check/check.h"
#include "dataplane/execute/step.h"
#include "dataplane/memory/memory.h"
#include "trials.h"

#define WORLD_RANKS  9
#define WORLD_MOVERS 3 /* threads of a block */

struct world_settings {
    bool split;
    size_t slots, slot_bytes, chunk;
    size_t ll_bytes, ll_most;
    size_t zcopy_least, zcopy_chunk;
    bool pushes;
    size_t runs;
    uint64_t seed;
    /* This operation moves only when no other can, so that all others overtake it as far as they
     * may. lazy_rank -1: none. */
    int lazy_rank;
    uint32_t lazy_operation;
};

struct world_rank {
    struct world *world;
    int rank;
    struct flat_plan *plan;
    char *memory[BUFFERS], *buffer[BUFFERS];
    struct whereabouts *whereabouts;
    bool *complete; /* blocks, in this run */
    uint32_t blocks_left;
    size_t run; /* from 0; as many as there are: done */
};

struct world {
    struct world_settings settings;
    struct problem problem;
    struct program program;
    struct pattern pattern;
    reduce_function *reduce;
    finish_function *finish;
    size_t abort_word;
    char *halves;
    char *buffers[WORLD_RANKS][BUFFERS];
    struct world_rank ranks[WORLD_RANKS];
    uint64_t random;
    long moves, moves_by[FLAT_PASSIVE]; /* by path */
    long ahead;                         /* grants seen of messages that are no heads */
    char why[TRIAL_WHY];                /* the first thing that was wrong */
};

static inline uint64_t world_draw(struct world *world, uint64_t bound)
{
    uint64_t x = world->random += 0x9e3779b97f4a7c15u; /* splitmix64 */
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return (x ^ x >> 31) % bound;
}

/* Bytes from half to half. */
static inline size_t world_stride(const struct world *world)
{
    const struct world_settings *settings = &world->settings;
    return half_bytes(false, settings->slots, settings->slot_bytes, settings->ll_bytes);
}

/* One end's half of a lane in one direction. */
static inline struct flat_half *world_half(const struct world *world, int from, int to, int lane,
                                           bool sends)
{
    int ranks = world->program.ranks, lanes = world->program.schedules[0]->lanes;
    size_t index = (size_t)(((to * ranks + from) * lanes + lane) * 2 + sends);
    return (struct flat_half *)(void *)(world->halves + index * world_stride(world));
}

static inline void rank_halves(void *context, int peer, int lane, bool sends,
                               struct flat_half **mine, struct flat_half **theirs)
{
    const struct world_rank *rank = context;
    int from = sends ? rank->rank : peer, to = sends ? peer : rank->rank;
    *mine = world_half(rank->world, from, to, lane, sends);
    *theirs = world_half(rank->world, from, to, lane, !sends);
}

static inline void world_open_buffers(struct world *world, int r)
{
    struct world_rank *rank = &world->ranks[r];
    const struct schedule *schedule = world->program.schedules[r];
    size_t bytes[BUFFERS];
    *rank = (struct world_rank){.world = world, .rank = r};
    schedule_bytes(schedule, sizeof(int32_t), bytes);
    for (int b = 0; b < BUFFERS; b++)
        rank->memory[b] = malloc(bytes[b] + sizeof(int32_t));
    for (int b = 0; b < BUFFERS; b++)
        world->buffers[r][b] = rank->buffer[b] =
            rank->memory[schedule->storage[b]] + schedule->base[b] * sizeof(int32_t);
}

static inline void world_make_plan(struct world *world, int r)
{
    struct world_rank *rank = &world->ranks[r];
    const struct schedule *schedule = world->program.schedules[r];
    const struct world_settings *settings = &world->settings;
    struct flat_config config = {
        .schedule = schedule,
        .element = sizeof(int32_t),
        .split = settings->split,
        .chunk = settings->chunk + (r % 2) * sizeof(int32_t),
        .slots = settings->slots,
        .slot_bytes = settings->slot_bytes,
        .ll_bytes = settings->ll_bytes,
        .ll_most = settings->ll_most,
        .zcopy_least = settings->zcopy_least,
        .zcopy_chunk = settings->zcopy_chunk + (r % 2) * sizeof(int32_t),
        .pushes = settings->pushes,
        .peers = (const struct schedule *const *)world->program.schedules,
        .peer_buffer = world->buffers,
        .halves = rank_halves,
        .context = rank,
        .abort_word = &world->abort_word,
    };
    uint32_t blocks = flat_block_count(schedule, settings->split);
    free(rank->plan);
    free(rank->whereabouts);
    free(rank->complete);
    memcpy(config.buffer, rank->buffer, sizeof config.buffer);
    config.whereabouts = rank->whereabouts = calloc(blocks, sizeof *rank->whereabouts);
    rank->complete = calloc(blocks, sizeof *rank->complete);
    assert_int_equal(flat_plan_create(&config, &rank->plan), STATUS_OK);
    for (uint32_t i = 0; i < schedule->count; i++) {
        const struct operation *operation = &schedule->operations[i];
        enum flat_path path = flat_operations(rank->plan)[i].path;
        if (operation_travels(operation->kind))
            assert_int_equal(path == FLAT_ACTIVE || path == FLAT_PASSIVE,
                             operation->length * sizeof(int32_t) >= settings->zcopy_least);
    }
}

/* The world takes over the program. */
static inline void world_open(struct world *world, const struct problem *problem,
                              const struct program *program, const struct world_settings *settings)
{
    const struct datatype *type = datatype_find("int32");
    const struct reduction *reduction =
        reduction_find(problem->collective->id == COLLECTIVE_BARRIER ? "bor"
                       : problem->finishes                           ? "avg"
                                                                     : "sum");
    *world = (struct world){.settings = *settings,
                            .problem = *problem,
                            .program = *program,
                            .reduce = reduce_kernel(type, reduction),
                            .finish = finish_kernel(type, reduction),
                            .random = settings->seed};
    world->pattern = (struct pattern){
        .problem = *problem,
        .inputs = {.datatype = type, .reduction = reduction, .ranks = problem->ranks, .seed = 7}};
    size_t lanes = (size_t)(program->ranks * program->ranks * program->schedules[0]->lanes);
    world->halves = calloc(2 * lanes, world_stride(world));
    for (int r = 0; r < program->ranks; r++)
        world_open_buffers(world, r);
    for (int r = 0; r < program->ranks; r++)
        world_make_plan(world, r);
}

/* Other plans on the same halves, for runs from the first. */
static inline void world_plan_anew(struct world *world, const struct world_settings *settings)
{
    world->settings = *settings;
    for (int r = 0; r < world->program.ranks; r++) {
        world_make_plan(world, r);
        world->ranks[r].run = 0;
    }
}

static inline void world_close(struct world *world)
{
    for (int r = 0; r < world->program.ranks; r++) {
        struct world_rank *rank = &world->ranks[r];
        for (int b = 0; b < BUFFERS; b++)
            free(rank->memory[b]);
        free(rank->whereabouts);
        free(rank->complete);
        free(rank->plan);
    }
    free(world->halves);
    program_free(&world->program);
}

/* A thread's part of a run. */
static inline void world_body(const void *context, enum operation_kind kind,
                              const struct step_run *run, unsigned thread, unsigned threads)
{
    const struct world *world = context;
    size_t count = run->bytes / sizeof(int32_t), first = count * thread / threads;
    size_t n = count * (thread + 1) / threads - first, at = first * sizeof(int32_t);
    if (n == 0)
        return;
    if (kind == OPERATION_REDUCE)
        world->reduce(run->to + at, run->from + at, run->with + at, n);
    else if (kind == OPERATION_FINISH)
        world->finish(run->to + at, run->from + at, n, world->problem.ranks);
    else
        memcpy(run->to + at, run->from + at, n * sizeof(int32_t));
}

/* Fresh inputs, and poison elsewhere. */
static inline void rank_prepare(struct world_rank *rank)
{
    const struct schedule *schedule = rank->world->program.schedules[rank->rank];
    struct inputs inputs = rank->world->pattern.inputs;
    size_t bytes[BUFFERS];
    inputs.iteration = rank->run;
    schedule_bytes(schedule, sizeof(int32_t), bytes);
    for (int b = 0; b < BUFFERS; b++)
        memset(rank->memory[b], PATTERN_POISON, bytes[b]);
    inputs_make(&inputs, rank->rank, 0, schedule->extent[BUFFER_SOURCE],
                rank->buffer[BUFFER_SOURCE]);
}

static inline void rank_start(struct world_rank *rank)
{
    rank->blocks_left = rank->plan->block_count;
    for (uint32_t b = 0; b < rank->plan->block_count; b++) {
        rank->complete[b] = false;
        step_start(rank->plan, b);
    }
}

/* Compares the result of a run with the contract. */
static inline bool rank_right(const struct world_rank *rank)
{
    struct pattern pattern = rank->world->pattern;
    size_t count = rank->world->program.schedules[rank->rank]->extent[BUFFER_DESTINATION];
    char *expected = malloc(count * sizeof(int32_t) + 1);
    pattern.inputs.iteration = rank->run;
    pattern_expect(&pattern, rank->rank, 0, count, expected);
    bool right = memcmp(expected, rank->buffer[BUFFER_DESTINATION], count * sizeof(int32_t)) == 0;
    free(expected);
    return right;
}

/* A rank whose blocks are all complete checks its result, and begins its next run. */
static inline void rank_next(struct world_rank *rank)
{
    struct world *world = rank->world;
    if (!rank_right(rank))
        snprintf(world->why, sizeof world->why, "rank %d: wrong data in run %zu", rank->rank,
                 rank->run);
    if (++rank->run < world->settings.runs) {
        rank_prepare(rank);
        rank_start(rank);
    }
}

/* Does a fence order the operation behind one that is not complete? By the schedule, not by what
 * the plan made of it. */
static inline bool fence_broken(const struct world_rank *rank, uint32_t block, uint32_t index)
{
    const struct schedule *schedule = rank->world->program.schedules[rank->rank];
    int previous = schedule->epochs[schedule->operations[index].epoch].previous;
    const size_t *done = flat_done(rank->plan, flat_block_progress(rank->plan)[block].runs);
    for (; previous >= 0; previous = schedule->epochs[previous].previous)
        for (uint32_t m = 0; m < schedule->epochs[previous].operations; m++) {
            uint32_t member = schedule->epochs[previous].members[m];
            if (done[member] < schedule->operations[member].length * sizeof(int32_t))
                return true;
        }
    return false;
}

/* Has a passive end granted what a fence does not allow yet? */
static inline bool grant_broken(struct world_rank *rank, uint32_t block)
{
    struct flat_range lanes = flat_blocks(rank->plan)[block].lanes;
    const size_t *done = flat_done(rank->plan, flat_block_progress(rank->plan)[block].runs);
    for (uint32_t lane = lanes.first; lane < lanes.first + lanes.count; lane++) {
        const struct flat_lane_run *run = &flat_lane_runs(rank->plan)[lane];
        size_t at = flat_lanes(rank->plan)[lane].mine->progress.bytes;
        for (uint32_t i = run->head; i != FLAT_NONE && run->granted > at;) {
            const struct flat_operation *operation = &flat_operations(rank->plan)[i];
            if (operation->path != FLAT_PASSIVE)
                break;
            if (i != run->head)
                rank->world->ahead++;
            if (fence_broken(rank, block, i))
                return true;
            at += operation->length - done[i];
            i = operation->next;
        }
    }
    return false;
}

/* Lies a chunk in a slot as at its sender, modulo 16? */
static inline bool slot_aligned(const struct world_rank *rank, const struct step_chunk *chunk)
{
    const struct flat_operation *operation = &flat_operations(rank->plan)[chunk->operation];
    size_t run;
    if (operation->path != FLAT_SLOTS || operation->kind != OPERATION_SEND)
        return true;
    const char *from =
        cursor_peek(&flat_operation_progress(rank->plan)[chunk->operation].from, 1, &run);
    return ((uintptr_t)from - (uintptr_t)chunk->slot) % 16 == 0;
}

/* One step of one block, which begins to look at a random candidate. `lazy`: also of the lazy
 * operation. */
static inline enum step_result world_step(struct world *world, struct world_rank *rank,
                                          uint32_t block, bool lazy)
{
    struct step_chunk chunk = {0};
    flat_block_progress(rank->plan)[block].turn = (uint32_t)world_draw(world, 1 << 16);
    enum step_result result = step_choose(rank->plan, block, &chunk);
    if (result == STEP_COMPLETE) {
        rank->complete[block] = true;
        if (--rank->blocks_left == 0)
            rank_next(rank);
    }
    if (result != STEP_COMPLETE && grant_broken(rank, block))
        snprintf(world->why, sizeof world->why, "rank %d granted past a fence", rank->rank);
    if (result == STEP_WAITS && flat_block_progress(rank->plan)[block].idle == 0)
        return STEP_MOVED; /* a passive end granted, or noticed what its peer moved */
    if (result != STEP_MOVED && result != STEP_GATHERS)
        return result;
    if (!lazy && rank->rank == world->settings.lazy_rank &&
        chunk.operation == world->settings.lazy_operation)
        return STEP_WAITS;
    if (fence_broken(rank, block, chunk.operation))
        snprintf(world->why, sizeof world->why, "rank %d: operation %u passed a fence", rank->rank,
                 chunk.operation);
    if (!slot_aligned(rank, &chunk))
        snprintf(world->why, sizeof world->why, "rank %d: operation %u lies awry in its slot",
                 rank->rank, chunk.operation);
    for (unsigned thread = 0; thread < WORLD_MOVERS && result == STEP_GATHERS; thread++)
        if (!step_gather(&chunk, thread, WORLD_MOVERS))
            return STEP_WAITS;
    for (unsigned thread = 0; thread < WORLD_MOVERS; thread++)
        step_move(rank->plan, &chunk, world_body, world, thread, WORLD_MOVERS);
    step_publish(rank->plan, block, &chunk);
    world->moves++;
    world->moves_by[flat_operations(rank->plan)[chunk.operation].path]++;
    return STEP_MOVED;
}

/* Serves every block, and the lazy operation last; false: nothing moved. */
static inline bool world_round(struct world *world)
{
    for (int lazy = 0; lazy < 2; lazy++)
        for (int tries = 0; tries < (world->settings.lazy_rank < 0 ? 1 : 16); tries++)
            for (int r = 0; r < world->program.ranks; r++) {
                struct world_rank *rank = &world->ranks[r];
                size_t run = rank->run;
                for (uint32_t b = 0; b < rank->plan->block_count && rank->run == run; b++)
                    if (run < world->settings.runs && !rank->complete[b] &&
                        world_step(world, rank, b, lazy) != STEP_WAITS)
                        return true;
            }
    return false;
}

static inline bool world_complete(const struct world *world)
{
    for (int r = 0; r < world->program.ranks; r++)
        if (world->ranks[r].run < world->settings.runs)
            return false;
    return true;
}

static inline void world_start(struct world *world)
{
    for (int r = 0; r < world->program.ranks; r++) {
        rank_prepare(&world->ranks[r]);
        rank_start(&world->ranks[r]);
    }
}

/* Steps blocks in random order until all runs are complete; false: something was wrong, or no block
 * can move. */
static inline bool world_run(struct world *world)
{
    int idle = 0;
    while (!world->why[0] && !world_complete(world)) {
        struct world_rank *rank = &world->ranks[world_draw(world, (uint64_t)world->program.ranks)];
        uint32_t block = (uint32_t)world_draw(world, rank->plan->block_count);
        if (rank->run < world->settings.runs && !rank->complete[block] &&
            world_step(world, rank, block, false) != STEP_WAITS)
            idle = 0;
        else if (++idle > 8) {
            idle = 0;
            if (!world_round(world))
                snprintf(world->why, sizeof world->why, "no block can move");
        }
    }
    return !world->why[0];
}

/* Samples. */

/* One slot that holds little. */
static const struct world_settings narrow = {.split = true,
                                             .slots = 1,
                                             .slot_bytes = 12,
                                             .chunk = 8,
                                             .zcopy_least = SIZE_MAX,
                                             .zcopy_chunk = 8,
                                             .runs = 2,
                                             .lazy_rank = -1};

static inline void sample_trial(const struct schedule_sample *sample, struct trial *trial,
                                struct counts **counts, struct program *program)
{
    char why[TRIAL_WHY];
    *trial =
        (struct trial){.choice = choice_of(algorithm_find(sample->collective, sample->algorithm)),
                       .problem = {.collective = collective_of(sample->collective),
                                   .ranks = sample->ranks,
                                   .count = sample->count,
                                   .in_place = sample->in_place},
                       .channels = sample->channels,
                       .spec = {.distribution = DISTRIBUTION_SPREAD}};
    *counts = problem_counts(&trial->problem, &trial->choice, &trial->spec);
    if (!trial_build(trial, program, why))
        fail_msg("%s", why);
}

static inline void sample_open(struct world *world, const struct schedule_sample *sample,
                               struct counts **counts, const struct world_settings *settings)
{
    struct trial trial;
    struct program program;
    sample_trial(sample, &trial, counts, &program);
    world_open(world, &trial.problem, &program, settings);
}

#endif
