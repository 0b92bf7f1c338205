/*
 * bootstrap.h - where ranks come from: a launcher, a rendezvous, or a fork here.
 *
 * A bootstrap gives a rank its number, the world's size, where rank 0's control plane is, and the
 * job's secret (struct membership). Everything after that is the control plane's.
 */
#ifndef CCTEST_BOOTSTRAP_BOOTSTRAP_H
#define CCTEST_BOOTSTRAP_BOOTSTRAP_H

#include "base/status.h"
#include "bootstrap/bootstrap_options.h"
#include "control/membership.h"

enum bootstrap_kind { BOOTSTRAP_LOCAL, BOOTSTRAP_TCP, BOOTSTRAP_MANAGER };

struct launcher;

/* Where the ranks come from. */
struct bootstrap {
    enum bootstrap_kind kind;
    const char *name;                /* "local", "tcp", "pmix", "pmi" */
    int rank, ranks;                 /* of this process; -1: the ranks are made here */
    const struct launcher *launcher; /* that started this process; NULL: none that is known */
    struct process_manager *manager; /* BOOTSTRAP_MANAGER: it has been met */
    char why[400];                   /* one sentence */
};

/* Which one it takes, first match: as told (--np; --rendezvous with --rank and --world), torchrun's
 * variables (tcp), MPICH's mpiexec (pmi), a PMIx server that answers and whose job has more than
 * one rank (pmix), a Slurm step (tcp), local. STATUS_USAGE if what was told contradicts itself, or
 * the environment speaks of several ranks that could not meet; STATUS_UNAVAILABLE if they could
 * with PMIx, which is not here. `bootstrap` is to be closed in any case. */
enum status bootstrap_choose(const struct bootstrap_options *options, struct bootstrap *bootstrap);
void bootstrap_close(struct bootstrap *bootstrap);

/* A rank's whole life; returns the job's status. `argument` is the caller's. */
typedef enum status rank_main(const struct membership *membership, void *argument);

/* Brings up the rank, or the ranks, of this process and runs `main` in each: one rank here, or
 * (local) options->np of them as processes or threads under a supervisor (default: the cores of the
 * affinity mask, at least 2, at most 8). Returns the job's status when all have ended; no process,
 * thread, socket or segment is left. */
enum status bootstrap_run(const struct bootstrap_options *options, struct bootstrap *bootstrap,
                          rank_main *main, void *argument);

/* Ranks that bootstrap_run() would make locally. */
int bootstrap_local_ranks(const struct bootstrap_options *options);

/* Did a launcher start this process whose ranks may see a terminal where the user has none? */
bool launcher_makes_terminal(void);

#endif
