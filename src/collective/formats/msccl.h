/*
 * msccl.h - schedules in the XML of MSCCL, which runs them inside GPUs.
 *
 * Source of the format and its limits: src/graph/topo.cc and src/include/msccl.h of
 * github.com/microsoft/msccl.
 */
#ifndef CCTEST_COLLECTIVE_FORMATS_MSCCL_H
#define CCTEST_COLLECTIVE_FORMATS_MSCCL_H

#include <stdio.h>

#include "base/status.h"
#include "collective/schedule/schedule.h"

/* The schedules of all ranks. `name`: of the algorithm, without markup. STATUS_USAGE, with the reason,
 * for what MSCCL cannot say: a collective that it does not know, a message of several spans, lengths
 * that are no whole chunks within its limits. */
enum status msccl_write(FILE *out, const char *name, const struct schedule *const *schedules);

#endif
