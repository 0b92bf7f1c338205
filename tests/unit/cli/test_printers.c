/*
 * test_printers.c - results that cannot be written while the job fails for another reason: both are
 * said.
 * tier: check; load: cpu1
 */
#include "tests/unit/child.h"

#include "cli/run/run.h"

static const struct request to_stdout = {.files = {.samples = "-"}};

/* A job of two ranks ends with this error. Standard output has refused the head of the samples. */
static int print(void *argument)
{
    struct printers printers;
    int start[] = {0, 2}, members[] = {0, 1};
    struct shape group = {.ranks = 2, .groups = 1, .start = start, .members = members};
    const struct split split = {.groups = &group};
    const struct participants participants = {.ranks = 2, .split = &split};
    const struct job_error *error = argument;
    const struct job_end end = {.status = STATUS_TIMEOUT, .errors = error, .error_count = 1};
    int full = open("/dev/full", O_WRONLY);
    if (full < 0 || dup2(full, STDOUT_FILENO) < 0 ||
        printers_open(&printers, &to_stdout, PRINT_FILES, true) != STATUS_OK)
        return 100;
    struct report *report = &printers.report;
    report->begin(report, &to_stdout.job, &participants);
    while (!output_queue_error(printers.queues[PRINTER_SAMPLES]))
        usleep(1000);
    report->connected(report, &to_stdout.job, NULL);
    report->end(report, &to_stdout.job, &end);
    return printers_finish(&printers, true, end.status);
}

static void both_failures_are_said(void **state)
{
    (void)state;
    static const char sentence[] = "cannot write standard output: No space left on device";
    struct job_error error = job_error_make(1, "n1", "check", "the connection to rank 1 broke");
    const struct child *child = child_run(print, &error);
    assert_int_equal(WEXITSTATUS(child->status), STATUS_TIMEOUT);
    assert_non_null(strstr(child->err, sentence));
    error = job_error_make(0, "n1", "gather", sentence); /* rank 0 says it with the job's errors */
    child = child_run(print, &error);
    assert_int_equal(WEXITSTATUS(child->status), STATUS_TIMEOUT);
    assert_null(strstr(child->err, sentence));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(both_failures_are_said)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
