/*
 * test_case.c - one size of one algorithm, made ready to run on sets of buffers.
 */
#include "run/run.h"

#include "base/list.h"
#include "base/log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * How many channels a line of the table has.
 *
 * The host moves the slices of all channels itself, so more channels give it more operations and
 * nothing else. On a device each channel is a block of threads that works beside the others.
 */
/* A block of 512 threads copies or combines 8 KiB in one pass, 16 bytes a thread, and a handover to
 * a peer takes it about as long as a few passes. A channel with fewer bytes than these waits for
 * peers most of the time, and further blocks only wait beside it. NCCL cuts by the same measure:
 * 64 bytes for each of the 512 threads of a channel. */
#define DEVICE_CHANNEL_LEAST ((size_t)32 << 10)

int channel_count_host(const struct job *job)
{
    return job->channels == CHANNELS_AUTO ? 1 : job->channels;
}

int channel_count_device(const struct job *job, size_t bytes, int most)
{
    int count = 1;
    if (job->channels != CHANNELS_AUTO)
        return job->channels;
    while (2 * count <= most && bytes / DEVICE_CHANNEL_LEAST >= 2 * (size_t)count)
        count *= 2;
    return count;
}

/*
 * One size of one algorithm.
 */
struct execution *test_case_execution(const struct test_case *test_case, long iteration, int set)
{
    int schedule = (int)(iteration % test_case->schedule_count);
    return test_case->executions[set * test_case->schedule_count + schedule];
}

/* The problem of a schedule, which does not keep the shape of its own problem. */
static struct problem problem_of(const struct test_case *test_case, int schedule)
{
    struct problem problem = test_case->sized.problem;
    problem.root += schedule;
    return problem;
}

/* As the table shows them. */
static size_t test_case_bytes(const struct test_case *test_case)
{
    return collective_bytes(&test_case->sized.problem, test_case->candidate->datatype->size);
}

int test_case_device_channels(const struct job *job, const struct test_case *test_case, int most)
{
    size_t bytes = test_case_bytes(test_case);
    const struct choice *choice = &test_case->candidate->choice;
    bool may = job_considers_devices(job) && !choice->algorithm->vendor;
    int channels = may ? channel_count_device(job, bytes, most) : channel_count_host(job);
    char why[FILE_WHY_MOST];
    /* The job was checked with those of the host. */
    if (choice->file && file_plan_refuses(choice->file, &test_case->sized.problem, channels, why))
        return channel_count_host(job);
    return channels;
}

static void test_case_drop_schedules(struct test_case *test_case)
{
    for (int i = 0; test_case->schedules && i < test_case->schedule_count; i++)
        schedule_free(test_case->schedules[i]);
    free(test_case->schedules);
    test_case->schedules = NULL;
}

static bool set_is_enough(const struct buffers *set, const struct test_case *test_case,
                          size_t element)
{
    for (int i = 0; i < test_case->schedule_count; i++) {
        size_t bytes[BUFFERS];
        schedule_bytes(test_case->schedules[i], element, bytes);
        for (int b = 0; b < BUFFERS; b++)
            if (bytes[b] > set->bytes[b])
                return false;
    }
    return true;
}

/* Sets of buffers that are not large enough for the schedules, the first excepted, are left out. */
static void test_case_fit_sets(const struct buffers *sets, size_t element,
                               struct test_case *test_case)
{
    int enough = 1;
    while (enough < test_case->sets && set_is_enough(&sets[enough], test_case, element))
        enough++;
    test_case->sets = enough;
}

/* In place of those that there are. `sets`: on which they run; NULL: they do not run. */
static enum status test_case_build(const struct runner *runner, int channels,
                                   const struct buffers *sets, struct test_case *test_case)
{
    int count = test_case->schedule_count;
    test_case_drop_schedules(test_case);
    test_case->channels = channels;
    test_case->schedules = new_array((size_t)count, sizeof *test_case->schedules);
    for (int i = 0; i < count; i++) {
        const struct problem problem = problem_of(test_case, i);
        TRY(schedule_build(&test_case->candidate->choice, &problem, runner->group_rank, channels,
                           sets, &test_case->schedules[i]));
    }
    if (sets)
        test_case_fit_sets(sets, test_case->candidate->datatype->size, test_case);
    return STATUS_OK;
}

static enum status test_case_write(const struct runner *runner, const struct candidate *candidate,
                                   size_t bytes, int channels, const struct buffers *sets,
                                   int count, struct test_case *test_case)
{
    const struct job *job = runner->job;
    *test_case =
        (struct test_case){.candidate = candidate,
                           .schedule_count = candidate_roots(job, candidate, runner->group.ranks),
                           .sets = count};
    enum status status = job_problem(job, candidate, bytes, &runner->group, &test_case->sized);
    if (status == STATUS_OK)
        status = test_case_build(runner, channels, sets, test_case);
    if (status != STATUS_OK)
        test_case_close(test_case);
    return status;
}

enum status test_case_outline(const struct runner *runner, const struct candidate *candidate,
                              size_t bytes, int channels, struct test_case *test_case)
{
    return test_case_write(runner, candidate, bytes, channels, NULL, 1, test_case);
}

void test_case_unready(struct test_case *test_case)
{
    int most = test_case->schedule_count * BUFFER_SETS_MOST;
    for (int i = 0; test_case->executions && i < most; i++) {
        execution_destroy(test_case->executions[i]);
        test_case->executions[i] = NULL;
    }
    free(test_case->clock.ended);
    test_case->clock = (struct step_clock){0};
}

void test_case_close(struct test_case *test_case)
{
    test_case_unready(test_case);
    test_case_drop_schedules(test_case);
    free(test_case->executions);
    free(test_case->peers);
    counts_free(test_case->sized.counts);
    *test_case = (struct test_case){0};
}

static enum status test_case_open_host(struct runner *runner, struct test_case *test_case,
                                       const struct schedule *schedule, const struct buffers *set,
                                       char *spare, struct execution **execution)
{
    const struct candidate *candidate = test_case->candidate;
    const struct memory_kind *memory = runner->job->memory;
    struct executor_config config = runner_executor_config(runner);
    config.schedule = schedule;
    config.spare = spare;
    config.element = candidate->datatype->size;
    if (candidate->reduction) {
        config.reduce = memory->reduce(candidate->datatype, candidate->reduction);
        config.finish = memory->finish(candidate->datatype, candidate->reduction);
    }
    config.profile = runner_profile(runner);
    config.clock = test_case->clock.steps > 0 ? &test_case->clock : NULL;
    for (int b = 0; b < BUFFERS; b++)
        config.buffer[b] = buffers_place(set, schedule, config.element, (enum buffer)b);
    return executor_create(&config, execution);
}

/* The schedules of the peers tell a device where their messages lie. */
static enum status peer_schedules(const struct test_case *test_case, const struct problem *problem,
                                  struct schedule **peers)
{
    for (int r = 0; r < problem->ranks; r++) {
        int peer = problem_member(problem, r);
        if (test_case->peers[peer].lanes > 0)
            TRY(schedule_build(&test_case->candidate->choice, problem, r, test_case->channels,
                               false, &peers[peer]));
    }
    return STATUS_OK;
}

static enum status test_case_open_device(struct runner *runner, const struct candidate *candidate,
                                         const struct schedule *schedule,
                                         const struct schedule *const *peers,
                                         const struct buffers *sets, int set,
                                         struct execution **execution)
{
    size_t element = candidate->datatype->size;
    struct device_executor_config config = {.group = &runner->devices,
                                            .schedule = schedule,
                                            .peers = peers,
                                            .set = set,
                                            .profile = runner_profile(runner),
                                            .datatype = candidate->datatype,
                                            .reduction = candidate->reduction};
    for (int b = 0; b < BUFFERS; b++)
        config.buffer[b] = buffers_place(&sets[set], schedule, element, (enum buffer)b);
    return device_executor_create(&config, execution);
}

/* On all sets of buffers, for one root. */
static enum status test_case_open_devices(struct runner *runner, const struct buffers *sets,
                                          const struct test_case *test_case, int root)
{
    const struct schedule *schedule = test_case->schedules[root];
    const struct problem problem = problem_of(test_case, root);
    struct schedule **peers = new_array((size_t)runner->ranks, sizeof *peers);
    enum status status = peer_schedules(test_case, &problem, peers);
    for (int set = 0; set < test_case->sets && status == STATUS_OK; set++)
        status = test_case_open_device(
            runner, test_case->candidate, schedule, (const struct schedule *const *)peers, sets,
            set, &test_case->executions[set * test_case->schedule_count + root]);
    for (int r = 0; r < runner->ranks; r++)
        schedule_free(peers[r]);
    free(peers);
    return status;
}

/* The library takes the place of the schedule's operations, of which there are none. */
static enum status test_case_open_vendor(struct runner *runner, const struct candidate *candidate,
                                         const struct schedule *schedule, const struct buffers *set,
                                         struct execution **execution)
{
    size_t element = candidate->datatype->size;
    const struct vendor_call call = {
        .problem = schedule->problem,
        .datatype = candidate->datatype,
        .reduction = candidate->reduction,
        .source = buffers_place(set, schedule, element, BUFFER_SOURCE),
        .destination = buffers_place(set, schedule, element, BUFFER_DESTINATION),
    };
    return runner->vendor->prepare(runner->vendor_session, &call, execution);
}

void test_case_count_peers(struct test_case *test_case, int ranks, long iterations)
{
    int count = test_case->schedule_count;
    memset(test_case->peers, 0, (size_t)ranks * sizeof *test_case->peers);
    for (int i = 0; i < count; i++)
        schedule_add_peers(test_case->schedules[i],
                           (uint64_t)(iterations / count + (i < iterations % count)),
                           test_case->peers);
}

/* Where a run is compared with a model, and shows its reasons, step by step. */
static void test_case_clock(const struct job *job, struct test_case *test_case)
{
    struct step_clock *clock = &test_case->clock;
    int steps = test_case->schedules[0]->steps;
    if (!job->compares || job->bootstrap.verbosity < 1 || test_case->schedule_count > 1 ||
        steps > CLOCK_STEPS_MOST)
        return;
    clock->ended = new_array((size_t)steps + 1, sizeof *clock->ended);
    clock->steps = steps;
}

static enum status test_case_ready_device(struct runner *runner, const struct buffers *sets,
                                          struct test_case *test_case)
{
    device_group_clear(&runner->devices);
    for (int root = 0; root < test_case->schedule_count; root++)
        TRY(test_case_open_devices(runner, sets, test_case, root));
    return device_group_load(&runner->devices);
}

/* Gives it the channels of what runs it. The host may yet have to run what a device was to run: the
 * sets are those that are enough for both. */
static enum status test_case_split(struct runner *runner, const struct buffers *sets,
                                   struct test_case *test_case)
{
    const struct job *job = runner->job;
    int channels = test_case->engine.on_device
                       ? test_case_device_channels(job, test_case, runner->devices.channels)
                       : channel_count_host(job);
    if (channels == test_case->channels)
        return STATUS_OK;
    TRY(test_case_build(runner, channels, sets, test_case));
    test_case_count_peers(test_case, runner->ranks, 0);
    return STATUS_OK;
}

enum status test_case_ready(struct runner *runner, const struct buffers *sets,
                            struct test_case *test_case)
{
    const struct candidate *candidate = test_case->candidate;
    int count = test_case->schedule_count;
    TRY(test_case_split(runner, sets, test_case));
    if (test_case->engine.on_device)
        return test_case_ready_device(runner, sets, test_case);
    test_case_clock(runner->job, test_case);
    for (int i = 0; i < count * test_case->sets; i++) {
        const struct schedule *schedule = test_case->schedules[i % count];
        const struct buffers *set = &sets[i / count];
        struct execution **execution = &test_case->executions[i];
        TRY(test_case->candidate->choice.algorithm->vendor
                ? test_case_open_vendor(runner, candidate, schedule, set, execution)
                : test_case_open_host(runner, test_case, schedule, set, sets[0].spare, execution));
    }
    return STATUS_OK;
}

/* May the devices run it, as far as this rank knows? */
static enum status test_case_choose_engine(struct runner *runner, struct test_case *test_case)
{
    struct device_group *devices = &runner->devices;
    struct test_case_engine *engine = &test_case->engine;
    enum status status = STATUS_OK;
    bool considered = devices->offers || devices->refusal[0];
    if (!considered || test_case->candidate->choice.algorithm->vendor)
        return STATUS_OK;
    snprintf(engine->why_host, sizeof engine->why_host, "%s", devices->refusal);
    engine->on_device = !engine->why_host[0];
    for (int peer = 0; peer < runner->ranks && engine->on_device; peer++) {
        if (test_case->peers[peer].lanes > 0)
            status = device_group_reach(devices, peer, engine->why_host);
        engine->on_device = status == STATUS_OK;
    }
    return status == STATUS_UNAVAILABLE ? STATUS_OK : status;
}

enum status test_case_open(struct runner *runner, const struct candidate *candidate, size_t bytes,
                           const struct buffers *sets, int count, struct test_case *test_case)
{
    TRY(test_case_write(runner, candidate, bytes, channel_count_host(runner->job), sets, count,
                        test_case));
    size_t most = (size_t)test_case->schedule_count * BUFFER_SETS_MOST;
    test_case->executions = new_array(most, sizeof *test_case->executions);
    test_case->peers = new_array((size_t)runner->ranks, sizeof *test_case->peers);
    test_case_count_peers(test_case, runner->ranks, 0);
    enum status status = test_case_choose_engine(runner, test_case);
    if (status == STATUS_OK)
        status = test_case_split(runner, sets, test_case);
    if (status != STATUS_OK)
        test_case_close(test_case);
    return status;
}
