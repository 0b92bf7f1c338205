/*
 * sweep.c - runs all candidates of the job at all sizes: warm up, check, time, gather.
 */
#include "run/session/internal.h"

#include <string.h>

#include "base/clock.h"
#include "base/log.h"

/*
 * The untimed and the timed iterations of a test case.
 */
/* Runs the iterations from the first one on, whose root is the first root. */
static enum status untimed_run(struct session *session, const struct test_case *test_case,
                               long iterations)
{
    uint64_t released;
    struct iteration_times times;
    TRY(runner_synchronize(&session->runner, &released));
    for (long i = 0; i < iterations; i++)
        TRY(runner_iterate(&session->runner, test_case_execution(test_case, i, 0), &released,
                           &times));
    return STATUS_OK;
}

/* Runs the iterations that come before all others. */
static enum status timing_warm_up(struct session *session, const struct test_case *test_case)
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
    TRY(runner_synchronize(&session->runner, &released));
    runner_calm(&session->runner);
    for (long i = 0; i < iterations; i++) {
        TRY(runner_iterate(&session->runner,
                           test_case_execution(test_case, rank_result->iterations, 0), &released,
                           &times));
        rank_result_note_times(rank_result, &times);
    }
    return STATUS_OK;
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

/* The decision of rank 0, which all ranks receive. */
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
    TRY(slowest_add(session->control, rank_result, slowest));
    if (session->runner.rank == 0) {
        struct median_interval interval;
        TRY(slowest_interval(slowest, candidate_trips(test_case->candidate), &session->runner.tick,
                             &interval));
        decision.more = sampling_next(job, test_case->schedule_count, rank_result->iterations,
                                      seconds, &interval, &decision.end);
        bytes_put_u64(&share, (uint64_t)decision.more);
        bytes_put_u32(&share, decision.end);
    }
    TRY(exchange_decode(session->control, EXCHANGE_ALLGATHER, &share, "batch", decision_decode,
                        &decision));
    slowest->end = decision.end;
    *more = decision.more;
    return STATUS_OK;
}

/* A warm-up as long as the first batch's, and no longer than the batch that follows. */
static enum status batch_warm_up(struct session *session, const struct test_case *test_case,
                                 long iterations)
{
    control_enter(session->control, PHASE_WARMUP);
    return untimed_run(session, test_case,
                       session->job.warmup < iterations ? session->job.warmup : iterations);
}

/* Runs the timed iterations. Under -n auto these are several batches, at the end of which the ranks
 * add their times to `slowest`, and rank 0 decides whether a further one follows. Within a batch
 * iterations run as they do under a fixed -n. After an exchange, caches are cold and cores may have
 * slept: a further batch begins with a warm-up too, and the barrier after it. */
static enum status timing_run(struct session *session, struct test_case *test_case,
                              struct rank_result *rank_result, struct slowest *slowest)
{
    const struct job *job = &session->job;
    double begun = clock_seconds();
    long next = sampling_first(job, test_case->schedule_count);
    TRY(batch_run(session, test_case, next, rank_result));
    while (job->iterations_auto) {
        double seconds = clock_seconds() - begun;
        TRY(batch_decide(session, test_case, rank_result, seconds, slowest, &next));
        if (next == 0)
            break;
        rank_result_settle(rank_result);
        TRY(batch_warm_up(session, test_case, next));
        TRY(batch_run(session, test_case, next, rank_result));
    }
    test_case_count_peers(test_case, session->runner.ranks, rank_result->iterations);
    link_stats_note_bytes(rank_result->links, test_case);
    return STATUS_OK;
}

/*
 * One test case.
 */
/* On how many sets a rank can run the test case, and whether its device can. The lowest rank that
 * cannot gives the reason. */
static bool test_case_decode(void *argument, int rank, struct reader *reader)
{
    struct test_case *test_case = argument;
    struct test_case_engine engine = {.on_device = false};
    uint32_t sets = read_u32(reader), on_device = read_u32(reader);
    (void)rank;
    read_text(reader, engine.why_host, sizeof engine.why_host);
    if (sets < (uint32_t)test_case->sets)
        test_case->sets = (int)sets;
    if (!on_device && test_case->engine.on_device)
        test_case->engine = engine;
    return sets >= 1 && sets <= BUFFER_SETS_MOST && on_device <= 1;
}

/* Ranks may need buffers of different sizes, but must check the same iterations together: the rank
 * with the fewest sets of buffers decides. Devices run the test case if all of them can. */
static enum status test_case_agree(struct session *session, struct test_case *test_case)
{
    struct bytes share = {0};
    if (session->checker.set_count == 1 && !session->runner.devices.offers)
        return STATUS_OK;
    bytes_put_u32(&share, (uint32_t)test_case->sets);
    bytes_put_u32(&share, test_case->engine.on_device);
    bytes_put_text(&share, test_case->engine.why_host);
    test_case->engine = (struct test_case_engine){.on_device = true};
    TRY(exchange_decode(session->control, EXCHANGE_ALLGATHER, &share, "test case", test_case_decode,
                        test_case));
    if (session->job.executor == EXECUTOR_DEVICE && !test_case->engine.on_device &&
        !test_case->candidate->choice.algorithm->vendor)
        return fail_option(
            STATUS_UNAVAILABLE, "executor", "--executor device cannot be had for %s %s: %s",
            test_case->candidate->collective->name, test_case->candidate->choice.algorithm->name,
            test_case->engine.why_host);
    return STATUS_OK;
}

/* Rank 0 adds the line to its results, and reports it. */
static enum status session_gather(struct session *session, struct rank_result *rank_result,
                                  struct slowest *slowest)
{
    const struct job *job = &session->job;
    struct bytes bytes = {0};
    struct blobs blobs = {0};
    if (job->gathers_samples)
        TRY(sample_rows_report(session->control, job, rank_result, session->report,
                               &session->runner.tick));
    TRY(slowest_add(session->control, rank_result, slowest));
    rank_summary_encode(rank_result, job, &session->runner.run_watch, &session->runner.tick,
                        &bytes);
    enum status status =
        control_exchange(session->control, EXCHANGE_GATHER, &bytes, "result", &blobs);
    if (status == STATUS_OK && blobs.count && session->report)
        status =
            results_add_line(&session->results, rank_result, job, &session->runner.split,
                             control_members(session->control), &blobs, slowest, session->report);
    blobs_free(&blobs);
    return status == STATUS_OK ? report_check_read(session->report, &session->runner.tick) : status;
}

static enum status session_test_case(struct session *session, int choice, size_t bytes)
{
    struct runner *runner = &session->runner;
    struct test_case test_case;
    struct rank_result *rank_result = NULL;
    struct slowest slowest = {0};
    atomic_store(&runner->progress->algorithm, choice);
    atomic_store(&runner->progress->bytes, bytes);
    TRY(test_case_open(runner, &session->job.candidates[choice], bytes, session->checker.sets,
                       session->checker.set_count, &test_case));
    enum status status = test_case_agree(session, &test_case);
    if (status == STATUS_OK)
        status = test_case_ready(runner, session->checker.sets, &test_case);
    if (status == STATUS_OK) {
        control_enter(session->control, PHASE_WARMUP);
        if (test_case.engine.on_device && runner->devices.tried < test_case.channels)
            status = session_try_devices(session, &test_case);
    }
    if (status == STATUS_OK)
        status = rank_result_create(&session->job, &test_case, choice, bytes, runner, &rank_result);
    if (status == STATUS_OK)
        status = slowest_open(&slowest, &runner->split, runner->rank);
    if (status == STATUS_OK)
        status = timing_warm_up(session, &test_case);
    if (status == STATUS_OK && session->job.checked != CHECKED_ALL) {
        control_enter(session->control, PHASE_CHECK);
        status = checker_run(
            &session->checker, &test_case,
            candidate_checks(&session->job, test_case.candidate, runner->group.ranks), rank_result);
    }
    if (status == STATUS_OK)
        status = timing_run(session, &test_case, rank_result, &slowest);
    if (status == STATUS_OK)
        status = device_watch_take(&session->watch, &rank_result->changes);
    if (status == STATUS_OK) {
        control_enter(session->control, PHASE_GATHER);
        status = session_gather(session, rank_result, &slowest);
    }
    slowest_close(&slowest);
    rank_result_free(rank_result);
    test_case_close(&test_case);
    return status;
}

/* At each size, the candidates that compete follow each other. */
enum status session_sweep(struct session *session)
{
    const struct job *job = &session->job;
    for (int first = 0, end; first < job->candidate_count; first = end) {
        const struct candidate *candidate = &job->candidates[first];
        end = job_contest_end(job, first);
        for (size_t bytes = job_first_size(job, candidate), next = 1; next != 0; bytes = next) {
            for (int c = first; c < end; c++)
                if (candidate_runs_at(&job->candidates[c], bytes))
                    TRY(session_test_case(session, c, bytes));
            next = job_next_size(job, candidate, bytes);
        }
    }
    return STATUS_OK;
}
