/*
 * test_log.c - the longest line is whole, and one that is longer ends as a line; a failure has the
 * place that it is about, and its sentence begins with it.
 * tier: check; load: cpu1
 */
#include "tests/unit/child.h"
#undef fail /* of cmocka's and ours, ours is meant */

#include <string.h>

#include "base/log.h"

static int say_long(void *argument)
{
    struct log log;
    char text[2 * SAY_MOST];
    int length = *(const int *)argument;
    memset(text, 'x', sizeof text);
    memcpy(text + length - 4, "end.", 5);
    log_init(&log, 1234567, 0);
    log_attach(&log);
    say("%s", text);
    return 0;
}

static void test_long_lines(void **state)
{
    (void)state;
    for (int length = 1000; length <= SAY_MOST + 1; length++) {
        if (length > 1010 && length < SAY_MOST - 3)
            continue;
        const struct child *child = child_run(say_long, &length);
        size_t said = strlen(child->err);
        assert_true(WIFEXITED(child->status));
        assert_int_equal(0, strncmp(child->err, "cctest: rank 1234567: xxx", 25));
        assert_int_equal('\n', child->err[said - 1]);
        assert_null(memchr(child->err, '\n', said - 1));
        assert_int_equal(length < SAY_MOST, strstr(child->err, "end.\n") != NULL);
    }
}

static void failure_is(enum status status, const char *text, const char *file, int line,
                       const char *place, const char *options)
{
    const struct failure *failure = &log_current()->failure;
    assert_int_equal(STATUS_USAGE, status);
    assert_string_equal(text, failure->text);
    assert_string_equal(file, failure->file);
    assert_int_equal(line, failure->line);
    assert_string_equal(place, failure->place);
    assert_string_equal(options, failure->options);
    log_init(log_current(), -1, 0);
}

static void test_places(void **state)
{
    const struct failure_place line = {.file = "a.xml", .line = 7};
    const struct failure_place part = {.file = "a.json", .part = "plan 0"};
    const struct failure_place key = {.file = "a.json", .key = "links[2].port"};
    struct log log;
    (void)state;
    log_init(&log, -1, 0);
    log_attach(&log);
    failure_is(fail(STATUS_USAGE, "no %d", 1), "no 1", "", 0, "", "");
    failure_is(fail_at(STATUS_USAGE, &line, "no %d", 1), "a.xml:7: no 1", "a.xml", 7, "", "");
    failure_is(fail_at(STATUS_USAGE, &part, "no"), "a.json, plan 0: no", "a.json", 0, "plan 0", "");
    failure_is(fail_at(STATUS_USAGE, &key, "is none"), "a.json: links[2].port is none", "a.json", 0,
               "links[2].port", "");
    failure_is(fail_option(STATUS_USAGE, "np shape", "no"), "no", "", 0, "", "np shape");
    fail_within(&part);
    failure_is(fail(STATUS_USAGE, "no"), "a.json, plan 0: no", "a.json", 0, "plan 0", "");
    fail_within(NULL);
    failure_is(fail(STATUS_USAGE, "no"), "no", "", 0, "", "");
    log_attach(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_long_lines),
                                       cmocka_unit_test(test_places)};
    return cmocka_run_group_tests_name("log", tests, NULL, NULL);
}
