/*
 * fault.h - injected faults, to test the tester (--inject): one incoming message is corrupted or
 * dropped.
 *
 * The message travels as any other, so its sender notices nothing. Operations that wait for it see
 * it only when it is complete, and by then the damage is done.
 */
#ifndef CCTEST_EXECUTE_FAULT_H
#define CCTEST_EXECUTE_FAULT_H

#include "memory/transfer.h"
#include "schedule/schedule.h"

enum fault_kind {
    FAULT_NONE,
    FAULT_CORRUPT, /* one bit of one of its elements flips on arrival */
    FAULT_DROP,    /* it is received and ignored */
};

struct fault {
    enum fault_kind kind;
    int countdown; /* incoming messages before the one that is struck */
    char *aside;   /* where a dropped message lands */
    struct piece aside_piece;
    struct transfer told; /* the transfer as it was meant */
};

/* Is the next operation of the schedule, of this kind, the one that is struck? Asked in program
 * order. */
bool fault_strikes(struct fault *fault, enum operation_kind kind);

/* Before the struck transfer is posted. False: out of memory. */
bool fault_begin(struct fault *fault, struct transfer *transfer);

/* When it is complete: the damage is done, the transfer is as before, the fault is over. */
void fault_finish(struct fault *fault, struct transfer *transfer);

/* Forgets a fault that is under way. */
void fault_end(struct fault *fault);

#endif
