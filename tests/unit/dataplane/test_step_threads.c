/*
 * test_step_threads.c - the step by threads: all blocks of all ranks at once, and each block by one
 * thread or, as a device's, by several with barriers. For ThreadSanitizer.
 * tier: check; load: cpu1; sanitizers: address,undefined thread
 */
#include "tests/unit/step_world.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <time.h>

#define RUNS         5
#define WAYS         5  /* of messages: slots, lines, pulled, pushed, and all in one */
#define SECONDS      30 /* then it stands still */
#define THREADS_MOST (WORLD_RANKS * 4 * WORLD_MOVERS)

/* The threads of a block, and what they share. */
struct team {
    struct world_rank *rank;
    uint32_t block;
    unsigned movers;
    pthread_barrier_t barrier;
    pthread_barrier_t *launch; /* of all threads of the rank */
    enum step_result result;
    struct step_chunk chunk;
    atomic_bool missing; /* a line of the chunk */
    atomic_bool *wrong;
};

struct mover {
    struct team *team;
    unsigned number;
    pthread_t thread;
};

/* Have the lines of all threads arrived? */
static bool mover_votes(const struct mover *mover)
{
    struct team *team = mover->team;
    if (!step_gather(&team->chunk, mover->number, team->movers))
        atomic_store(&team->missing, true);
    pthread_barrier_wait(&team->barrier);
    return !atomic_load(&team->missing);
}

/* A run, as a kernel does it. */
static void mover_run(const struct mover *mover)
{
    struct team *team = mover->team;
    struct flat_plan *plan = team->rank->plan;
    const struct world *world = team->rank->world;
    bool first = mover->number == 0;
    enum step_result result;
    if (first)
        step_start(plan, team->block);
    do {
        pthread_barrier_wait(&team->barrier);
        if (first)
            atomic_store(&team->missing, false);
        if (first)
            team->result = step_choose(plan, team->block, &team->chunk);
        pthread_barrier_wait(&team->barrier);
        result = team->result;
        if (result == STEP_GATHERS)
            result = mover_votes(mover) ? STEP_MOVED : STEP_WAITS;
        if (result == STEP_MOVED) {
            step_move(plan, &team->chunk, world_body, world, mover->number, team->movers);
            pthread_barrier_wait(&team->barrier);
            if (first)
                step_publish(plan, team->block, &team->chunk);
        } else if (result == STEP_WAITS) {
            sched_yield();
        }
    } while (result < STEP_COMPLETE);
    if (result == STEP_ABORTED)
        *team->wrong = true;
}

/* The same by one thread. */
static void block_run(const struct team *team)
{
    struct flat_plan *plan = team->rank->plan;
    enum step_result result;
    step_start(plan, team->block);
    do {
        result = step(plan, team->block, world_body, team->rank->world);
        if (result == STEP_WAITS)
            sched_yield();
    } while (result < STEP_COMPLETE);
    if (result == STEP_ABORTED)
        *team->wrong = true;
}

static void *mover_main(void *context)
{
    const struct mover *mover = context;
    const struct team *team = mover->team;
    struct world_rank *rank = team->rank;
    bool leads = team->block == 0 && mover->number == 0; /* the rank: it is the host */
    for (size_t run = 0; run < RUNS; run++) {
        if (leads)
            rank_prepare(rank);
        pthread_barrier_wait(team->launch);
        if (team->movers == 1)
            block_run(team);
        else
            mover_run(mover);
        pthread_barrier_wait(team->launch);
        if (leads) {
            if (!rank_right(rank))
                *team->wrong = true;
            rank->run++;
        }
    }
    return NULL;
}

/* Joins all; if they stand still, the abort word ends them. */
static void movers_join(struct mover *movers, int count, struct world *world)
{
    struct timespec end;
    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_sec += SECONDS;
    for (int m = 0; m < count; m++)
        if (pthread_timedjoin_np(movers[m].thread, NULL, &end) == ETIMEDOUT) {
            word_store(&world->abort_word, 1);
            pthread_join(movers[m].thread, NULL);
        }
}

/* How messages travel. */
static void settings_choose(struct world_settings *settings, int way)
{
    bool mixed = way == WAYS - 1;
    if (way == 1 || mixed) /* lines */
        settings->ll_bytes = 20;
    settings->ll_most = mixed ? 16 : SIZE_MAX;
    if (way == 2 || way == 3 || mixed) /* zcopy */
        settings->zcopy_least = mixed ? 40 : 0;
    settings->zcopy_chunk = 24;
    settings->pushes = way == 3 || mixed;
}

static void as_threads(const struct schedule_sample *sample, size_t slots, int way, unsigned each)
{
    struct team teams[WORLD_RANKS * 4];
    struct mover movers[THREADS_MOST];
    pthread_barrier_t launches[WORLD_RANKS];
    struct world_settings settings = narrow;
    atomic_bool wrong = false;
    struct world world;
    struct counts *counts;
    int count = 0, teams_count = 0;
    settings.slots = slots;
    settings_choose(&settings, way);
    sample_open(&world, sample, &counts, &settings);
    for (int r = 0; r < sample->ranks; r++) {
        uint32_t blocks = world.ranks[r].plan->block_count;
        pthread_barrier_init(&launches[r], NULL, blocks * each);
        for (uint32_t b = 0; b < blocks; b++) {
            struct team *team = &teams[teams_count++];
            *team = (struct team){.rank = &world.ranks[r],
                                  .block = b,
                                  .movers = each,
                                  .launch = &launches[r],
                                  .wrong = &wrong};
            pthread_barrier_init(&team->barrier, NULL, each);
            for (unsigned n = 0; n < each; n++)
                movers[count++] = (struct mover){.team = team, .number = n};
        }
    }
    for (int m = 0; m < count; m++)
        assert_int_equal(pthread_create(&movers[m].thread, NULL, mover_main, &movers[m]), 0);
    movers_join(movers, count, &world);
    for (int t = 0; t < teams_count; t++)
        pthread_barrier_destroy(&teams[t].barrier);
    for (int r = 0; r < sample->ranks; r++)
        pthread_barrier_destroy(&launches[r]);
    assert_false(wrong);
    world_close(&world);
    counts_free(counts);
}

static const struct schedule_sample samples[] = {
    {COLLECTIVE_ALLREDUCE, "ring", 4, 64, true, 2},
    {COLLECTIVE_ALLREDUCE, "dbt", 5, 61, false, 2},
    {COLLECTIVE_ALLREDUCE, "rabenseifner", 6, 61, false, 1},
    {COLLECTIVE_ALLGATHER, "bruck", 5, 13, false, 3},
    {COLLECTIVE_ALLTOALL, "pairwise", 4, 17, false, 2},
    {COLLECTIVE_ALLTOALLV, "pairwise", 4, 16, true, 3}, /* waits cross channels */
    {COLLECTIVE_REDUCE_SCATTER, "butterfly", 4, 15, true, 2},
    {COLLECTIVE_BARRIER, "dissemination", 9, 1, false, 1},
};

static void by_one_thread(void **state)
{
    static const size_t slots[] = {1, 2, 8};
    (void)state;
    for (size_t s = 0; s < sizeof samples / sizeof *samples; s++)
        for (size_t i = 0; i < 3; i++)
            for (int way = 0; way < WAYS; way++)
                as_threads(&samples[s], slots[i], way, 1);
}

static void by_several(void **state)
{
    (void)state;
    for (size_t s = 0; s < sizeof samples / sizeof *samples; s++)
        for (int way = 0; way < WAYS; way++)
            as_threads(&samples[s], 2, way, WORLD_MOVERS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(by_one_thread),
        cmocka_unit_test(by_several),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
