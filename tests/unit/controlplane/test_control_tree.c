/*
 * test_control_tree.c - the control plane as a tree: deep ones, and one of 1,024 ranks, with ranks
 * as threads.
 * tier: check; load: cpu1
 */
#include "tests/unit/jobs.h"

#include <sys/resource.h>

#include "base/clock.h"

#if defined __SANITIZE_THREAD__ || defined __SANITIZE_ADDRESS__
#define MANY 128
#else
#define MANY 1024
#endif

/* No rank holds the connections of more than it may, and together they hold each once. */
static void check_shape(const struct job_of_ranks *job)
{
    int connections = 0;
    for (int rank = 0; rank < job->ranks; rank++) {
        assert_in_range(job->outcome[rank].child_links_most, 0, job->fan_out);
        assert_in_range(job->outcome[rank].sockets_most, 0, job->fan_out + RANKS_PENDING_MOST);
        connections += job->outcome[rank].child_links_most;
    }
    assert_int_equal(job->ranks - 1, connections);
}

static void test_deep_trees(void **state)
{
    (void)state;
    for (int fan_out = 1; fan_out <= 3; fan_out++)
        for (int ranks = 1; ranks <= 17; ranks++) {
            struct job_of_ranks *job = job_create(ranks, fan_out, 10);
            job->life = exchange_life;
            job_expect(job, STATUS_OK);
            assert_int_equal(0, job->outcome[0].errors);
            check_shape(job);
            job_free(job);
        }
}

static enum status worst_life(struct control *control, struct job_of_ranks *job)
{
    return control_finish(control,
                          control_rank(control) == job->victim ? STATUS_WRONG_DATA : STATUS_SLOW);
}

static void test_any_rank_is_heard(void **state)
{
    (void)state;
    for (int victim = 0; victim < 7; victim++) {
        struct job_of_ranks *job = job_create(7, 2, 5);
        job->victim = victim;
        job->life = failing_life;
        job_expect(job, STATUS_UNAVAILABLE);
        assert_int_equal(1, job->outcome[0].errors);
        assert_int_equal(victim, job->outcome[0].bottleneck);
        job_free(job);
        job = job_create(7, 2, 5);
        job->victim = victim;
        job->life = worst_life;
        job_expect(job, STATUS_WRONG_DATA);
        job_free(job);
    }
}

/* ---- many ---- */

static enum status short_life(struct control *control, struct job_of_ranks *job)
{
    (void)job;
    struct blobs blobs;
    int rank = control_rank(control);
    enum status status = data_exchange(control, EXCHANGE_ALLGATHER, &rank, sizeof rank, &blobs);
    if (status != STATUS_OK)
        return status;
    for (int i = 0; i < blobs.count; i++)
        if (blobs.size[i] != sizeof i || memcmp(blobs.data[i], &i, sizeof i) != 0)
            status = STATUS_WRONG_DATA;
    blobs_free(&blobs);
    if (status == STATUS_OK)
        status = exchange_parcels(control, 1);
    if (status == STATUS_OK)
        status = exchange_maxima(control, 1);
    if (status == STATUS_OK)
        status = all_meet(control);
    return control_finish(control, status);
}

static void test_many_ranks(void **state)
{
    (void)state;
    struct rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
    if (limit.rlim_max < 10 * MANY) {
        print_message("not tested: %d ranks (they need %d open files)\n", MANY, 10 * MANY);
        skip();
    }
    struct job_of_ranks *job = job_create(MANY, 0, 60);
    job->life = short_life;
    double began = clock_seconds();
    job_expect(job, STATUS_OK);
    job->fan_out = CONTROL_FAN_OUT;
    check_shape(job);
    print_message("%d ranks in %.2f s; rank 0 held %d sockets at most, %d of them of ranks\n", MANY,
                  clock_seconds() - began, job->outcome[0].sockets_most,
                  job->outcome[0].child_links_most);
    job_free(job);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_deep_trees),
        cmocka_unit_test(test_any_rank_is_heard),
        cmocka_unit_test(test_many_ranks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
