/*
 * test_hearing.c - silences of rank 0 that an agent counts: whole ones, less what it slept through.
 * tier: check; load: cpu1
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#undef fail /* log.h has a function of that name */

#include "controlplane/agents/agents.h"

#define BEAT    0.05   /* seconds */
#define EARLIER 700000 /* microseconds that the agent had not run before */

/* An agent that has heard rank 0 at 10 s, and looked for a word ever since. */
static struct hearing hearing_at_10(void)
{
    struct hearing hearing = {.word_at = 0};
    hearing_word(&hearing, 10, EARLIER, BEAT);
    return hearing;
}

/* A word comes at `at`; the agent looked `before` seconds before it. */
static void hear(struct hearing *hearing, double at, double before, uint64_t stopped_us)
{
    hearing_idle(hearing, at - before);
    hearing_word(hearing, at, stopped_us, BEAT);
}

static void expect(struct hearing *hearing, double now, uint64_t stopped_us, uint64_t unheard,
                   uint64_t unheard_us)
{
    struct host_gaps gaps = {.unheard = 0};
    hearing_count(hearing, now, stopped_us, &gaps);
    assert_int_equal(gaps.unheard, unheard);
    assert_in_range(gaps.unheard_us + 1, unheard_us, unheard_us + 2);
}

static void a_silence_counts_when_it_is_settled(void **state)
{
    (void)state;
    struct hearing hearing = hearing_at_10();
    hear(&hearing, 10.5, 0.01, EARLIER);
    expect(&hearing, 10.55, EARLIER, 0, 0);
    expect(&hearing, 10.65, EARLIER, 1, 500000);
    expect(&hearing, 10.75, EARLIER, 0, 0);
}

/* A silence counts less what the process slept through meanwhile, and not less an earlier sleep. */
static void sleep_is_no_silence(void **state)
{
    (void)state;
    struct hearing hearing = hearing_at_10();
    hear(&hearing, 11, 0.01, EARLIER);
    expect(&hearing, 11.2, EARLIER + 600000, 1, 400000);
    hear(&hearing, 11.2, 0.01, EARLIER + 600000);
    hear(&hearing, 11.7, 0.01, EARLIER + 600000);
    expect(&hearing, 12, EARLIER + 600000, 1, 500000);
    hear(&hearing, 12.7, 0.01, EARLIER + 600000);
    expect(&hearing, 13, EARLIER + 1500000, 0, 0);
}

/* Two silences before one count are one, and the sleep before the second counts, too. */
static void silences_add_up(void **state)
{
    (void)state;
    struct hearing hearing = hearing_at_10();
    hear(&hearing, 10.4, 0.01, EARLIER + 100000);
    hear(&hearing, 10.8, 0.01, EARLIER + 200000);
    expect(&hearing, 11, EARLIER + 200000, 1, 600000);
}

static void short_or_unwatched_silences_do_not_count(void **state)
{
    (void)state;
    struct hearing hearing = {.word_at = 0};
    hear(&hearing, 9, 0.01, 0); /* the first word */
    expect(&hearing, 10, 0, 0, 0);
    hearing = hearing_at_10();
    hear(&hearing, 10.24, 0.01, EARLIER); /* below UNHEARD_LEAST */
    expect(&hearing, 11, EARLIER, 0, 0);
    hear(&hearing, 10.74, 0.3, EARLIER); /* the agent had not looked */
    expect(&hearing, 11, EARLIER, 0, 0);
    hearing = hearing_at_10();
    hearing_idle(&hearing, 14.5);
    hearing_word(&hearing, 15, EARLIER, 1.01); /* below UNHEARD_BEATS */
    expect(&hearing, 16, EARLIER, 0, 0);
    hearing = hearing_at_10();
    hearing_idle(&hearing, 14.5);
    hearing_word(&hearing, 15, EARLIER, 0.99);
    expect(&hearing, 16, EARLIER, 1, 5000000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_silence_counts_when_it_is_settled),
        cmocka_unit_test(sleep_is_no_silence),
        cmocka_unit_test(silences_add_up),
        cmocka_unit_test(short_or_unwatched_silences_do_not_count),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
