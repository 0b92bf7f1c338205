/*
 * supervisor.h - the parent of ranks that are processes: none outlives it.
 */
#ifndef CCTEST_CONTROLPLANE_BOOTSTRAP_SUPERVISOR_H
#define CCTEST_CONTROLPLANE_BOOTSTRAP_SUPERVISOR_H

#include <stdbool.h>

#include "base/status.h"

struct supervisor;

/* The caller blocks SIGINT and SIGTERM before. `outlives`: a rank that is lost is no reason to end
 * the others, and rank 0's status is that of all. NULL: out of memory or descriptors. */
struct supervisor *supervisor_create(int ranks, bool outlives);
/* As fork(); the kernel kills the child when its supervisor dies. */
int supervisor_fork(struct supervisor *supervisor, int rank);
/* In a child: frees its copy of the supervisor. */
void supervisor_leave(struct supervisor *supervisor);
/* Waits until all ranks have ended; returns the gravest of their statuses. Where all of them are
 * stopped for `timeout` seconds, it kills them. */
enum status supervisor_wait(struct supervisor *supervisor, double timeout);
/* Kills the ranks that are left, and frees the supervisor. */
void supervisor_destroy(struct supervisor *supervisor);

#endif
