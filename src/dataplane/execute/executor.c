/*
 * executor.c - the streaming executor: all operations are open at once, and each goes as far as
 * earlier ones allow.
 *
 * A task is an operation with its addresses, its channel and its transfer. A task that cannot go on
 * watches the one task that holds it back. When that one advances, the watcher's limit is computed
 * anew, and it may then watch another. So the cost of a step grows with what moves, not with the
 * number of operations.
 *
 * What a task has done becomes visible to others in steps of the grain (--chunk), or when it is
 * complete.
 */
#include "dataplane/execute/internal.h"

#include "base/log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * Injected faults, to test the tester (--inject): one incoming message is corrupted or dropped.
 *
 * The message travels as any other, so its sender notices nothing. Operations that wait for it see
 * it only when it is complete, and by then the damage is done.
 */
struct fault {
    enum fault_kind kind;
    int countdown;            /* incoming messages before the chosen one */
    struct piece landing;     /* where a dropped message lands */
    struct transfer original; /* the transfer without the fault */
};

/* Is the next operation, of this kind, the chosen message? Called for each, in program order. */
static bool fault_strikes(struct fault *fault, enum operation_kind kind)
{
    bool incoming = kind == OPERATION_RECV || kind == OPERATION_RECV_REDUCE;
    return incoming && fault->countdown >= 0 && fault->countdown-- == 0;
}

/* Before the chosen transfer is posted. A dropped message lands at `spare`. */
static void fault_begin(struct fault *fault, struct transfer *transfer, char *spare)
{
    fault->original = *transfer;
    if (fault->kind != FAULT_DROP)
        return;
    fault->landing = (struct piece){
        .base = spare, .run = transfer->length, .stride = transfer->length, .times = 1};
    transfer->kind = TRANSFER_RECV;
    transfer->to = (struct layout){.pieces = &fault->landing, .count = 1};
}

/* A high bit of the first element flips: a low bit of a float could be rounded away later. */
static enum status corrupt_finish(const struct transfer *transfer, const struct memory *memory)
{
    size_t run, high = transfer->element > 1 ? transfer->element - 2 : 0;
    unsigned char byte;
    struct cursor to;
    cursor_start(&to, transfer->to);
    char *at = cursor_peek(&to, transfer->element, &run) + high;
    TRY(memory->kind->read(memory, at, 1, &byte));
    byte ^= 4;
    return memory->kind->write(memory, &byte, 1, at);
}

/* Ends a dropped contribution: to = with, as if no message had arrived. */
static enum status drop_finish(const struct transfer *original, const struct memory *memory)
{
    struct moved_list moved = {.first = NULL};
    struct transfer copy = {.kind = TRANSFER_COPY,
                            .to = original->to,
                            .from = original->with,
                            .element = original->element,
                            .length = original->length,
                            .grain = original->length,
                            .limit = original->length,
                            .moved = &moved};
    memory->kind->engine_post(memory->engine, &copy);
    while (copy.done < copy.length) /* it takes no longer than any copy */
        TRY(memory->kind->engine_progress(memory->engine));
    return STATUS_OK;
}

/* When it is complete: does the damage in this memory, restores the transfer, ends the fault. */
static enum status fault_finish(struct fault *fault, struct transfer *transfer,
                                const struct memory *memory)
{
    enum status status = STATUS_OK;
    if (fault->kind == FAULT_CORRUPT) {
        status = corrupt_finish(transfer, memory);
    } else {
        transfer->kind = fault->original.kind;
        transfer->to = fault->original.to;
        if (fault->original.kind == TRANSFER_RECV_REDUCE)
            status = drop_finish(&fault->original, memory);
    }
    *fault = (struct fault){.kind = FAULT_NONE};
    return status;
}

/*
 * The streaming executor.
 */
struct task {
    struct transfer transfer; /* first: a moved transfer is its task */
    const struct operation *operation;
    struct channel *channel;       /* NULL: a local operation */
    struct staged_message *staged; /* its way through a ring; NULL: the link moves it itself */
    size_t first_wait;             /* all waits before it are satisfied */
    struct task *watchers;         /* tasks that this one holds back */
    struct task *next_watcher;
    struct fault *fault; /* the injected fault of this task; NULL: none */
};

struct executor {
    struct execution execution;
    struct executor_config config;
    size_t count;
    struct task *tasks;
    size_t *visible; /* bytes of each operation that others may rely on */
    struct piece *pieces;
    struct staged_message *staged; /* of as many tasks as need one */
    uint32_t *epoch_left;          /* of each epoch: operations that are not complete */
    struct moved_list moved;
    size_t completed;
    size_t earliest;   /* every operation before it is complete */
    size_t local_left; /* local operations that are posted and not complete */
    struct fault fault;
    struct eager *eager; /* NULL: a message is too long for it */
    bool is_eager;       /* this run uses it: no fault is injected */
};

static struct executor *executor_of(const struct execution *execution)
{
    return (struct executor *)(uintptr_t)execution;
}

/* The byte form of a message. */
static struct layout layout_make(const struct executor_config *config, struct message message,
                                 struct piece **room)
{
    struct layout layout = {.pieces = *room, .count = message.count};
    for (size_t i = 0; i < message.count; i++)
        *(*room)++ = span_piece(&message.spans[i], config->buffer, config->element);
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

/* If the buffers do not fit into a cache, results that no later operation touches are written past
 * it. */
static void executor_mark_nontemporal(struct executor *executor)
{
    const struct schedule *schedule = executor->config.schedule;
    size_t bytes[BUFFERS], touched = 0;
    schedule_bytes(schedule, executor->config.element, bytes);
    for (int b = 0; b < BUFFERS; b++)
        touched += bytes[b];
    if (touched < executor->config.nontemporal_least)
        return;
    for (size_t i = 0; i < executor->count; i++)
        executor->tasks[i].transfer.to.nontemporal = schedule->operations[i].to.count > 0;
    for (size_t i = 0; i < executor->count; i++)
        for (size_t w = 0; w < schedule->operations[i].wait_count; w++)
            executor->tasks[schedule->operations[i].waits[w].operation].transfer.to.nontemporal =
                false;
}

static enum status task_make(struct executor *executor, struct task *task,
                             const struct operation *operation, struct piece **room)
{
    const struct executor_config *config = &executor->config;
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
        .combines = config->schedule->problem.collective->reduces,
        .one_way = config->schedule->problem.collective->rooted,
        .moved = &executor->moved,
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

/* Does the link move the task's message itself? False: writes why into `reason`. */
static bool link_serves(const struct executor *executor, const struct task *task, char *reason)
{
    return endpoint_serves(task->channel->endpoint, executor->config.memory.kind,
                           task->transfer.kind == TRANSFER_RECV_REDUCE, reason);
}

/* Tasks whose link does not reach their memory, or does not combine there, get a way through a
 * ring. */
static enum status executor_stage(struct executor *executor)
{
    const struct executor_config *config = &executor->config;
    char reason[TRANSPORT_REASON_MOST];
    for (size_t i = 0; i < executor->count; i++) {
        struct task *task = &executor->tasks[i];
        if (!task->channel || link_serves(executor, task, reason))
            continue;
        if (!config->staging || config->memory.kind->host_reads)
            return fail(STATUS_UNAVAILABLE, "transport %s cannot be used: %s",
                        task->channel->endpoint->transport->name, reason);
        if (!executor->staged)
            executor->staged = calloc(executor->count, sizeof *executor->staged);
        if (!executor->staged)
            return fail(STATUS_ERROR, "out of memory for %zu messages", executor->count);
        task->staged = &executor->staged[i];
        TRY(stage_prepare(config->staging, task->channel, task->staged));
    }
    return STATUS_OK;
}

/* A task for which another one waits reports each grain, so that the other can follow. */
static void executor_set_grains(struct executor *executor)
{
    const struct memory_kind *kind = executor->config.memory.kind;
    for (size_t i = 0; i < executor->count; i++) {
        const struct operation *operation = executor->tasks[i].operation;
        for (size_t w = 0; w < operation->wait_count; w++) {
            struct transfer *awaited = &executor->tasks[operation->waits[w].operation].transfer;
            awaited->grain = grain_of(executor->config.chunk, awaited->length, kind->grain_least,
                                      kind->grain_most);
        }
    }
}

/* Where each message is short, and the grain does not cut it, there is nothing to stream. */
static enum status executor_make_eager(struct executor *executor)
{
    struct eager_step *steps = calloc(executor->count + 1, sizeof *steps);
    if (!steps)
        return fail(STATUS_ERROR, "out of memory for an executor of %zu operations",
                    executor->count);
    bool serves = true;
    for (size_t i = 0; i < executor->count; i++) {
        struct task *task = &executor->tasks[i];
        steps[i] = (struct eager_step){.transfer = &task->transfer, .channel = task->channel};
        if (task->channel)
            steps[i].move = task->channel->endpoint->transport->eager_move;
        serves &= task->transfer.length <= task->transfer.grain;
    }
    const struct executor_config *config = &executor->config;
    if (serves && eager_serves(config->schedule, steps, config->memory.kind))
        return eager_create(config->schedule, steps, config->memory.kind, config->clock,
                            &executor->eager);
    free(steps);
    return STATUS_OK;
}

/* Finds how far a task may go now, and which task it must watch to go further. */
static void task_limit(struct executor *executor, struct task *task)
{
    uint32_t holder;
    size_t limit = operation_limit(task->operation, executor->visible, executor->config.element,
                                   &task->first_wait, &holder);
    task->transfer.limit = limit - limit % executor->config.element;
    if (holder != UINT32_MAX) {
        task->next_watcher = executor->tasks[holder].watchers;
        executor->tasks[holder].watchers = task;
    }
}

static void task_post(struct executor *executor, struct task *task)
{
    task_limit(executor, task);
    if (task->staged) {
        stage_post(task->staged, task->channel, &task->transfer);
    } else if (task->channel) {
        channel_post(task->channel, &task->transfer);
    } else {
        const struct memory *memory = &executor->config.memory;
        memory->kind->engine_post(memory->engine, &task->transfer);
        executor->local_left++;
    }
}

static void epoch_open(struct executor *executor, int epoch)
{
    const struct epoch *open = &executor->config.schedule->epochs[epoch];
    for (uint32_t i = 0; i < open->operations; i++)
        task_post(executor, &executor->tasks[open->members[i]]);
}

static enum status executor_start(struct execution *execution)
{
    struct executor *executor = executor_of(execution);
    const struct schedule *schedule = executor->config.schedule;
    executor->is_eager = executor->eager && executor->fault.kind == FAULT_NONE;
    if (executor->is_eager) {
        eager_start(executor->eager);
        return STATUS_OK;
    }
    memset(executor->visible, 0, executor->count * sizeof *executor->visible);
    executor->completed = executor->earliest = executor->local_left = 0;
    for (size_t i = 0; i < executor->count; i++) {
        struct task *task = &executor->tasks[i];
        task->transfer.limit = task->transfer.done = task->transfer.issued = 0;
        task->first_wait = 0;
        task->watchers = NULL;
        task->fault = NULL;
    }
    for (size_t e = 0; e < schedule->epoch_count; e++)
        executor->epoch_left[e] = schedule->epochs[e].operations;
    if (executor->fault.kind != FAULT_NONE) {
        for (size_t i = 0; i < executor->count; i++)
            if (fault_strikes(&executor->fault, schedule->operations[i].kind))
                executor->tasks[i].fault = &executor->fault;
        for (size_t i = 0; i < executor->count; i++)
            if (executor->tasks[i].fault)
                fault_begin(&executor->fault, &executor->tasks[i].transfer, executor->config.spare);
    }
    for (size_t e = 0; e < schedule->epoch_count; e++)
        if (schedule->epochs[e].previous < 0)
            epoch_open(executor, (int)e);
    return STATUS_OK;
}

static void task_complete(struct executor *executor, struct task *task)
{
    const struct schedule *schedule = executor->config.schedule;
    executor->completed++;
    executor->local_left -= !task->channel;
    step_clock_note(executor->config.clock, task->operation->step);
    while (executor->earliest < executor->count &&
           executor->tasks[executor->earliest].transfer.done ==
               executor->tasks[executor->earliest].transfer.length)
        executor->earliest++;
    uint32_t epoch = task->operation->epoch;
    if (--executor->epoch_left[epoch] == 0 && schedule->epochs[epoch].next >= 0)
        epoch_open(executor, schedule->epochs[epoch].next);
}

/* A task has advanced: its watchers may follow. */
static enum status task_moved(struct executor *executor, struct task *task)
{
    size_t index = (size_t)(task - executor->tasks), done = task->transfer.done;
    bool complete = done == task->transfer.length;
    enum status status = STATUS_OK;
    if (complete && task->fault) {
        status = fault_finish(task->fault, &task->transfer, &executor->config.memory);
        task->fault = NULL;
    }
    size_t now = complete ? done : task->fault ? 0 : done - done % task->transfer.grain;
    if (now > executor->visible[index]) {
        executor->visible[index] = now;
        struct task *watcher = task->watchers;
        task->watchers = NULL;
        while (watcher) {
            struct task *next = watcher->next_watcher;
            task_limit(executor, watcher);
            watcher = next;
        }
    }
    if (complete)
        task_complete(executor, task);
    return status;
}

static enum status executor_progress_streaming(struct executor *executor, bool *moved,
                                               bool *complete)
{
    const struct memory *memory = &executor->config.memory;
    struct staging *staging = executor->staged ? executor->config.staging : NULL;
    enum status status = links_progress(executor->config.links);
    if (status == STATUS_OK && (executor->local_left || (staging && staging_is_active(staging))))
        status = memory->kind->engine_progress(memory->engine);
    if (staging)
        staging_progress(staging);
    *moved = executor->moved.first != NULL;
    struct transfer *transfer;
    while (status == STATUS_OK && (transfer = moved_take(&executor->moved)))
        status = task_moved(executor, (struct task *)transfer);
    *complete = executor->completed == executor->count;
    return status;
}

static enum status executor_progress(struct execution *execution, bool *moved, bool *complete)
{
    struct executor *executor = executor_of(execution);
    enum status status = executor->is_eager
                             ? eager_progress(executor->eager, moved, complete)
                             : executor_progress_streaming(executor, moved, complete);
    profile_poll_end(executor->config.profile, *moved);
    return status;
}

static enum status executor_check(const struct execution *execution)
{
    const struct executor *executor = executor_of(execution);
    if (executor->is_eager)
        eager_await(executor->eager);
    return links_check(executor->config.links);
}

static void executor_position(const struct execution *execution, struct position *position)
{
    const struct executor *executor = executor_of(execution);
    *position = (struct position){.operation = -1, .peer = -1};
    int earliest = executor->is_eager                      ? eager_position(executor->eager)
                   : executor->earliest == executor->count ? -1
                                                           : (int)executor->earliest;
    if (earliest < 0)
        return;
    const struct task *task = &executor->tasks[earliest];
    *position = (struct position){
        .operation = earliest,
        .kind = task->operation->kind,
        .peer = task->operation->peer,
        .lane = task->operation->lane,
        .step = task->operation->step,
        .done = executor->is_eager ? 0 : task->transfer.done,
        .length = task->transfer.length,
    };
}

static void executor_inject(struct execution *execution, enum fault_kind fault, int nth)
{
    executor_of(execution)->fault = (struct fault){.kind = fault, .countdown = nth};
}

static bool executor_inject_pending(const struct execution *execution)
{
    return executor_of(execution)->fault.kind != FAULT_NONE;
}

static void executor_destroy(struct execution *execution)
{
    struct executor *executor = executor_of(execution);
    eager_destroy(executor->eager);
    free(executor->tasks);
    free(executor->visible);
    free(executor->epoch_left);
    free(executor->pieces);
    free(executor->staged);
    free(executor);
}

enum status executor_create(const struct executor_config *config, struct execution **execution)
{
    static const struct execution_hooks hooks = {
        .start = executor_start,
        .progress = executor_progress,
        .check = executor_check,
        .position = executor_position,
        .inject = executor_inject,
        .inject_pending = executor_inject_pending,
        .destroy = executor_destroy,
    };
    const struct schedule *schedule = config->schedule;
    size_t pieces = 0;
    for (size_t i = 0; i < schedule->count; i++)
        pieces += schedule->operations[i].to.count + schedule->operations[i].from.count +
                  schedule->operations[i].with.count;

    struct executor *executor = calloc(1, sizeof *executor);
    *execution = NULL;
    if (!executor)
        return fail(STATUS_ERROR, "out of memory for an executor");
    executor->execution.hooks = &hooks;
    executor->config = *config;
    executor->count = schedule->count;
    executor->tasks = calloc(executor->count + 1, sizeof *executor->tasks);
    executor->visible = calloc(executor->count + 1, sizeof *executor->visible);
    executor->epoch_left = calloc(schedule->epoch_count + 1, sizeof *executor->epoch_left);
    executor->pieces = malloc((pieces + 1) * sizeof *executor->pieces);
    enum status status = STATUS_OK;
    if (!executor->tasks || !executor->visible || !executor->epoch_left || !executor->pieces)
        status =
            fail(STATUS_ERROR, "out of memory for an executor of %zu operations", executor->count);
    struct piece *room = executor->pieces;
    for (size_t i = 0; i < executor->count && status == STATUS_OK; i++)
        status = task_make(executor, &executor->tasks[i], &schedule->operations[i], &room);
    executor->completed = executor->earliest = executor->count;
    if (status == STATUS_OK)
        status = executor_stage(executor);
    if (status == STATUS_OK) {
        executor_mark_nontemporal(executor);
        executor_set_grains(executor);
        status = executor_make_eager(executor);
    }
    if (status == STATUS_OK)
        *execution = &executor->execution;
    else
        executor_destroy(&executor->execution);
    return status;
}
