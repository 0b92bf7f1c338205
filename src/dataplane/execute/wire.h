/*
 * wire.h - how bytes pass a lane: the protocols of slots, of lines, and of zcopy.
 *
 * Slots (simple): the sender fills a slot in the receiver's half with one chunk, and then raises
 * the count of filled slots. The receiver takes it in one chunk or more, and then raises the count
 * of slots that it has taken: a credit.
 *
 * Lines (ll): as slots, but each 4 bytes travel in one word with a flag, which the receiver expects
 * from the number of the slot. So nothing is ordered before anything, but credits.
 *
 * Zcopy: both ends count the bytes of all such messages of a lane. The passive end tells how far
 * it grants, the active end how far it has moved. Each tells only while it is that end, and an end
 * that becomes the other has completed all before: so one word for each direction serves both.
 *
 * C11 and C++17.
 */
#ifndef CCTEST_DATAPLANE_EXECUTE_WIRE_H
#define CCTEST_DATAPLANE_EXECUTE_WIRE_H

#include <string.h>

#include "dataplane/execute/flat_plan.h"

/* The chunk that a step moves. */
struct step_chunk {
    uint32_t operation;
    uint32_t candidate; /* of the block: its lanes, then its incomplete local operations */
    size_t bytes;
    char *slot;              /* the operand that is in no buffer; NULL: none */
    struct flat_line *lines; /* NULL: not by lines */
    uint32_t flag;
};

/* Lines. */

/* The flag of the nth use of a slot: never 0. */
HOST_DEVICE uint32_t line_flag(size_t use)
{
    return (uint32_t)(use % UINT32_MAX) + 1;
}

HOST_DEVICE void line_store(struct flat_line *line, uint64_t data, uint32_t flag)
{
    uint64_t high = (uint64_t)flag << 32, first = high | (uint32_t)data, second = high | data >> 32;
#ifdef __CUDA_ARCH__
    asm volatile("st.relaxed.sys.v2.u64 [%0], {%1, %2};"
                 :
                 : "l"(line), "l"(first), "l"(second)
                 : "memory");
#else
    __atomic_store_n(&line->words[0], first, __ATOMIC_RELAXED);
    __atomic_store_n(&line->words[1], second, __ATOMIC_RELAXED);
#endif
}

/* False: it has not arrived. */
HOST_DEVICE bool line_load(const struct flat_line *line, uint32_t flag, uint64_t *data)
{
    uint64_t first, second;
#ifdef __CUDA_ARCH__
    asm volatile("ld.relaxed.sys.v2.u64 {%0, %1}, [%2];"
                 : "=l"(first), "=l"(second)
                 : "l"(line)
                 : "memory");
#else
    first = __atomic_load_n(&line->words[0], __ATOMIC_RELAXED);
    second = __atomic_load_n(&line->words[1], __ATOMIC_RELAXED);
#endif
    *data = (uint32_t)first | second << 32;
    return first >> 32 == flag && second >> 32 == flag;
}

/* The next bytes at a cursor, at most a line's: in one load where they lie well. */
HOST_DEVICE uint64_t line_read(struct cursor *from, size_t bytes)
{
    uint64_t data = 0;
    char *to = (char *)&data;
    for (size_t n = 0, run; n < bytes; n += run) {
        const char *at = cursor_peek(from, bytes - n, &run);
        if (run == LINE_BYTES && (uintptr_t)at % LINE_BYTES == 0)
            memcpy(&data, __builtin_assume_aligned(at, LINE_BYTES), LINE_BYTES);
        else
            for (size_t i = 0; i < run; i++)
                to[n + i] = at[i];
        cursor_advance(from, run);
    }
    return data;
}

/* Stores this thread's lines of a chunk, whose bytes come from `from`. */
HOST_DEVICE void lines_scatter(const struct step_chunk *chunk, struct cursor from, unsigned thread,
                               unsigned threads)
{
    size_t at = 0, next = (size_t)thread * LINE_BYTES;
    for (; next < chunk->bytes; next += (size_t)threads * LINE_BYTES) {
        size_t left = chunk->bytes - next, bytes = left < LINE_BYTES ? left : LINE_BYTES;
        cursor_advance(&from, next - at);
        line_store(&chunk->lines[next / LINE_BYTES], line_read(&from, bytes), chunk->flag);
        at = next + bytes;
    }
}

/* Unpacks this thread's lines of a chunk; false: not all have arrived. */
HOST_DEVICE bool lines_gather(const struct step_chunk *chunk, unsigned thread, unsigned threads)
{
    for (size_t n = thread; n < half_line_count(chunk->bytes); n += threads) {
        uint64_t data;
        if (!line_load(&chunk->lines[n], chunk->flag, &data))
            return false;
        memcpy(__builtin_assume_aligned(chunk->slot + n * LINE_BYTES, LINE_BYTES), &data,
               sizeof data);
    }
    return true;
}

/* Room: how many bytes may pass now. */

HOST_DEVICE bool wire_has_credit(const struct flat_plan *plan, const struct flat_lane *lane)
{
    return lane->mine->progress.slots - word_load(&lane->mine->slots) < plan->slots;
}

/* `from`: of the sender. */
HOST_DEVICE size_t wire_slot_room(const struct flat_plan *plan, const struct flat_lane *lane,
                                  const struct cursor *from, struct step_chunk *chunk)
{
    const struct flat_lane_progress *progress = &lane->mine->progress;
    size_t index = progress->slots % plan->slots, run;
    struct flat_half *half = lane->sends ? lane->theirs : lane->mine;
    chunk->slot = half_slot(half, plan->slots, plan->slot_bytes, index);
    if (lane->sends) {
        chunk->slot += (uintptr_t)cursor_peek(from, 1, &run) % 16;
        return wire_has_credit(plan, lane) ? plan->slot_most : 0;
    }
    if (word_load(&half->slots) <= progress->slots)
        return 0;
    size_t length = half_lengths(half)[index];
    chunk->slot += length % 16 + progress->drained;
    return length / 16 - progress->drained;
}

/* A message goes in as many slots as it needs, each with as much as it holds. `left`: of the
 * message. A receiver looks only at the last line. */
HOST_DEVICE size_t wire_line_room(struct flat_plan *plan, uint32_t block,
                                  const struct flat_lane *lane, size_t left,
                                  struct step_chunk *chunk)
{
    size_t number = lane->mine->progress.slots;
    size_t bytes = left < plan->ll_most ? left : plan->ll_most;
    uint64_t data;
    chunk->lines = half_lines(lane->sends ? lane->theirs : lane->mine, plan->slots,
                              plan->slot_bytes, plan->ll_bytes, number % plan->slots);
    chunk->flag = line_flag(number / plan->slots);
    if (lane->sends)
        return wire_has_credit(plan, lane) ? bytes : 0;
    chunk->slot = (char *)plan + plan->staging + block * plan->ll_stride;
    return line_load(&chunk->lines[half_line_count(bytes) - 1], chunk->flag, &data) ? bytes : 0;
}

/* The active end of zcopy. */
HOST_DEVICE size_t wire_granted(const struct flat_plan *plan, const struct flat_lane *lane)
{
    size_t granted = word_load(&lane->mine->bytes) - lane->mine->progress.bytes;
    return granted < plan->zcopy_most ? granted : plan->zcopy_most;
}

/* A chunk has passed. */
HOST_DEVICE void wire_pass(const struct flat_plan *plan, const struct flat_lane *lane,
                           enum flat_path path, const struct step_chunk *chunk)
{
    struct flat_lane_progress *progress = &lane->mine->progress;
    size_t index = progress->slots % plan->slots;
    if (path == FLAT_ACTIVE) {
        word_store(&lane->theirs->bytes, progress->bytes += chunk->bytes);
    } else if (path == FLAT_LINES) {
        progress->slots++;
        if (!lane->sends)
            word_store(&lane->theirs->slots, progress->slots);
    } else if (lane->sends) {
        half_lengths(lane->theirs)[index] = chunk->bytes * 16 + (uintptr_t)chunk->slot % 16;
        word_store(&lane->theirs->slots, ++progress->slots);
    } else {
        progress->drained += chunk->bytes;
        if (progress->drained < half_lengths(lane->mine)[index] / 16)
            return;
        progress->drained = 0;
        word_store(&lane->theirs->slots, ++progress->slots);
    }
}

#endif
