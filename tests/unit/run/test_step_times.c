/*
 * test_step_times.c - when the steps of a line end: medians over iterations, of the first ones
 * where they are too many.
 * tier: check; load: cpu1
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "run/results/internal.h"

#define STEPS 3

static const struct tick no_tick = {.call = NULL};

/* Iteration i: step 0 ends 10 + i us after the release, step 1 has no part here, step 2 ends at
 * 100. */
static void iteration(struct step_clock *clock, struct step_times *times, int i)
{
    const uint64_t released = 1000000 + (uint64_t)i * 1000000;
    clock->ended[0] = released + 10000 + (uint64_t)i * 1000;
    clock->ended[2] = released + 100000;
    step_times_note(times, released);
}

static void medians_of_iterations(void **state)
{
    (void)state;
    uint64_t ended[STEPS] = {0};
    struct step_clock clock = {.steps = STEPS, .ended = ended};
    struct step_times *times;
    assert_int_equal(STATUS_OK, step_times_create(&clock, &times));
    assert_int_equal(STEPS, step_times_count(times));
    assert_true(step_times_median(times, 0, &no_tick) == 0);
    for (int i = 4; i >= 0; i--)
        iteration(&clock, times, i);
    assert_float_equal(step_times_median(times, 0, &no_tick), 12, 1e-9);
    assert_float_equal(step_times_median(times, 1, &no_tick), 0, 1e-9);
    assert_float_equal(step_times_median(times, 2, &no_tick), 100, 1e-9);
    step_times_free(times);
}

static void the_first_iterations_count(void **state)
{
    (void)state;
    uint64_t ended[STEPS] = {0};
    struct step_clock clock = {.steps = STEPS, .ended = ended};
    struct step_times *times;
    const int most = (int)(STEP_TIMES_BYTES / sizeof(uint64_t) / STEPS);
    assert_int_equal(STATUS_OK, step_times_create(&clock, &times));
    for (int i = 0; i < most; i++)
        iteration(&clock, times, 0);
    for (int i = 0; i < most + 1; i++)
        iteration(&clock, times, 7);
    assert_float_equal(step_times_median(times, 0, &no_tick), 10, 1e-9);
    step_times_free(times);
}

/* The clock has the last operation of a step; without a clock nothing is noted. */
static void the_last_operation_ends_a_step(void **state)
{
    (void)state;
    uint64_t ended[STEPS] = {0};
    struct step_clock clock = {.steps = STEPS, .ended = ended};
    struct step_times *times;
    step_clock_note(&clock, 1);
    uint64_t first = ended[1];
    while (clock_ns() == first)
        continue;
    step_clock_note(&clock, 1);
    assert_true(first > 0 && ended[1] > first);
    step_clock_note(NULL, 1);
    assert_int_equal(STATUS_OK, step_times_create(&(struct step_clock){.steps = 0}, &times));
    assert_null(times);
    step_times_note(times, 0);
    assert_int_equal(0, step_times_count(times));
    step_times_free(times);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(medians_of_iterations),
        cmocka_unit_test(the_first_iterations_count),
        cmocka_unit_test(the_last_operation_ends_a_step),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
