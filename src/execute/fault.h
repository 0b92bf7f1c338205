/*
 * fault.h - the faults that a plan inflicts on one of its incoming messages (--inject).
 *
 * The message that is struck travels as any other, so its peer notices nothing; it is kept from
 * those who wait for it until it is complete, and by then the damage is done.
 */
#ifndef CCTEST_EXECUTE_FAULT_H
#define CCTEST_EXECUTE_FAULT_H

#include "execute/executor.h"

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
