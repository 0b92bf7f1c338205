/*
 * test_step_wires.c - the protocols between two ranks: each count and flag that is lost or forged
 * is noticed; injected faults; plans that follow each other on the same halves.
 * tier: check; load: cpu1
 */
#include "tests/unit/step_world.h"

#include <sys/mman.h>

#define SEEDS 12

/* Rank 0 sends 24 elements to rank 1, in one message. */
static const struct schedule_sample one_message = {
    COLLECTIVE_BROADCAST, "binomial", 2, 24, false, 1};
#define MESSAGE_BYTES (24 * sizeof(int32_t))

static struct world_settings by_lines(void)
{
    struct world_settings settings = narrow;
    settings.ll_bytes = 20;
    settings.ll_most = SIZE_MAX;
    return settings;
}

static struct world_settings by_zcopy(bool pushes)
{
    struct world_settings settings = narrow;
    settings.zcopy_least = 0;
    settings.pushes = pushes;
    return settings;
}

typedef void mutation(struct world *world);

/* The error, in the first seed that notices it; "": none does. */
static void notice(const struct world_settings *given, mutation *mutate, char why[TRIAL_WHY])
{
    why[0] = '\0';
    for (uint64_t seed = 0; seed < SEEDS && !why[0]; seed++) {
        struct world world;
        struct counts *counts;
        struct world_settings settings = *given;
        settings.seed = seed;
        sample_open(&world, &one_message, &counts, &settings);
        world_start(&world);
        if (mutate)
            mutate(&world);
        world_run(&world);
        snprintf(why, TRIAL_WHY, "%s", world.why);
        world_close(&world);
        counts_free(counts);
    }
}

static void assert_noticed(const struct world_settings *settings, mutation *mutate,
                           const char *sentence)
{
    char why[TRIAL_WHY];
    notice(settings, NULL, why);
    assert_string_equal(why, "");
    notice(settings, mutate, why);
    if (!strstr(why, sentence))
        fail_msg("'%s' and not '%s'", why, sentence);
}

/* Zcopy. */

static struct flat_half *receivers(struct world *world)
{
    return world_half(world, 0, 1, 0, false);
}

static struct flat_half *senders(struct world *world)
{
    return world_half(world, 0, 1, 0, true);
}

/* Rank 1 has the message, and begins its next run before rank 0 does. */
static void forge_grant(struct world *world)
{
    while (receivers(world)->bytes == 0)
        world_step(world, &world->ranks[0], 0, true);
    while (world->ranks[1].run == 0)
        world_step(world, &world->ranks[1], 0, true);
    assert_int_equal(world->ranks[0].run, 0);
    receivers(world)->bytes += MESSAGE_BYTES;
    while (senders(world)->bytes < 2 * MESSAGE_BYTES)
        world_step(world, &world->ranks[1], 0, true);
}

static void lose_grant(struct world *world)
{
    while (receivers(world)->bytes == 0)
        world_step(world, &world->ranks[0], 0, true);
    receivers(world)->bytes = 0;
}

static void lose_grant_of_push(struct world *world)
{
    while (senders(world)->bytes == 0)
        world_step(world, &world->ranks[1], 0, true);
    senders(world)->bytes = 0;
}

/* Rank 1 told that it had moved all before it moved any. So rank 0 begins its next run. */
static void move_early(struct world *world)
{
    while (receivers(world)->bytes == 0)
        world_step(world, &world->ranks[0], 0, true);
    senders(world)->bytes = MESSAGE_BYTES;
    while (world->ranks[0].run == 0)
        world_step(world, &world->ranks[0], 0, true);
}

/* The same by rank 0, which pushes: rank 1 finds poison. */
static void push_early(struct world *world)
{
    while (senders(world)->bytes == 0)
        world_step(world, &world->ranks[1], 0, true);
    receivers(world)->bytes = MESSAGE_BYTES;
    while (world->ranks[1].run == 0)
        world_step(world, &world->ranks[1], 0, true);
}

static void a_grant_or_moved_count(void **state)
{
    struct world_settings pull = by_zcopy(false), push = by_zcopy(true);
    (void)state;
    assert_noticed(&pull, forge_grant, "rank 1: wrong data");
    assert_noticed(&pull, lose_grant, "no block can move");
    assert_noticed(&push, lose_grant_of_push, "no block can move");
    assert_noticed(&pull, move_early, "rank 1: wrong data");
    assert_noticed(&push, push_early, "rank 1: wrong data");
}

/* Lines. */

static struct flat_line *first_line(struct world *world)
{
    const struct world_settings *settings = &world->settings;
    return half_lines(receivers(world), settings->slots, settings->slot_bytes, settings->ll_bytes,
                      0);
}

/* A line keeps the flag of the use of its slot before. */
static void age_flag(struct world *world)
{
    while (senders(world)->progress.slots == 0)
        world_step(world, &world->ranks[0], 0, true);
    first_line(world)[1].words[1] -= (uint64_t)1 << 32;
}

/* A line has its flags before its data. */
static void flag_early(struct world *world)
{
    while (senders(world)->progress.slots == 0)
        world_step(world, &world->ranks[0], 0, true);
    line_store(&first_line(world)[1], 0, line_flag(0));
}

/* The receiver never gave the sender of these lines its only slot. */
static void lose_line_credit(struct world *world)
{
    senders(world)->slots--;
}

/* The sender fills the only slot again before the receiver has read it: then the first use's flags
 * never come. */
static void forge_line_credit(struct world *world)
{
    while (senders(world)->progress.slots == 0)
        world_step(world, &world->ranks[0], 0, true);
    senders(world)->slots++;
    while (senders(world)->progress.slots == 1)
        world_step(world, &world->ranks[0], 0, true);
}

static void a_flag(void **state)
{
    struct world_settings lines = by_lines();
    (void)state;
    assert_noticed(&lines, age_flag, "no block can move");
    assert_noticed(&lines, flag_early, "rank 1: wrong data");
    assert_noticed(&lines, lose_line_credit, "no block can move");
    assert_noticed(&lines, forge_line_credit, "no block can move");
}

/* The words of a line, whatever its data; and flags of the uses of a slot. */
static void lines_alone(void **state)
{
    struct flat_line line = {{0}};
    uint64_t data = 1;
    (void)state;
    assert_false(line_load(&line, line_flag(0), &data));
    line_store(&line, 0xfedcba9876543210u, line_flag(7));
    assert_true(line_load(&line, line_flag(7), &data));
    assert_true(data == 0xfedcba9876543210u);
    assert_false(line_load(&line, line_flag(6), &data));
    for (size_t use = UINT32_MAX - (size_t)2; use < UINT32_MAX + (size_t)2; use++) {
        assert_true(line_flag(use) != 0);
        assert_true(line_flag(use) != line_flag(use + 1));
    }
}

/* Faults. */

static bool run_with(const struct schedule_sample *sample, const struct world_settings *settings,
                     int rank, enum fault_kind fault, int nth, char why[TRIAL_WHY])
{
    struct world world;
    struct counts *counts;
    sample_open(&world, sample, &counts, settings);
    world_start(&world);
    bool struck = flat_plan_inject(world.ranks[rank].plan, fault, nth);
    world_run(&world);
    snprintf(why, TRIAL_WHY, "%s", world.why);
    world_close(&world);
    counts_free(counts);
    return struck;
}

/* Each incoming message of a rank in turn: all ranks end, and the data is wrong. */
static void injected(void **state)
{
    static const struct schedule_sample samples[] = {
        {COLLECTIVE_ALLREDUCE, "ring", 3, 24, true, 2},
        {COLLECTIVE_ALLGATHER, "bruck", 5, 13, false, 1},
        {COLLECTIVE_REDUCE, "binomial", 2, 24, false, 1},
    };
    struct world_settings settings[] = {narrow, by_lines(), by_zcopy(false), by_zcopy(true)};
    char why[TRIAL_WHY];
    (void)state;
    for (size_t s = 0; s < sizeof samples / sizeof *samples; s++)
        for (size_t w = 0; w < sizeof settings / sizeof *settings; w++)
            for (int fault = FAULT_CORRUPT; fault <= FAULT_DROP; fault++) {
                int nth = 0;
                if (fault == FAULT_DROP && settings[w].pushes)
                    continue;
                for (; run_with(&samples[s], &settings[w], 0, fault, nth, why); nth++)
                    if (!strstr(why, "wrong data"))
                        fail_msg("%s, setting %zu, fault %d of message %d: '%s'",
                                 samples[s].algorithm, w, fault, nth, why);
                assert_true(nth > 0);
                assert_string_equal(why, "");
            }
}

/* Plans. */

/* Halves that nobody reaches while plans are made last through plans that use all paths. */
static void plans_in_turn(void **state)
{
    static const struct schedule_sample sample = {COLLECTIVE_ALLREDUCE, "ring", 4, 62, false, 2};
    struct world_settings first = by_lines(), settings;
    struct world world;
    struct counts *counts;
    (void)state;
    first.slots = 3;
    sample_open(&world, &sample, &counts, &first);
    size_t lanes = (size_t)(4 * 4 * world.program.schedules[0]->lanes);
    size_t bytes = 2 * lanes * world_stride(&world);
    free(world.halves);
    world.halves = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(world.halves != MAP_FAILED);
    for (int turn = 0; turn < 24; turn++) {
        settings = first;
        settings.seed = (uint64_t)turn;
        settings.split = turn % 3 > 0;
        settings.chunk = 4 + (size_t)turn;
        settings.ll_most = turn % 2 ? 0 : 28;
        settings.zcopy_least = turn % 4 == 0 ? 0 : turn % 4 == 1 ? 30 : SIZE_MAX;
        settings.pushes = turn % 5 < 2;
        assert_int_equal(mprotect(world.halves, bytes, PROT_NONE), 0);
        world_plan_anew(&world, &settings);
        assert_int_equal(mprotect(world.halves, bytes, PROT_READ | PROT_WRITE), 0);
        world_start(&world);
        if (!world_run(&world))
            fail_msg("turn %d: %s", turn, world.why);
    }
    munmap(world.halves, bytes);
    world.halves = NULL;
    world_close(&world);
    counts_free(counts);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_grant_or_moved_count),
        cmocka_unit_test(a_flag),
        cmocka_unit_test(lines_alone),
        cmocka_unit_test(injected),
        cmocka_unit_test(plans_in_turn),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
