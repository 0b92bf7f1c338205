/*
 * runner.c - running one collective on one rank.
 */
#include "run/runner.h"

#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"

#define LOOK_NS  20000000u  /* how often an idle wait looks at the world: 20 ms */
#define STILL_NS 300000000u /* nothing moved for so long: what became of what was sent? 300 ms */

/* Lines. */

struct plan *line_plan(const struct line *line, int root, int set)
{
    return line->plan[set * line->plans + root];
}

enum status line_schedules(const struct runner *runner, const struct choice *choice, size_t bytes,
                           struct line *line)
{
    const struct job *job = runner->job;
    bool rotates = job->collective->rooted && job->root == ROOT_ALL;
    *line = (struct line){.choice = choice, .plans = rotates ? runner->ranks : 1, .sets = 1};
    enum status status = job_problem(job, choice, bytes, runner->ranks, runner->shape,
                                     &line->problem, &line->counts);
    if (status != STATUS_OK)
        return status;
    line->schedules = calloc((size_t)line->plans, sizeof *line->schedules);
    line->plan = calloc((size_t)line->plans * BURST_MOST, sizeof *line->plan);
    if (!line->schedules || !line->plan)
        status = fail(STATUS_ERROR, "out of memory for %d schedules", line->plans);
    for (int i = 0; i < line->plans && status == STATUS_OK; i++) {
        struct problem problem = line->problem;
        problem.root += i;
        status = schedule_build(choice, &problem, runner->rank, job->channels, &line->schedules[i]);
    }
    if (status != STATUS_OK)
        line_close(line);
    return status;
}

void line_close(struct line *line)
{
    for (int i = 0; line->plan && i < line->plans * BURST_MOST; i++)
        plan_destroy(line->plan[i]);
    for (int i = 0; line->schedules && i < line->plans; i++)
        schedule_free(line->schedules[i]);
    free(line->plan);
    free(line->schedules);
    counts_free(line->counts);
    *line = (struct line){0};
}

static bool set_is_enough(const struct buffers *set, const struct line *line, size_t element)
{
    for (int i = 0; i < line->plans; i++) {
        size_t bytes[BUFFERS];
        schedule_bytes(line->schedules[i], element, bytes);
        for (int b = 0; b < BUFFERS; b++)
            if (bytes[b] > set->bytes[b])
                return false;
    }
    return true;
}

struct plan_config runner_plan_config(const struct runner *runner)
{
    return (struct plan_config){
        .chunk = runner->chunk,
        .stream_least = runner->stream_least,
        .memory = runner->job->memory,
        .engine = runner->engine,
        .links = runner->links,
    };
}

/* NULL: the job does not ask for it. */
static struct profile *runner_profile(struct runner *runner)
{
    return runner->job->profile ? &runner->profile : NULL;
}

static enum status line_open_plan(struct runner *runner, const struct schedule *schedule,
                                  const struct buffers *set, struct plan **plan)
{
    const struct job *job = runner->job;
    struct plan_config config = runner_plan_config(runner);
    config.schedule = schedule;
    config.element = job->datatype->size;
    if (job->collective->reduces)
        config.reduce = reduce_kernel(job->datatype, job->reduction);
    if (job->collective->reduces)
        config.finish = finish_kernel(job->datatype, job->reduction);
    config.profile = runner_profile(runner);
    for (int b = 0; b < BUFFERS; b++)
        config.buffer[b] = buffers_place(set, schedule, job->datatype->size, (enum buffer)b);
    return plan_create(&config, plan);
}

enum status line_open(struct runner *runner, const struct choice *choice, size_t bytes,
                      const struct buffers *sets, int count, struct line *line)
{
    const struct job *job = runner->job;
    enum status status = line_schedules(runner, choice, bytes, line);
    if (status != STATUS_OK)
        return status;
    while (line->sets < count && set_is_enough(&sets[line->sets], line, job->datatype->size))
        line->sets++;
    for (int i = 0; i < line->plans * line->sets && status == STATUS_OK; i++)
        status = line_open_plan(runner, line->schedules[i % line->plans], &sets[i / line->plans],
                                &line->plan[i]);
    if (status != STATUS_OK)
        line_close(line);
    return status;
}

/* Running. */

static void pulse_where(struct pulse *pulse, const struct whereabouts *where)
{
    atomic_store_explicit(&pulse->operation, where->operation, memory_order_relaxed);
    atomic_store_explicit(&pulse->kind, (int)where->kind, memory_order_relaxed);
    atomic_store_explicit(&pulse->peer, where->peer, memory_order_relaxed);
    atomic_store_explicit(&pulse->lane, where->lane, memory_order_relaxed);
    atomic_store_explicit(&pulse->step, where->step, memory_order_relaxed);
    atomic_store_explicit(&pulse->done, where->done, memory_order_relaxed);
    atomic_store_explicit(&pulse->length, where->length, memory_order_relaxed);
}

/* Outside of a plan, waiting for `peer`. */
static struct whereabouts whereabouts_at(int peer)
{
    return (struct whereabouts){
        .operation = peer < 0 ? -1 : 0, .kind = OPERATION_RECV, .peer = peer};
}

void runner_await(struct runner *runner, int peer)
{
    struct whereabouts where = whereabouts_at(peer);
    pulse_where(runner->pulse, &where);
}

/* This rank is at its next iteration, or at the start barrier before it. */
static void pulse_begin(const struct runner *runner, bool starting)
{
    atomic_store_explicit(&runner->pulse->iteration, runner->iteration, memory_order_relaxed);
    atomic_store_explicit(&runner->pulse->starting, starting, memory_order_relaxed);
}

/* Only this thread writes it, so no read-modify-write is needed. */
static void pulse_progress(struct pulse *pulse)
{
    uint64_t progress = atomic_load_explicit(&pulse->progress, memory_order_relaxed);
    atomic_store_explicit(&pulse->progress, progress + 1, memory_order_relaxed);
}

static bool runner_ticks(void *argument)
{
    struct runner *runner = argument;
    pulse_progress(runner->pulse);
    return !control_ended(runner->control);
}

void runner_tick_open(struct runner *runner)
{
    runner->tick = (struct tick){.call = runner_ticks, .argument = runner};
}

/* Nothing has moved for a while. What arrives all the same, for later, is progress. */
static void runner_look_at_network(struct runner *runner)
{
    struct stillness now = links_still(runner->links);
    if (runner->arrived && now.arrived != runner->arrived)
        pulse_progress(runner->pulse);
    runner->arrived = now.arrived;
    runner->unheard = now.unheard;
}

/* What this rank waits in; but first of all for a peer that does not get what was sent to it. */
static void runner_tell(struct runner *runner, struct whereabouts where)
{
    if (runner->still == 0)
        runner->still = runner->last_look;
    if (runner->last_look - runner->still > STILL_NS)
        runner_look_at_network(runner);
    if (runner->unheard >= 0)
        where = (struct whereabouts){
            .kind = OPERATION_SEND, .peer = runner->unheard, .step = STEP_UNHEARD};
    pulse_where(runner->pulse, &where);
}

/* Nothing moved: the `idle`th time in a row. Sets *look when the world is to be looked at. */
static enum status runner_idle(struct runner *runner, long idle, bool *look)
{
    *look = false;
    if (idle == 1) {
        runner->still = runner->arrived = 0;
        runner->unheard = -1;
    }
    if (idle < runner->spins) {
        cpu_relax();
        return STATUS_OK;
    }
    sched_yield();
    if (control_ended(runner->control))
        return STATUS_ERROR; /* the verdict is fetched by whoever sees this */
    if (idle % 64)
        return STATUS_OK;
    uint64_t now = clock_ns();
    *look = now - runner->last_look >= LOOK_NS;
    if (*look)
        runner->last_look = now;
    return STATUS_OK;
}

static enum status runner_idle_in_plan(struct runner *runner, const struct plan *plan, long idle)
{
    bool look;
    enum status status = runner_idle(runner, idle, &look);
    if (!look)
        return status;
    struct whereabouts where;
    plan_where(plan, &where);
    runner_tell(runner, where);
    return plan_check(plan);
}

enum status runner_run(struct runner *runner, struct plan *plan)
{
    /* Where nothing ever has to wait long, this is the only place that learns of the job's end. */
    enum status status = control_ended(runner->control) ? STATUS_ERROR : plan_start(plan);
    bool moved, complete = false;
    for (long idle = 0; status == STATUS_OK && !complete;) {
        status = plan_progress(plan, &moved, &complete);
        if (moved) {
            idle = 0;
            pulse_progress(runner->pulse);
        } else if (!complete && status == STATUS_OK) {
            status = runner_idle_in_plan(runner, plan, ++idle);
        }
    }
    if (status == STATUS_OK) /* a failing rank's report says what it was in */
        atomic_store_explicit(&runner->pulse->operation, -1, memory_order_relaxed);
    return status;
}

/* Meets the ranks of this host. */
static enum status runner_meet(struct runner *runner)
{
    struct gate *gate = &runner->start.gate;
    enum status status = control_ended(runner->control) ? STATUS_ERROR : STATUS_OK;
    bool look;
    gate_arrive(gate);
    for (long idle = 0; status == STATUS_OK && !gate_passed(gate);) {
        status = runner_idle(runner, ++idle, &look);
        if (look)
            runner_tell(runner, whereabouts_at(runner->start.members[gate_awaited(gate)]));
    }
    pulse_progress(runner->pulse);
    if (status == STATUS_OK)
        atomic_store_explicit(&runner->pulse->operation, -1, memory_order_relaxed);
    return status;
}

/* What the job inflicts on itself at this iteration of this rank. */
static void runner_suffer(const struct runner *runner)
{
    for (int i = 0; i < runner->job->injection_count; i++) {
        const struct injection *injection = &runner->job->injections[i];
        if (injection->rank != runner->rank)
            continue;
        if (injection->kind == INJECT_DELAY) {
            uint64_t until = clock_ns() + (uint64_t)injection->microseconds * 1000;
            while (clock_ns() < until && !control_ended(runner->control)) {
                struct timespec nap = {.tv_nsec = 1000};
                if (until - clock_ns() > 2000000)
                    nap.tv_nsec = 1000000;
                nanosleep(&nap, NULL);
            }
        } else if (injection->iteration == runner->iteration) {
            if (injection->kind == INJECT_KILL)
                kill(getpid(), SIGKILL);
            else if (injection->kind == INJECT_STOP)
                kill(getpid(), SIGSTOP);
        }
    }
}

/* The bytes of the start barriers are counted apart, so that a line shows only its own. */
static void start_count(struct runner *runner, int sign)
{
    struct endpoint *endpoint;
    for (int i = 0; (endpoint = links_endpoint(runner->links, i)); i++)
        traffic_add(&runner->start_traffic[i], &endpoint->traffic, sign);
}

enum status runner_settle(struct runner *runner, uint64_t *released)
{
    pulse_begin(runner, true);
    enum status status = runner_meet(runner);
    if (runner->start.plan && status == STATUS_OK) {
        start_count(runner, -1);
        status = runner_run(runner, runner->start.plan);
        start_count(runner, +1);
    }
    if (runner->start.gates > 1 && status == STATUS_OK)
        status = runner_meet(runner);
    if (status == STATUS_OK)
        pulse_begin(runner, false);
    *released = clock_ns();
    return status;
}

enum status runner_iterate(struct runner *runner, struct plan *plan, uint64_t *released,
                           uint64_t *late, uint64_t *duration)
{
    enum status status = STATUS_OK;
    if (runner->job->start == START_BARRIER)
        status = runner_settle(runner, released);
    else
        pulse_begin(runner, false);
    profile_open(runner_profile(runner));
    runner_suffer(runner);
    if (runner->job->watches)
        links_watch(runner->links, true);
    uint64_t begun = clock_ns();
    if (status == STATUS_OK)
        status = runner_run(runner, plan);
    uint64_t ended = clock_ns();
    profile_close(runner_profile(runner));
    if (runner->job->watches)
        links_watch(runner->links, false);
    *late = begun - *released;
    *duration = ended - *released;
    *released = ended;
    runner->iteration++;
    return status;
}
