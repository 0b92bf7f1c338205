/*
 * pmix_client.h - what a process manager knows of this process, and can carry between the ranks of a job:
 * PMIx, as Open MPI's mpirun and Slurm's `srun --mpi=pmix` serve it.
 *
 * The library is loaded when it is needed, so that the binary starts on hosts that lack it.
 */
#ifndef CCTEST_PMIX_CLIENT_H
#define CCTEST_PMIX_CLIENT_H

#include <stdbool.h>
#include <stddef.h>

#include "status.h"

/* A rank, as its server sees it. */
struct pmix {
    int rank, ranks;
    int local_rank, local_ranks; /* among the ranks of its node; ranks 0: it does not say */
};

/* Does the environment speak of a PMIx server? Nothing is loaded where it does not. */
bool pmix_offered(void);

/* Writes the library's version, or, returning false, why there is none and what to do about it. */
bool pmix_library(char *text, size_t size);

/* Meets the server. Every call below waits for at most `seconds`, whatever the server does.
 * STATUS_UNAVAILABLE: without this library there is no PMIx; STATUS_USAGE: no server answers;
 * STATUS_INTERRUPTED: a signal came meanwhile. `why` is a part of a sentence, and nothing is said
 * yet: there may be other ways. */
enum status pmix_open(double seconds, struct pmix **pmix, char *why, size_t size);

/* All ranks call it, once: rank 0's text (less than PMIX_TEXT_MOST bytes) reaches all. Errors are
 * recorded: not all ranks came, the server failed, a signal. */
#define PMIX_TEXT_MOST 1024
enum status pmix_broadcast(struct pmix *pmix, double seconds, char text[PMIX_TEXT_MOST]);

/* Takes leave of the server: a process that ends without is taken for failed. NULL is allowed. */
void pmix_close(struct pmix *pmix);

#endif
