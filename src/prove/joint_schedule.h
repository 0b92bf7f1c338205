/*
 * joint_schedule.h - the schedules of all ranks side by side in one process.
 *
 * What the verifier and the shaker have in common: the operations of all ranks in one numbering,
 * which send meets which receive, one flat memory for all buffers of all ranks, which operations
 * are open, who may be awake after something moved, and who waits for whom when nothing moves any
 * more.
 */
#ifndef CCTEST_PROVE_JOINT_SCHEDULE_H
#define CCTEST_PROVE_JOINT_SCHEDULE_H

#include "base/arena.h"
#include "schedule/schedule.h"

#define NO_OPERATION UINT32_MAX /* no operation */

/* Lists of numbers for each of several things: those of i are items[start[i]] ..
 * items[start[i+1]-1]. */
struct index {
    uint32_t *start, *items;
};

/* A set of operations, in no order. */
struct runnable_set {
    uint32_t *items;
    uint32_t count;
};

struct joint_schedule {
    const struct schedule *const *schedules;
    int ranks;
    struct arena *memory; /* owns everything here */
    char *error;          /* where a failure is said, once */
    size_t error_size;

    uint32_t count; /* operations of all ranks; rank r's are first[r] .. first[r+1]-1 */
    uint32_t *first;
    const struct operation **operation; /* each of them, */
    size_t *length;                     /* how long it is */
    int *rank;                          /* and whose */
    uint32_t *previous, *next; /* the message before and after it on its lane, peer and direction */
    uint32_t *partner;         /* the other end of its message */
    uint32_t *channel;         /* which (from, to, lane) its message travels on; 0 .. channels-1 */
    uint32_t channels;
    struct index dependents;              /* operations that have waits on it */
    uint32_t *epoch;                      /* the epoch it belongs to, numbered over all ranks */
    uint32_t *epoch_first;                /* a rank's first epoch in that numbering */
    uint32_t *epoch_before, *epoch_after; /* in its scope; NO_OPERATION: none */
    struct index members;                 /* operations of an epoch */

    size_t
        *start; /* [rank * BUFFERS + buffer]: place of the buffer's element 0 in the flat memory */
    size_t places; /* elements of all storages of all ranks */

    /* The state of a run. */
    size_t *done;         /* elements that an operation has moved past */
    uint32_t *epoch_left; /* incomplete operations of an epoch */
    unsigned char *lazy;  /* which of the two sets an operation is in when it is awake */
    struct runnable_set runnable[2];
    uint32_t *seat; /* its index there; NO_OPERATION: asleep */
};

/* Checks each schedule by itself (lengths, extents, waits, epochs, peers) and pairs the messages of
 * all. NULL: something is wrong, and `error` says what. */
struct joint_schedule *joint_create(const struct schedule *const *schedules, int ranks, char *error,
                                    size_t size);
void joint_free(struct joint_schedule *joint); /* NULL is allowed */

/* Writes the one sentence; returns false. */
bool joint_fail(struct joint_schedule *joint, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* "rank 1's operation 3 (recv from rank 0, lane 2)". Valid as long as `text`. */
struct title {
    char text[96];
};
struct title joint_title(const struct joint_schedule *joint, uint32_t operation);

static inline const struct operation *joint_operation(const struct joint_schedule *joint,
                                                      uint32_t operation)
{
    return joint->operation[operation];
}

static inline bool joint_complete(const struct joint_schedule *joint, uint32_t operation)
{
    return joint->done[operation] == joint->length[operation];
}

/* Back to the start: nothing done, everything awake. */
void joint_reset(struct joint_schedule *joint);

/* An incomplete operation that must be complete before this one may begin, by fences and by the
 * order of messages on a lane; NO_OPERATION: it is open. */
uint32_t joint_closed_by(const struct joint_schedule *joint, uint32_t operation);

void joint_wake(struct joint_schedule *joint, uint32_t operation); /* unless it is complete */
void joint_sleep(struct joint_schedule *joint, uint32_t operation);

/* After done[operation] grew: wakes whom that may concern, at both ends of the lane. */
void joint_advanced(struct joint_schedule *joint, uint32_t operation);

/* Nothing moves any more: says who waits for whom, in a circle, after the words `how`. `holds_back`
 * names an incomplete operation that the given incomplete one waits for. Returns false. */
typedef uint32_t holds_back_function(void *context, uint32_t operation);
bool joint_fail_deadlock(struct joint_schedule *joint, const char *how,
                         holds_back_function *holds_back, void *context);

/* Takes the elements of a message one by one, as places in the flat memory. */
struct walk {
    const struct span *span;
    const size_t *start; /* the rank's buffers */
    size_t time, offset;
};

static inline struct walk joint_walk(const struct joint_schedule *joint, int rank,
                                     const struct message *message)
{
    return (struct walk){.span = message->spans, .start = &joint->start[rank * BUFFERS]};
}

static inline size_t walk_next(struct walk *walk)
{
    while (walk->time == walk->span->times || !walk->span->run) {
        walk->span++;
        walk->time = 0;
    }
    const struct span *span = walk->span;
    size_t place =
        walk->start[span->buffer] + span->offset + walk->time * span->stride + walk->offset;

    if (++walk->offset == span->run) {
        walk->offset = 0;
        walk->time++;
    }
    return place;
}

#endif
