/*
 * flat_plan.c - flattens a schedule.
 */
#include "execute/flat_plan.h"

#include <stdlib.h>

#include "base/log.h"
#include "execute/span_piece.h"

uint32_t flat_block_count(const struct schedule *schedule, bool split)
{
    return split ? (uint32_t)schedule->channels : 1;
}

/* Room. */

static size_t room_take(struct flat_plan *plan, size_t count, size_t size)
{
    size_t at = plan->bytes;
    plan->bytes += (count * size + 15) / 16 * 16;
    return at;
}

static void plan_count(struct flat_plan *plan, const struct schedule *schedule)
{
    plan->operation_count = (uint32_t)schedule->count;
    plan->epoch_count = (uint32_t)schedule->epoch_count;
    for (size_t i = 0; i < schedule->count; i++) {
        const struct operation *operation = &schedule->operations[i];
        plan->piece_count +=
            (uint32_t)(operation->to.count + operation->from.count + operation->with.count);
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
    plan->lane_progress = room_take(plan, plan->lane_count, sizeof(struct flat_lane_progress));
    plan->locals = room_take(plan, plan->local_count, sizeof(uint32_t));
    plan->open_locals = room_take(plan, plan->local_count, sizeof(uint32_t));
    plan->blocks = room_take(plan, plan->block_count, sizeof(struct flat_block));
    plan->block_progress = room_take(plan, plan->block_count, sizeof(struct flat_block_progress));
}

/* Contents. Counts grow again, from 0, as the arrays are filled. */

static struct flat_range plan_pieces(struct flat_plan *plan, const struct flat_config *config,
                                     struct message message)
{
    struct flat_range range = {.first = plan->piece_count, .count = (uint32_t)message.count};
    for (size_t i = 0; i < message.count; i++)
        flat_pieces(plan)[plan->piece_count++] =
            span_piece(&message.spans[i], config->buffer, config->element);
    return range;
}

static struct flat_range plan_waits(struct flat_plan *plan, const struct flat_config *config,
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
    struct flat_lane_progress *progress = &flat_lane_progress(plan)[plan->lane_count];
    *lane = (struct flat_lane){
        .wire = config->wire(config->context, operation->peer, operation->lane, sends),
        .first = FLAT_NONE,
        .sends = sends,
        .peer = operation->peer,
        .lane = operation->lane,
    };
    const struct flat_wire *wire = (const struct flat_wire *)(const void *)lane->wire;
    progress->slots = word_load(sends ? &wire->filled : &wire->taken); /* where it stopped */
    block->lanes.count++;
    return plan->lane_count++;
}

/* Appends a message to its lane. Until the plan is complete, the lane's head is its last one. */
static void plan_append(struct flat_plan *plan, uint32_t lane, uint32_t index)
{
    struct flat_lane_progress *progress = &flat_lane_progress(plan)[lane];
    if (flat_lanes(plan)[lane].first == FLAT_NONE)
        flat_lanes(plan)[lane].first = index;
    else
        flat_operations(plan)[progress->head].next = index;
    progress->head = index;
}

static void plan_operation(struct flat_plan *plan, const struct flat_config *config,
                           struct flat_block *block, uint32_t index)
{
    const struct operation *operation = &config->schedule->operations[index];
    flat_operations(plan)[index] = (struct flat_operation){
        .kind = operation->kind,
        .epoch = operation->epoch,
        .next = FLAT_NONE,
        .to = plan_pieces(plan, config, operation->to),
        .from = plan_pieces(plan, config, operation->from),
        .with = plan_pieces(plan, config, operation->with),
        .waits = plan_waits(plan, config, operation),
        .length = operation->length * config->element,
    };
    block->operations.count++;
    if (operation_travels(operation->kind)) {
        plan_append(plan, plan_lane(plan, config, block, operation), index);
    } else {
        flat_locals(plan)[plan->local_count++] = index;
        block->locals.count++;
    }
}

static void plan_fill(struct flat_plan *plan, const struct flat_config *config)
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
        while (next < schedule->count &&
               (!config->split || schedule->operations[next].channel == b))
            plan_operation(plan, config, block, next++);
    }
}

enum status flat_plan_create(const struct flat_config *config, struct flat_plan **made)
{
    struct flat_plan sizes = {
        .block_count = flat_block_count(config->schedule, config->split),
        .element = config->element,
        .chunk = config->chunk - config->chunk % config->element,
        .slots = config->slots,
        .slot_bytes = config->slot_bytes - config->slot_bytes % config->element,
        .abort_word = config->abort_word,
        .whereabouts = config->whereabouts,
    };
    plan_count(&sizes, config->schedule);
    plan_place(&sizes);
    struct flat_plan *plan = calloc(1, sizes.bytes);
    *made = plan;
    if (!plan)
        return fail(STATUS_ERROR, "out of memory for a plan of %zu operations",
                    config->schedule->count);
    *plan = sizes;
    plan_fill(plan, config);
    return STATUS_OK;
}
