/*
 * rank_main.h - the life of one rank, the same under every bootstrap.
 */
#ifndef CCTEST_CONTROLPLANE_BOOTSTRAP_RANK_MAIN_H
#define CCTEST_CONTROLPLANE_BOOTSTRAP_RANK_MAIN_H

#include "base/status.h"
#include "controlplane/bootstrap/bootstrap_options.h"
#include "controlplane/control/membership.h"

/* All that a rank does; returns the job's status. `argument` is the caller's. */
typedef enum status rank_main(const struct membership *membership, void *argument);

/* Runs `main` as the rank that `membership` names, with a log of its own, in this thread. */
enum status rank_main_run(const struct bootstrap_options *options,
                          const struct membership *membership, rank_main *main, void *argument);

#endif
