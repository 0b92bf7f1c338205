/*
 * stage.h - all ranks of a collective, run operation by operation in one thread, with a fault.
 */
#ifndef CCTEST_TESTS_STAGE_H
#define CCTEST_TESTS_STAGE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "collective/schedule/schedule.h"
#include "run/check/check.h"
#include "tests/unit/card_memory.h"

#define MANY    64   /* ranks, at most */
#define LONGEST 8192 /* messages, at most */

enum blow_kind {
    BLOW_MESSAGE, /* the message of this number that a rank receives */
    BLOW_WORK,    /* what it makes in the local operation of this number */
    BLOW_MEMORY,  /* its memory, before its operation of this number */
};

/* Where a fault strikes. */
struct blow {
    enum blow_kind kind;
    int rank, number;
    size_t position; /* of the elements there, modulo their number */
    int byte;
    unsigned char change; /* 0: the message is lost */
    int from;             /* out: the sender; -1: it has not struck */
};

struct parcel {
    int from, to, lane;
    bool taken;
    unsigned char *data;
};

struct stage {
    const struct problem *problem;
    const struct inputs *inputs;
    size_t size;
    struct schedule *schedules[MANY];
    unsigned char *memory[MANY][BUFFERS];
    size_t bytes[MANY][BUFFERS];
    size_t *done[MANY]; /* by operation: its length, or 0 */
    struct parcel parcels[LONGEST];
    int parcel_count;
    int struck[MANY][BLOW_MEMORY + 1]; /* by rank and kind: how often it could have been */
    struct blow *blow;
    struct evidence_log *logs; /* by rank */
};

/* Element `index` of a message of a rank. */
static inline unsigned char *stage_at(struct stage *stage, int rank, struct message message,
                                      size_t index)
{
    int storage;
    size_t at;
    message_locate(stage->schedules[rank], message, index, &storage, &at);
    return stage->memory[rank][storage] + at * stage->size;
}

static inline struct parcel *parcel_find(struct stage *stage, int rank,
                                         const struct operation *operation)
{
    for (int i = 0; i < stage->parcel_count; i++) {
        struct parcel *parcel = &stage->parcels[i];
        if (!parcel->taken && parcel->to == rank && parcel->from == operation->peer &&
            parcel->lane == operation->lane)
            return parcel;
    }
    return NULL;
}

/* Does the fault strike this operation? */
static inline bool blow_strikes(struct stage *stage, int rank, const struct operation *operation,
                                enum blow_kind kind)
{
    struct blow *blow = stage->blow;
    int number = stage->struck[rank][kind]++;
    if (blow->kind != kind || blow->rank != rank || blow->number != number)
        return false;
    blow->from = kind == BLOW_MESSAGE ? operation->peer : rank;
    return true;
}

static inline void blow_alter(struct stage *stage, unsigned char *element)
{
    element[(size_t)stage->blow->byte % stage->size] ^= stage->blow->change;
}

/* As it arrives. True: it is lost. */
static inline bool parcel_strike(struct stage *stage, int rank, const struct operation *operation,
                                 struct parcel *parcel)
{
    if (!blow_strikes(stage, rank, operation, BLOW_MESSAGE))
        return false;
    if (stage->blow->change == 0)
        memset(parcel->data, PATTERN_POISON, operation->length * stage->size);
    else
        blow_alter(stage, parcel->data + stage->blow->position % operation->length * stage->size);
    return stage->blow->change == 0;
}

static inline void stage_send(struct stage *stage, int rank, const struct operation *operation)
{
    struct parcel *parcel = &stage->parcels[stage->parcel_count++];
    assert_true(stage->parcel_count < LONGEST);
    *parcel = (struct parcel){.from = rank,
                              .to = operation->peer,
                              .lane = operation->lane,
                              .data = malloc(operation->length * stage->size)};
    for (size_t i = 0; i < operation->length; i++)
        memcpy(parcel->data + i * stage->size, stage_at(stage, rank, operation->from, i),
               stage->size);
}

/* An element of any buffer of the rank. */
static inline void memory_strike(struct stage *stage, int rank, struct evidence_log *log)
{
    const struct schedule *schedule = stage->schedules[rank];
    size_t buffer = stage->blow->position % BUFFERS, at = stage->blow->position / BUFFERS;
    size_t count = stage->bytes[rank][buffer] / stage->size;
    if (count == 0)
        return;
    blow_alter(stage, stage->memory[rank][buffer] + at % count * stage->size);
    log->source_changed |= (int)buffer == schedule->storage[BUFFER_SOURCE];
}

/* to = what the operation makes of its operands, element by element. */
static inline void stage_make(struct stage *stage, int rank, const struct operation *operation,
                              const unsigned char *incoming, bool skips)
{
    const struct inputs *inputs = stage->inputs;
    bool travels = operation_travels(operation->kind);
    bool combines = operation->kind == OPERATION_REDUCE || operation->kind == OPERATION_RECV_REDUCE;
    size_t strikes = SIZE_MAX;
    if (!travels && blow_strikes(stage, rank, operation, BLOW_WORK))
        strikes = stage->blow->position % operation->length;
    if (operation->kind == OPERATION_RECV_REDUCE && blow_strikes(stage, rank, operation, BLOW_WORK))
        strikes = stage->blow->position % operation->length;
    for (size_t i = 0; i < operation->length; i++) {
        _Alignas(16) unsigned char from[DATATYPE_SIZE_MOST], with[DATATYPE_SIZE_MOST],
            made[DATATYPE_SIZE_MOST];
        memcpy(from,
               travels ? incoming + i * stage->size : stage_at(stage, rank, operation->from, i),
               stage->size);
        if (combines)
            memcpy(with, stage_at(stage, rank, operation->with, i), stage->size);
        if (combines && skips)
            memcpy(made, with, stage->size);
        else if (combines)
            reduce_kernel(inputs->datatype, inputs->reduction)(made, with, from, 1);
        else if (operation->kind == OPERATION_FINISH)
            finish_kernel(inputs->datatype, inputs->reduction)(made, from, 1, inputs->ranks);
        else
            memcpy(made, from, stage->size);
        if (i == strikes)
            blow_alter(stage, made);
        memcpy(stage_at(stage, rank, operation->to, i), made, stage->size);
    }
}

/* May operation `index` run, since all that it conflicts with has run, and all messages before it
 * on its lane? Ranks may write a receive before the send that another waits for. */
static inline bool stage_may(struct stage *stage, int rank, size_t index)
{
    const struct schedule *schedule = stage->schedules[rank];
    const struct operation *operation = &schedule->operations[index];
    size_t first = 0;
    uint32_t waiting_for;
    if (stage->done[rank][index] > 0 ||
        operation_limit(operation, stage->done[rank], 1, &first, &waiting_for) < operation->length)
        return false;
    for (size_t i = 0; i < index && operation_travels(operation->kind); i++) {
        const struct operation *before = &schedule->operations[i];
        if (operation_travels(before->kind) && stage->done[rank][i] == 0 &&
            before->peer == operation->peer && before->lane == operation->lane &&
            (before->kind == OPERATION_SEND) == (operation->kind == OPERATION_SEND))
            return false;
    }
    return true;
}

/* Runs an operation; false: it waits. */
static inline bool stage_step(struct stage *stage, int rank, size_t index)
{
    const struct operation *operation = &stage->schedules[rank]->operations[index];
    struct parcel *parcel = NULL;
    bool skips = false;
    if (!stage_may(stage, rank, index))
        return false;
    if (operation_travels(operation->kind) && operation->kind != OPERATION_SEND &&
        !(parcel = parcel_find(stage, rank, operation)))
        return false;
    if (blow_strikes(stage, rank, operation, BLOW_MEMORY))
        memory_strike(stage, rank, &stage->logs[rank]);
    if (operation->kind == OPERATION_SEND) {
        stage_send(stage, rank, operation);
    } else {
        if (parcel) {
            parcel->taken = true;
            skips = parcel_strike(stage, rank, operation, parcel);
        }
        stage_make(stage, rank, operation, parcel ? parcel->data : NULL, skips);
    }
    stage->done[rank][index] = operation->length;
    return true;
}

/* One after the other, as far as they go. */
static inline void stage_go(struct stage *stage)
{
    for (bool moved = true; moved;) {
        moved = false;
        for (int r = 0; r < stage->problem->ranks; r++)
            for (size_t i = 0; i < stage->schedules[r]->count; i++)
                moved |= stage_step(stage, r, i);
    }
    for (int r = 0; r < stage->problem->ranks; r++)
        for (size_t i = 0; i < stage->schedules[r]->count; i++)
            assert_true(stage->done[r][i] > 0);
}

/* Runs it, and adds what is wrong to the logs. */
static inline void stage_run(struct stage *stage, const struct inputs *inputs, struct blow *blow,
                             struct evidence_log *logs)
{
    const struct pattern pattern = {.problem = *stage->problem, .inputs = *inputs};
    int ranks = stage->problem->ranks;
    stage->inputs = inputs;
    stage->blow = blow;
    stage->logs = logs;
    stage->parcel_count = 0;
    memset(stage->struck, 0, sizeof stage->struck);
    for (int r = 0; r < ranks; r++) {
        const struct schedule *schedule = stage->schedules[r];
        stage->done[r] = calloc(schedule->count + 1, sizeof *stage->done[r]);
        schedule_bytes(schedule, stage->size, stage->bytes[r]);
        for (int b = 0; b < BUFFERS; b++) {
            stage->memory[r][b] = malloc(stage->bytes[r][b] + 16);
            memset(stage->memory[r][b], PATTERN_POISON, stage->bytes[r][b]);
        }
        inputs_make(inputs, r, 0, schedule->extent[BUFFER_SOURCE],
                    stage->memory[r][schedule->storage[BUFFER_SOURCE]] +
                        schedule->base[BUFFER_SOURCE] * stage->size);
    }
    stage_go(stage);
    for (int r = 0; r < ranks; r++) {
        const struct schedule *schedule = stage->schedules[r];
        struct finding finding;
        free(stage->done[r]);
        assert_int_equal(check_result(&(struct memory){.kind = &memory_host}, &pattern, r,
                                      stage->memory[r][schedule->storage[BUFFER_DESTINATION]] +
                                          schedule->base[BUFFER_DESTINATION] * stage->size,
                                      &finding),
                         STATUS_OK);
        if (finding.kind != FINDING_NONE)
            evidence_log_add(&logs[r], &finding.evidence);
    }
    for (int r = 0; r < ranks; r++)
        for (int b = 0; b < BUFFERS; b++)
            free(stage->memory[r][b]);
    for (int i = 0; i < stage->parcel_count; i++)
        free(stage->parcels[i].data);
}

#endif
