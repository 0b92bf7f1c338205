/*
 * prove.h - the interface of collective/prove/.
 */
#ifndef CCTEST_COLLECTIVE_PROVE_PROVE_H
#define CCTEST_COLLECTIVE_PROVE_PROVE_H

#include "base/arena.h"
#include "collective/schedule/schedule.h"

/* ---- The schedules of all ranks side by side in one process.
 *
 * The common base of the verifier and the shaker: one numbering of all ranks' operations, pairs of
 * sends and receives, one flat memory for all buffers of all ranks, open and runnable operations,
 * and the description of a deadlock.
 * ---- */

#define NO_OPERATION UINT32_MAX /* no operation */

#define OUT_OF_MEMORY "out of memory to prove the schedules: use fewer ranks"

/* Lists of numbers: list i is items[start[i]] .. items[start[i+1]-1]. */
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
    char *error;          /* receives the sentence of a failure */
    size_t error_size;

    uint32_t count; /* operations of all ranks; rank r's are first[r] .. first[r+1]-1 */
    uint32_t *first;
    const struct operation **operation; /* by this numbering, as are the next fields */
    size_t *length;
    int *rank;
    uint32_t *previous, *next; /* the message before and after it on its lane, peer and direction */
    uint32_t *partner;         /* the other end of its message */
    uint32_t *channel;         /* the (from, to, lane) of its message; 0 .. channels-1 */
    uint32_t channels;
    struct index dependents;              /* operations that wait for it */
    uint32_t *epoch;                      /* its epoch, numbered over all ranks */
    uint32_t *epoch_first;                /* a rank's first epoch in that numbering */
    uint32_t *epoch_before, *epoch_after; /* in its scope; NO_OPERATION: none */
    struct index members;                 /* operations of an epoch */

    size_t *start;   /* [rank * BUFFERS + buffer]: of the buffer's element 0 in the flat memory */
    size_t elements; /* elements of all storages of all ranks */

    /* The state of a run. */
    size_t *done;         /* elements that an operation has moved past */
    uint32_t *epoch_left; /* incomplete operations of an epoch */
    unsigned char *lazy;  /* the index of the set that an operation is in when it is runnable */
    struct runnable_set runnable[2];
    uint32_t *slot; /* its index in the set; NO_OPERATION: it sleeps */
};

/* Checks each schedule (lengths, extents, waits, epochs, peers) and pairs the messages of all.
 * NULL, with a sentence in `error`: something is wrong, or memory ran out. */
struct joint_schedule *joint_create(const struct schedule *const *schedules, int ranks, char *error,
                                    size_t size);
void joint_free(struct joint_schedule *joint); /* NULL is allowed */

/* Writes the sentence of the failure; returns false. */
bool joint_fail(struct joint_schedule *joint, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* "rank 1's operation 3 (recv from rank 0, lane 2)". Valid as long as `text`. */
struct title {
    char text[96];
};
struct title joint_title(const struct joint_schedule *joint, uint32_t number);

static inline const struct operation *joint_operation(const struct joint_schedule *joint,
                                                      uint32_t operation)
{
    return joint->operation[operation];
}

static inline bool joint_complete(const struct joint_schedule *joint, uint32_t operation)
{
    return joint->done[operation] == joint->length[operation];
}

/* Back to the start: no operation has moved, all are runnable. */
void joint_reset(struct joint_schedule *joint);

/* An incomplete operation that must complete before this one may begin, by fences and by the order
 * of messages on a lane; NO_OPERATION: this one is open. */
uint32_t joint_closed_by(const struct joint_schedule *joint, uint32_t operation);

void joint_wake(struct joint_schedule *joint, uint32_t operation); /* unless it is complete */
void joint_sleep(struct joint_schedule *joint, uint32_t operation);

/* To be called after done[operation] grew: wakes the operations that may now move. */
void joint_advanced(struct joint_schedule *joint, uint32_t operation);

/* No operation can move: describes the circle of waits, after the words `how`. `holds_back` returns
 * an incomplete operation that the given incomplete one waits for. Returns false. */
typedef uint32_t holds_back_function(void *context, uint32_t operation);
bool joint_fail_deadlock(struct joint_schedule *joint, const char *how,
                         holds_back_function *holds_back, void *context);

/* Visits the elements of a message one by one, as indices of the flat memory. */
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
    size_t index =
        walk->start[span->buffer] + span->offset + walk->time * span->stride + walk->offset;

    if (++walk->offset == span->run) {
        walk->offset = 0;
        walk->time++;
    }
    return index;
}

/* ---- Proves schedules: runs all ranks' programs in one process, on symbols.
 *
 * The verifier runs the schedules of all ranks with unbuffered channels and whole operations. An
 * element holds a symbol: the multiset of contributions (rank, source element) to it. The verifier
 * proves that every send meets a receive of the same length, that no deadlock occurs, that no
 * operation reads an unwritten element, or writes to a source or outside a buffer, and that every
 * destination element is exactly that of the contract.
 * ---- */

struct verification {
    bool right;
    char error[512]; /* if not: one sentence with rank, operation and element */
    /* Counted. */
    int steps;                   /* rounds: the maximum of all ranks */
    size_t *messages, *elements; /* sent by each rank; freed by verification_free() */
};

/* `schedules[r]` is rank r's, all of one problem. `idempotent`: contributions are a set (min, max,
 * bor), not a multiset. */
void verify(const struct schedule *const *schedules, int ranks, bool idempotent,
            struct verification *verification);

/* The same, and where the elements of operations come from: origins[r] has a number for each
 * element of each operation of rank r, one operation after the other. It is a source element that
 * contributes to what the operation moves: source elements are counted from 0 over all ranks. The
 * arrays are the caller's. */
void verify_origins(const struct schedule *const *schedules, int ranks, bool idempotent,
                    uint32_t *const *origins, struct verification *verification);
void verification_free(struct verification *verification);

#endif
