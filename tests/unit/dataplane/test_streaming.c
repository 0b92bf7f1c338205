/*
 * test_streaming.c - what makes streaming free of deadlock: flow control for every lane, and all
 * operations open at once. (That conflicts are exact is shown in test_conflict.c.)
 *
 * The schedule: rank 0 sends MESSAGES messages on one lane, then one on another. Rank 1 receives
 * that one first, because all of them land in one area. So the last message must overtake all
 * others.
 * tier: check; load: cpu1
 */
#include "tests/unit/schedules.h"

#define MESSAGES 6
#define LENGTH   5

enum { TWO_LANES, ONE_LANE };

static struct message part(const struct page *page, const struct view *view, int index)
{
    return message_part(page->b, view_all(page->b, view), (size_t)index * LENGTH, LENGTH);
}

static void overtaking_page(const struct page *page)
{
    struct group other = group_on_lane(page->b, &page->g);
    const struct group *last = page->variant == TWO_LANES ? &other : &page->g;
    struct view area = view_scratch_block(page->b, LENGTH);

    if (page->r == 0) {
        put_copy(page->b, &page->g, view_all(page->b, &page->destination),
                 view_all(page->b, &page->source));
        for (int i = 1; i < MESSAGES; i++)
            put_send(page->b, &page->g, 1, part(page, &page->source, i));
        put_send(page->b, last, 1, part(page, &page->source, 0));
        return;
    }
    for (int i = 0; i < MESSAGES; i++) {
        put_recv(page->b, i == 0 ? last : &page->g, 0, view_all(page->b, &area));
        put_copy(page->b, &page->g, part(page, &page->destination, i), view_all(page->b, &area));
    }
}

static void overtaking_write(struct program *program, int variant)
{
    program_write(program, COLLECTIVE_BROADCAST, 2, MESSAGES * LENGTH, false, overtaking_page,
                  variant);
}

static const struct shaking smallest = {
    .slots = 1, .slot_bytes = 1, .most = 1, .lazy_rank = -1, .lazy_operation = -1};

/* Each lane has its own slot, even if that of the other lane is full. */
static void flow_control_for_every_lane(void **state)
{
    struct program program;
    struct shaking shaking = smallest;
    char error[512];

    (void)state;
    overtaking_write(&program, TWO_LANES);
    assert_right(&program);
    for (shaking.seed = 0; shaking.seed < 100; shaking.seed++)
        if (!shake_as(PROGRAM(&program), &shaking, error, sizeof(error)))
            fail_msg("%s", error);
    program_free(&program);

    /* On one lane no message overtakes another. */
    overtaking_write(&program, ONE_LANE);
    assert_wrong(&program, "rank 1's destination element 0 holds rank 0's source element 5, of the "
                           "wrong element: the contract wants rank 0's source element 0");
    program_free(&program);
}

/* Limits a rank to its next `window` operations: each waits for the end of all that are further
 * back. */
static void window_limit(struct program *program, int rank, size_t window)
{
    struct schedule *schedule = program->schedules[rank];
    struct operation *operations = program_open(program, rank);

    for (size_t i = window; i < schedule->count; i++) {
        size_t more = i - window + 1, count = operations[i].wait_count;
        struct wait *waits = arena_take(schedule->memory, (count + more) * sizeof(*waits));

        assert_non_null(waits);
        for (size_t k = 0; k < more; k++)
            waits[k] = (struct wait){
                .operation = (uint32_t)k, .past = operations[k].length - 1, .length = 1};
        if (count)
            memcpy(waits + more, operations[i].waits, count * sizeof(*waits));
        operations[i].waits = waits;
        operations[i].wait_count = count + more;
    }
}

static void every_operation_open(void **state)
{
    struct shaking shaking = smallest;
    char error[512];

    (void)state;
    for (size_t window = 1; window <= MESSAGES + 1; window++) {
        struct program program;
        struct verification verification;

        overtaking_write(&program, TWO_LANES);
        window_limit(&program, 0, window);
        verify(PROGRAM(&program), false, &verification);
        bool all_open = window >= MESSAGES; /* the copy may be complete */
        assert_int_equal(verification.right, all_open);
        assert_int_equal(shake_as(PROGRAM(&program), &shaking, error, sizeof(error)), all_open);
        if (!all_open) {
            assert_non_null(strstr(verification.error, "deadlock: rank 0's operation"));
            assert_non_null(strstr(error, "deadlock in a shaken order: "));
            print_message("    %zu open: %s\n", window, verification.error);
        }
        verification_free(&verification);
        program_free(&program);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(flow_control_for_every_lane),
        cmocka_unit_test(every_operation_open),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
