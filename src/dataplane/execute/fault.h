/*
 * fault.h - injected faults, to test the tester (--inject): one incoming message is corrupted or
 * dropped.
 *
 * The message travels as any other, so its sender notices nothing. Operations that wait for it see
 * it only when it is complete, and by then the damage is done.
 */
#ifndef CCTEST_DATAPLANE_EXECUTE_FAULT_H
#define CCTEST_DATAPLANE_EXECUTE_FAULT_H

#include "dataplane/execute/fault_kind.h"
#include "dataplane/memory/memory.h"
#include "collective/schedule/schedule.h"

struct fault {
    enum fault_kind kind;
    int countdown;            /* incoming messages before the chosen one */
    struct piece landing;     /* where a dropped message lands */
    struct transfer original; /* the transfer without the fault */
};

/* Is the next operation, of this kind, the chosen message? Called for each, in program order. */
bool fault_strikes(struct fault *fault, enum operation_kind kind);

/* Before the chosen transfer is posted. A dropped message lands at `spare`. */
void fault_begin(struct fault *fault, struct transfer *transfer, char *spare);

/* When it is complete: does the damage in this memory, restores the transfer, ends the fault. */
enum status fault_finish(struct fault *fault, struct transfer *transfer,
                         const struct memory *memory);

#endif
