/*
 * half.h - the halves of a lane: memory through which its two ends tell each other how far they
 * are.
 *
 * Each end polls its own half and writes into its peer's. The receiver's half also holds the slots
 * and the lines that the sender fills. All counts are of all runs of all plans and only grow, so
 * that no run has to reset them. A half is 0 at first. C11 and C++17.
 */
#ifndef CCTEST_DATAPLANE_EXECUTE_HALF_H
#define CCTEST_DATAPLANE_EXECUTE_HALF_H

#include <stdbool.h>

#include "base/word.h"

#define HALF_CACHE_LINE 128 /* bytes */

/* The state of a lane that an end keeps from plan to plan. */
struct flat_lane_progress {
    size_t slots;   /* filled or taken */
    size_t drained; /* receiver: bytes that it has from the slot at hand */
    size_t bytes;   /* that zcopy moved */
};

struct flat_half {
    /* The peer writes. */
    size_t slots; /* in the receiver's half: filled by the sender; in the sender's: taken */
    size_t bytes; /* of zcopy that the peer grants, or has moved */
    char apart[HALF_CACHE_LINE - 2 * sizeof(size_t)];
    /* Only its owner writes and reads. */
    struct flat_lane_progress progress;
    char apart_too[HALF_CACHE_LINE - sizeof(struct flat_lane_progress)];
    /* In the receiver's half follow the lengths of what is in each slot, the slots, and the lines
     * of each slot. */
};

/* Data with flags: in each word 4 bytes of data, and above them the flag. */
struct flat_line {
    uint64_t words[2];
};

#define LINE_BYTES 8 /* of data */

/* The length word of each slot: bytes * 16 + where they start in the slot, which is the sender's
 * address modulo 16. So copies into and out of slots are aligned alike. */
HOST_DEVICE size_t *half_lengths(struct flat_half *half)
{
    return (size_t *)(void *)(half + 1);
}

/* Bytes from slot to slot. */
HOST_DEVICE size_t half_slot_stride(size_t slot_bytes)
{
    return (slot_bytes + 31) / 16 * 16;
}

/* Lines of a slot of `ll_bytes`. */
HOST_DEVICE size_t half_line_count(size_t ll_bytes)
{
    return (ll_bytes + LINE_BYTES - 1) / LINE_BYTES;
}

HOST_DEVICE char *half_slot(struct flat_half *half, size_t slots, size_t slot_bytes, size_t index)
{
    char *first = (char *)half_lengths(half) + (slots + slots % 2) * sizeof(size_t);
    return first + index * half_slot_stride(slot_bytes);
}

HOST_DEVICE struct flat_line *half_lines(struct flat_half *half, size_t slots, size_t slot_bytes,
                                         size_t ll_bytes, size_t index)
{
    char *end = half_slot(half, slots, slot_bytes, slots);
    return (struct flat_line *)(void *)end + index * half_line_count(ll_bytes);
}

/* Bytes of one end's half, whole cache lines. It begins at a multiple of 16. `slots`: how many;
 * `slot_bytes`: the most in one; `ll_bytes`: the most in the lines of one, 0: no lines. */
HOST_DEVICE size_t half_bytes(bool sends, size_t slots, size_t slot_bytes, size_t ll_bytes)
{
    size_t bytes = sizeof(struct flat_half);
    if (!sends)
        bytes += (slots + slots % 2) * sizeof(size_t) + slots * half_slot_stride(slot_bytes) +
                 slots * half_line_count(ll_bytes) * sizeof(struct flat_line);
    return (bytes + HALF_CACHE_LINE - 1) / HALF_CACHE_LINE * HALF_CACHE_LINE;
}

#endif
