/*
 * rules.h - tests of rules of the stand-in: each with what breaks it, and the sentence that ends
 * it.
 */
#ifndef CCTEST_TEST_CUDA_RULES_H
#define CCTEST_TEST_CUDA_RULES_H

#include "../unit/child.h"

#include <stdlib.h>
#include <string.h>

/* A broken rule leaves memory behind: no leak of the program. Several files of a program include
 * this. */
const char *__asan_default_options(void);
__attribute__((weak)) const char *__asan_default_options(void)
{
    return "detect_leaks=0";
}

struct rule_case {
    const char *name;
    void (*work)(void);
    const char *sentence; /* NULL: a signal */
};

static inline int rule_work(void *argument)
{
    const struct rule_case *rule = argument;
    if (!rule->sentence) {
        signal(SIGSEGV, SIG_DFL); /* cmocka catches it */
        rule->work();
        _exit(0);
    }
    rule->work();
    exit(0); /* where the stand-in looks for what was left */
}

static inline void rule_fires(void **state)
{
    const struct child *child = child_run(rule_work, *state);
    const struct rule_case *rule = *state;
    assert_true(WIFSIGNALED(child->status) || WEXITSTATUS(child->status) != 0);
    if (rule->sentence && !strstr(child->err, rule->sentence))
        fail_msg("expected: %s\nsaid: %s", rule->sentence, child->err);
    assert_int_equal(strstr(child->err, "cuda stand-in: ") != NULL, rule->sentence != NULL);
}

static inline struct CMUnitTest rule_test(const struct rule_case *rule)
{
    return (struct CMUnitTest){
        .name = rule->name, .test_func = rule_fires, .initial_state = (void *)(uintptr_t)rule};
}

#endif
