/*
 * timing.c - the untimed and the timed iterations of a test case.
 */
#include "run/session/internal.h"

#include "base/clock.h"

/* From the first on, which is that of the first root. */
static enum status untimed_run(struct session *session, const struct test_case *test_case,
                               long iterations)
{
    uint64_t released;
    struct iteration_times times;
    enum status status = runner_synchronize(&session->runner, &released);
    for (long i = 0; i < iterations && status == STATUS_OK; i++)
        status = runner_iterate(&session->runner, test_case_execution(test_case, i, 0), &released,
                                &times);
    return status;
}

enum status timing_warm_up(struct session *session, const struct test_case *test_case)
{
    return untimed_run(
        session, test_case,
        candidate_warmups(&session->job, test_case->candidate, session->runner.group.ranks));
}

static enum status timed_run(struct session *session, const struct test_case *test_case,
                             long iterations, struct rank_result *rank_result)
{
    uint64_t released;
    struct iteration_times times;
    enum status status = runner_synchronize(&session->runner, &released);
    runner_calm(&session->runner);
    for (long i = 0; i < iterations && status == STATUS_OK; i++) {
        status = runner_iterate(&session->runner,
                                test_case_execution(test_case, rank_result->iterations, 0),
                                &released, &times);
        rank_result_note_times(rank_result, &times);
    }
    return status;
}

static enum status batch_run(struct session *session, const struct test_case *test_case,
                             long iterations, struct rank_result *rank_result)
{
    TRY(rank_result_reserve(rank_result, iterations));
    control_enter(session->control, PHASE_TIME);
    rank_result_begin(rank_result, &session->runner);
    enum status status = session->job.checked == CHECKED_ALL
                             ? checker_run(&session->checker, test_case, iterations, rank_result)
                             : timed_run(session, test_case, iterations, rank_result);
    rank_result_end(rank_result, &session->runner);
    if (status == STATUS_OK) /* what the links noticed while they were busy */
        status = links_check(session->runner.links);
    return status == STATUS_OK ? rank_result_check_copy(rank_result, &session->job) : status;
}

/* What rank 0 tells all. */
struct decision {
    long more, most; /* iterations of the next batch, 0: none; and how many they can be */
    enum sampling_end end;
};

static bool decision_decode(void *argument, int rank, struct reader *reader)
{
    struct decision *decision = argument;
    if (rank != 0)
        return true;
    uint64_t more = read_u64(reader);
    uint32_t end = read_u32(reader);
    decision->more = (long)more;
    decision->end = (enum sampling_end)end;
    return more <= (uint64_t)decision->most && end < SAMPLING_ENDS &&
           (more > 0) == (end == SAMPLING_COUNT);
}

/* `seconds`: since the first batch began. */
static enum status batch_decide(struct session *session, const struct test_case *test_case,
                                const struct rank_result *rank_result, double seconds,
                                struct slowest *slowest, long *more)
{
    const struct job *job = &session->job;
    struct decision decision = {.most = job->iterations - rank_result->iterations};
    struct bytes share = {0};
    control_enter(session->control, PHASE_GATHER);
    enum status status = slowest_add(session->control, rank_result, slowest);
    if (status == STATUS_OK && session->runner.rank == 0) {
        struct median_interval interval;
        status = slowest_interval(slowest, candidate_trips(test_case->candidate),
                                  &session->runner.tick, &interval);
        if (status != STATUS_OK)
            return status;
        decision.more = sampling_next(job, test_case->schedule_count, rank_result->iterations,
                                      seconds, &interval, &decision.end);
        bytes_put_u64(&share, (uint64_t)decision.more);
        bytes_put_u32(&share, decision.end);
    }
    if (status == STATUS_OK)
        status = exchange_decode(session->control, EXCHANGE_ALLGATHER, &share, "batch",
                                 decision_decode, &decision);
    slowest->end = decision.end;
    *more = decision.more;
    return status;
}

/* As the first batch had it, but no longer than the batch that follows. */
static enum status batch_warm_up(struct session *session, const struct test_case *test_case,
                                 long iterations)
{
    control_enter(session->control, PHASE_WARMUP);
    return untimed_run(session, test_case,
                       session->job.warmup < iterations ? session->job.warmup : iterations);
}

enum status timing_run(struct session *session, struct test_case *test_case,
                       struct rank_result *rank_result, struct slowest *slowest)
{
    const struct job *job = &session->job;
    double begun = clock_seconds();
    long next = sampling_first(job, test_case->schedule_count);
    enum status status = batch_run(session, test_case, next, rank_result);
    while (status == STATUS_OK && job->iterations_auto) {
        status =
            batch_decide(session, test_case, rank_result, clock_seconds() - begun, slowest, &next);
        if (status != STATUS_OK || next == 0)
            break;
        status = batch_warm_up(session, test_case, next);
        if (status == STATUS_OK)
            status = batch_run(session, test_case, next, rank_result);
    }
    test_case_count_peers(test_case, session->runner.ranks, rank_result->iterations);
    link_stats_note_bytes(rank_result->links, test_case);
    return status;
}
