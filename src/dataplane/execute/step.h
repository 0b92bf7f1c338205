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
 *         if (result == STEP_GATHERS)
 *             result = step_gather(&chunk)  all threads; with a barrier
 *                      of each thread ? STEP_MOVED : STEP_WAITS;
 *         if (result == STEP_MOVED) {
 *             step_move(&chunk);            all threads; then a barrier
 *             step_publish(&chunk);         one thread
 *         }
 *     } while (result < STEP_COMPLETE);
 *
 * The run of a rank begins when all of its blocks are complete with the run before, as with
 * launches of a kernel in one stream. Other ranks may be ahead or behind.
 *
 * The protocols by which bytes pass a lane are in wire.h. The passive end of zcopy moves nothing:
 * step_choose() does its part. C11 and C++17.
 */
#ifndef CCTEST_DATAPLANE_EXECUTE_STEP_H
#define CCTEST_DATAPLANE_EXECUTE_STEP_H

#include "dataplane/execute/wire.h"

/* After so many idle steps in a row, a block says where it is and looks at the abort word. Both may
 * lie in memory that it reaches slowly. After so many moves it tells how many there were. */
#define STEP_PATIENCE 64

enum step_result {
    STEP_WAITS,    /* nothing can move now */
    STEP_MOVED,    /* a chunk moves */
    STEP_GATHERS,  /* a chunk moves if all of its lines have arrived */
    STEP_COMPLETE, /* all operations of the block are complete */
    STEP_ABORTED,  /* the abort word says so */
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
        word_put(&next_done[i], 0);
        flat_epoch_left(plan)[operation->epoch] = flat_epochs(plan)[operation->epoch].operations;
    }
    for (uint32_t n = 0; n < block->lanes.count; n++) {
        const struct flat_lane *lane = &flat_lanes(plan)[block->lanes.first + n];
        size_t bytes = lane->mine->progress.bytes;
        struct flat_lane_run run = {lane->first, lane->first, bytes, bytes};
        flat_lane_runs(plan)[block->lanes.first + n] = run;
    }
    for (uint32_t n = 0; n < block->locals.count; n++)
        flat_open_locals(plan)[block->locals.first + n] =
            flat_locals(plan)[block->locals.first + n];
    progress->left = block->operations.count;
    progress->locals_left = block->locals.count;
    progress->earliest = block->operations.first;
    progress->turn = 0;
    progress->idle = 0;
    progress->moved = true;
    word_put(&plan->whereabouts[index].begun, 1);
}

/* Progress. */

/* Where a block is, which has not moved for a while. */
HOST_DEVICE void step_tell(struct flat_plan *plan, uint32_t index)
{
    struct flat_block_progress *progress = &flat_block_progress(plan)[index];
    const size_t *done = flat_done(plan, progress->runs);
    struct whereabouts *whereabouts = &plan->whereabouts[index];
    if (!progress->moved)
        return;
    progress->moved = false;
    word_put(&whereabouts->moves, progress->moves);
    if (progress->left == 0) {
        word_put(&whereabouts->operation, FLAT_NONE);
        return;
    }
    while (done[progress->earliest] == flat_operations(plan)[progress->earliest].length)
        progress->earliest++;
    word_put(&whereabouts->done, done[progress->earliest]);
    word_put(&whereabouts->length, flat_operations(plan)[progress->earliest].length);
    word_put(&whereabouts->operation, progress->earliest);
}

/* The injected bit flips in the first element, before others may read it. */
HOST_DEVICE void step_corrupt(struct flat_plan *plan, const struct flat_operation *operation)
{
    char *first = flat_pieces(plan)[operation->to.first].base;
    first[plan->element > 1 ? plan->element - 2 : 0] ^= 4;
}

/* An operation of a block has got on by `bytes`. */
HOST_DEVICE void step_raise(struct flat_plan *plan, uint32_t index, uint32_t raised, size_t bytes)
{
    struct flat_block_progress *progress = &flat_block_progress(plan)[index];
    const struct flat_operation *operation = &flat_operations(plan)[raised];
    size_t *done = &flat_done(plan, progress->runs)[raised];
    if (operation->fault == FAULT_CORRUPT && *done == 0)
        step_corrupt(plan, operation);
    if (operation->crossed)
        word_store(done, *done + bytes);
    else
        word_put(done, *done + bytes);
    if (*done == operation->length) {
        progress->left--;
        flat_epoch_left(plan)[operation->epoch]--;
    }
    progress->idle = 0;
    progress->moved = true;
    if (++progress->moves % STEP_PATIENCE == 0)
        word_put(&plan->whereabouts[index].moves, progress->moves);
}

/* How far an operation of a block may go now, but for its lane: not on if its epoch is closed. */
HOST_DEVICE size_t step_limit(struct flat_plan *plan, uint32_t index, uint32_t limited)
{
    const struct flat_operation *operation = &flat_operations(plan)[limited];
    const size_t *done = flat_done(plan, flat_block_progress(plan)[index].runs);
    uint32_t previous = flat_epochs(plan)[operation->epoch].previous, holder;
    if (previous != FLAT_NONE && flat_epoch_left(plan)[previous] > 0)
        return done[limited];
    return limit_of_waits(operation->length, flat_waits(plan) + operation->waits.first,
                          operation->waits.count, done, 1,
                          flat_blocks(plan)[index].operations.first,
                          &flat_operation_progress(plan)[limited].first_wait, &holder);
}

/* The passive end. */

/* Grants what the passive messages of a lane allow: of its head, and of those that follow it
 * without another between them. */
HOST_DEVICE void step_grant(struct flat_plan *plan, uint32_t index, uint32_t lane)
{
    const struct flat_operation *operations = flat_operations(plan);
    const size_t *done = flat_done(plan, flat_block_progress(plan)[index].runs);
    struct flat_lane_run *run = &flat_lane_runs(plan)[lane];
    size_t granted = run->granted;
    while (run->grant != FLAT_NONE) {
        const struct flat_operation *operation = &operations[run->grant];
        bool passive = operation->path == FLAT_PASSIVE;
        size_t limit = passive ? step_limit(plan, index, run->grant) : done[run->grant];
        if (passive)
            granted = run->grant_at + limit;
        if (limit < operation->length)
            break;
        if (passive || operation->path == FLAT_ACTIVE)
            run->grant_at += operation->length;
        run->grant = operation->next;
    }
    if (granted == run->granted)
        return;
    run->granted = granted;
    word_store(&flat_lanes(plan)[lane].theirs->bytes, granted);
    flat_block_progress(plan)[index].idle = 0;
}

/* Does what a passive end has to do while a lane's head is passive: grants, and notices what the
 * peer has moved. */
HOST_DEVICE void step_serve(struct flat_plan *plan, uint32_t index, uint32_t lane)
{
    struct flat_lane_run *run = &flat_lane_runs(plan)[lane];
    struct flat_half *mine = flat_lanes(plan)[lane].mine;
    while (run->head != FLAT_NONE && flat_operations(plan)[run->head].path == FLAT_PASSIVE) {
        const struct flat_operation *operation = &flat_operations(plan)[run->head];
        const size_t *done = &flat_done(plan, flat_block_progress(plan)[index].runs)[run->head];
        step_grant(plan, index, lane);
        size_t moved = word_load(&mine->bytes) - mine->progress.bytes;
        size_t left = operation->length - *done;
        if (moved == 0)
            return;
        moved = moved < left ? moved : left;
        mine->progress.bytes += moved;
        step_raise(plan, index, run->head, moved);
        if (moved == left)
            run->head = operation->next;
    }
}

/* Choice. */

/* How many bytes may pass the lane of a chunk's operation now. */
HOST_DEVICE size_t step_room(struct flat_plan *plan, uint32_t index, uint32_t lane,
                             struct step_chunk *chunk)
{
    const struct flat_operation *operation = &flat_operations(plan)[chunk->operation];
    const struct flat_lane *its = &flat_lanes(plan)[lane];
    size_t left = operation->length -
                  flat_done(plan, flat_block_progress(plan)[index].runs)[chunk->operation];
    if (operation->path == FLAT_ACTIVE)
        return wire_granted(plan, its);
    if (operation->path == FLAT_LINES)
        return wire_line_room(plan, index, its, left, chunk);
    size_t room =
        wire_slot_room(plan, its, &flat_operation_progress(plan)[chunk->operation].from, chunk);
    return room < plan->chunk ? room : plan->chunk;
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
    chunk->lines = NULL;
    chunk->flag = 0;
    if (candidate < block->lanes.count) {
        uint32_t lane = block->lanes.first + candidate;
        step_serve(plan, index, lane);
        chunk->operation = flat_lane_runs(plan)[lane].head;
        if (chunk->operation == FLAT_NONE ||
            flat_operations(plan)[chunk->operation].path == FLAT_PASSIVE)
            return false;
        room = step_room(plan, index, lane, chunk);
        flat_block_progress(plan)[index].starved |=
            room == 0 && flat_lanes(plan)[lane].sends &&
            flat_operations(plan)[chunk->operation].path != FLAT_ACTIVE;
    } else {
        chunk->operation =
            flat_open_locals(plan)[block->locals.first + candidate - block->lanes.count];
    }
    if (room == 0)
        return false;
    size_t ready = step_limit(plan, index, chunk->operation) - done[chunk->operation];
    chunk->bytes = ready < room ? ready : room;
    chunk->bytes -= chunk->bytes % plan->element;
    return chunk->lines ? chunk->bytes == room : chunk->bytes > 0;
}

/* Finds what can move, in turn. Only a block that cannot move looks at the abort word: the others
 * have an end. */
HOST_DEVICE enum step_result step_choose(struct flat_plan *plan, uint32_t index,
                                         struct step_chunk *chunk)
{
    struct flat_block_progress *progress = &flat_block_progress(plan)[index];
    uint32_t candidates = flat_blocks(plan)[index].lanes.count + progress->locals_left;
    if (++progress->idle % STEP_PATIENCE == 0) {
        step_tell(plan, index);
        if (word_load(plan->abort_word))
            return STEP_ABORTED;
    }
    progress->starved = false;
    for (uint32_t n = 0; n < candidates && progress->left > 0; n++) {
        uint32_t candidate = (progress->turn + n) % candidates;
        if (step_try(plan, index, candidate, chunk)) {
            progress->turn = candidate + 1;
            return chunk->lines && chunk->slot ? STEP_GATHERS : STEP_MOVED;
        }
    }
    if (progress->left > 0)
        return STEP_WAITS;
    step_tell(plan, index);
    return STEP_COMPLETE;
}

/* Has this thread's part of a chunk in lines arrived? Then it is in the block's staging area. */
HOST_DEVICE bool step_gather(const struct step_chunk *chunk, unsigned thread, unsigned threads)
{
    return lines_gather(chunk, thread, threads);
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
    const struct flat_operation *operation = &flat_operations(plan)[chunk->operation];
    enum operation_kind kind = operation->kind;
    bool drops = operation->fault == FAULT_DROP;
    bool combines = kind == OPERATION_REDUCE || kind == OPERATION_RECV_REDUCE;
    enum operation_kind does = combines && !drops         ? OPERATION_REDUCE
                               : kind == OPERATION_FINISH ? OPERATION_FINISH
                                                          : OPERATION_COPY;
    struct flat_operation_progress at = flat_operation_progress(plan)[chunk->operation];
    struct step_run run;
    char *slot = chunk->slot;
    if (chunk->lines && kind == OPERATION_SEND)
        lines_scatter(chunk, at.from, thread, threads);
    if ((chunk->lines && kind == OPERATION_SEND) || (drops && kind == OPERATION_RECV))
        return;
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

/* Tells the others, after all threads have moved their parts of the chunk. */
HOST_DEVICE void step_publish(struct flat_plan *plan, uint32_t index,
                              const struct step_chunk *chunk)
{
    const struct flat_block *block = &flat_blocks(plan)[index];
    const struct flat_operation *operation = &flat_operations(plan)[chunk->operation];
    struct flat_operation_progress *own = &flat_operation_progress(plan)[chunk->operation];
    struct flat_block_progress *progress = &flat_block_progress(plan)[index];
    uint32_t lane = block->lanes.first + chunk->candidate;
    step_advance(&own->to, chunk->bytes);
    step_advance(&own->from, chunk->bytes);
    step_advance(&own->with, chunk->bytes);
    if (operation->path != FLAT_LOCAL)
        wire_pass(plan, &flat_lanes(plan)[lane], operation->path, chunk);
    step_raise(plan, index, chunk->operation, chunk->bytes);
    if (flat_done(plan, progress->runs)[chunk->operation] < operation->length)
        return;
    if (operation->path != FLAT_LOCAL) {
        flat_lane_runs(plan)[lane].head = operation->next; /* the next message of its lane */
    } else {
        uint32_t *open = flat_open_locals(plan) + block->locals.first;
        open[chunk->candidate - block->lanes.count] = open[--progress->locals_left];
    }
}

/* A step of a block that is one thread. STEP_MOVED: a chunk was moved and published. */
HOST_DEVICE enum step_result step(struct flat_plan *plan, uint32_t index, step_body *body,
                                  const void *context)
{
    struct step_chunk chunk;
    enum step_result result = step_choose(plan, index, &chunk);
    if (result == STEP_GATHERS)
        result = step_gather(&chunk, 0, 1) ? STEP_MOVED : STEP_WAITS;
    if (result == STEP_MOVED) {
        step_move(plan, &chunk, body, context, 0, 1);
        step_publish(plan, index, &chunk);
    }
    return result;
}

#endif
