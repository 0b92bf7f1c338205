/*
 * test_plan.c - the executor, over a transport that moves a few bytes when it is told to.
 *
 * All ranks live in this process. The links of this file take the place of the real ones (the
 * linker takes links_channel(), links_progress() and links_check() from here), so that every step
 * can be looked at.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "plan.h"
#include "builder.h"
#include "pattern.h"

#define RANKS_MOST 9
#define LANES_MOST 4

struct links {
    struct endpoint endpoint;
    int rank, ranks;
    size_t step; /* bytes that one channel moves in one progress call */
    struct channel sends[RANKS_MOST][LANES_MOST], receives[RANKS_MOST][LANES_MOST];
    struct links *world; /* of all ranks */
};

static void stepped_activate(struct channel *channel)
{
    (void)channel;
}

static const struct transport transport_stepped = {.name = "stepped", .activate = stepped_activate};

struct channel *links_channel(struct links *links, int peer, int lane, bool sends)
{
    struct channel *channel = sends ? &links->sends[peer][lane] : &links->receives[peer][lane];
    channel->endpoint = &links->endpoint;
    channel->peer = peer;
    channel->lane = lane;
    channel->sends = sends;
    return channel;
}

/* Moves up to a step from the peer's first send into our first receive. */
static void stepped_move(struct links *links, struct channel *in, struct channel *out)
{
    char bytes[64];
    if (!in->first || !out->first)
        return;
    struct transfer *to = in->first, *from = out->first;
    size_t room = to->limit - to->done, ready = from->limit - from->done;
    size_t move = room < ready ? room : ready;
    move = move < links->step ? move : links->step;
    move -= move % to->element;
    if (move == 0)
        return;
    assert_int_equal(to->length, from->length);
    cursor_gather(&from->cursor, bytes, move);
    if (to->kind == TRANSFER_RECV)
        cursor_scatter(&to->cursor, bytes, move);
    else
        cursor_reduce(&to->cursor, &to->with_cursor, bytes, move, to->reduce, to->element);
    transfer_advance(to, move);
    transfer_advance(from, move);
    if (to->done == to->length)
        channel_pop(in);
    if (from->done == from->length)
        channel_pop(out);
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

/* A world of ranks that run one collective. */

struct world {
    int ranks;
    struct problem problem;
    struct links *links;
    struct schedule *schedule[RANKS_MOST];
    struct plan *plan[RANKS_MOST];
    struct engine *engine[RANKS_MOST];
    char *memory[RANKS_MOST][BUFFERS];
    struct plan_config config[RANKS_MOST];
};

static void world_open(struct world *world, const struct choice *choice,
                       const struct problem *problem, int channels, size_t chunk, size_t step)
{
    *world = (struct world){.ranks = problem->ranks, .problem = *problem};
    world->links = calloc(RANKS_MOST, sizeof *world->links);
    for (int r = 0; r < world->ranks; r++) {
        world->links[r] = (struct links){.endpoint.transport = &transport_stepped,
                                         .rank = r,
                                         .ranks = world->ranks,
                                         .step = step,
                                         .world = world->links};
        assert_int_equal(schedule_build(choice, problem, r, channels, &world->schedule[r]),
                         STATUS_OK);
        assert_true(world->schedule[r]->lanes <= LANES_MOST);
        assert_int_equal(memory_kinds[0]->engine_open(&world->engine[r]), STATUS_OK);
        struct plan_config *config = &world->config[r];
        *config = (struct plan_config){
            .schedule = world->schedule[r],
            .element = sizeof(int32_t),
            .reduce = reduce_kernel(datatype_find("int32"), reduction_find("sum")),
            .chunk = chunk,
            .memory = memory_kinds[0],
            .engine = world->engine[r],
            .links = &world->links[r],
        };
        for (int b = 0; b < BUFFERS; b++)
            world->memory[r][b] = malloc(world->schedule[r]->extent[b] * sizeof(int32_t) + 1);
        for (int b = 0; b < BUFFERS; b++)
            config->buffer[b] = world->memory[r][world->schedule[r]->storage[b]] +
                                world->schedule[r]->base[b] * sizeof(int32_t);
        assert_int_equal(plan_create(config, &world->plan[r]), STATUS_OK);
    }
}

static void world_close(struct world *world)
{
    for (int r = 0; r < world->ranks; r++) {
        plan_destroy(world->plan[r]);
        schedule_free(world->schedule[r]);
        memory_kinds[0]->engine_close(world->engine[r]);
        for (int b = 0; b < BUFFERS; b++)
            free(world->memory[r][b]);
    }
    free(world->links);
}

static struct pattern world_pattern(const struct world *world, uint64_t iteration)
{
    return (struct pattern){.problem = world->problem,
                            .datatype = datatype_find("int32"),
                            .reduction = reduction_find("sum"),
                            .seed = 7,
                            .iteration = iteration};
}

static void world_start(struct world *world, uint64_t iteration)
{
    struct pattern pattern = world_pattern(world, iteration);
    for (int r = 0; r < world->ranks; r++) {
        pattern_fill(&pattern, r, 0, world->schedule[r]->extent[BUFFER_SOURCE],
                     world->config[r].buffer[BUFFER_SOURCE]);
        assert_int_equal(plan_start(world->plan[r]), STATUS_OK);
    }
}

/* One look at every rank. False when all are complete. */
static bool world_step(struct world *world)
{
    bool all = true;
    for (int r = 0; r < world->ranks; r++) {
        bool moved, complete;
        assert_int_equal(plan_progress(world->plan[r], &moved, &complete), STATUS_OK);
        all &= complete;
    }
    return !all;
}

static void world_expect(const struct world *world, uint64_t iteration, const char *what)
{
    struct pattern pattern = world_pattern(world, iteration);
    for (int r = 0; r < world->ranks; r++) {
        size_t count = world->schedule[r]->extent[BUFFER_DESTINATION];
        int32_t *expected = malloc(count * sizeof *expected + 1);
        pattern_expect(&pattern, r, 0, count, expected);
        if (memcmp(expected, world->config[r].buffer[BUFFER_DESTINATION], count * sizeof *expected))
            fail_msg("%s: rank %d of %d holds wrong data", what, r, world->ranks);
        free(expected);
    }
}

static struct choice choice_of(const struct algorithm *algorithm)
{
    struct choice choice = {.algorithm = algorithm};
    for (int i = 0; i < ALGORITHM_OPTIONS_MOST; i++)
        choice.options[i] = algorithm->options[i].standard;
    return choice;
}

static struct choice chain_choice(void)
{
    return choice_of(algorithm_find(COLLECTIVE_BROADCAST, "chain"));
}

/* On rank 1 of a chain, has the send to rank 2 begun while the receive from rank 0 is under way? */
static bool forward_begins_early(size_t chunk)
{
    struct problem problem = {.collective = collective_find("broadcast"), .ranks = 3, .count = 100};
    struct choice choice = chain_choice();
    struct world world;
    world_open(&world, &choice, &problem, 1, chunk, 16);
    world_start(&world, 0);
    bool early = false;
    for (bool more = true; more;) {
        const struct transfer *in = world.links[1].receives[0][0].first;
        const struct transfer *out = world.links[1].sends[2][0].first;
        early |= in && out && out->done > 0 && in->done < in->length;
        if (in && out)
            assert_true(out->done <= in->done);
        more = world_step(&world);
    }
    world_expect(&world, 0, "chain");
    world_close(&world);
    return early;
}

static void forward_begins_before_its_receive_ends(void **state)
{
    (void)state;
    assert_true(forward_begins_early(16));
}

static void whole_messages_do_not_stream(void **state)
{
    (void)state;
    assert_false(forward_begins_early(0));
}

/* The grain is the step in which others see progress: nothing is forwarded before a whole one is
 * there. */
static void forward_advances_by_the_grain(void **state)
{
    (void)state;
    struct problem problem = {.collective = collective_find("broadcast"), .ranks = 3, .count = 100};
    struct choice choice = chain_choice();
    struct world world;
    world_open(&world, &choice, &problem, 1, 64, 16);
    world_start(&world, 0);
    for (bool more = true; more;) {
        const struct transfer *out = world.links[1].sends[2][0].first;
        if (out && out->limit < out->length)
            assert_int_equal(out->limit % 64, 0);
        more = world_step(&world);
    }
    world_close(&world);
}

/* Every algorithm, on real data, through the real executor; runs repeat on one plan. */
static void every_algorithm_runs(void **state)
{
    (void)state;
    static const size_t chunks[] = {0, 4, 12, 4096};
    for (int a = 0; algorithms[a]; a++) {
        struct choice choice = choice_of(algorithms[a]);
        for (int ranks = 1; ranks <= RANKS_MOST; ranks++) {
            if (algorithms[a]->refuses &&
                algorithms[a]->refuses(ranks, choice.options, (char[200]){0}, 200))
                continue;
            for (int variant = 0; variant < 8; variant++) {
                struct problem problem = {.ranks = ranks, .count = (size_t)ranks + 3};
                for (int c = 0; collectives[c]; c++)
                    if (collectives[c]->id == algorithms[a]->collective)
                        problem.collective = collectives[c];
                if (problem.collective->id == COLLECTIVE_BARRIER)
                    continue; /* its operator is not a sum */
                problem.in_place = variant & 1;
                problem.root = problem.collective->rooted ? ranks - 1 : 0;
                struct world world;
                world_open(&world, &choice, &problem, 1 + (variant >> 2), chunks[variant & 3], 8);
                for (uint64_t run = 0; run < 3; run++) {
                    world_start(&world, run);
                    long steps = 0;
                    while (world_step(&world))
                        assert_true(++steps < 100000);
                    world_expect(&world, run, algorithms[a]->name);
                }
                world_close(&world);
            }
        }
    }
}

/* What a run waits in is the first operation that is not complete. */
static void whereabouts_name_the_wait(void **state)
{
    (void)state;
    struct problem problem = {.collective = collective_find("broadcast"), .ranks = 3, .count = 100};
    struct choice choice = chain_choice();
    struct world world;
    struct whereabouts where;
    world_open(&world, &choice, &problem, 1, 16, 16);
    world_start(&world, 0);
    bool moved, complete;
    for (int i = 0; i < 10; i++) /* rank 0 never looks, but its send is posted */
        plan_progress(world.plan[2], &moved, &complete);
    plan_where(world.plan[2], &where);
    assert_int_equal(where.kind, OPERATION_RECV);
    assert_int_equal(where.peer, 1);
    assert_int_equal(where.done, 0);
    assert_int_equal(where.length, 400);
    while (world_step(&world))
        ;
    plan_where(world.plan[2], &where);
    assert_int_equal(where.operation, -1);
    world_close(&world);
}

static void injected_drop_is_felt_once(void **state)
{
    (void)state;
    struct problem problem = {.collective = collective_find("allreduce"), .ranks = 4, .count = 40};
    struct choice choice = choice_of(algorithm_find(COLLECTIVE_ALLREDUCE, "ring"));
    struct world world;
    world_open(&world, &choice, &problem, 1, 16, 16);
    for (uint64_t run = 0; run < 2; run++) {
        plan_inject(world.plan[2], run == 0 ? PLAN_FAULT_DROP : PLAN_FAULT_NONE, 0);
        world_start(&world, run);
        while (world_step(&world))
            ;
        struct pattern pattern = world_pattern(&world, run);
        int32_t expected[40], without[40];
        unsigned char how[4] = {0, CONTRIBUTION_MISSING, 0, 0};
        pattern_expect(&pattern, 0, 0, 40, expected);
        pattern_combine(&pattern, how, 0, 40, without);
        if (run == 0) /* rank 2 ignored rank 1's part of block 0 */
            memcpy(expected, without, 10 * sizeof *expected);
        for (int r = 0; r < 4; r++)
            assert_memory_equal(expected, world.config[r].buffer[BUFFER_DESTINATION],
                                sizeof expected);
    }
    world_close(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(forward_begins_before_its_receive_ends),
        cmocka_unit_test(whole_messages_do_not_stream),
        cmocka_unit_test(forward_advances_by_the_grain),
        cmocka_unit_test(every_algorithm_runs),
        cmocka_unit_test(whereabouts_name_the_wait),
        cmocka_unit_test(injected_drop_is_felt_once),
    };
    return cmocka_run_group_tests_name("plan", tests, NULL, NULL);
}
