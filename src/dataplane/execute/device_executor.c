/*
 * device_executor.c - the ranks whose devices run their schedules together, and the executor that
 * launches the plan of a schedule and watches it.
 *
 * The host only begins a run and finds its end. While a run goes on, its blocks write where they
 * are into memory of the host, which position() reads.
 */
#include "dataplane/execute/execute.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/host.h"
#include "base/list.h"
#include "base/log.h"
#include "base/text.h"

/*
 * The group of ranks.
 */
#define SLOTS            4
#define SLOT_BYTES       ((size_t)16 << 10)
#define SLOT_BYTES_LEAST ((size_t)512)
#define LL_MOST          ((size_t)4 << 10)
/* A GPU has 32 hardware queues for the streams of a process, and each rank has 4 streams. */
#define RANKS_MOST 8
#define WIRES_AIM                                                                                  \
    ((size_t)128 << 20) /* bytes of a rank's slots, where they or channels can be fewer */
#define WIRES_MOST ((size_t)512 << 20) /* bytes of a rank's wires */

static const struct machine_hooks *const machines[] = {&device_machine_cuda, NULL};

static const struct machine_hooks *machine_of_kind(const struct memory_kind *kind)
{
    int i = 0;
    while (machines[i] && machines[i]->kind != kind)
        i++;
    return machines[i];
}

/* Wires. */

/* Are all ranks on one host? */
static bool is_one_host(const struct device_group_config *config)
{
    int same = 1;
    while (same < config->ranks && config->members[same].node == config->members[0].node)
        same++;
    return same >= config->ranks;
}

static size_t slots_of(const struct device_group_config *config)
{
    return config->slots ? (size_t)config->slots : SLOTS;
}

int device_group_channels_most(const struct device_group_config *config)
{
    size_t slot_bytes = config->slot_bytes ? config->slot_bytes : SLOT_BYTES;
    size_t each = (size_t)config->ranks * (size_t)config->lanes * slots_of(config) * slot_bytes;
    int channels = config->channels;
    while (config->fits_channels && channels > 1 && each * (size_t)channels > WIRES_AIM)
        channels /= 2;
    return channels;
}

static size_t lanes_of(const struct device_group_config *config)
{
    return (size_t)config->lanes * (size_t)device_group_channels_most(config);
}

static size_t slot_bytes_of(const struct device_group_config *config)
{
    size_t lanes = (size_t)config->ranks * lanes_of(config);
    size_t bytes = SLOT_BYTES;
    while (bytes > SLOT_BYTES_LEAST && lanes * slots_of(config) * bytes > WIRES_AIM)
        bytes /= 2;
    return config->slot_bytes ? config->slot_bytes : bytes;
}

/* Bytes of payload in the lines of a slot; 0: it has no lines. */
static size_t ll_bytes_of(const struct device_group_config *config)
{
    size_t bytes = slot_bytes_of(config);
    bool all = config->protocol == PROTOCOL_LL || config->copy == COPY_LL;
    bool some = config->protocol == PROTOCOL_AUTO && config->copy == COPY_AUTO;
    return !all && !some ? 0 : bytes < LL_MOST ? bytes : LL_MOST;
}

/* Bytes of both halves of a lane at one end: it sends by one and receives by the other. */
static size_t lane_bytes(size_t slots, size_t slot_bytes, size_t ll_bytes)
{
    return half_bytes(true, slots, slot_bytes, ll_bytes) +
           half_bytes(false, slots, slot_bytes, ll_bytes);
}

bool device_group_serves(const struct memory_kind *kind)
{
    return machine_of_kind(kind) != NULL;
}

size_t device_group_wire_bytes(const struct device_group_config *config)
{
    size_t lanes = (size_t)config->ranks * lanes_of(config);
    if (!is_one_host(config) && !config->device->domain[0])
        return 0;
    size_t bytes = lanes * lane_bytes(slots_of(config), slot_bytes_of(config), ll_bytes_of(config));
    return bytes > WIRES_MOST ? 0 : bytes;
}

/* Where a rank's half of a lane to `peer` lies in its wires. */
static size_t half_offset(const struct device_group *group, int peer, int lane, bool sends)
{
    size_t index = (size_t)peer * lanes_of(&group->config) + (size_t)lane;
    return index * lane_bytes(group->slots, group->slot_bytes, group->ll_bytes) +
           (sends ? 0 : half_bytes(true, group->slots, group->slot_bytes, group->ll_bytes));
}

/* Where this rank's device finds the two halves of a lane's direction (flat_config.halves). The
 * peer is reached. `context`: the group. */
static void device_group_halves(void *context, int peer, int lane, bool sends,
                                struct flat_half **mine, struct flat_half **theirs)
{
    const struct device_group *group = context;
    const struct memory_mapping *wires = &group->peers[peer].mappings[0];
    char *own = group->wires.base + half_offset(group, peer, lane, sends);
    char *other = wires->base + half_offset(group, group->config.rank, lane, !sends);
    *mine = (struct flat_half *)(void *)own;
    *theirs = (struct flat_half *)(void *)other;
}

/* Where it finds the buffers of a set of `peer`. */
static void device_group_buffers(const struct device_group *group, int peer, int set,
                                 char *base[BUFFERS])
{
    const struct memory_mapping *region = &group->peers[peer].mappings[1 + set];
    for (int b = 0; b < BUFFERS; b++)
        base[b] = region->base + group->offers[peer].offset[set][b];
}

/* Opening. */

static void group_size(struct device_group *group)
{
    const struct device_group_config *config = &group->config;
    group->slots = slots_of(config);
    group->slot_bytes = slot_bytes_of(config);
    group->ll_bytes = ll_bytes_of(config);
    bool all = config->protocol == PROTOCOL_LL || config->copy == COPY_LL;
    group->ll_most = all ? SIZE_MAX : group->ll_bytes;
    group->zcopy_least = all || config->copy == COPY_BCOPY ? SIZE_MAX
                         : config->copy == COPY_ZCOPY      ? 0
                                                           : group->slot_bytes;
}

static enum status group_open_machine(struct device_group *group)
{
    const struct device_group_config *config = &group->config;
    struct device_offer *own = &group->offers[config->rank];
    const struct machine_config needs = {.blocks = (uint32_t)device_group_channels_most(config),
                                         .replays = config->replays,
                                         .tick = config->tick};
    char reason[MEMORY_REASON_MOST] = "";
    enum status status = machine_of_kind(config->memory)->open(&needs, &group->machine, reason);
    if (status == STATUS_UNAVAILABLE && reason[0]) {
        snprintf(own->reason, sizeof own->reason, "%s", reason);
        return STATUS_OK;
    }
    return status;
}

/* No rank of one host maps memory of another, unless their devices are in one NVLink domain. */
static bool group_is_apart(struct device_group *group)
{
    const struct device_group_config *config = &group->config;
    const struct memory_device *devices = config->devices;
    char text[MEMORY_DEVICE_TEXT];
    int other = 1;
    while (other < config->ranks && devices[0].domain[0] &&
           strcmp(devices[other].domain, devices[0].domain) == 0)
        other++;
    if (is_one_host(config) || other == config->ranks)
        return false;
    int bare = devices[0].domain[0] ? other : 0;
    if (devices[bare].domain[0])
        snprintf(group->refusal, sizeof group->refusal,
                 "the ranks are on several hosts, and the GPUs of ranks 0 and %d are in different "
                 "NVLink domains or cliques (%s and %s)",
                 other, devices[0].domain, devices[other].domain);
    else
        snprintf(group->refusal, sizeof group->refusal,
                 "the ranks are on several hosts, and %s of rank %d is in no NVLink domain that "
                 "its driver and NVML tell of",
                 memory_device_text(&devices[bare], text), bare);
    return true;
}

/* `bytes`: of the wires; 0: too many. */
static void wires_refuse(size_t bytes, struct device_offer *own)
{
    static const char advice[] =
        "ask for fewer or smaller ones (--slots, --slot-size), or for fewer --channels";
    if (bytes == 0)
        snprintf(own->reason, sizeof own->reason,
                 "the slots of all its lanes would take more than %zu MiB: %s", WIRES_MOST >> 20,
                 advice);
    else
        snprintf(own->reason, sizeof own->reason,
                 "its GPU has no room beside the buffers for the slots of all its lanes, %zu MiB "
                 "for each rank: %s",
                 (bytes + (1 << 20) - 1) >> 20, advice);
    own->is_by_use = true;
}

enum status device_group_open(const struct device_group_config *config, struct device_group *group)
{
    size_t ranks = (size_t)config->ranks;
    *group = (struct device_group){.config = *config, .wires = {.fd = -1}};
    group->end = &group->first;
    group->offers = new_array(ranks, sizeof *group->offers);
    group->peers = new_array(ranks, sizeof *group->peers);
    if (group_is_apart(group))
        return STATUS_OK;
    group_size(group);
    size_t bytes = device_group_wire_bytes(config);
    if (bytes == 0 || !config->has_room) {
        wires_refuse(bytes, &group->offers[config->rank]);
        return STATUS_OK;
    }
    TRY(config->memory->allocate(bytes, config->tick, &group->wires));
    return group_open_machine(group);
}

/* Makes a run that does not end give up. */
static void device_group_abort(const struct device_group *group)
{
    if (group->machine)
        word_store(group->machine->words.abort, 1);
}

/* Offers. */

enum status device_group_encode(struct device_group *group, const struct device_set *sets,
                                int count, struct bytes *share)
{
    const struct device_group_config *config = &group->config;
    const struct device_offer *own = &group->offers[config->rank];
    bytes_put_text(share, own->reason);
    bytes_put_u32(share, own->is_by_use);
    bytes_put_u64(share, host_process_identity());
    bytes_put_u32(share, group->machine ? group->machine->blocks_most : 0);
    bytes_put_u32(share, group->machine ? group->machine->shares : 0);
    bytes_put_u32(share, (uint32_t)lanes_of(config));
    bytes_put_u32(share, own->reason[0] ? 0 : (uint32_t)count);
    for (int r = 0; r <= count && !own->reason[0]; r++) {
        struct memory_handle handle = {{0}};
        TRY(config->memory->lend(r == 0 ? &group->wires : sets[r - 1].region, &handle));
        bytes_put(share, &handle, sizeof handle);
        for (int b = 0; b < BUFFERS && r > 0; b++)
            bytes_put_u64(share, (uint64_t)(sets[r - 1].base[b] - sets[r - 1].region->base));
    }
    return STATUS_OK;
}

bool device_group_decode(struct device_group *group, int rank, struct reader *reader)
{
    struct device_offer *offer = &group->offers[rank];
    read_text(reader, offer->reason, sizeof offer->reason);
    offer->is_by_use = read_u32(reader) != 0;
    offer->process = read_u64(reader);
    offer->blocks_most = read_u32(reader);
    offer->shares = read_u32(reader) != 0;
    offer->lanes = read_u32(reader);
    offer->sets = read_u32(reader);
    if (offer->sets > DEVICE_SETS_MOST)
        return false;
    for (uint32_t r = 0; r <= offer->sets && !offer->reason[0]; r++) {
        struct memory_handle *handle = &group->peers[rank].handles[r];
        const unsigned char *bytes = read_bytes(reader, sizeof *handle);
        if (bytes)
            memcpy(handle, bytes, sizeof *handle);
        for (int b = 0; b < BUFFERS && r > 0; b++)
            offer->offset[r - 1][b] = read_u64(reader);
    }
    return !reader->bad;
}

/* Conclusions. */

static bool same_device(const struct device_group *group, int a, int b)
{
    const struct device_group_config *config = &group->config;
    return config->members[a].node == config->members[b].node &&
           memory_device_compare(&config->devices[a], &config->devices[b]) == 0;
}

/* Can the ranks that share the device of `rank` run their kernels on it at the same time? */
static bool device_holds(struct device_group *group, int rank)
{
    const struct device_group_config *config = &group->config;
    const struct device_offer *offer = &group->offers[rank];
    uint32_t sharing = 0, channels = (uint32_t)group->channels;
    for (int r = 0; r < config->ranks; r++) {
        if (!same_device(group, rank, r))
            continue;
        sharing++;
        if (group->offers[r].process == offer->process || offer->shares)
            continue;
        snprintf(group->refusal, sizeof group->refusal,
                 "ranks %d and %d are processes that share a GPU, which runs the kernels of one at "
                 "a time: run them as threads (--ranks-as threads), or start MPS "
                 "(nvidia-cuda-mps-control -d)",
                 rank, r);
        return false;
    }
    if (sharing > RANKS_MOST) {
        snprintf(group->refusal, sizeof group->refusal,
                 "%u ranks share the GPU of rank %d: from %d on, kernels may block each other in a "
                 "hardware queue; run fewer ranks on it",
                 sharing, rank, RANKS_MOST + 1);
        return false;
    }
    uint32_t fit = offer->blocks_most / sharing;
    while (config->fits_channels && group->channels > 1 && (uint32_t)group->channels > fit)
        group->channels /= 2;
    if ((uint32_t)group->channels <= fit)
        return true;
    group->refused_by_use = fit > 0;
    if (fit > 0)
        snprintf(
            group->refusal, sizeof group->refusal,
            "the GPU of rank %d holds %u blocks at once, fewer than %u rank%s x %u channels: give "
            "--channels %u or fewer",
            rank, offer->blocks_most, sharing, plural(sharing), channels, fit);
    else
        snprintf(
            group->refusal, sizeof group->refusal,
            "the GPU of rank %d holds %u blocks at once, fewer than the %u ranks that share it: "
            "run fewer ranks",
            rank, offer->blocks_most, sharing);
    return false;
}

void device_group_settle(struct device_group *group)
{
    const struct device_group_config *config = &group->config;
    group->channels = device_group_channels_most(config);
    for (int r = 0; r < config->ranks; r++) {
        const struct device_offer *offer = &group->offers[r];
        if (offer->reason[0]) {
            snprintf(group->refusal, sizeof group->refusal, "rank %d: %.300s", r, offer->reason);
            group->refused_by_use = offer->is_by_use;
            return;
        }
        if (offer->lanes != group->offers[0].lanes) {
            snprintf(group->refusal, sizeof group->refusal, "rank %d uses %u lanes, and rank 0 %u",
                     r, offer->lanes, group->offers[0].lanes);
            return;
        }
        if (!device_holds(group, r))
            return;
    }
}

enum status device_group_reach(struct device_group *group, int peer, char *reason)
{
    const struct device_group_config *config = &group->config;
    struct device_peer *to = &group->peers[peer];
    int low = config->rank < peer ? config->rank : peer, high = config->rank + peer - low;
    char why[MEMORY_REASON_MOST] = "";
    enum status status = STATUS_OK;
    while (status == STATUS_OK && to->mapped < 1 + (int)group->offers[peer].sets) {
        status = config->memory->map(&to->handles[to->mapped], &to->mappings[to->mapped], why);
        to->mapped += status == STATUS_OK;
    }
    if (status == STATUS_UNAVAILABLE)
        snprintf(reason, GROUP_REASON_MOST,
                 "ranks %d and %d do not map each other's memory: %.250s", low, high, why);
    return status;
}

/* Plans of a line. */

static void plans_drop(struct device_group *group, bool frees)
{
    for (struct device_plan *each; (each = group->first);) {
        group->first = each->next;
        if (frees)
            group->machine->hooks->forget(group->machine, &each->run);
        free(each->plan);
        free(each);
    }
    group->end = &group->first;
}

void device_group_clear(struct device_group *group)
{
    plans_drop(group, true);
}

/* Takes over the plan; its place in the line is valid until device_group_clear(). */
static struct device_plan *device_group_add(struct device_group *group, struct flat_plan *plan)
{
    struct device_plan *added = new_array(1, sizeof *added);
    added->plan = plan;
    *group->end = added;
    group->end = &added->next;
    return added;
}

/* The room is not in the check of memory before the job (run/run.h): it is small beside
 * the wires. An operation takes about 350 bytes, and a block 4 KiB to gather lines. A line of
 * allreduce, -a all, takes 1.4 MB for each of 8 ranks with 64 channels, alltoall 42 KB for each of
 * 64 ranks, and broadcast with --root all 2.5 MB for each of 8 ranks with 32 channels. */
enum status device_group_load(struct device_group *group)
{
    const struct machine_hooks *hooks = group->machine->hooks;
    size_t bytes = 0;
    for (struct device_plan *each = group->first; each; each = each->next) {
        each->run = (struct machine_run){.at = bytes, .blocks = each->plan->block_count};
        bytes += (each->plan->bytes + 127) / 128 * 128;
    }
    TRY(hooks->reserve(group->machine, bytes, &group->room));
    for (struct device_plan *each = group->first; each; each = each->next) {
        memcpy(group->room + each->run.at, each->plan, each->plan->bytes);
        free(each->plan);
        each->plan = NULL;
        TRY(hooks->prepare(group->machine, &each->run));
    }
    if (bytes > 0)
        TRY(hooks->upload(group->machine, 0, bytes));
    return hooks->settle(group->machine);
}

/* Closing. */

void device_group_unmap(struct device_group *group)
{
    for (int r = 0; group->peers && r < group->config.ranks; r++)
        while (group->peers[r].mapped > 0)
            group->config.memory->unmap(&group->peers[r].mappings[--group->peers[r].mapped]);
}

bool device_group_stop(struct device_group *group)
{
    device_group_abort(group);
    if (group->machine && !group->is_abandoned)
        group->is_abandoned = !group->machine->hooks->rest(group->machine);
    return !group->is_abandoned;
}

void device_group_close(struct device_group *group, bool frees)
{
    if (group->machine) {
        plans_drop(group, frees);
        group->machine->hooks->close(group->machine, frees);
    }
    if (frees && group->wires.kind)
        group->wires.kind->release(&group->wires);
    free(group->offers);
    free(group->peers);
    *group = (struct device_group){.wires = {.fd = -1}};
}

/*
 * The executor.
 */
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

/* Bytes that a run moves, by path. */
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

/* The activities that the run spent its time on: of the time between the device's events, the mean
 * share of the blocks. */
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
