/*
 * runner.c - runs executors, or a vendor's collectives, on one rank, again and again.
 */
#include "run/run.h"

#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"

#define CHECK_NS   20000000u  /* between two checks of an idle wait: 20 ms */
#define NETWORK_NS 300000000u /* idle for so long, it also checks network and GPU: 300 ms */

/* A rank looks how long it waits for its core in iterations that follow one of at least so long: a
 * look takes a thousandth of it. A rank that waits for others leaves them its core, and loses
 * nothing by that. So of these waits those count before a turn in which bytes move: as a share,
 * since the kernel tells only their sum. */
#define LOOK_LEAST_NS 1000000u

/* A yield gives up the rest of a time slice. Where other programs want the core, the rank then
 * looks only some times a second, once for a slice of each of them. A rank that sleeps gets the
 * core back when it wakes. So two yields in a row that took as long as CROWDED_NS are followed by
 * naps, for a while. (One may have met a program that wanted the core for a moment, and a nap lasts
 * longer than most waits.) A nap lasts a sixteenth of the wait so far: a long wait costs few looks,
 * and ends at most so much too late.
 *
 * Two yields in a row that took shorter, but longer than a change of threads: others have work on
 * this core that is soon done, such as ranks of other containers. The rank then yields at once, for
 * a while: its spins would take the time in which they have work for it. */
#define CROWDED_NS     1000000u
#define SHARED_NS      10000u
#define CROWDED_FOR_NS 500000000u
#define NAP_LEAST_NS   20000
#define NAP_MOST_NS    1000000
#define NAP_SHARE      16

struct executor_config runner_executor_config(const struct runner *runner)
{
    return (struct executor_config){
        .chunk = runner->chunk,
        .nontemporal_least = runner->nontemporal_least,
        .memory = runner->memory,
        .links = runner->links,
        .staging = runner->staging.staging,
    };
}

struct profile *runner_profile(struct runner *runner)
{
    return runner->job->profile ? &runner->profile : NULL;
}

static void progress_set_position(struct progress *progress, const struct position *where)
{
    atomic_store_explicit(&progress->operation, where->operation, memory_order_relaxed);
    atomic_store_explicit(&progress->kind, (int)where->kind, memory_order_relaxed);
    atomic_store_explicit(&progress->peer, where->peer, memory_order_relaxed);
    atomic_store_explicit(&progress->lane, where->lane, memory_order_relaxed);
    atomic_store_explicit(&progress->step, where->step, memory_order_relaxed);
    atomic_store_explicit(&progress->done, where->done, memory_order_relaxed);
    atomic_store_explicit(&progress->length, where->length, memory_order_relaxed);
}

/* Outside of runs, waiting for `peer`. */
static struct position position_at(int peer)
{
    return (struct position){.operation = peer < 0 ? -1 : 0, .kind = OPERATION_RECV, .peer = peer};
}

void runner_await(struct runner *runner, int peer)
{
    struct position where = position_at(peer);
    progress_set_position(runner->progress, &where);
}

/* This rank is so far into its next iteration. */
static void progress_set_iteration(const struct runner *runner, enum iteration_stage stage)
{
    atomic_store_explicit(&runner->progress->iteration, runner->iteration, memory_order_relaxed);
    atomic_store_explicit(&runner->progress->stage, (int)stage, memory_order_relaxed);
}

/* Only this thread writes it, so no read-modify-write is needed. */
static void count_up(_Atomic uint64_t *count)
{
    atomic_store_explicit(count, atomic_load_explicit(count, memory_order_relaxed) + 1,
                          memory_order_relaxed);
}

static void progress_advance(struct progress *progress)
{
    count_up(&progress->progress);
}

static enum tick_answer runner_tick(void *argument, int peer)
{
    struct runner *runner = argument;
    if (peer == TICK_WORKED) {
        progress_advance(runner->progress);
        count_up(&runner->progress->ticks);
    } else {
        runner_await(runner, peer);
    }
    if (control_ended(runner->control))
        return TICK_ENDED;
    return control_is_late(runner->control) ? TICK_LATE : TICK_GO_ON;
}

void runner_tick_open(struct runner *runner)
{
    runner->tick = (struct tick){.call = runner_tick, .argument = runner};
}

/* Nothing has moved for a while. Bytes that arrive for a later operation count as progress. Is a
 * device at work? */
static bool runner_check_network(struct runner *runner)
{
    const struct memory *memory = &runner->memory;
    struct idle_report now = links_idle_report(runner->links);
    if (runner->arrived && now.arrived != runner->arrived)
        progress_advance(runner->progress);
    runner->arrived = now.arrived;
    runner->unheard = now.unheard;
    return now.busy || (memory->kind->engine_busy && memory->kind->engine_busy(memory->engine));
}

/* Shows what this rank waits for. A peer that the network does not reach comes first, then a GPU
 * that does not end its work. */
static void runner_show_wait(struct runner *runner, struct position where)
{
    if (runner->idle_since == 0)
        runner->idle_since = runner->last_check;
    if (runner->last_check - runner->idle_since > NETWORK_NS && runner_check_network(runner))
        where = (struct position){.kind = OPERATION_COPY, .peer = -1, .step = STEP_DEVICE};
    if (runner->unheard >= 0)
        where = (struct position){
            .kind = OPERATION_SEND, .peer = runner->unheard, .step = STEP_UNHEARD};
    uint64_t waited = runner->last_check - runner->idle_since;
    if (where.peer >= 0 && waited > runner->awaited.ns)
        runner->awaited = (struct awaited){.peer = where.peer, .ns = waited};
    progress_set_position(runner->progress, &where);
}

void runner_calm(struct runner *runner)
{
    runner->last_yield = YIELD_ALONE;
    runner->shares_until = 0;
    runner->crowded_until = 0;
}

/* Leaves the core to others. `now`: ns of the clock. */
static void runner_rest(struct runner *runner, uint64_t now)
{
    if (now < runner->crowded_until) {
        uint64_t nap = (now - runner->rests_since) / NAP_SHARE;
        nap = nap < NAP_LEAST_NS ? NAP_LEAST_NS : nap > NAP_MOST_NS ? NAP_MOST_NS : nap;
        nanosleep(&(struct timespec){.tv_nsec = (long)nap}, NULL);
        return;
    }
    sched_yield();
    uint64_t took = clock_ns() - now;
    enum yield yield = took >= CROWDED_NS  ? YIELD_SLOW
                       : took >= SHARED_NS ? YIELD_SHARED
                                           : YIELD_ALONE;
    if (yield == YIELD_SLOW && runner->last_yield == YIELD_SLOW)
        runner->crowded_until = now + CROWDED_FOR_NS;
    if (yield == YIELD_SHARED && runner->last_yield == YIELD_SHARED)
        runner->shares_until = now + CROWDED_FOR_NS;
    runner->last_yield = yield;
}

/* Nothing moved, for the `idle`th time in a row. *due: it is time to check job and network. */
static enum status runner_idle(struct runner *runner, long idle, bool *due)
{
    *due = false;
    if (idle == 1) {
        runner->idle_since = runner->arrived = runner->rests_since = 0;
        runner->unheard = -1;
    }
    if (idle < runner->spins && runner->shares_until == 0) {
        cpu_relax();
        return STATUS_OK;
    }
    uint64_t now = clock_ns();
    if (runner->shares_until < now)
        runner->shares_until = 0;
    if (runner->rests_since == 0)
        runner->rests_since = now;
    runner_rest(runner, now);
    runner->rested = true;
    if (control_ended(runner->control))
        return STATUS_ERROR; /* control_fail() then returns the verdict */
    *due = now - runner->last_check >= CHECK_NS;
    if (*due)
        runner->last_check = now;
    return STATUS_OK;
}

static enum status runner_idle_in_run(struct runner *runner, const struct execution *execution,
                                      long idle)
{
    bool due;
    enum status status = runner_idle(runner, idle, &due);
    if (!due)
        return status;
    struct position where;
    execution->hooks->position(execution, &where);
    runner_show_wait(runner, where);
    return execution->hooks->check(execution);
}

/* A turn begins when the rank has left its core to others. */
static void runner_count_turn(struct runner *runner, bool moved)
{
    if (!runner->rested)
        return;
    runner->turns++;
    runner->useful_turns += moved;
    runner->rested = false;
}

enum status runner_complete(struct runner *runner, struct execution *execution)
{
    const struct execution_hooks *hooks = execution->hooks;
    enum status status = STATUS_OK;
    bool moved, complete = false;
    for (long idle = 0; status == STATUS_OK && !complete;) {
        status = hooks->progress(execution, &moved, &complete);
        runner_count_turn(runner, moved);
        if (moved) {
            idle = 0;
            progress_advance(runner->progress);
        } else if (!complete && status == STATUS_OK) {
            status = runner_idle_in_run(runner, execution, ++idle);
        }
    }
    if (status == STATUS_OK) /* a failing rank reports the operation that it was in */
        atomic_store_explicit(&runner->progress->operation, -1, memory_order_relaxed);
    return status;
}

static enum status runner_run(struct runner *runner, struct execution *execution)
{
    if (control_ended(runner->control)) /* a run that never idles long learns of it only here */
        return STATUS_ERROR;
    TRY(execution->hooks->start(execution));
    return runner_complete(runner, execution);
}

/* Passes the barrier of this host. What this rank has sent may fail meanwhile, and the ranks that
 * it waits for may wait for just that. */
static enum status runner_meet_node(struct runner *runner)
{
    struct node_barrier *node_barrier = &runner->start_barrier.node_barrier;
    enum status status = control_ended(runner->control) ? STATUS_ERROR : STATUS_OK;
    bool due;
    node_barrier_arrive(node_barrier);
    for (long idle = 0; status == STATUS_OK && !node_barrier_passed(node_barrier);) {
        status = runner_idle(runner, ++idle, &due);
        if (!due || status != STATUS_OK)
            continue;
        int awaited = runner->start_barrier.members[node_barrier_awaited(node_barrier)];
        runner_show_wait(runner, position_at(awaited));
        status = links_check(runner->links);
        if (status == STATUS_OK && !node_barrier_is_sound(node_barrier))
            status = fail(STATUS_ERROR,
                          "the start barrier of this host holds a value of rank %d that no rank "
                          "writes: another process writes there, or memory fails; look for "
                          "memory errors in the kernel's log (dmesg)",
                          awaited);
    }
    progress_advance(runner->progress);
    if (status == STATUS_OK)
        atomic_store_explicit(&runner->progress->operation, -1, memory_order_relaxed);
    return status;
}

/* Sleeps until then (ns of the clock), or until the job ends. */
static void runner_sleep(const struct runner *runner, uint64_t until)
{
    for (uint64_t now = clock_ns(); now < until && !control_ended(runner->control);
         now = clock_ns()) {
        struct timespec nap = {.tv_nsec = until - now > 2000000 ? 1000000 : 1000};
        nanosleep(&nap, NULL);
    }
}

/* Injects the faults that delay, silence or end this rank in this iteration. */
static void runner_inject(const struct runner *runner)
{
    for (int i = 0; i < runner->job->injection_count; i++) {
        const struct injection *injection = &runner->job->injections[i];
        if (injection->rank != runner->rank)
            continue;
        if (injection->kind == INJECT_DELAY) {
            runner_sleep(runner, clock_ns() + (uint64_t)injection->microseconds * 1000);
        } else if (injection->iteration == runner->iteration) {
            if (injection->kind == INJECT_KILL)
                kill(getpid(), SIGKILL);
            else if (injection->kind == INJECT_STOP)
                kill(getpid(), SIGSTOP);
            else if (injection->kind == INJECT_SILENT)
                runner_sleep(runner, UINT64_MAX);
        }
    }
}

/* The bytes of the start barriers are counted apart: a test case shows only its own. */
static void start_traffic_count(struct runner *runner, int sign)
{
    struct endpoint *endpoint;
    for (int i = 0; (endpoint = links_endpoint(runner->links, i)); i++)
        traffic_add(&runner->start_traffic[i], &endpoint->traffic, sign);
}

enum status runner_synchronize(struct runner *runner, uint64_t *released)
{
    progress_set_iteration(runner, ITERATION_STARTING);
    enum status status = runner_meet_node(runner);
    if (runner->start_barrier.execution && status == STATUS_OK) {
        start_traffic_count(runner, -1);
        status = runner_run(runner, runner->start_barrier.execution);
        start_traffic_count(runner, +1);
    }
    if (runner->start_barrier.node_barriers > 1 && status == STATUS_OK)
        status = runner_meet_node(runner);
    if (status == STATUS_OK)
        progress_set_iteration(runner, ITERATION_RELEASED);
    *released = clock_ns();
    return status;
}

enum status runner_iterate(struct runner *runner, struct execution *execution, uint64_t *released,
                           struct iteration_times *times)
{
    enum status status = STATUS_OK;
    if (runner->job->start == START_BARRIER)
        status = runner_synchronize(runner, released);
    else
        progress_set_iteration(runner, ITERATION_RELEASED);
    struct profile *profile = runner_profile(runner);
    profile_open(profile);
    if (status == STATUS_OK) {
        runner_inject(runner);
        progress_set_iteration(runner, ITERATION_BEGUN);
    }
    if (runner->job->watches)
        links_watch(runner->links, true);
    /* Back to back, this iteration begins where the one before has ended, unless a fault delays
     * it. */
    bool follows = runner->job->start != START_BARRIER && runner->job->injection_count == 0;
    uint64_t begun = follows ? *released : clock_ns();
    runner->awaited = (struct awaited){.peer = -1};
    int64_t waited = runner->lasted < LOOK_LEAST_NS ? -1 : wait_meter_ns(&runner->wait_meter);
    runner->turns = runner->useful_turns = 0;
    runner->rested = false;
    if (status == STATUS_OK)
        status = runner_run(runner, execution);
    uint64_t ended = clock_ns();
    if (waited >= 0)
        waited = wait_meter_ns(&runner->wait_meter) - waited;
    if (waited > 0 && runner->turns > 0)
        waited = (int64_t)((double)waited * (double)runner->useful_turns / (double)runner->turns);
    profile_close(profile);
    if (runner->job->watches)
        links_watch(runner->links, false);
    *times = (struct iteration_times){.late = begun - *released,
                                      .duration = ended - *released,
                                      .released = *released,
                                      .awaited = runner->awaited,
                                      .waited = waited};
    runner->lasted = times->duration;
    if (execution->hooks->device_time)
        times->device = execution->hooks->device_time(execution);
    *released = ended;
    runner->iteration++;
    return status;
}
