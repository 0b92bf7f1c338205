/*
 * test_failed_jobs.c - the most frequent reason of failed jobs.
 * tier: check; load: cpu1
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#undef fail /* log.h has a function of that name */

#include "accept/internal.h"

static void says(const struct failed_jobs *jobs, const char *expected)
{
    char words[200];
    struct text text = text_in(words, sizeof words);
    failed_jobs_put(jobs, &text);
    assert_string_equal(expected, words);
}

static void reasons_that_differ_in_numbers_alone_are_one(void **state)
{
    (void)state;
    struct failed_jobs jobs = {0};
    says(&jobs, "0 jobs failed");
    failed_jobs_add(&jobs, "no route to h9");
    says(&jobs, "1 job failed: no route to h9");
    failed_jobs_add(&jobs, "rank 1 (h12) is silent for 3.25 s");
    failed_jobs_add(&jobs, "rank 0 (h7) is silent for 10 s");
    says(&jobs, "3 jobs failed, 2 of them: rank 1 (h12) is silent for 3.25 s");
    failed_jobs_free(&jobs);
}

static void the_first_of_equals_is_said_and_none_is_unknown(void **state)
{
    (void)state;
    struct failed_jobs jobs = {0};
    failed_jobs_add(&jobs, "");
    failed_jobs_add(&jobs, "7");
    says(&jobs, "2 jobs failed, 1 of them: no reason is known");
    failed_jobs_free(&jobs);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reasons_that_differ_in_numbers_alone_are_one),
        cmocka_unit_test(the_first_of_equals_is_said_and_none_is_unknown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
