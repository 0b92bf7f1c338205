/*
 * shake.h - runs the schedules of all ranks byte by byte in random order, to find missing
 * conflicts.
 *
 * The verifier runs whole operations; the shaker runs them as streaming does. First comes the
 * reference: each rank's program from top to bottom, which defines the meaning of a schedule. Then
 * all operations of the open epochs are open at once. Random choices decide which one moves next
 * and how far, within operation_limit(), through slots of bounded size and number. If a wait is
 * missing, some order gives different bytes.
 */
#ifndef CCTEST_TEST_SHAKE_H
#define CCTEST_TEST_SHAKE_H

#include <stdio.h>
#include <string.h>

#include "base/numbers.h"
#include "collective/prove/prove.h"
#include "collective/schedule/schedule.h"

/* The values that shake() draws from its seed, for a caller that needs one particular run. */
struct shaking {
    uint64_t seed;            /* of the inputs and of all random choices */
    size_t slots, slot_bytes; /* of every lane from one rank to another; at least 1 */
    size_t most;              /* bytes that one operation moves at a time; at least 1 */
    /* Lazy operations are served only when no other can move, so that all others overtake them as
     * far as the waits allow. Lazy are one operation in `lazy_share` (0: none), and operation
     * `lazy_operation` of rank `lazy_rank` (-1: all of its operations; lazy_rank -1: none). */
    unsigned lazy_share;
    int lazy_rank, lazy_operation;
};

/* The bytes in flight from one rank to another on one lane: a ring of slots. One move of the sender
 * fills a slot; one or more moves of the receiver empty it. */
struct lane_queue {
    unsigned char *bytes; /* slots * slot_bytes */
    size_t *filled;       /* bytes in each slot */
    size_t head, used;    /* the oldest slot in use, and the number in use */
    size_t taken;         /* bytes received from the oldest */
    uint32_t sending;     /* the first incomplete send; NO_OPERATION: none */
};

struct shaker {
    struct joint_schedule *joint;
    const struct shaking *shaking;
    uint64_t random;
    unsigned char *bytes, *reference; /* the memory of all ranks in either run */
    unsigned char **sent;             /* reference: the bytes of an executed send; else NULL */
    unsigned char *sent_bytes;        /* the memory of all of them */
    size_t *sent_start;               /* of each send in it */
    struct lane_queue *queues;
    struct walk *walks;   /* [operation * 3]: the progress of its to, from and with */
    size_t *waits_past;   /* the cursors of operation_limit() */
    uint32_t *at;         /* reference: the next operation of each rank */
    unsigned char *ahead; /* reference: how operations that were skipped will touch an element */
};

enum side { TO, FROM, WITH, SIDES };

/* Preparation. */

static inline void walks_start(struct shaker *s)
{
    struct joint_schedule *joint = s->joint;

    for (uint32_t g = 0; g < joint->count; g++) {
        const struct operation *operation = joint_operation(joint, g);
        struct walk *walks = &s->walks[(size_t)g * SIDES];

        walks[TO] = joint_walk(joint, joint->rank[g], &operation->to);
        walks[FROM] = joint_walk(joint, joint->rank[g], &operation->from);
        walks[WITH] = joint_walk(joint, joint->rank[g], &operation->with);
    }
}

static inline bool prepare_channels(struct shaker *s)
{
    struct joint_schedule *joint = s->joint;
    size_t slots = s->shaking->slots, bytes = s->shaking->slot_bytes;

    s->queues = arena_take(joint->memory, (joint->channels + 1) * sizeof(*s->queues));
    if (!s->queues)
        return joint_fail(joint, OUT_OF_MEMORY);
    for (uint32_t c = 0; c < joint->channels; c++) {
        s->queues[c] =
            (struct lane_queue){.sending = NO_OPERATION,
                                .bytes = arena_take(joint->memory, slots * bytes),
                                .filled = arena_take(joint->memory, slots * sizeof(size_t))};
        if (!s->queues[c].bytes || !s->queues[c].filled)
            return joint_fail(joint, OUT_OF_MEMORY);
    }
    for (uint32_t g = 0; g < joint->count; g++)
        if (joint_operation(joint, g)->kind == OPERATION_SEND && joint->previous[g] == NO_OPERATION)
            s->queues[joint->channel[g]].sending = g;
    return true;
}

/* Both runs begin with the same random bytes everywhere. So a byte that is not written differs from
 * the right one in 255 of 256 cases. */
static inline bool prepare(struct shaker *s)
{
    struct joint_schedule *joint = s->joint;
    size_t count = joint->count + 1, sent = 0;

    s->bytes = arena_take(joint->memory, joint->elements + sizeof(uint64_t)); /* filled by eights */
    s->reference = arena_take(joint->memory, joint->elements + 1);
    s->ahead = arena_take(joint->memory, joint->elements + 1);
    s->sent = arena_take(joint->memory, count * sizeof(*s->sent));
    s->sent_start = arena_take(joint->memory, count * sizeof(*s->sent_start));
    for (uint32_t g = 0; s->sent_start && g < joint->count; g++) {
        s->sent_start[g] = sent;
        if (joint_operation(joint, g)->kind == OPERATION_SEND)
            sent += joint->length[g];
    }
    s->sent_bytes = arena_take(joint->memory, sent + 1);
    s->walks = arena_take(joint->memory, count * SIDES * sizeof(*s->walks));
    s->waits_past = arena_take(joint->memory, count * sizeof(*s->waits_past));
    s->at = arena_take(joint->memory, (size_t)joint->ranks * sizeof(*s->at));
    if (!s->bytes || !s->reference || !s->ahead || !s->sent || !s->sent_start || !s->sent_bytes ||
        !s->walks || !s->waits_past || !s->at)
        return joint_fail(joint, OUT_OF_MEMORY);
    memset(s->sent, 0, count * sizeof(*s->sent));
    memset(s->waits_past, 0, count * sizeof(*s->waits_past));
    for (size_t i = 0; i < joint->elements; i += sizeof(uint64_t)) {
        uint64_t random = random_next(&s->random);

        memcpy(s->bytes + i, &random, sizeof(random));
    }
    memcpy(s->reference, s->bytes, joint->elements);
    return prepare_channels(s);
}

/* Moves `length` bytes of an operation. A receive takes them from `incoming`, a send puts them into
 * `outgoing`. Combining is a + 3b, which does not commute: so two reductions in the wrong order
 * show, too, as they would in the last bits of a float. */
static inline void move_bytes(struct shaker *s, unsigned char *memory, uint32_t g, size_t length,
                              const unsigned char *incoming, unsigned char *outgoing)
{
    enum operation_kind kind = joint_operation(s->joint, g)->kind;
    struct walk *walks = &s->walks[(size_t)g * SIDES];

    for (size_t i = 0; i < length; i++) {
        unsigned byte = incoming ? incoming[i] : memory[walk_next(&walks[FROM])];

        if (kind == OPERATION_REDUCE || kind == OPERATION_RECV_REDUCE)
            byte += 3 * memory[walk_next(&walks[WITH])];
        if (kind == OPERATION_SEND)
            outgoing[i] = (unsigned char)byte;
        else
            memory[walk_next(&walks[TO])] = (unsigned char)byte;
    }
}

/* The reference. It does not read the waits; it compares memory. */

/* Executes a whole operation; false: its message has not been sent yet. */
static inline bool execute(struct shaker *s, uint32_t g)
{
    struct joint_schedule *joint = s->joint;
    const struct operation *operation = joint_operation(joint, g);
    bool receives = operation_travels(operation->kind) && operation->kind != OPERATION_SEND;
    unsigned char *incoming = receives ? s->sent[joint->partner[g]] : NULL;

    if (receives && !incoming)
        return false;
    if (operation->kind == OPERATION_SEND)
        s->sent[g] = &s->sent_bytes[s->sent_start[g]];
    move_bytes(s, s->reference, g, operation->length, incoming, s->sent[g]);
    joint->done[g] = operation->length;
    return true;
}

enum { WILL_READ = 1, WILL_WRITE = 2 };

/* Does a message touch an element that a skipped operation will touch in one of `ways`? */
static inline bool conflicts(const struct shaker *s, uint32_t g, const struct message *message,
                             int ways)
{
    struct walk walk = joint_walk(s->joint, s->joint->rank[g], message);

    for (size_t i = message->count ? s->joint->length[g] : 0; i > 0; i--)
        if (s->ahead[walk_next(&walk)] & ways)
            return true;
    return false;
}

static inline void pass_over(struct shaker *s, uint32_t g, const struct message *message, int way)
{
    struct walk walk = joint_walk(s->joint, s->joint->rank[g], message);

    for (size_t i = message->count ? s->joint->length[g] : 0; i > 0; i--)
        s->ahead[walk_next(&walk)] |= (unsigned char)way;
}

/* A program may list receives before the sends that its peer waits for. So a rank that is stuck in
 * a receive skips it, and executes later operations that touch no memory of the skipped ones. That
 * does not change the program's meaning. */
static inline bool run_ahead(struct shaker *s, int rank)
{
    struct joint_schedule *joint = s->joint;
    bool moved = false;

    memset(s->ahead, 0, joint->elements);
    for (uint32_t g = s->at[rank]; g < joint->first[rank + 1]; g++) {
        const struct operation *operation = joint_operation(joint, g);

        if (joint_complete(joint, g))
            continue;
        if (!conflicts(s, g, &operation->from, WILL_WRITE) &&
            !conflicts(s, g, &operation->with, WILL_WRITE) &&
            !conflicts(s, g, &operation->to, WILL_WRITE | WILL_READ) && execute(s, g)) {
            moved = true;
            continue;
        }
        pass_over(s, g, &operation->from, WILL_READ);
        pass_over(s, g, &operation->with, WILL_READ);
        pass_over(s, g, &operation->to, WILL_WRITE);
    }
    return moved;
}

static inline uint32_t held_back_in_order(void *context, uint32_t g)
{
    struct shaker *s = context;
    struct joint_schedule *joint = s->joint;

    return s->at[joint->rank[g]] == g ? joint->partner[g] : s->at[joint->rank[g]];
}

static inline bool run_in_order(struct shaker *s)
{
    struct joint_schedule *joint = s->joint;
    bool moved = true, complete = false;

    walks_start(s);
    memcpy(s->at, joint->first, (size_t)joint->ranks * sizeof(*s->at));
    while (moved && !complete) {
        moved = false;
        complete = true;
        for (int r = 0; r < joint->ranks; r++) {
            uint32_t *at = &s->at[r];

            for (; *at < joint->first[r + 1] && (joint_complete(joint, *at) || execute(s, *at));
                 ++*at)
                moved = true;
            complete = complete && *at == joint->first[r + 1];
        }
        for (int r = 0; r < joint->ranks && !moved && !complete; r++)
            moved = run_ahead(s, r);
    }
    return complete ||
           joint_fail_deadlock(joint, "deadlock in program order", held_back_in_order, s);
}

/* The shaken run. */

/* The bytes that an operation may move now, by its waits and its lane. */
static inline size_t room_for(struct shaker *s, uint32_t g, uint32_t *waits_for)
{
    struct joint_schedule *joint = s->joint;
    const struct operation *operation = joint_operation(joint, g);
    uint32_t first = joint->first[joint->rank[g]];
    size_t room = operation_limit(operation, &joint->done[first], 1, &s->waits_past[g], waits_for) -
                  joint->done[g];

    if (*waits_for != UINT32_MAX)
        *waits_for += first;
    if (!room || !operation_travels(operation->kind))
        return room;

    const struct lane_queue *queue = &s->queues[joint->channel[g]];
    size_t most;
    if (operation->kind == OPERATION_SEND)
        most = queue->used < s->shaking->slots ? s->shaking->slot_bytes : 0;
    else
        most = queue->used ? queue->filled[queue->head] - queue->taken : 0;
    if (!most)
        *waits_for = joint->partner[g];
    return room < most ? room : most;
}

static inline void move_on_channel(struct shaker *s, uint32_t g, size_t length)
{
    struct joint_schedule *joint = s->joint;
    struct lane_queue *queue = &s->queues[joint->channel[g]];
    size_t slots = s->shaking->slots, bytes = s->shaking->slot_bytes;

    if (joint_operation(joint, g)->kind == OPERATION_SEND) {
        size_t slot = (queue->head + queue->used++) % slots;

        queue->filled[slot] = length;
        move_bytes(s, s->bytes, g, length, NULL, queue->bytes + slot * bytes);
        return;
    }
    move_bytes(s, s->bytes, g, length, queue->bytes + queue->head * bytes + queue->taken, NULL);
    queue->taken += length;
    if (queue->taken == queue->filled[queue->head]) {
        queue->head = (queue->head + 1) % slots;
        queue->used--;
        queue->taken = 0;
        if (queue->sending != NO_OPERATION)
            joint_wake(joint, queue->sending);
    }
}

/* Moves an operation by a random number of bytes; puts it to sleep if it cannot move. */
static inline void move(struct shaker *s, uint32_t g)
{
    struct joint_schedule *joint = s->joint;
    const struct operation *operation = joint_operation(joint, g);
    uint32_t waits_for;
    size_t room = joint_closed_by(joint, g) == NO_OPERATION ? room_for(s, g, &waits_for) : 0;

    if (!room) {
        joint_sleep(joint, g);
        return;
    }
    if (room > s->shaking->most)
        room = s->shaking->most;
    size_t length = 1 + random_below(&s->random, room);

    if (operation_travels(operation->kind))
        move_on_channel(s, g, length);
    else
        move_bytes(s, s->bytes, g, length, NULL, NULL);
    joint->done[g] += length;
    if (operation->kind == OPERATION_SEND && joint_complete(joint, g))
        s->queues[joint->channel[g]].sending = joint->next[g];
    joint_advanced(joint, g);
}

static inline uint32_t held_back(void *context, uint32_t g)
{
    struct shaker *s = context;
    struct joint_schedule *joint = s->joint;
    uint32_t waits_for = joint_closed_by(joint, g);

    if (waits_for != NO_OPERATION)
        return waits_for;
    room_for(s, g, &waits_for);
    /* A full lane may be full of earlier messages: then the first incomplete receive holds it
     * back. */
    while (waits_for != NO_OPERATION && waits_for == joint->partner[g] &&
           joint->previous[waits_for] != NO_OPERATION &&
           !joint_complete(joint, joint->previous[waits_for]))
        waits_for = joint->previous[waits_for];
    return waits_for;
}

static inline void choose_lazy(struct shaker *s)
{
    const struct shaking *shaking = s->shaking;
    struct joint_schedule *joint = s->joint;

    for (uint32_t g = 0; g < joint->count; g++) {
        bool named = joint->rank[g] == shaking->lazy_rank &&
                     (shaking->lazy_operation < 0 ||
                      g - joint->first[joint->rank[g]] == (uint32_t)shaking->lazy_operation);

        joint->lazy[g] =
            named || (shaking->lazy_share && !random_below(&s->random, shaking->lazy_share));
    }
}

static inline bool run_shaken(struct shaker *s)
{
    struct joint_schedule *joint = s->joint;

    choose_lazy(s);
    joint_reset(joint);
    walks_start(s);
    while (joint->runnable[0].count || joint->runnable[1].count) {
        const struct runnable_set *runnable = &joint->runnable[joint->runnable[0].count ? 0 : 1];

        move(s, runnable->items[random_below(&s->random, runnable->count)]);
    }
    for (uint32_t g = 0; g < joint->count; g++)
        if (!joint_complete(joint, g))
            return joint_fail_deadlock(joint, "deadlock in a shaken order", held_back, s);
    return true;
}

static inline bool compare(struct shaker *s)
{
    struct joint_schedule *joint = s->joint;

    for (int r = 0; r < joint->ranks; r++) {
        size_t start = joint->start[r * BUFFERS + BUFFER_DESTINATION];

        for (size_t i = 0; i < joint->schedules[r]->extent[BUFFER_DESTINATION]; i++)
            if (s->bytes[start + i] != s->reference[start + i])
                return joint_fail(joint,
                                  "rank %d's destination element %zu depends on the order in "
                                  "which operations are served: 0x%02x in program order, 0x%02x "
                                  "when shaken with seed %llu",
                                  r, i, s->reference[start + i], s->bytes[start + i],
                                  (unsigned long long)s->shaking->seed);
    }
    return true;
}

static inline bool shake_as(const struct schedule *const *schedules, int ranks,
                            const struct shaking *shaking, char *error, size_t size)
{
    struct shaker s = {.joint = joint_create(schedules, ranks, error, size),
                       .shaking = shaking,
                       .random = shaking->seed};

    if (!s.joint)
        return false;
    joint_reset(s.joint);
    bool right = prepare(&s) && run_in_order(&s) && run_shaken(&s) && compare(&s);
    joint_free(s.joint);
    return right;
}

/* Bytes that pieces are multiples of, so that long messages take no more of them than short ones.
 */
static inline size_t shake_grain_of(const struct schedule *const *schedules, int ranks)
{
    size_t longest = 0;

    for (int r = 0; r < ranks; r++)
        for (size_t i = 0; i < schedules[r]->count; i++)
            if (schedules[r]->operations[i].length > longest)
                longest = schedules[r]->operations[i].length;
    return 1 + longest / 32;
}

/* Serves ready operations in random order and random pieces, through slots of random size and
 * number, one byte an element, and compares every rank's destination with the result of program
 * order. Combining does not commute here, so a wrong order of reductions shows, too. Returns false
 * with the difference, or the deadlock, in `error`. */
static inline bool shake(const struct schedule *const *schedules, int ranks, uint64_t seed,
                         char *error, size_t size)
{
    uint64_t random = ~seed;
    size_t grain = shake_grain_of(schedules, ranks);
    struct shaking shaking = {
        .seed = seed,
        .slots = (size_t)1 << random_below(&random, 5),
        .slot_bytes = grain << random_below(&random, 6),
        .most = random_below(&random, 2) ? grain * (1 + random_below(&random, 4)) : SIZE_MAX,
        .lazy_rank = -1,
        .lazy_operation = -1,
    };

    switch (random_below(&random, 4)) {
    case 0: /* one rank is slow */
        shaking.lazy_rank = (int)random_below(&random, (uint64_t)ranks);
        break;
    case 1: /* some operations are slow */
        shaking.lazy_share = 2 + (unsigned)random_below(&random, 15);
        break;
    case 2: /* one operation is slow */
        shaking.lazy_rank = (int)random_below(&random, (uint64_t)ranks);
        if (schedules[shaking.lazy_rank]->count)
            shaking.lazy_operation =
                (int)random_below(&random, schedules[shaking.lazy_rank]->count);
        break;
    default: /* no operation is slow */
        break;
    }
    return shake_as(schedules, ranks, &shaking, error, size);
}

#endif
