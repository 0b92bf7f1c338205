/*
 * supervisor.h - the parent of ranks that are processes: it leaves none behind.
 */
#ifndef CCTEST_BOOTSTRAP_SUPERVISOR_H
#define CCTEST_BOOTSTRAP_SUPERVISOR_H

#include "base/status.h"

struct supervisor;

/* SIGINT and SIGTERM must be blocked by the caller. NULL: out of memory or of descriptors. */
struct supervisor *supervisor_create(int ranks);
/* fork(); a child dies with its supervisor. */
int supervisor_fork(struct supervisor *supervisor, int rank);
/* In a child: gives up what is the supervisor's. */
void supervisor_leave(struct supervisor *supervisor);
/* Waits until all ranks have ended; returns the gravest of their statuses. */
enum status supervisor_wait(struct supervisor *supervisor);
/* Ends the ranks that are left, and frees it. */
void supervisor_destroy(struct supervisor *supervisor);

#endif
