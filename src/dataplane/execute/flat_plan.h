/*
 * flat_plan.h - a schedule as arrays of bytes and addresses, for the step (step.h).
 *
 * A plan is one allocation without pointers into itself: its arrays are named by their offsets. So
 * it may be copied to a device as it is. Lengths are in bytes. C11 and C++17.
 *
 * A *block* of threads owns the operations of one channel, or all of them. A *lane* is one
 * direction of a schedule's lane to one peer, with a half (half.h) at each end. Each message takes
 * a *path*, which both ends know.
 */
#ifndef CCTEST_DATAPLANE_EXECUTE_FLAT_PLAN_H
#define CCTEST_DATAPLANE_EXECUTE_FLAT_PLAN_H

#include "base/status.h"
#include "dataplane/execute/fault_kind.h"
#include "dataplane/execute/half.h"
#include "dataplane/memory/cursor.h"
#include "dataplane/memory/profile.h"
#include "collective/schedule/schedule.h"

#define FLAT_NONE UINT32_MAX /* no operation, no epoch */

/* A part of an array. */
struct flat_range {
    uint32_t first, count;
};

/* How an operation's bytes pass. In zcopy, the active end moves them between the buffers of both
 * ranks, and the passive end grants. */
enum flat_path {
    FLAT_LOCAL,   /* it does not travel */
    FLAT_SLOTS,   /* through slots */
    FLAT_LINES,   /* through lines */
    FLAT_ACTIVE,  /* zcopy, by this end: a sender pushes, a receiver pulls */
    FLAT_PASSIVE, /* zcopy, by the other end */
};

/* The fixed part of a plan. */

struct flat_operation {
    enum operation_kind kind;
    enum flat_path path;
    enum fault_kind fault; /* injected (flat_plan_inject) */
    bool crossed;          /* an operation of another block waits for it */
    uint32_t epoch;
    uint32_t next;                    /* the next message of its lane; FLAT_NONE */
    struct flat_range to, from, with; /* pieces; if it is active, also its peer's */
    struct flat_range waits;
    size_t length;
};

struct flat_epoch {
    uint32_t previous; /* FLAT_NONE: it is open from the start */
    uint32_t operations;
};

struct flat_lane {
    struct flat_half *mine, *theirs; /* as whoever runs the plan addresses them */
    uint32_t first;                  /* operation: its first message of a run */
    bool sends;
    int peer, lane; /* as in struct operation */
};

struct flat_block {
    struct flat_range operations, lanes;
    struct flat_range locals; /* indices of its operations that do not travel */
};

/* The changing part. Other blocks read only `done` of it. */

struct flat_operation_progress {
    struct cursor to, from, with;
    size_t first_wait; /* all waits before it are satisfied */
};

/* A lane in this run. */
struct flat_lane_run {
    uint32_t head;   /* operation: the first message that is not complete; FLAT_NONE */
    uint32_t grant;  /* operation: the first passive message that is not granted whole */
    size_t grant_at; /* where it begins, in all bytes of zcopy on this lane */
    size_t granted;  /* of those bytes, as the peer knows */
};

struct flat_block_progress {
    size_t runs;          /* begun */
    uint32_t left;        /* operations that are not complete */
    uint32_t locals_left; /* at the start of its part of the open list */
    uint32_t earliest;    /* all its operations before this one are complete */
    uint32_t turn;        /* where to look first for what can move */
    uint32_t idle;        /* steps since something moved or was granted */
    size_t moves;         /* in all runs */
    bool moved;           /* since it last said where it is */
    bool starved;         /* in the last step, a lane had no room to send */
};

/* Where a block is when it cannot move: its earliest incomplete operation. Each word by itself is
 * true; together they are for people. */
struct whereabouts {
    size_t begun;     /* not 0: it has, in this run */
    size_t operation; /* FLAT_NONE: the run is complete */
    size_t done, length;
    size_t moves; /* chunks in all runs, told now and then: something moves */
    /* Time of the last run by activity, in ticks of the block's clock, if the plan asks for it. */
    size_t spent[ACTIVITIES];
};

/* Offsets are in bytes from the plan; what they count is beside them. */
struct flat_plan {
    size_t bytes; /* of the whole allocation */
    size_t operations, operation_progress, epochs, epoch_left, pieces, waits;
    size_t lanes, lane_runs, locals, open_locals, blocks, block_progress;
    size_t staging; /* of each block, ll_stride bytes: where it gathers what its lines hold */
    size_t done[2]; /* bytes of each operation: of the runs with even and with odd numbers */
    uint32_t operation_count, epoch_count, piece_count, wait_count, lane_count, local_count;
    uint32_t block_count;
    size_t element;
    int datatype, reduction, ranks;     /* as in struct flat_config */
    bool profiles;                      /* likewise */
    size_t slots, slot_bytes, ll_bytes; /* of every lane, as in half_bytes() */
    /* The most bytes that a step moves, whole elements: by slots and locally; in a slot; in the
     * lines of a slot; in zcopy. */
    size_t chunk, slot_most, ll_most, zcopy_most;
    size_t ll_stride;
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
FLAT_ARRAY(lane_runs, struct flat_lane_run)
FLAT_ARRAY(locals, uint32_t)
FLAT_ARRAY(open_locals, uint32_t)
FLAT_ARRAY(blocks, struct flat_block)
FLAT_ARRAY(block_progress, struct flat_block_progress)

/* The progress of all operations in run `run` of this rank. */
HOST_DEVICE size_t *flat_done(struct flat_plan *plan, size_t run)
{
    return (size_t *)(void *)((char *)plan + plan->done[run % 2]);
}

/* The inputs of a plan. */
struct flat_config {
    const struct schedule *schedule; /* not needed after that */
    size_t element;                  /* bytes */
    int datatype, reduction, ranks; /* for what moves elements: enum datatype_id, enum reduction_id,
                                        and how many ranks contribute to a result */
    bool profiles;                  /* blocks tell what they spend their time on */
    char *buffer[BUFFERS];          /* addresses, for those who run the plan */
    bool split;                     /* a block for each channel; else one for all */
    size_t chunk;                   /* bytes of a step by slots or locally; at least an element */
    size_t slots, slot_bytes, ll_bytes; /* as in half_bytes(), the same at both ends in all plans;
                                           slot_bytes and, if not 0, ll_bytes hold an element */

    /* The path of a message, by its bytes; the same at both ends. zcopy comes first. */
    size_t ll_most;     /* at most so many: by lines, if ll_bytes is not 0 */
    size_t zcopy_least; /* at least so many: zcopy; SIZE_MAX: never */
    size_t zcopy_chunk; /* bytes of a step; at least an element */
    bool pushes;        /* a sender moves what is only received; false: receivers move all, and can
                           drop a message */
    /* By rank, of each peer: its schedule, not needed after that, and its buffers, as whoever runs
     * the plan addresses them. peers NULL: no zcopy. */
    const struct schedule *const *peers;
    char *(*peer_buffer)[BUFFERS];

    /* The halves of a lane, as whoever runs the plan addresses them. The maker of a plan does not
     * touch them. */
    void (*halves)(void *context, int peer, int lane, bool sends, struct flat_half **mine,
                   struct flat_half **theirs);
    void *context;
    const size_t *abort_word;
    struct whereabouts *whereabouts; /* flat_block_count() of them */
};

/* Blocks of its plan. */
uint32_t flat_block_count(const struct schedule *schedule, bool split);

/* The plan of a schedule that was built to run. Free with free(). */
enum status flat_plan_create(const struct flat_config *config, struct flat_plan **plan);

/* The nth incoming message of each run from now on, in program order from 0, has this fault, and no
 * other has any. Before the plan is copied to a device. False: there are not so many.
 * FAULT_DROP needs a plan that does not push. */
bool flat_plan_inject(struct flat_plan *plan, enum fault_kind fault, int nth);

#endif
