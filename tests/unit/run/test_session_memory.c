/*
 * test_session_memory.c - a rank that has no memory for the job says so before it joins, and rank 0
 * reports it: no other rank can.
 * tier: check; load: cpu1; program: own
 */
#include "tests/unit/child.h"
#undef fail /* of cmocka's and ours, ours is meant */

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "run/session/session.h"

static enum { NONE_FAILS, CALLOC_FAILS, REALLOC_FAILS } failing;

/* Take the place of the C library's. */
void *calloc(size_t count, size_t size)
{
    void *(*libc_calloc)(size_t, size_t);
    *(void **)&libc_calloc = dlsym(RTLD_NEXT, "calloc");
    return failing == CALLOC_FAILS ? NULL : libc_calloc(count, size);
}

void *realloc(void *memory, size_t size)
{
    void *(*libc_realloc)(void *, size_t);
    *(void **)&libc_realloc = dlsym(RTLD_NEXT, "realloc");
    return failing == REALLOC_FAILS ? NULL : libc_realloc(memory, size);
}

static void report_end(struct report *report, const struct job *job, const struct job_end *end)
{
    failing = NONE_FAILS;
    if (report && job && end->error_count == 1)
        printf("status %d, rank %d, phase %s: %s\n", (int)end->status, end->errors[0].rank,
               end->errors[0].phase, end->errors[0].message);
}

struct trial {
    int failing, rank;
};

static int session_try(void *argument)
{
    const struct trial *trial = argument;
    struct candidate candidate = {0};
    const struct job job = {.candidates = &candidate, .candidate_count = 1};
    struct report report = {.end = report_end};
    struct membership membership = {
        .rank = trial->rank, .ranks = 2, .own_process = true, .started_here = true};
    struct session_arguments arguments = {.job = &job, .report = &report};
    struct log log;
    log_init(&log, trial->rank, 0);
    log_attach(&log);
    failing = trial->failing;
    int status = (int)session_run(&membership, &arguments);
    failing = NONE_FAILS;
    return status;
}

static void test_it_is_said(void **state)
{
    (void)state;
    for (int failing_one = CALLOC_FAILS; failing_one <= REALLOC_FAILS; failing_one++)
        for (int rank = 0; rank < 2; rank++) {
            struct trial trial = {failing_one, rank};
            const struct child *child = child_run(session_try, &trial);
            const char *reported = "status 1, rank 0, phase join: out of memory";
            assert_true(WIFEXITED(child->status));
            assert_int_equal(STATUS_ERROR, WEXITSTATUS(child->status));
            assert_non_null(
                strstr(child->err, rank ? "rank 1: out of memory" : "rank 0: out of memory"));
            if (rank == 0)
                assert_non_null(strstr(child->out, reported));
            else
                assert_string_equal("", child->out);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_it_is_said)};
    return cmocka_run_group_tests_name("session, memory", tests, NULL, NULL);
}
