/*
 * rules.h - a table of rules of the provider, each with what breaks it and the sentence that
 * ends it.
 */
#ifndef CCTEST_TEST_VERBS_RULES_H
#define CCTEST_TEST_VERBS_RULES_H

#include "ends.h"

/* A broken rule leaves memory behind: no leak of the program. Several files of a program include
 * this. */
const char *__asan_default_options(void);
__attribute__((weak)) const char *__asan_default_options(void)
{
    return "detect_leaks=0";
}

struct rule {
    const char *name;
    void (*work)(void);
    const char *sentence;
};

static inline void rule_fires(void **state)
{
    const struct rule *rule = *state;
    assert_violation(rule->work, rule->sentence);
}

/* Runs a test for each rule, and `more`. For main(). */
static inline int rules_run(const struct rule *rules, size_t count, const struct CMUnitTest *more,
                            size_t more_count)
{
    struct CMUnitTest *tests = calloc(count + more_count, sizeof *tests);
    for (size_t i = 0; i < count; i++)
        tests[i] = (struct CMUnitTest){.name = rules[i].name,
                                       .test_func = rule_fires,
                                       .initial_state = (void *)(uintptr_t)&rules[i]};
    for (size_t i = 0; i < more_count; i++)
        tests[count + i] = more[i];
    int failed = _cmocka_run_group_tests("rules", tests, count + more_count, NULL, NULL);
    free(tests);
    return failed;
}

#endif
