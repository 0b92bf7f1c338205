/*
 * flat_plan.h - a schedule as arrays of bytes and addresses, for the step (step.h).
 *
 * A plan is one allocation without pointers into itself: its arrays are named by their offsets. So
 * it may be copied to a device as it is. Lengths are in bytes. C11 and C++17.
 *
 * A *block* of threads owns the operations of one channel, or all of them. A *lane* is one
 * direction of a schedule's lane to one peer. Its messages pass through a *wire*: slots in the
 * receiver's memory, which the sender fills and the receiver takes.
 */
#ifndef CCTEST_EXECUTE_FLAT_PLAN_H
#define CCTEST_EXECUTE_FLAT_PLAN_H

#include "base/status.h"
#include "memory/cursor.h"
#include "schedule/schedule.h"

#define FLAT_NONE UINT32_MAX /* no operation, no epoch */

/* A part of an array. */
struct flat_range {
    uint32_t first, count;
};

/* What does not change. */

struct flat_operation {
    enum operation_kind kind;
    uint32_t epoch;
    uint32_t next;                    /* the next message of its lane; FLAT_NONE */
    struct flat_range to, from, with; /* pieces */
    struct flat_range waits;
    size_t length;
};

struct flat_epoch {
    uint32_t previous; /* FLAT_NONE: it is open from the start */
    uint32_t operations;
};

struct flat_lane {
    char *wire;     /* struct flat_wire, as this rank addresses it */
    uint32_t first; /* operation: its first message of a run */
    bool sends;
    int peer, lane; /* as in struct operation */
};

struct flat_block {
    struct flat_range operations, lanes;
    struct flat_range locals; /* indices of its operations that do not travel */
};

/* What changes. Only `done` is read by other blocks. */

struct flat_operation_progress {
    struct cursor to, from, with;
    size_t first_wait; /* all waits before it are satisfied */
};

struct flat_lane_progress {
    uint32_t head;  /* operation: the first message that is not complete; FLAT_NONE */
    size_t slots;   /* filled or taken, in all runs */
    size_t drained; /* receiver: bytes that it has from the slot at hand */
};

struct flat_block_progress {
    size_t runs;          /* begun */
    uint32_t left;        /* operations that are not complete */
    uint32_t locals_left; /* at the start of its part of the open list */
    uint32_t earliest;    /* all its operations before this one are complete */
    uint32_t turn;        /* where to look first for what can move */
    bool moved;           /* since it last said where it is */
};

/* Where a block is when it cannot move: its earliest incomplete operation. Each word by itself is
 * true; together they are for people. */
struct whereabouts {
    size_t operation; /* FLAT_NONE: the run is complete */
    size_t done, length;
};

/* Slots in the receiver's memory. Both words count slots in all runs and only grow, so that no
 * run has to reset them. The sender raises `filled`, the receiver `taken`: each a credit. */
struct flat_wire {
    size_t filled;
    char apart[120]; /* each word has a cache line of its own */
    size_t taken;
    char apart_too[120];
    /* Then the lengths of what is in each slot, and the slots. */
};

/* Offsets are in bytes from the plan; what they count is beside them. */
struct flat_plan {
    size_t bytes; /* of the whole allocation */
    size_t operations, operation_progress, epochs, epoch_left, pieces, waits;
    size_t lanes, lane_progress, locals, open_locals, blocks, block_progress;
    size_t done[2]; /* bytes of each operation: of the runs with even and with odd numbers */
    uint32_t operation_count, epoch_count, piece_count, wait_count, lane_count, local_count;
    uint32_t block_count;
    size_t element;
    size_t chunk;                    /* the most bytes that a step moves; whole elements */
    size_t slots, slot_bytes;        /* of every wire */
    const size_t *abort_word;        /* not 0: give up. The caller's; may be mapped host memory */
    struct whereabouts *whereabouts; /* one of each block; likewise */
};

#define FLAT_ARRAY(name, type)                                                                     \
    HOST_DEVICE type *flat_##name(struct flat_plan *plan)                                          \
    {                                                                                              \
        return (type *)(void *)((char *)plan + plan->name);                                        \
    }
FLAT_ARRAY(operations, struct flat_operation)
FLAT_ARRAY(operation_progress, struct flat_operation_progress)
FLAT_ARRAY(epochs, struct flat_epoch)
FLAT_ARRAY(epoch_left, uint32_t)
FLAT_ARRAY(pieces, struct piece)
FLAT_ARRAY(waits, struct wait)
FLAT_ARRAY(lanes, struct flat_lane)
FLAT_ARRAY(lane_progress, struct flat_lane_progress)
FLAT_ARRAY(locals, uint32_t)
FLAT_ARRAY(open_locals, uint32_t)
FLAT_ARRAY(blocks, struct flat_block)
FLAT_ARRAY(block_progress, struct flat_block_progress)

/* The progress of all operations in run `run` of this rank. */
HOST_DEVICE size_t *flat_done(struct flat_plan *plan, size_t run)
{
    return (size_t *)(void *)((char *)plan + plan->done[run % 2]);
}

/* Bytes in each slot. */
HOST_DEVICE size_t *wire_lengths(char *wire)
{
    return (size_t *)(void *)(wire + sizeof(struct flat_wire));
}

/* Bytes before its slots: a multiple of 16, so that slots of such sizes are aligned to that. */
HOST_DEVICE size_t wire_head(size_t slots)
{
    return sizeof(struct flat_wire) + (slots + slots % 2) * sizeof(size_t);
}

/* Bytes of a wire, whole cache lines. It begins at a multiple of 16, and is 0 at first. */
HOST_DEVICE size_t wire_bytes(size_t slots, size_t slot_bytes)
{
    return (wire_head(slots) + slots * slot_bytes + 127) / 128 * 128;
}

/* What a plan is made of. */
struct flat_config {
    const struct schedule *schedule; /* not needed after that */
    size_t element;                  /* bytes */
    char *buffer[BUFFERS];           /* addresses, for those who run the plan */
    bool split;                      /* a block for each channel; else one for all */
    size_t chunk;                    /* bytes; at least an element */
    size_t slots, slot_bytes;        /* the same at both ends; a slot holds an element */
    /* The wire of a lane, as this rank addresses it. */
    char *(*wire)(void *context, int peer, int lane, bool sends);
    void *context;
    const size_t *abort_word;
    struct whereabouts *whereabouts; /* flat_block_count() of them */
};

/* Blocks of its plan. */
uint32_t flat_block_count(const struct schedule *schedule, bool split);

/* The plan of a schedule that was built to run. It takes over the wires where the last plan that
 * used them stopped. Free with free(). */
enum status flat_plan_create(const struct flat_config *config, struct flat_plan **plan);

#endif
