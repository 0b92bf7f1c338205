/*
 * test_failures.c - a request that fails ends the job soon, with a sentence that names the peer and
 * both NICs, wherever the ranks wait just then.
 * tier: deep; load: cpu1
 */
#include "../transport/session_of.h"

#include <unistd.h>

#include "base/clock.h"
#include "provider.h"

#define SOON_SECONDS 20.0 /* after the error, and long before the deadline */

struct way {
    const char *kind; /* of the provider */
    enum status status;
    const char *words; /* of libibverbs */
};

static const struct way ways[] = {
    {"retry", STATUS_TIMEOUT, "transport retry counter exceeded"},
    {"rnr", STATUS_TIMEOUT, "RNR retry counter exceeded"},
    {"loc_prot", STATUS_ERROR, "local protection error"},
    {"fatal", STATUS_ERROR, "fatal error"},
};

/* Messages that are eager, streamed through slots, and written into place. */
static const char *const jobs[] = {
    "allreduce -a ring -b 1K -e 1K -n 40 -w 5 --np 4",
    "allreduce -a ring -b 64K -e 64K --chunk 1K -n 40 -w 5 --np 4",
    "alltoall -a pairwise -b 1M -e 1M -n 40 -w 5 --np 4",
};

static const char *const polls[] = {"memory", "cq"};

/* The job has at least `number` requests. */
static void expect_failure(const struct way *way, const char *words, const char *poll, int number)
{
    static struct job job;
    struct listener listener;
    char text[300], provider[100];
    snprintf(provider, sizeof provider, "fail=%s:%d", way->kind, number);
    provider_configure(provider);
    snprintf(text, sizeof text, "%s --timeout 60 -x verbs:poll=%s", words, poll);
    job_read(&job, text);
    enum status status = job_run(&job, &listener);
    double took = clock_seconds() - (double)provider_counts().struck * 1e-9;
    const char *failed = strstr(listener.error, "from NIC strict0:1 to NIC strict0:1, failed");
    if (status != way->status || !failed || !strstr(failed, way->words) || took > SOON_SECONDS)
        fail_msg("%s with %s: status %d after %.2f s: %s", text, provider, status, took,
                 listener.error);
}

static void test_failures(void **state)
{
    (void)state;
    int number = 60;
    for (size_t way = 0; way < sizeof ways / sizeof *ways; way++)
        for (size_t job = 0; job < sizeof jobs / sizeof *jobs; job++)
            for (size_t poll = 0; poll < 2; poll++, number += 7) /* somewhere else each time */
                expect_failure(&ways[way], jobs[job], polls[poll], number);
}

/* The only message of the job fails, when its sender is done and waits for the others. */
static void test_last_message(void **state)
{
    (void)state;
    for (size_t way = 0; way < sizeof ways / sizeof *ways; way++)
        for (size_t poll = 0; poll < 2; poll++)
            expect_failure(&ways[way], "broadcast -a linear -b 8 -e 8 -c 0 -n 1 -w 0 --np 2",
                           polls[poll], 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_failures),
                                       cmocka_unit_test(test_last_message)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
