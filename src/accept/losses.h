/*
 * losses.h - hosts that are lost, as findings.
 */
#ifndef CCTEST_ACCEPT_LOSSES_H
#define CCTEST_ACCEPT_LOSSES_H

#include "accept/acceptance.h"

/* Finds the hosts that are lost since the last call. */
enum status losses_find(struct acceptance *acceptance);

/* Once no stage runs any more. If most of the other hosts, at least two, fell silent in one stage, it
 * is rank 0's host or its network that is at fault: that is found, and those hosts are not judged. */
enum status losses_judge(struct acceptance *acceptance);

#endif
