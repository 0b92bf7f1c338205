/*
 * executor.c - the executor: all operations are open at once, and each goes as far as those before it
 * allow.
 *
 * A task is an operation that was made ready: its memory as addresses, its channel, its transfer. A
 * task that is held back watches the one task that holds it back; when that one moves on, the
 * watcher's limit is computed anew, and it may come to watch another. So the cost of a step follows
 * what moved, not what there is.
 *
 * What a task has done becomes visible to others in steps of the grain (--chunk), or when it is
 * complete.
 */
#include "execute/executor.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "execute/eager.h"
#include "execute/fault.h"

struct task {
    struct transfer transfer; /* first: a moved transfer is its task */
    const struct operation *operation;
    struct channel *channel; /* NULL: a local operation */
    size_t first_wait;       /* waits before it are satisfied for good */
    struct task *watchers;   /* tasks that this one holds back */
    struct task *next_watcher;
    struct fault *fault; /* NULL but for the task that an injected fault strikes */
};

struct plan {
    struct plan_config config;
    size_t count;
    struct task *tasks;
    size_t *passed; /* bytes of each operation that others may rely on */
    struct piece *pieces;
    uint32_t *epoch_left; /* of each epoch: operations that are not complete */
    struct moved_list moved;
    size_t completed;
    size_t earliest;   /* every operation before it is complete */
    size_t local_left; /* local operations that are posted and not complete */
    struct fault fault;
    struct eager *eager; /* NULL: some message is too long for it */
    bool is_eager;       /* this run goes that way: no fault is to be inflicted in it */
};

/* The byte form of a message. */
static struct layout layout_make(const struct plan_config *config, struct message message,
                                 struct piece **room)
{
    struct layout layout = {.pieces = *room, .count = message.count};
    for (size_t i = 0; i < message.count; i++) {
        const struct span *span = &message.spans[i];
        *(*room)++ =
            (struct piece){.base = config->buffer[span->buffer] + span->offset * config->element,
                           .run = span->run * config->element,
                           .stride = span->stride * config->element,
                           .times = span->times};
    }
    return layout;
}

static enum transfer_kind transfer_kind_of(enum operation_kind kind)
{
    switch (kind) {
    case OPERATION_SEND:
        return TRANSFER_SEND;
    case OPERATION_RECV:
        return TRANSFER_RECV;
    case OPERATION_RECV_REDUCE:
        return TRANSFER_RECV_REDUCE;
    case OPERATION_REDUCE:
        return TRANSFER_REDUCE;
    case OPERATION_FINISH:
        return TRANSFER_FINISH;
    case OPERATION_COPY:
        break;
    }
    return TRANSFER_COPY;
}

/* Results that no later operation touches are written past the cache, if it could not keep what the
 * plan touches. */
static void plan_stream(struct plan *plan)
{
    const struct schedule *schedule = plan->config.schedule;
    size_t bytes[BUFFERS], touched = 0;
    schedule_bytes(schedule, plan->config.element, bytes);
    for (int b = 0; b < BUFFERS; b++)
        touched += bytes[b];
    if (touched < plan->config.stream_least)
        return;
    for (size_t i = 0; i < plan->count; i++)
        plan->tasks[i].transfer.to.streams = schedule->operations[i].to.count > 0;
    for (size_t i = 0; i < plan->count; i++)
        for (size_t w = 0; w < schedule->operations[i].wait_count; w++)
            plan->tasks[schedule->operations[i].waits[w].operation].transfer.to.streams = false;
}

static enum status task_make(struct plan *plan, struct task *task,
                             const struct operation *operation, struct piece **room)
{
    const struct plan_config *config = &plan->config;
    task->operation = operation;
    task->transfer = (struct transfer){
        .kind = transfer_kind_of(operation->kind),
        .to = layout_make(config, operation->to, room),
        .from = layout_make(config, operation->from, room),
        .with = layout_make(config, operation->with, room),
        .reduce = config->reduce,
        .finish = config->finish,
        .ranks = config->schedule->problem.ranks,
        .element = config->element,
        .length = operation->length * config->element,
        .grain = operation->length * config->element,
        .moved = &plan->moved,
        .profile = config->profile,
    };
    if (!operation_travels(operation->kind))
        return STATUS_OK;
    task->channel = links_channel(config->links, operation->peer, operation->lane,
                                  operation->kind == OPERATION_SEND);
    if (!task->channel)
        return fail(STATUS_ERROR, "there is no channel to rank %d on lane %d", operation->peer,
                    operation->lane);
    return STATUS_OK;
}

/* A task that another one waits for is done step by step, so that the other can follow. */
static void plan_grain(struct plan *plan)
{
    for (size_t i = 0; i < plan->count; i++) {
        const struct operation *operation = plan->tasks[i].operation;
        for (size_t w = 0; w < operation->wait_count; w++) {
            struct transfer *awaited = &plan->tasks[operation->waits[w].operation].transfer;
            awaited->grain = grain_of(plan->config.chunk, awaited->length);
        }
    }
}

/* Where each message is short, and the grain does not cut it, there is nothing to stream. */
static enum status plan_make_eager(struct plan *plan)
{
    struct eager_step *steps = calloc(plan->count + 1, sizeof *steps);
    if (!steps)
        return fail(STATUS_ERROR, "out of memory for a plan of %zu operations", plan->count);
    bool serves = true;
    for (size_t i = 0; i < plan->count; i++) {
        struct task *task = &plan->tasks[i];
        steps[i] = (struct eager_step){.transfer = &task->transfer, .channel = task->channel};
        if (task->channel)
            steps[i].move = task->channel->endpoint->transport->eager_move;
        serves &= task->transfer.length <= task->transfer.grain;
    }
    const struct plan_config *config = &plan->config;
    if (serves && eager_serves(config->schedule, steps, config->memory))
        return eager_create(config->schedule, steps, config->memory, &plan->eager);
    free(steps);
    return STATUS_OK;
}

enum status plan_create(const struct plan_config *config, struct plan **made)
{
    const struct schedule *schedule = config->schedule;
    size_t pieces = 0;
    for (size_t i = 0; i < schedule->count; i++)
        pieces += schedule->operations[i].to.count + schedule->operations[i].from.count +
                  schedule->operations[i].with.count;

    struct plan *plan = calloc(1, sizeof *plan);
    *made = plan;
    if (!plan)
        return fail(STATUS_ERROR, "out of memory for a plan");
    plan->config = *config;
    plan->count = schedule->count;
    plan->tasks = calloc(plan->count + 1, sizeof *plan->tasks);
    plan->passed = calloc(plan->count + 1, sizeof *plan->passed);
    plan->epoch_left = calloc(schedule->epoch_count + 1, sizeof *plan->epoch_left);
    plan->pieces = malloc((pieces + 1) * sizeof *plan->pieces);
    enum status status = STATUS_OK;
    if (!plan->tasks || !plan->passed || !plan->epoch_left || !plan->pieces)
        status = fail(STATUS_ERROR, "out of memory for a plan of %zu operations", plan->count);
    struct piece *room = plan->pieces;
    for (size_t i = 0; i < plan->count && status == STATUS_OK; i++)
        status = task_make(plan, &plan->tasks[i], &schedule->operations[i], &room);
    plan->completed = plan->earliest = plan->count;
    if (status == STATUS_OK) {
        plan_stream(plan);
        plan_grain(plan);
        status = plan_make_eager(plan);
    }
    if (status != STATUS_OK) {
        plan_destroy(plan);
        *made = NULL;
    }
    return status;
}

void plan_destroy(struct plan *plan)
{
    if (!plan)
        return;
    fault_end(&plan->fault);
    eager_destroy(plan->eager);
    free(plan->tasks);
    free(plan->passed);
    free(plan->epoch_left);
    free(plan->pieces);
    free(plan);
}

/* Finds how far a task may go now, and whom it has to watch to go further. */
static void task_limit(struct plan *plan, struct task *task)
{
    uint32_t holder;
    size_t limit = operation_limit(task->operation, plan->passed, plan->config.element,
                                   &task->first_wait, &holder);
    task->transfer.limit = limit - limit % plan->config.element;
    if (holder != UINT32_MAX) {
        task->next_watcher = plan->tasks[holder].watchers;
        plan->tasks[holder].watchers = task;
    }
}

static void task_post(struct plan *plan, struct task *task)
{
    task_limit(plan, task);
    if (task->channel) {
        channel_post(task->channel, &task->transfer);
    } else {
        plan->config.memory->engine_post(plan->config.engine, &task->transfer);
        plan->local_left++;
    }
}

static void epoch_open(struct plan *plan, int epoch)
{
    const struct epoch *open = &plan->config.schedule->epochs[epoch];
    for (uint32_t i = 0; i < open->operations; i++)
        task_post(plan, &plan->tasks[open->members[i]]);
}

enum status plan_start(struct plan *plan)
{
    const struct schedule *schedule = plan->config.schedule;
    plan->is_eager = plan->eager && plan->fault.kind == PLAN_FAULT_NONE;
    if (plan->is_eager) {
        eager_start(plan->eager);
        return STATUS_OK;
    }
    memset(plan->passed, 0, plan->count * sizeof *plan->passed);
    plan->completed = plan->earliest = plan->local_left = 0;
    for (size_t i = 0; i < plan->count; i++) {
        struct task *task = &plan->tasks[i];
        task->transfer.limit = task->transfer.done = task->transfer.issued = 0;
        task->first_wait = 0;
        task->watchers = NULL;
        task->fault = NULL;
    }
    for (size_t e = 0; e < schedule->epoch_count; e++)
        plan->epoch_left[e] = schedule->epochs[e].operations;
    if (plan->fault.kind != PLAN_FAULT_NONE) {
        for (size_t i = 0; i < plan->count; i++)
            if (fault_strikes(&plan->fault, schedule->operations[i].kind))
                plan->tasks[i].fault = &plan->fault;
        for (size_t i = 0; i < plan->count; i++)
            if (plan->tasks[i].fault && !fault_begin(&plan->fault, &plan->tasks[i].transfer))
                return fail(STATUS_ERROR, "out of memory for an injected fault");
    }
    for (size_t e = 0; e < schedule->epoch_count; e++)
        if (schedule->epochs[e].previous < 0)
            epoch_open(plan, (int)e);
    return STATUS_OK;
}

static void task_complete(struct plan *plan, struct task *task)
{
    const struct schedule *schedule = plan->config.schedule;
    plan->completed++;
    plan->local_left -= !task->channel;
    while (plan->earliest < plan->count &&
           plan->tasks[plan->earliest].transfer.done == plan->tasks[plan->earliest].transfer.length)
        plan->earliest++;
    uint32_t epoch = task->operation->epoch;
    if (--plan->epoch_left[epoch] == 0 && schedule->epochs[epoch].next >= 0)
        epoch_open(plan, schedule->epochs[epoch].next);
}

/* A task has moved on: those whom it held back may follow. */
static void task_moved(struct plan *plan, struct task *task)
{
    size_t index = (size_t)(task - plan->tasks), done = task->transfer.done;
    bool complete = done == task->transfer.length;
    if (complete && task->fault) {
        fault_finish(task->fault, &task->transfer);
        task->fault = NULL;
    }
    size_t visible = complete ? done : task->fault ? 0 : done - done % task->transfer.grain;
    if (visible > plan->passed[index]) {
        plan->passed[index] = visible;
        struct task *watcher = task->watchers;
        task->watchers = NULL;
        while (watcher) {
            struct task *next = watcher->next_watcher;
            task_limit(plan, watcher);
            watcher = next;
        }
    }
    if (complete)
        task_complete(plan, task);
}

static enum status plan_progress_streaming(struct plan *plan, bool *moved, bool *complete)
{
    enum status status = links_progress(plan->config.links);
    if (status == STATUS_OK && plan->local_left)
        status = plan->config.memory->engine_progress(plan->config.engine);
    *moved = plan->moved.first != NULL;
    struct transfer *transfer;
    while ((transfer = moved_take(&plan->moved)))
        task_moved(plan, (struct task *)transfer);
    *complete = plan->completed == plan->count;
    return status;
}

enum status plan_progress(struct plan *plan, bool *moved, bool *complete)
{
    enum status status = plan->is_eager ? eager_progress(plan->eager, moved, complete)
                                        : plan_progress_streaming(plan, moved, complete);
    profile_look_end(plan->config.profile, *moved);
    return status;
}

enum status plan_check(const struct plan *plan)
{
    if (plan->is_eager)
        eager_await(plan->eager);
    return links_check(plan->config.links);
}

void plan_where(const struct plan *plan, struct whereabouts *where)
{
    *where = (struct whereabouts){.operation = -1, .peer = -1};
    int earliest = plan->is_eager                  ? eager_where(plan->eager)
                   : plan->earliest == plan->count ? -1
                                                   : (int)plan->earliest;
    if (earliest < 0)
        return;
    const struct task *task = &plan->tasks[earliest];
    *where = (struct whereabouts){
        .operation = earliest,
        .kind = task->operation->kind,
        .peer = task->operation->peer,
        .lane = task->operation->lane,
        .step = task->operation->step,
        .done = plan->is_eager ? 0 : task->transfer.done,
        .length = task->transfer.length,
    };
}

void plan_inject(struct plan *plan, enum plan_fault fault, int nth)
{
    plan->fault = (struct fault){.kind = fault, .countdown = nth};
}

bool plan_inject_pending(const struct plan *plan)
{
    return plan->fault.kind != PLAN_FAULT_NONE;
}
