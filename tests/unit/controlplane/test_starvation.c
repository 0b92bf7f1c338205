/*
 * test_starvation.c - a thread starves if it stands ready for half of the deadline and has no core.
 * tier: check; load: cpu1
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "controlplane/control/internal.h"

#include <cmocka.h> /* after log.h: it makes a macro of fail() */

#define DEADLINE 2.0

/* A look each tenth of a second, for so long. *sight goes on from look to look, and has had so much
 * more of a core at each. Returns how many looks found that it starved. */
static uint64_t looks(struct starvation *starvation, struct thread_sight *sight, double seconds,
                      uint64_t cpu_ns)
{
    uint64_t before = starvation->count;
    for (int i = 0; i < (int)(seconds * 10 + 0.5); i++) {
        sight->now += 0.1;
        sight->cpu_ns += cpu_ns;
        starvation_look(starvation, sight, DEADLINE);
    }
    return starvation->count - before;
}

static void ready_without_a_core_it_starves(void **state)
{
    (void)state;
    struct starvation starvation = {.count = 0};
    struct thread_sight sight = {.now = 7, .cpu_ns = 5, .progress = 1, .ready = true};
    assert_int_equal(looks(&starvation, &sight, DEADLINE / 2, 0), 0);
    assert_in_range(looks(&starvation, &sight, DEADLINE / 2, 0), 5, 10);
    assert_int_equal(looks(&starvation, &sight, 0.1, 1), 0); /* it has got one */
    assert_int_equal(looks(&starvation, &sight, DEADLINE / 2 - 0.1, 0), 0);
}

/* It spins, and other threads have the core most of the time. */
static void with_a_core_now_and_then_it_does_not(void **state)
{
    (void)state;
    struct starvation starvation = {.count = 0};
    struct thread_sight sight = {.now = 7, .cpu_ns = 5, .progress = 1, .ready = true};
    for (int i = 0; i < 10; i++) {
        assert_int_equal(looks(&starvation, &sight, DEADLINE / 2 - 0.2, 0), 0);
        assert_int_equal(looks(&starvation, &sight, 0.1, 1), 0);
    }
}

static void asleep_it_does_not(void **state)
{
    (void)state;
    struct starvation starvation = {.count = 0};
    struct thread_sight sight = {.now = 7, .cpu_ns = 5, .progress = 1};
    assert_int_equal(looks(&starvation, &sight, 10 * DEADLINE, 0), 0);
    sight.ready = true; /* it has just woken */
    assert_int_equal(looks(&starvation, &sight, DEADLINE / 2 - 0.1, 0), 0);
}

static void it_does_not_starve_for_ever(void **state)
{
    (void)state;
    struct starvation starvation = {.count = 0};
    struct thread_sight sight = {.now = 7, .cpu_ns = 5, .progress = 1, .ready = true};
    assert_true(looks(&starvation, &sight, STARVATION_DEADLINES * DEADLINE, 0) > 0);
    sight.now += 0.1;
    assert_int_equal(looks(&starvation, &sight, 10 * DEADLINE, 0), 0);
    sight.progress++;
    assert_true(looks(&starvation, &sight, DEADLINE, 0) > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ready_without_a_core_it_starves),
        cmocka_unit_test(with_a_core_now_and_then_it_does_not),
        cmocka_unit_test(asleep_it_does_not),
        cmocka_unit_test(it_does_not_starve_for_ever),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
