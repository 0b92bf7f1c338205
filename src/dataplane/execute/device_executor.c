/*
 * device_executor.c - the device executor: launches the plan of a schedule, and watches it.
 *
 * The host only begins a run and finds its end. While a run goes on, its blocks write where they
 * are into memory of the host, which position() reads.
 */
#include "dataplane/execute/execute.h"

#include <stdlib.h>

#include "base/list.h"
#include "base/log.h"

#define CHUNK       ((size_t)32 << 10)  /* bytes of a step through slots, or of a local operation */
#define ZCOPY_CHUNK ((size_t)256 << 10) /* of a step from buffer to buffer */

struct device_executor {
    struct execution execution;
    struct device_group *group;
    const struct schedule *schedule;
    struct device_plan *plan; /* the group's */
    size_t moves;             /* of its blocks, as last seen */
    uint64_t ns;              /* that the last run took */
    bool runs;
    bool fault_pending;     /* no message has met it */
    bool fault_found;       /* one will */
    bool is_stale;          /* the device has other operations than the room */
    struct traffic traffic; /* of a run */
    struct profile *profile;
};

static struct device_executor *executor_of(const struct execution *execution)
{
    return (struct device_executor *)(uintptr_t)execution;
}

/* The plan, in pinned memory. */
static struct flat_plan *executor_plan(const struct device_executor *executor)
{
    return (struct flat_plan *)(void *)(executor->group->room + executor->plan->run.at);
}

/* Making. */

/* Where this rank's device finds the buffers of each peer; the caller frees them. */
static char *(*peer_buffers(const struct device_executor_config *config))[BUFFERS]
{
    int ranks = config->group->config.ranks;
    char *(*buffers)[BUFFERS] = new_array((size_t)ranks, sizeof *buffers);
    for (int r = 0; r < ranks; r++) {
        const struct schedule *peer = config->peers[r];
        char *base[BUFFERS];
        if (!peer)
            continue;
        device_group_buffers(config->group, r, config->set, base);
        for (int b = 0; b < BUFFERS; b++)
            buffers[r][b] = base[peer->storage[b]] + peer->base[b] * config->datatype->size;
    }
    return buffers;
}

static enum status executor_plan_create(const struct device_executor_config *config,
                                        struct flat_plan **plan)
{
    const struct device_group *group = config->group;
    char *(*buffers)[BUFFERS] = peer_buffers(config);
    size_t asked = group->config.chunk;
    bool chooses = asked == 0 || asked == GRAIN_AUTO;
    size_t chunk = asked < config->datatype->size ? config->datatype->size : asked;
    struct flat_config flat = {
        .schedule = config->schedule,
        .element = config->datatype->size,
        .split = true,
        .chunk = chooses ? CHUNK : chunk,
        .zcopy_chunk = chooses ? ZCOPY_CHUNK : chunk,
        .slots = group->slots,
        .slot_bytes = group->slot_bytes,
        .ll_bytes = group->ll_bytes,
        .ll_most = group->ll_most,
        .zcopy_least = group->zcopy_least,
        .pushes = !group->config.drops,
        .peers = config->peers,
        .peer_buffer = buffers,
        .halves = device_group_halves,
        .context = config->group,
        .datatype = (int)config->datatype->id,
        .reduction = config->reduction ? (int)config->reduction->id : 0,
        .ranks = config->schedule->problem.ranks,
        .profiles = config->profile != NULL,
        .abort_word = group->machine->words.abort,
        .whereabouts = group->machine->words.whereabouts,
    };
    for (int b = 0; b < BUFFERS; b++)
        flat.buffer[b] = config->buffer[b];
    enum status status = flat_plan_create(&flat, plan);
    free(buffers);
    return status;
}

/* What a run moves, by way. */
static struct traffic plan_traffic(struct flat_plan *plan)
{
    static const enum path paths[] = {[FLAT_SLOTS] = PATH_BCOPY,
                                      [FLAT_LINES] = PATH_LL,
                                      [FLAT_ACTIVE] = PATH_ZCOPY,
                                      [FLAT_PASSIVE] = PATH_ZCOPY};
    struct traffic traffic = {.copied_sending = 0};
    for (uint32_t i = 0; i < plan->operation_count; i++) {
        const struct flat_operation *operation = &flat_operations(plan)[i];
        bool sends = operation->kind == OPERATION_SEND;
        if (operation->path == FLAT_LOCAL)
            continue;
        enum path path = paths[operation->path];
        *(sends ? &traffic.sent[path] : &traffic.received[path]) += operation->length;
        if (path != PATH_ZCOPY)
            *(sends ? &traffic.copied_sending : &traffic.copied_receiving) += operation->length;
    }
    return traffic;
}

/* Running. */

static enum status executor_upload_operations(const struct device_executor *executor)
{
    const struct flat_plan *plan = executor_plan(executor);
    struct device_machine *machine = executor->group->machine;
    return machine->hooks->upload(machine, executor->plan->run.at + plan->operations,
                                  plan->operation_count * sizeof(struct flat_operation));
}

static enum status device_executor_start(struct execution *execution)
{
    struct device_executor *executor = executor_of(execution);
    struct device_machine *machine = executor->group->machine;
    for (uint32_t b = 0; b < executor->plan->run.blocks; b++) {
        word_store(&machine->words.whereabouts[b].operation, FLAT_NONE);
        word_store(&machine->words.whereabouts[b].begun, 0);
    }
    executor->runs = false;
    if (executor->is_stale)
        TRY(executor_upload_operations(executor));
    executor->is_stale = false;
    TRY(machine->hooks->launch(machine, &executor->plan->run));
    executor->runs = true;
    return STATUS_OK;
}

bool device_executor_has_begun(const struct execution *execution)
{
    const struct device_executor *executor = executor_of(execution);
    const struct whereabouts *at = executor->group->machine->words.whereabouts;
    uint32_t b = 0;
    while (b < executor->plan->run.blocks && word_load(&at[b].begun) != 0)
        b++;
    return b == executor->plan->run.blocks;
}

/* Have its blocks moved since the last call? They tell now and then. */
static bool executor_moved(struct device_executor *executor)
{
    const struct whereabouts *at = executor->group->machine->words.whereabouts;
    size_t moves = 0;
    for (uint32_t b = 0; b < executor->plan->run.blocks; b++)
        moves += word_load(&at[b].moves);
    bool moved = moves != executor->moves;
    executor->moves = moves;
    return moved;
}

/* What the run spent its time on: of the time between the device's events, the mean share of the
 * blocks. */
static void executor_profile(const struct device_executor *executor)
{
    const struct whereabouts *at = executor->group->machine->words.whereabouts;
    uint32_t blocks = executor->plan->run.blocks;
    for (uint32_t b = 0; b < blocks && executor->profile; b++) {
        double all = 0;
        for (int a = 0; a < ACTIVITIES; a++)
            all += (double)word_load(&at[b].spent[a]);
        for (int a = 0; a < ACTIVITIES && all > 0; a++)
            executor->profile->device[a] +=
                (double)word_load(&at[b].spent[a]) / all * (double)executor->ns / blocks;
    }
}

static void executor_complete(struct device_executor *executor)
{
    executor_profile(executor);
    executor->runs = false;
    executor->fault_pending &= !executor->fault_found;
    traffic_add(&executor->group->traffic, &executor->traffic, +1);
}

static enum status device_executor_progress(struct execution *execution, bool *moved,
                                            bool *complete)
{
    struct device_executor *executor = executor_of(execution);
    struct device_machine *machine = executor->group->machine;
    enum status status = machine->hooks->poll(machine, complete, &executor->ns);
    *moved = *complete || executor_moved(executor);
    if (*complete)
        executor_complete(executor);
    return status;
}

/* A peer that has died, the control plane knows; a device that has failed, progress() finds. */
static enum status device_executor_check(const struct execution *execution)
{
    (void)execution;
    return STATUS_OK;
}

static void device_executor_position(const struct execution *execution, struct position *position)
{
    const struct device_executor *executor = executor_of(execution);
    const struct whereabouts *words = executor->group->machine->words.whereabouts, *at = NULL;
    size_t earliest = FLAT_NONE;
    for (uint32_t b = 0; b < executor->plan->run.blocks; b++) {
        size_t operation = word_load(&words[b].operation);
        if (operation < executor->schedule->count && operation < earliest) {
            earliest = operation;
            at = &words[b];
        }
    }
    *position = (struct position){.kind = OPERATION_COPY, .peer = -1, .step = STEP_DEVICE};
    if (!at)
        return;
    const struct operation *operation = &executor->schedule->operations[earliest];
    *position = (struct position){.operation = (int)earliest,
                                  .kind = operation->kind,
                                  .peer = operation->peer,
                                  .lane = operation->lane,
                                  .step = operation->step,
                                  .done = word_load(&at->done),
                                  .length = word_load(&at->length)};
}

static uint64_t executor_device_time(const struct execution *execution)
{
    return executor_of(execution)->ns;
}

static void device_executor_inject(struct execution *execution, enum fault_kind fault, int nth)
{
    struct device_executor *executor = executor_of(execution);
    executor->fault_found = flat_plan_inject(executor_plan(executor), fault, nth);
    executor->fault_pending = fault != FAULT_NONE;
    executor->is_stale = true;
}

static bool device_executor_inject_pending(const struct execution *execution)
{
    return executor_of(execution)->fault_pending;
}

static void device_executor_destroy(struct execution *execution)
{
    struct device_executor *executor = executor_of(execution);
    if (executor->runs)
        device_group_abort(executor->group);
    free(executor);
}

enum status device_executor_create(const struct device_executor_config *config,
                                   struct execution **execution)
{
    static const struct execution_hooks hooks = {
        .start = device_executor_start,
        .progress = device_executor_progress,
        .check = device_executor_check,
        .position = device_executor_position,
        .device_time = executor_device_time,
        .inject = device_executor_inject,
        .inject_pending = device_executor_inject_pending,
        .destroy = device_executor_destroy,
    };
    struct flat_plan *plan = NULL;
    *execution = NULL;
    TRY(executor_plan_create(config, &plan));
    struct device_executor *executor = new_array(1, sizeof *executor);
    *executor = (struct device_executor){
        .execution = {&hooks},
        .group = config->group,
        .schedule = config->schedule,
        .plan = device_group_add(config->group, plan),
        .traffic = plan_traffic(plan),
        .profile = config->profile,
    };
    *execution = &executor->execution;
    return STATUS_OK;
}
