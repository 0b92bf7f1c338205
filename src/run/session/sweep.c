/*
 * sweep.c - runs all candidates of the job at all sizes: warm up, check, time, gather.
 */
#include "run/session/internal.h"

#include <string.h>

#include "base/log.h"

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
    enum status status = exchange_decode(session->control, EXCHANGE_ALLGATHER, &share, "test case",
                                         test_case_decode, test_case);
    if (status == STATUS_OK && session->job.executor == EXECUTOR_DEVICE &&
        !test_case->engine.on_device && !test_case->candidate->choice.algorithm->vendor)
        return fail_option(
            STATUS_UNAVAILABLE, "executor", "--executor device cannot be had for %s %s: %s",
            test_case->candidate->collective->name, test_case->candidate->choice.algorithm->name,
            test_case->engine.why_host);
    return status;
}

/* Rank 0 adds the line to its results, and reports it. */
static enum status session_gather(struct session *session, struct rank_result *rank_result,
                                  struct slowest *slowest)
{
    const struct job *job = &session->job;
    struct bytes bytes = {0};
    struct blobs blobs = {0};
    enum status status = job->gathers_samples
                             ? sample_rows_report(session->control, job, rank_result,
                                                  session->report, &session->runner.tick)
                             : STATUS_OK;
    if (status == STATUS_OK)
        status = slowest_add(session->control, rank_result, slowest);
    if (status == STATUS_OK) {
        rank_summary_encode(rank_result, job, &session->runner.tick, &bytes);
        status = control_exchange(session->control, EXCHANGE_GATHER, &bytes, "result", &blobs);
    }
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
    enum status status =
        test_case_open(runner, &session->job.candidates[choice], bytes, session->checker.sets,
                       session->checker.set_count, &test_case);
    if (status != STATUS_OK)
        return status;
    status = test_case_agree(session, &test_case);
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

/* The candidates [first, end), which compete, at one size. */
static enum status session_size(struct session *session, int first, int end, size_t bytes)
{
    enum status status = STATUS_OK;
    for (int c = first; c < end && status == STATUS_OK; c++)
        if (candidate_runs_at(&session->job.candidates[c], bytes))
            status = session_test_case(session, c, bytes);
    return status;
}

enum status session_sweep(struct session *session)
{
    const struct job *job = &session->job;
    enum status status = STATUS_OK;
    for (int first = 0, end; first < job->candidate_count && status == STATUS_OK; first = end) {
        const struct candidate *candidate = &job->candidates[first];
        end = job_contest_end(job, first);
        for (size_t bytes = job_first_size(job, candidate), next = 1;
             next != 0 && status == STATUS_OK; bytes = next) {
            status = session_size(session, first, end, bytes);
            next = job_next_size(job, candidate, bytes);
        }
    }
    return status;
}
