/*
 * process_manager.h - process managers that carry rank 0's word to the other ranks of a job: PMIx, as Open
 * MPI's mpirun and Slurm's `srun --mpi=pmix` serve it, and PMI-1, as MPICH's mpiexec does.
 */
#ifndef CCTEST_BOOTSTRAP_PROCESS_MANAGER_H
#define CCTEST_BOOTSTRAP_PROCESS_MANAGER_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"

#define MANAGER_TEXT_MOST     1024
#define MANAGER_KEY           "cctest.rank0" /* under which rank 0's text is published */
#define MANAGER_LEAVE_SECONDS 1.0 /* leave is taken, or not: by then nothing depends on it */

/* A rank, as its manager sees it. Every call waits for at most `seconds`, whatever the manager
 * does. */
struct process_manager {
    const char *name; /* "pmix", "pmi" */
    int rank, ranks;
    int local_rank, local_ranks; /* among the ranks of its node; ranks 0: it does not say */

    /* Each rank calls it, once: rank 0 gives a text (less than MANAGER_TEXT_MOST bytes, no blanks),
     * and the others get it. They wait for rank 0 only, which waits for nobody; where the server
     * can do no better (pmix.c), all wait for all. Errors are recorded: who did not come,
     * the manager failed, a signal. */
    enum status (*broadcast)(struct process_manager *manager, double seconds,
                             char text[MANAGER_TEXT_MOST]);
    /* Takes leave of the manager, which may take a process that ends without for failed. Rank 0's
     * text is void then, unless it was empty: those that need it have got it. */
    void (*close)(struct process_manager *manager);
};

/* Both meet the manager. STATUS_USAGE: nobody answers; STATUS_ERROR: there is no memory, or no
 * thread; STATUS_INTERRUPTED: a signal came meanwhile. `why` is a part of a sentence, and nothing
 * is said yet: there may be other ways, but not after a signal or STATUS_TIMEOUT.
 *
 * pmix_open() loads the library, so that the binary starts on hosts that lack it.
 * STATUS_UNAVAILABLE: it is not here, or this cctest was built without PMIx; STATUS_TIMEOUT: a call
 * has not come back, and goes on in a thread. */
enum status pmix_open(double seconds, struct process_manager **manager, char *why, size_t size);
/* Who is silent for so long does not answer. */
enum status pmi_open(double seconds, struct process_manager **manager, char *why, size_t size);

/* Does the environment speak of a PMIx server, if only half? Nothing is loaded if not. */
bool pmix_offered(void);
/* Writes the library's version, or, returning false, why there is none and what to do about it. */
bool pmix_library(char *text, size_t size);

#endif
