/*
 * counting.h - what hosts count before and after each stage: errors of NICs, interfaces, GPUs, PCIe and
 * memory, and what TCP sent again. What grew is evidence with a name.
 */
#ifndef CCTEST_ACCEPT_COUNTING_H
#define CCTEST_ACCEPT_COUNTING_H

#include "accept/acceptance.h"

/* Reads the counters of all hosts that are left. What they have counted since the last call is noted
 * as a finding of the stage that has just ended; the first call notes nothing. */
enum status counting_look(struct acceptance *acceptance, enum accept_stage stage);
void counting_free(struct acceptance *acceptance);

#endif
