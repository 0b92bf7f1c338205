/*
 * flat_plan.c - flattens a schedule.
 */

#include <stdlib.h>

#include "base/log.h"
#include "dataplane/execute/internal.h"

uint32_t flat_block_count(const struct schedule *schedule, bool split)
{
    return split ? (uint32_t)schedule->channels : 1;
}

/* Matches: the other end's operation of each message that may pass by zcopy. */

struct match {
    const struct operation *theirs; /* NULL: the message is too short */
    size_t next;                    /* where the peer's next message of this lane may stand */
};

static bool same_lane(const struct operation *one, const struct operation *other)
{
    return operation_travels(one->kind) && one->peer == other->peer && one->lane == other->lane &&
           (one->kind == OPERATION_SEND) == (other->kind == OPERATION_SEND);
}

/* Is `theirs`, of the peer, the other end of a message on the lane of `mine`? */
static bool other_end(const struct operation *mine, int rank, const struct operation *theirs)
{
    return operation_travels(theirs->kind) && theirs->peer == rank && theirs->lane == mine->lane &&
           (theirs->kind == OPERATION_SEND) != (mine->kind == OPERATION_SEND);
}

/* The nth message of a lane is the peer's nth there. */
static enum status matches_find(const struct flat_config *config, struct match *matches)
{
    const struct schedule *schedule = config->schedule;
    int rank = problem_member(&schedule->problem, schedule->rank);
    if (!config->peers || config->zcopy_least == SIZE_MAX)
        return STATUS_OK;
    for (uint32_t i = 0; i < schedule->count; i++) {
        const struct operation *mine = &schedule->operations[i];
        if (!operation_travels(mine->kind))
            continue;
        const struct schedule *peer = config->peers[mine->peer];
        size_t next = 0;
        for (uint32_t before = i; before-- > 0;)
            if (same_lane(&schedule->operations[before], mine)) {
                next = matches[before].next;
                break;
            }
        while (next < peer->count && !other_end(mine, rank, &peer->operations[next]))
            next++;
        if (next == peer->count || peer->operations[next].length != mine->length)
            return fail(STATUS_ERROR, "rank %d has no counterpart of operation %u of rank %d",
                        mine->peer, i, rank);
        if (mine->length * config->element >= config->zcopy_least)
            matches[i].theirs = &peer->operations[next];
        matches[i].next = next + 1;
    }
    return STATUS_OK;
}

static enum flat_path path_of(const struct flat_config *config, const struct operation *mine,
                              const struct operation *theirs)
{
    if (!operation_travels(mine->kind))
        return FLAT_LOCAL;
    if (!theirs)
        return config->ll_bytes > 0 && mine->length * config->element <= config->ll_most
                   ? FLAT_LINES
                   : FLAT_SLOTS;
    bool sends = mine->kind == OPERATION_SEND;
    bool pushed = config->pushes && (sends ? theirs : mine)->kind == OPERATION_RECV;
    return pushed == sends ? FLAT_ACTIVE : FLAT_PASSIVE;
}

/* Room. */

static size_t room_take(struct flat_plan *plan, size_t count, size_t size)
{
    size_t at = plan->bytes;
    plan->bytes += (count * size + 15) / 16 * 16;
    return at;
}

static void plan_count(struct flat_plan *plan, const struct schedule *schedule,
                       const struct match *matches)
{
    plan->operation_count = (uint32_t)schedule->count;
    plan->epoch_count = (uint32_t)schedule->epoch_count;
    for (size_t i = 0; i < schedule->count; i++) {
        const struct operation *operation = &schedule->operations[i];
        plan->piece_count +=
            (uint32_t)(operation->to.count + operation->from.count + operation->with.count);
        if (matches[i].theirs) /* at most */
            plan->piece_count +=
                (uint32_t)(matches[i].theirs->to.count + matches[i].theirs->from.count);
        plan->wait_count += (uint32_t)operation->wait_count;
        if (operation_travels(operation->kind))
            plan->lane_count++; /* at most: a lane for each message */
        else
            plan->local_count++;
    }
}

/* Gives each array its place. */
static void plan_place(struct flat_plan *plan)
{
    plan->bytes = (sizeof *plan + 15) / 16 * 16;
    plan->operations = room_take(plan, plan->operation_count, sizeof(struct flat_operation));
    plan->operation_progress =
        room_take(plan, plan->operation_count, sizeof(struct flat_operation_progress));
    plan->done[0] = room_take(plan, plan->operation_count, sizeof(size_t));
    plan->done[1] = room_take(plan, plan->operation_count, sizeof(size_t));
    plan->epochs = room_take(plan, plan->epoch_count, sizeof(struct flat_epoch));
    plan->epoch_left = room_take(plan, plan->epoch_count, sizeof(uint32_t));
    plan->pieces = room_take(plan, plan->piece_count, sizeof(struct piece));
    plan->waits = room_take(plan, plan->wait_count, sizeof(struct wait));
    plan->lanes = room_take(plan, plan->lane_count, sizeof(struct flat_lane));
    plan->lane_runs = room_take(plan, plan->lane_count, sizeof(struct flat_lane_run));
    plan->locals = room_take(plan, plan->local_count, sizeof(uint32_t));
    plan->open_locals = room_take(plan, plan->local_count, sizeof(uint32_t));
    plan->blocks = room_take(plan, plan->block_count, sizeof(struct flat_block));
    plan->block_progress = room_take(plan, plan->block_count, sizeof(struct flat_block_progress));
    plan->staging = room_take(plan, plan->block_count, plan->ll_stride);
}

/* Contents. Counts grow again, from 0, as the arrays are filled. */

static struct flat_range plan_pieces(struct flat_plan *plan, char *const buffer[BUFFERS],
                                     size_t element, struct message message)
{
    struct flat_range range = {.first = plan->piece_count, .count = (uint32_t)message.count};
    for (size_t i = 0; i < message.count; i++)
        flat_pieces(plan)[plan->piece_count++] = span_piece(&message.spans[i], buffer, element);
    return range;
}

static struct flat_range plan_waits(struct flat_plan *plan, const struct flat_config *config,
                                    const struct flat_block *block,
                                    const struct operation *operation)
{
    struct flat_range range = {.first = plan->wait_count, .count = (uint32_t)operation->wait_count};
    for (size_t w = 0; w < operation->wait_count; w++) {
        const struct wait *wait = &operation->waits[w];
        flat_waits(plan)[plan->wait_count++] =
            (struct wait){.operation = wait->operation,
                          .at = wait->at * config->element,
                          .past = wait->past * config->element,
                          .length = wait->length * config->element};
        if (wait->operation < block->operations.first)
            flat_operations(plan)[wait->operation].crossed = true;
    }
    return range;
}

/* The lane of a message, which is among those of its block; a new one if it is the first there. */
static uint32_t plan_lane(struct flat_plan *plan, const struct flat_config *config,
                          struct flat_block *block, const struct operation *operation)
{
    bool sends = operation->kind == OPERATION_SEND;
    struct flat_lane *lanes = flat_lanes(plan);
    for (uint32_t l = block->lanes.first; l < plan->lane_count; l++)
        if (lanes[l].peer == operation->peer && lanes[l].lane == operation->lane &&
            lanes[l].sends == sends)
            return l;
    struct flat_lane *lane = &lanes[plan->lane_count];
    *lane = (struct flat_lane){
        .first = FLAT_NONE,
        .sends = sends,
        .peer = operation->peer,
        .lane = operation->lane,
    };
    config->halves(config->context, operation->peer, operation->lane, sends, &lane->mine,
                   &lane->theirs);
    block->lanes.count++;
    return plan->lane_count++;
}

/* Appends a message to its lane. Until the plan is complete, the lane's head is its last one. */
static void plan_append(struct flat_plan *plan, uint32_t lane, uint32_t index)
{
    struct flat_lane_run *run = &flat_lane_runs(plan)[lane];
    if (flat_lanes(plan)[lane].first == FLAT_NONE)
        flat_lanes(plan)[lane].first = index;
    else
        flat_operations(plan)[run->head].next = index;
    run->head = index;
}

static void plan_operation(struct flat_plan *plan, const struct flat_config *config,
                           struct flat_block *block, uint32_t index, const struct operation *theirs)
{
    const struct operation *operation = &config->schedule->operations[index];
    char *const *buffer = config->buffer;
    struct flat_operation *made = &flat_operations(plan)[index];
    *made = (struct flat_operation){
        .kind = operation->kind,
        .path = path_of(config, operation, theirs),
        .epoch = operation->epoch,
        .next = FLAT_NONE,
        .to = plan_pieces(plan, buffer, config->element, operation->to),
        .from = plan_pieces(plan, buffer, config->element, operation->from),
        .with = plan_pieces(plan, buffer, config->element, operation->with),
        .waits = plan_waits(plan, config, block, operation),
        .length = operation->length * config->element,
    };
    if (made->path == FLAT_ACTIVE) { /* the peer's end of it */
        bool sends = operation->kind == OPERATION_SEND;
        struct flat_range pieces = plan_pieces(plan, config->peer_buffer[operation->peer],
                                               config->element, sends ? theirs->to : theirs->from);
        *(sends ? &made->to : &made->from) = pieces;
    }
    block->operations.count++;
    if (operation_travels(operation->kind)) {
        plan_append(plan, plan_lane(plan, config, block, operation), index);
    } else {
        flat_locals(plan)[plan->local_count++] = index;
        block->locals.count++;
    }
}

static void plan_fill(struct flat_plan *plan, const struct flat_config *config,
                      const struct match *matches)
{
    const struct schedule *schedule = config->schedule;
    uint32_t next = 0;
    plan->piece_count = plan->wait_count = plan->lane_count = plan->local_count = 0;
    for (size_t e = 0; e < schedule->epoch_count; e++)
        flat_epochs(plan)[e] = (struct flat_epoch){
            .previous = schedule->epochs[e].previous < 0 ? FLAT_NONE
                                                         : (uint32_t)schedule->epochs[e].previous,
            .operations = schedule->epochs[e].operations,
        };
    for (uint32_t b = 0; b < plan->block_count; b++) {
        struct flat_block *block = &flat_blocks(plan)[b];
        *block = (struct flat_block){.operations.first = next,
                                     .lanes.first = plan->lane_count,
                                     .locals.first = plan->local_count};
        for (;
             next < schedule->count && (!config->split || schedule->operations[next].channel == b);
             next++)
            plan_operation(plan, config, block, next, matches[next].theirs);
    }
}

static size_t whole(size_t bytes, size_t element)
{
    return bytes - bytes % element;
}

enum status flat_plan_create(const struct flat_config *config, struct flat_plan **made)
{
    size_t element = config->element, count = config->schedule->count;
    struct flat_plan sizes = {
        .block_count = flat_block_count(config->schedule, config->split),
        .element = element,
        .datatype = config->datatype,
        .reduction = config->reduction,
        .ranks = config->ranks,
        .profiles = config->profiles,
        .slots = config->slots,
        .slot_bytes = config->slot_bytes,
        .ll_bytes = config->ll_bytes,
        .chunk = whole(config->chunk, element),
        .slot_most = whole(config->slot_bytes, element),
        .ll_most = whole(config->ll_bytes, element),
        .zcopy_most = whole(config->zcopy_chunk, element),
        .ll_stride = (config->ll_bytes + 15) / 16 * 16,
        .abort_word = config->abort_word,
        .whereabouts = config->whereabouts,
    };
    struct match *matches = calloc(count + 1, sizeof *matches);
    enum status status = matches ? matches_find(config, matches) : STATUS_OK;
    *made = NULL;
    if (matches && status == STATUS_OK) {
        plan_count(&sizes, config->schedule, matches);
        plan_place(&sizes);
        *made = calloc(1, sizes.bytes);
    }
    if (*made) {
        **made = sizes;
        plan_fill(*made, config, matches);
    } else if (status == STATUS_OK) {
        status = fail(STATUS_ERROR, "out of memory for a plan of %zu operations", count);
    }
    free(matches);
    return status;
}

bool flat_plan_inject(struct flat_plan *plan, enum fault_kind fault, int nth)
{
    bool struck = false;
    for (uint32_t i = 0; i < plan->operation_count; i++) {
        struct flat_operation *operation = &flat_operations(plan)[i];
        bool incoming =
            operation->kind == OPERATION_RECV || operation->kind == OPERATION_RECV_REDUCE;
        bool strikes = incoming && nth-- == 0;
        operation->fault = strikes ? fault : FAULT_NONE;
        struck |= strikes;
    }
    return struck;
}
