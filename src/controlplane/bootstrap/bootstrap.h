/*
 * bootstrap.h - where ranks come from: a launcher, a rendezvous, or a fork on this machine.
 *
 * A bootstrap gives a rank its number, the number of ranks, the address of rank 0's control plane
 * and the job's secret (struct membership). The control plane does everything after that.
 */
#ifndef CCTEST_CONTROLPLANE_BOOTSTRAP_BOOTSTRAP_H
#define CCTEST_CONTROLPLANE_BOOTSTRAP_BOOTSTRAP_H

#include "base/status.h"
#include "controlplane/bootstrap/bootstrap_options.h"
#include "controlplane/bootstrap/launcher.h"
#include "controlplane/bootstrap/process_manager.h"
#include "controlplane/bootstrap/rank_main.h"

enum bootstrap_kind { BOOTSTRAP_LOCAL, BOOTSTRAP_TCP, BOOTSTRAP_MANAGER };

/* Where the ranks come from. */
struct bootstrap {
    enum bootstrap_kind kind;
    const char *name;                /* "local", "tcp", "pmix", "pmi" */
    struct launch launch;            /* rank -1: this process starts the ranks */
    struct process_manager *manager; /* BOOTSTRAP_MANAGER: connected */
    char why[400];                   /* one sentence */
};

/* Chooses the bootstrap, first match: the options (--np; --rendezvous with --rank and --world),
 * torchrun's variables (tcp), MPICH's mpiexec (pmi), a PMIx server that answers and whose job has
 * more than one rank (pmix), a Slurm step (tcp), local. STATUS_USAGE if the options contradict each
 * other, or if the environment speaks of several ranks that cannot meet; STATUS_UNAVAILABLE if they
 * need PMIx, which is missing. The caller closes `bootstrap` in any case. */
enum status bootstrap_choose(const struct bootstrap_options *options, struct bootstrap *bootstrap);
void bootstrap_close(struct bootstrap *bootstrap);

/* Runs `main` in the rank that this process is, or in the ranks that it starts: processes or
 * threads, options->np of them or local_ranks(). Returns the job's status when all have ended; no
 * process, thread, socket or segment is left. */
enum status bootstrap_run(const struct bootstrap_options *options, struct bootstrap *bootstrap,
                          rank_main *main, void *argument);

#endif
