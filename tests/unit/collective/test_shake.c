/*
 * test_shake.c - the shaker says yes to what is right in every order, and names a deadlock or a
 * difference. That it notices each missing wait is shown in test_conflict_shaken.c.
 * tier: check; load: cpu1
 */
#include "tests/unit/schedules.h"

static const struct schedule_sample samples[] = {
    {COLLECTIVE_ALLREDUCE, "ring", 5, 12, false, 1},
    {COLLECTIVE_ALLREDUCE, "rabenseifner", 6, 9, true, 2},
    {COLLECTIVE_ALLTOALL, "pairwise", 5, 4, true, 1},
    {COLLECTIVE_ALLTOALL, "ring", 5, 3, false, 1},
    {COLLECTIVE_BROADCAST, "chain", 5, 40, false, 1},
    {COLLECTIVE_REDUCE_SCATTER, "mesh", 5, 7, true, 3},
};
#define SAMPLES (sizeof(samples) / sizeof(*samples))

static void right_in_every_order(void **state)
{
    (void)state;
    for (size_t i = 0; i < SAMPLES; i++) {
        struct program program;

        sample_build(&program, &samples[i]);
        assert_firm(&program, 200);
        program_free(&program);
    }
}

/* One slot of one byte for each lane is the least that there can be. */
static void smallest_slots(void **state)
{
    (void)state;
    for (size_t i = 0; i < SAMPLES; i++) {
        struct program program;
        char error[512];

        sample_build(&program, &samples[i]);
        for (int lazy = -1; lazy < program.ranks; lazy++) {
            struct shaking shaking = {.seed = (uint64_t)lazy,
                                      .slots = 1,
                                      .slot_bytes = 1,
                                      .most = 1,
                                      .lazy_rank = lazy,
                                      .lazy_operation = -1};
            if (!shake_as(PROGRAM(&program), &shaking, error, sizeof(error)))
                fail_msg("%s", error);
        }
        program_free(&program);
    }
}

/* Both ranks send, and receive where what they send stands; variants put the receive first, or
 * fences between. */
enum { SEND_FIRST, RECEIVE_FIRST, FENCED, ONE_FENCED };

static void exchange_page(const struct page *page)
{
    struct message mine = view_block(&page->source, 1 - page->r);
    struct message theirs = view_block(&page->destination, 1 - page->r);
    bool fence = page->variant == FENCED || (page->variant == ONE_FENCED && page->r == 1);

    put_copy(page->b, &page->g, view_block(&page->destination, page->r),
             view_block(&page->source, page->r));
    if (page->variant == SEND_FIRST)
        put_send(page->b, &page->g, 1 - page->r, mine);
    put_recv(page->b, &page->g, 1 - page->r, theirs);
    if (fence)
        put_fence(page->b, &page->g);
    if (page->variant != SEND_FIRST)
        put_send(page->b, &page->g, 1 - page->r, mine);
}

static void shatters(enum collective_id collective, bool in_place, int variant, const char *words)
{
    struct program program;
    char error[512] = "";

    program_write(&program, collective, 2, 3, in_place, exchange_page, variant);
    if (program_shatters(&program, 1, error, sizeof(error)) < 0 || !strstr(error, words))
        fail_msg("said \"%s\" instead of \"%s\"", error, words);
    print_message("    %s\n", error);
    program_free(&program);
}

/* Receives that are posted early do not deadlock, unless they overwrite unsent data. */
static void deadlock_in_program_order(void **state)
{
    struct program program;

    (void)state;
    program_write(&program, COLLECTIVE_ALLTOALL, 2, 3, false, exchange_page, RECEIVE_FIRST);
    assert_right(&program);
    assert_firm(&program, 50);
    program_free(&program);
    shatters(
        COLLECTIVE_ALLTOALL, true, RECEIVE_FIRST,
        "deadlock in program order: rank 0's operation 0 (recv from rank 1) waits for rank 1's "
        "operation 1 (send to rank 0), which waits for rank 1's operation 0 (recv from rank 0), "
        "which waits for rank 0's operation 1 (send to rank 1), which waits for the first");
}

/* A fence holds: later operations start only when all earlier ones are complete. */
static void deadlock_by_fences(void **state)
{
    struct program program;

    (void)state;
    program_write(&program, COLLECTIVE_ALLTOALL, 2, 3, false, exchange_page, ONE_FENCED);
    assert_right(&program);
    assert_firm(&program, 50);
    program_free(&program);
    program_write(&program, COLLECTIVE_ALLTOALL, 2, 3, false, exchange_page, FENCED);
    assert_wrong(&program, "deadlock: rank 0's operation 1 (recv from rank 1) waits for rank 1's "
                           "operation 2 (send to rank 0), which waits for rank 1's operation 1");
    program_free(&program);
    shatters(
        COLLECTIVE_ALLTOALL, false, FENCED,
        "deadlock in a shaken order: rank 0's operation 1 (recv from rank 1) waits for rank 1's "
        "operation 2 (send to rank 0), which waits for rank 1's operation 1 (recv from rank 0), "
        "which waits for rank 0's operation 2 (send to rank 1), which waits for the first");
}

/* Moves all operations of a rank into its first epoch. */
static void epochs_merge(struct program *program, int rank, struct epoch *epoch)
{
    struct schedule *schedule = program->schedules[rank];
    struct operation *operations = program_open(program, rank);

    assert_true(schedule->epoch_count > 1);
    for (size_t i = 0; i < schedule->count; i++)
        operations[i].epoch = 0;
    *epoch = (struct epoch){.previous = -1, .next = -1, .operations = (uint32_t)schedule->count};
    schedule->epochs = epoch;
    schedule->epoch_count = 1;
}

/* Fences limit contention; no result may depend on them, since conflicts alone keep data right. So
 * with all fences gone the data stays right; with an operation in the wrong epoch, it is named. */
static void fences_removed(void **state)
{
    struct program program;
    struct epoch epochs[5];

    (void)state;
    program_build(&program, COLLECTIVE_ALLTOALL, "pairwise", 5, 4, true, 1);
    for (int r = 0; r < program.ranks; r++)
        epochs_merge(&program, r, &epochs[r]);
    assert_right(&program);
    assert_firm(&program, 200);
    epochs[3].operations--;
    assert_wrong(&program, "rank 3's epoch 0 should have");
    program_free(&program);
}

/* A run depends on its seed alone, so its findings can be reproduced. */
static void seeds_repeat(void **state)
{
    struct program program;
    char first[512], again[512];

    (void)state;
    program_build(&program, COLLECTIVE_REDUCE_SCATTER, "ring", 5, 6, false, 1);
    for (int r = 0; r < program.ranks; r++) {
        struct operation *operations = program_open(&program, r);

        for (size_t i = 0; i < program.schedules[r]->count; i++)
            operations[i].wait_count = 0;
    }
    int seed = program_shatters(&program, 20, first, sizeof(first));
    assert_true(seed >= 0);
    assert_false(shake(PROGRAM(&program), (uint64_t)seed, again, sizeof(again)));
    assert_string_equal(first, again);
    assert_non_null(strstr(first, "depends on the order in which operations are served: 0x"));
    print_message("    %s\n", first);
    program_free(&program);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(right_in_every_order),
        cmocka_unit_test(smallest_slots),
        cmocka_unit_test(deadlock_in_program_order),
        cmocka_unit_test(deadlock_by_fences),
        cmocka_unit_test(fences_removed),
        cmocka_unit_test(seeds_repeat),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
