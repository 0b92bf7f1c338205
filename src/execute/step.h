/*
 * step.h - the interpreter of a flat plan: a step moves at most one chunk of one operation.
 *
 * A step never waits. It looks for an operation that can move now, by the limit rule and by what
 * the wires hold. It moves one chunk of it and tells the others. A block of threads runs
 *
 *     step_start();                         one thread
 *     do {
 *         barrier
 *         result = step_choose(&chunk);     one thread; then a barrier
 *         if (result == STEP_MOVED) {
 *             step_move(&chunk);            all threads; then a barrier
 *             step_publish(&chunk);         one thread
 *         }
 *     } while (result < STEP_COMPLETE);
 *
 * The run of a rank begins when all of its blocks are complete with the run before, as with
 * launches of a kernel in one stream. Other ranks may be ahead or behind.
 *
 * The protocol by which bytes pass a wire is in wire_ready() and wire_pass() only. C11 and C++17.
 */
#ifndef CCTEST_EXECUTE_STEP_H
#define CCTEST_EXECUTE_STEP_H

#include "execute/flat_plan.h"

enum step_result {
    STEP_WAITS,    /* nothing can move now */
    STEP_MOVED,    /* a chunk moves */
    STEP_COMPLETE, /* all operations of the block are complete */
    STEP_ABORTED,  /* the abort word says so */
};

/* What a step moves. */
struct step_chunk {
    uint32_t operation;
    uint32_t candidate; /* of the block: its lanes, then its incomplete local operations */
    size_t bytes;
    char *slot; /* where in the wire; NULL: a local operation */
};

/* A part of a chunk that is contiguous in all of its operands: to = from, to = from (+) with, or
 * to = finish(from). */
struct step_run {
    char *to;
    const char *from, *with;
    size_t bytes;
};

/* Does this thread's part of a run. `kind`: OPERATION_COPY, _REDUCE or _FINISH. */
typedef void step_body(const void *context, enum operation_kind kind, const struct step_run *run,
                       unsigned thread, unsigned threads);

/* The wire protocol: a slot is filled by one chunk, and taken by one or more. */

/* Bytes that may pass the lane's wire now, and where in it. */
HOST_DEVICE size_t wire_ready(const struct flat_plan *plan, const struct flat_lane *lane,
                              const struct flat_lane_progress *progress, char **slot)
{
    const struct flat_wire *wire = (const struct flat_wire *)(const void *)lane->wire;
    size_t index = progress->slots % plan->slots;
    *slot = lane->wire + wire_head(plan->slots) + index * plan->slot_bytes + progress->drained;
    if (lane->sends)
        return progress->slots - word_load(&wire->taken) < plan->slots ? plan->slot_bytes : 0;
    if (word_load(&wire->filled) == progress->slots)
        return 0;
    return wire_lengths(lane->wire)[index] - progress->drained;
}

/* `bytes` have passed it. */
HOST_DEVICE void wire_pass(const struct flat_plan *plan, const struct flat_lane *lane,
                           struct flat_lane_progress *progress, size_t bytes)
{
    struct flat_wire *wire = (struct flat_wire *)(void *)lane->wire;
    size_t *length = &wire_lengths(lane->wire)[progress->slots % plan->slots];
    if (lane->sends) {
        *length = bytes;
        word_store(&wire->filled, ++progress->slots);
        return;
    }
    progress->drained += bytes;
    if (progress->drained == *length) {
        progress->drained = 0;
        word_store(&wire->taken, ++progress->slots);
    }
}

/* Start. */

HOST_DEVICE void step_start_cursor(struct flat_plan *plan, struct cursor *cursor,
                                   struct flat_range pieces)
{
    struct layout layout;
    layout.pieces = flat_pieces(plan) + pieces.first;
    layout.count = pieces.count;
    layout.nontemporal = false;
    cursor_start(cursor, layout);
}

/* Begins a run of a block. It clears the progress of its operations in the run after this one:
 * no block looks at that now, and every block may at once when that run begins. */
HOST_DEVICE void step_start(struct flat_plan *plan, uint32_t index)
{
    const struct flat_block *block = &flat_blocks(plan)[index];
    struct flat_block_progress *progress = &flat_block_progress(plan)[index];
    size_t *next_done = flat_done(plan, ++progress->runs + 1);
    for (uint32_t n = 0; n < block->operations.count; n++) {
        uint32_t i = block->operations.first + n;
        const struct flat_operation *operation = &flat_operations(plan)[i];
        struct flat_operation_progress *own = &flat_operation_progress(plan)[i];
        step_start_cursor(plan, &own->to, operation->to);
        step_start_cursor(plan, &own->from, operation->from);
        step_start_cursor(plan, &own->with, operation->with);
        own->first_wait = 0;
        word_store(&next_done[i], 0);
        flat_epoch_left(plan)[operation->epoch] = flat_epochs(plan)[operation->epoch].operations;
    }
    for (uint32_t n = 0; n < block->lanes.count; n++) {
        uint32_t lane = block->lanes.first + n;
        flat_lane_progress(plan)[lane].head = flat_lanes(plan)[lane].first;
    }
    for (uint32_t n = 0; n < block->locals.count; n++)
        flat_open_locals(plan)[block->locals.first + n] =
            flat_locals(plan)[block->locals.first + n];
    progress->left = block->operations.count;
    progress->locals_left = block->locals.count;
    progress->earliest = block->operations.first;
    progress->turn = 0;
    progress->moved = true;
}

/* Choice. */

/* How much of an operation can move now, but for its lane: 0 if its epoch is closed. */
HOST_DEVICE size_t step_ready(struct flat_plan *plan, const size_t *done, uint32_t index)
{
    const struct flat_operation *operation = &flat_operations(plan)[index];
    uint32_t previous = flat_epochs(plan)[operation->epoch].previous, holder;
    if (previous != FLAT_NONE && flat_epoch_left(plan)[previous] > 0)
        return 0;
    size_t limit = limit_of_waits(operation->length, flat_waits(plan) + operation->waits.first,
                                  operation->waits.count, done, 1,
                                  &flat_operation_progress(plan)[index].first_wait, &holder);
    return limit - done[index];
}

/* Can this candidate of a block move? Then `chunk` says what. */
HOST_DEVICE bool step_try(struct flat_plan *plan, uint32_t index, uint32_t candidate,
                          struct step_chunk *chunk)
{
    const struct flat_block *block = &flat_blocks(plan)[index];
    const size_t *done = flat_done(plan, flat_block_progress(plan)[index].runs);
    size_t room = plan->chunk;
    chunk->candidate = candidate;
    chunk->slot = NULL;
    if (candidate < block->lanes.count) {
        uint32_t lane = block->lanes.first + candidate;
        chunk->operation = flat_lane_progress(plan)[lane].head;
        if (chunk->operation == FLAT_NONE)
            return false;
        size_t ready = wire_ready(plan, &flat_lanes(plan)[lane], &flat_lane_progress(plan)[lane],
                                  &chunk->slot);
        room = ready < room ? ready : room;
    } else {
        chunk->operation =
            flat_open_locals(plan)[block->locals.first + candidate - block->lanes.count];
    }
    chunk->bytes = room > 0 ? step_ready(plan, done, chunk->operation) : 0;
    chunk->bytes = chunk->bytes < room ? chunk->bytes : room;
    chunk->bytes -= chunk->bytes % plan->element;
    return chunk->bytes > 0;
}

/* A block that cannot move says where it is. */
HOST_DEVICE void step_tell(struct flat_plan *plan, uint32_t index)
{
    struct flat_block_progress *progress = &flat_block_progress(plan)[index];
    const size_t *done = flat_done(plan, progress->runs);
    struct whereabouts *whereabouts = &plan->whereabouts[index];
    if (!progress->moved)
        return;
    progress->moved = false;
    if (progress->left == 0) {
        word_store(&whereabouts->operation, FLAT_NONE);
        return;
    }
    while (done[progress->earliest] == flat_operations(plan)[progress->earliest].length)
        progress->earliest++;
    word_store(&whereabouts->done, done[progress->earliest]);
    word_store(&whereabouts->length, flat_operations(plan)[progress->earliest].length);
    word_store(&whereabouts->operation, progress->earliest);
}

/* Finds what can move, in turn. Only a block that cannot move looks at the abort word: the others
 * have an end. */
HOST_DEVICE enum step_result step_choose(struct flat_plan *plan, uint32_t index,
                                         struct step_chunk *chunk)
{
    struct flat_block_progress *progress = &flat_block_progress(plan)[index];
    uint32_t candidates = flat_blocks(plan)[index].lanes.count + progress->locals_left;
    for (uint32_t n = 0; n < candidates && progress->left > 0; n++) {
        uint32_t candidate = (progress->turn + n) % candidates;
        if (step_try(plan, index, candidate, chunk)) {
            progress->turn = candidate + 1;
            return STEP_MOVED;
        }
    }
    step_tell(plan, index);
    if (progress->left == 0)
        return STEP_COMPLETE;
    return word_load(plan->abort_word) ? STEP_ABORTED : STEP_WAITS;
}

/* Movement. */

/* An operand: of the message at a cursor, or in a slot. */
HOST_DEVICE char *step_operand(const struct cursor *cursor, char *slot, size_t *bytes)
{
    return cursor->piece == cursor->end ? slot : cursor_peek(cursor, *bytes, bytes);
}

HOST_DEVICE void step_advance(struct cursor *cursor, size_t bytes)
{
    if (cursor->piece != cursor->end)
        cursor_advance(cursor, bytes);
}

/* Moves this thread's part of a chunk. Several threads call it at once: each has its own cursors,
 * and the cursors of the operation stay. */
HOST_DEVICE void step_move(struct flat_plan *plan, const struct step_chunk *chunk, step_body *body,
                           const void *context, unsigned thread, unsigned threads)
{
    enum operation_kind kind = flat_operations(plan)[chunk->operation].kind;
    bool combines = kind == OPERATION_REDUCE || kind == OPERATION_RECV_REDUCE;
    enum operation_kind does = combines                   ? OPERATION_REDUCE
                               : kind == OPERATION_FINISH ? OPERATION_FINISH
                                                          : OPERATION_COPY;
    struct flat_operation_progress at = flat_operation_progress(plan)[chunk->operation];
    struct step_run run;
    char *slot = chunk->slot;
    for (size_t left = chunk->bytes; left > 0; left -= run.bytes) {
        run.bytes = left;
        run.to = step_operand(&at.to, slot, &run.bytes);
        char *from = step_operand(&at.from, slot, &run.bytes);
        char *with = combines ? step_operand(&at.with, slot, &run.bytes) : NULL;
        run.from = kind == OPERATION_RECV_REDUCE ? with : from; /* to = with (+) the message */
        run.with = kind == OPERATION_RECV_REDUCE ? from : with;
        if (does != OPERATION_COPY || run.to != run.from)
            body(context, does, &run, thread, threads);
        step_advance(&at.to, run.bytes);
        step_advance(&at.from, run.bytes);
        step_advance(&at.with, run.bytes);
        slot = slot ? slot + run.bytes : NULL;
    }
}

/* Publication. */

/* The operation is complete: the next message of its lane is the head, and a local operation is a
 * candidate no more. */
HOST_DEVICE void step_finish(struct flat_plan *plan, uint32_t index, const struct step_chunk *chunk)
{
    const struct flat_block *block = &flat_blocks(plan)[index];
    struct flat_block_progress *progress = &flat_block_progress(plan)[index];
    const struct flat_operation *operation = &flat_operations(plan)[chunk->operation];
    progress->left--;
    flat_epoch_left(plan)[operation->epoch]--;
    if (chunk->slot) {
        flat_lane_progress(plan)[block->lanes.first + chunk->candidate].head = operation->next;
    } else {
        uint32_t *open = flat_open_locals(plan) + block->locals.first;
        open[chunk->candidate - block->lanes.count] = open[--progress->locals_left];
    }
}

/* Tells the others, after all threads have moved their parts of the chunk. */
HOST_DEVICE void step_publish(struct flat_plan *plan, uint32_t index,
                              const struct step_chunk *chunk)
{
    struct flat_block_progress *progress = &flat_block_progress(plan)[index];
    struct flat_operation_progress *own = &flat_operation_progress(plan)[chunk->operation];
    size_t *done = &flat_done(plan, progress->runs)[chunk->operation];
    step_advance(&own->to, chunk->bytes);
    step_advance(&own->from, chunk->bytes);
    step_advance(&own->with, chunk->bytes);
    if (chunk->slot) {
        uint32_t lane = flat_blocks(plan)[index].lanes.first + chunk->candidate;
        wire_pass(plan, &flat_lanes(plan)[lane], &flat_lane_progress(plan)[lane], chunk->bytes);
    }
    progress->moved = true;
    word_store(done, *done + chunk->bytes);
    if (*done == flat_operations(plan)[chunk->operation].length)
        step_finish(plan, index, chunk);
}

/* A step of a block that is one thread. STEP_MOVED: a chunk was moved and published. */
HOST_DEVICE enum step_result step(struct flat_plan *plan, uint32_t index, step_body *body,
                                  const void *context)
{
    struct step_chunk chunk;
    enum step_result result = step_choose(plan, index, &chunk);
    if (result == STEP_MOVED) {
        step_move(plan, &chunk, body, context, 0, 1);
        step_publish(plan, index, &chunk);
    }
    return result;
}

#endif
