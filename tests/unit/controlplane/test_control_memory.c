/*
 * test_control_memory.c - a rank that can neither start its helper thread nor report it, since
 * memory ran out, fails, and no thread is joined.
 * tier: check; load: cpu1; program: own
 */
#include <dlfcn.h>
#include <errno.h>

#include "tests/unit/jobs.h"

static bool memory_is_short, has_joined;

/* Take the place of the C library's. */
int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*start)(void *),
                   void *argument)
{
    (void)thread;
    (void)attributes;
    (void)start;
    (void)argument;
    memory_is_short = true;
    return EAGAIN;
}

int pthread_join(pthread_t thread, void **result)
{
    (void)thread;
    (void)result;
    has_joined = true;
    return 0;
}

void *realloc(void *memory, size_t size)
{
    void *(*libc_realloc)(void *, size_t);
    *(void **)&libc_realloc = dlsym(RTLD_NEXT, "realloc");
    return memory_is_short ? NULL : libc_realloc(memory, size);
}

static void test_no_helper(void **state)
{
    (void)state;
    for (int rank = 0; rank < 2; rank++) {
        struct job_of_ranks *job = job_create(2, 0, 1);
        rank_live(job, rank);
        bool was_short = memory_is_short;
        memory_is_short = false;
        log_attach(NULL);
        assert_true(was_short);
        assert_false(has_joined);
        assert_int_equal(STATUS_ERROR, job->outcome[rank].status);
        assert_string_equal("out of memory for a message to rank 0", job->outcome[rank].message);
        if (rank > 0)
            listeners_close(&job->listeners);
        job_free(job);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_no_helper)};
    return cmocka_run_group_tests_name("control, memory", tests, NULL, NULL);
}
