/*
 * test_log.c - the longest line is whole, and one that is longer ends as a line.
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

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_long_lines)};
    return cmocka_run_group_tests_name("log", tests, NULL, NULL);
}
