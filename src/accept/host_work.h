/*
 * host_work.h - what a worker does that is no rank of a job: it looks at its host.
 */
#ifndef CCTEST_ACCEPT_HOST_WORK_H
#define CCTEST_ACCEPT_HOST_WORK_H

#include <stdbool.h>

#include "base/status.h"

/* Commands that are no command lines. */
#define WORK_NOTHING   "nothing"   /* starts, and ends */
#define WORK_INVENTORY "inventory" /* what the host has: the result is an inventory, encoded */
#define WORK_COUNTERS  "counters"  /* what it has counted: device_changes, encoded */
#define WORK_CPU       "cpu"       /* how fast its memory and cores are: JSON (cpu_measure.h) */
#define WORK_GPUS      "gpus"      /* how fast its GPUs copy: JSON (gpu_measure.h) */

/* Is the command one of these? */
bool host_work_is(const char *command);

/* Does it, and writes its result to `fd`. */
enum status host_work_run(const char *command, int fd);

#endif
