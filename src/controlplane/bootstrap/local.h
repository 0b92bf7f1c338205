/*
 * local.h - ranks that this process starts: processes or threads.
 */
#ifndef CCTEST_CONTROLPLANE_BOOTSTRAP_LOCAL_H
#define CCTEST_CONTROLPLANE_BOOTSTRAP_LOCAL_H

#include "controlplane/bootstrap/rank_main.h"

/* The number of ranks: options->np, else the cores of the affinity mask, at least 2, at most 8. */
int local_ranks(const struct bootstrap_options *options);

/* Runs them all; returns the gravest of their statuses. */
enum status bootstrap_run_local(const struct bootstrap_options *options, rank_main *main,
                                void *argument);

#endif
