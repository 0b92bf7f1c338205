/*
 * test_list.c - arrays that grow; and a process without memory for one says so and ends.
 * tier: check; load: cpu1; program: own
 */
#include "tests/unit/child.h"
#undef fail /* of cmocka's and ours, ours is meant */

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "base/log.h"

static bool memory_is_short;

/* Take the place of the C library's. */
void *calloc(size_t count, size_t size)
{
    void *(*libc_calloc)(size_t, size_t);
    *(void **)&libc_calloc = dlsym(RTLD_NEXT, "calloc");
    return memory_is_short ? NULL : libc_calloc(count, size);
}

void *reallocarray(void *memory, size_t count, size_t size)
{
    void *(*libc_reallocarray)(void *, size_t, size_t);
    *(void **)&libc_reallocarray = dlsym(RTLD_NEXT, "reallocarray");
    return memory_is_short ? NULL : libc_reallocarray(memory, count, size);
}

static void test_growth(void **state)
{
    (void)state;
    struct pair {
        int number, zero;
    } *pairs = NULL;
    int count = 0;
    for (int i = 0; i < 1000; i++) {
        struct pair *pair = LIST_ADD(pairs, count);
        assert_int_equal(i + 1, count);
        assert_ptr_equal(&pairs[i], pair);
        assert_int_equal(0, pair->number);
        assert_int_equal(0, pair->zero);
        *pair = (struct pair){i, i};
    }
    count = 300; /* an owner may drop items, and go on */
    LIST_ADD(pairs, count)->number = -1;
    for (int i = 0; i < 300; i++)
        assert_int_equal(i, pairs[i].number);
    assert_int_equal(-1, pairs[300].number);
    assert_int_equal(0, pairs[300].zero);
    free(pairs);
}

static int array_take(void *argument)
{
    struct log log;
    int *numbers = NULL, count = 0;
    log_init(&log, 3, 0);
    log_attach(&log);
    memory_is_short = true;
    if (argument)
        LIST_ADD(numbers, count);
    else
        numbers = new_array(2, sizeof *numbers);
    return numbers ? 0 : 77;
}

static void test_no_memory(void **state)
{
    (void)state;
    int by_list = 1;
    for (int i = 0; i < 2; i++) {
        const struct child *child = child_run(array_take, i ? &by_list : NULL);
        assert_true(WIFEXITED(child->status));
        assert_int_equal(STATUS_ERROR, WEXITSTATUS(child->status));
        assert_string_equal("cctest: rank 3: out of memory\n", child->err);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_growth),
                                       cmocka_unit_test(test_no_memory)};
    return cmocka_run_group_tests_name("lists", tests, NULL, NULL);
}
