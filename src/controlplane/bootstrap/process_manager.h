/*
 * process_manager.h - the interface of process managers, which carry a text from rank 0 to the
 * other ranks: PMIx (Open MPI's mpirun, Slurm's `srun --mpi=pmix`) and PMI-1 (MPICH's mpiexec).
 */
#ifndef CCTEST_CONTROLPLANE_BOOTSTRAP_PROCESS_MANAGER_H
#define CCTEST_CONTROLPLANE_BOOTSTRAP_PROCESS_MANAGER_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"

#define MANAGER_TEXT_MOST     1024           /* bytes, with the final 0 */
#define MANAGER_KEY           "cctest.rank0" /* the key of rank 0's text */
#define PAUSE_FIRST           0.005 /* seconds between two requests for it: the first pause */
#define PAUSE_MOST            0.1   /* and the longest: each is twice the last */
#define MANAGER_CLOSE_SECONDS 1.0   /* nothing depends on the success of close() */

/* A rank's connection to its manager. Every call returns within its deadline, whatever the manager
 * does. */
struct process_manager {
    const char *name; /* "pmix", "pmi" */
    int rank, ranks;
    int local_rank,
        local_ranks; /* among the ranks of its node; ranks 0: the manager does not say */

    /* Every rank calls it once: rank 0 gives a text (less than MANAGER_TEXT_MOST bytes, no blanks),
     * the others get it. They wait for rank 0 only, and rank 0 for no rank; with an old server
     * (pmix.c) all wait for all. Errors are recorded: a rank did not come, the manager failed, a
     * signal. */
    enum status (*broadcast)(struct process_manager *manager, double seconds,
                             char text[MANAGER_TEXT_MOST]);
    /* Disconnects and frees. A manager may report a process that ends without this as failed. Rank
     * 0 withdraws its text, unless it was empty: all ranks that need it have it. */
    void (*close)(struct process_manager *manager);
};

#endif
