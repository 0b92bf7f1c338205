/*
 * bootstrap.h - where ranks come from: a launcher, a rendezvous, or a fork on this machine.
 *
 * A bootstrap gives a rank its number, the number of ranks, the address of rank 0's control plane
 * and the job's secret (struct membership). The control plane does everything after that.
 */
#ifndef CCTEST_CONTROLPLANE_BOOTSTRAP_BOOTSTRAP_H
#define CCTEST_CONTROLPLANE_BOOTSTRAP_BOOTSTRAP_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"
#include "controlplane/control/control.h"

/* ---- The options that say where ranks come from. ---- */

#define JOB_RANKS_MOST 65536

/* The kind of local ranks. */
enum ranks_as {
    RANKS_AUTO, /* not chosen yet */
    RANKS_PROCESSES,
    RANKS_THREADS, /* of one process */
};

struct bootstrap_options {
    int np;                 /* --np; 0: not given */
    const char *rendezvous; /* "host:port"; NULL: not given */
    int rank, world;        /* -1: not given */
    enum ranks_as ranks_as;
    const char *interface; /* address or device to listen on; NULL: any */
    double timeout;        /* seconds without progress after which a job ends */
    int verbosity;         /* 0 to 2 */
    bool survives;         /* ranks go on when others are lost; rank 0 alone knows how it ends */
};

/* ---- Which launcher started this process, and as which rank, by the environment. ---- */

/* A launcher that describes its ranks by environment variables. */
struct launcher {
    const char *name;        /* "torchrun" */
    const char *rank, *size; /* variables; size NULL: none, so --world gives it, and --rendezvous
                                the meeting point */
    bool nested;             /* its ranks may also inherit the variables of an outer launcher */
    bool pmi;                /* it is a process manager that speaks PMI-1 */
    bool terminal;           /* it gives a rank a terminal of its own, wherever its output goes */
    bool names_late;         /* name servers learn the names of its hosts only as these start */
    /* Finds rank 0's host and ports from the launcher's other variables, and a text that all ranks
     * of this job share and no other job has. NULL: the variables name no host, so --rendezvous
     * must. */
    enum status (*meet)(struct membership *membership, char *shared, size_t size);
};

/* How this process was started. */
struct launch {
    const struct launcher *launcher; /* NULL: no known launcher, or a job of one rank */
    int rank, ranks;                 /* rank -1: not known */
};

/* A whole non-negative number of at most 10,000,000; -1: `text` is no such number, or NULL. */
long number_parse(const char *text);

/* Finds the launcher that started this process as one of several. `world`: their number, where the
 * launcher does not give it; -1: unknown. */
struct launch launcher_detect(int world);

/* Does a launcher say that it started this process alone? */
bool launcher_of_one(void);

/* Did a launcher start this process that gives ranks a terminal where the user has none? */
bool launcher_makes_terminal(void);

/* Used when no launcher was detected. Describes variables that speak of several ranks but are
 * incomplete, contradict each other or `world` (as above), or belong to a launcher that cctest does
 * not support. NULL: there are none. Local ranks would be the classic silent failure: N jobs of one
 * rank. */
const char *launcher_incomplete(int world, char *text, size_t size);

/* The first host of a Slurm node list (base/host_list.h): "node[07-09,12],other" -> "node07".
 * False, and "": `list` is no node list. */
bool nodelist_first(const char *list, char *host, size_t size);

/* ---- The interface of process managers, which carry a text from rank 0 to the
 * other ranks: PMIx (Open MPI's mpirun, Slurm's `srun --mpi=pmix`) and PMI-1 (MPICH's mpiexec).
 * ---- */

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

/* ---- bootstrap.c ---- */

/* All that a rank does; returns the job's status. `argument` is the caller's. */
typedef enum status rank_main(const struct membership *membership, void *argument);

/* Runs `main` as the rank that `membership` names, with a log of its own, in this thread. */
enum status rank_main_run(const struct bootstrap_options *options,
                          const struct membership *membership, rank_main *main, void *argument);

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

/* Before local ranks start: says so if a batch script of several nodes forks them on one. */
void bootstrap_warn_of_nodes(const struct bootstrap_options *options,
                             const struct bootstrap *bootstrap);

/* Runs `main` in the rank that this process is, or in the ranks that it starts: processes or
 * threads, options->np of them or local_ranks(). Returns the job's status when all have ended; no
 * process, thread, socket or segment is left. */
enum status bootstrap_run(const struct bootstrap_options *options, struct bootstrap *bootstrap,
                          rank_main *main, void *argument);

/* Rank 0, once all have joined: without a secret, a rank takes whoever reaches its port for a rank
 * of the job. Between hosts that is their whole network for the whole job, so it is said once. The
 * network reaches ranks of one host only while they meet: a warning in each such run would teach
 * users to overlook it. */
void membership_say_protection(const struct membership *membership, bool one_host);

/* ---- Ranks that this process starts: processes or threads. ---- */

/* The number of ranks: options->np, else the cores of the affinity mask, at least 2, at most 8. */
int local_ranks(const struct bootstrap_options *options);

/* Runs them all; returns the worst of their statuses. */
enum status bootstrap_run_local(const struct bootstrap_options *options, rank_main *main,
                                void *argument);

/* ---- PMIx. Its library is loaded at run time: the binary starts on hosts without it. ---- */

/* Does the environment name a PMIx server, if only in part? Loads nothing. */
bool pmix_offered(void);

/* Loads the library and connects to the server, within `seconds`. On failure `why` is a clause for
 * the caller's sentence, and nothing is recorded, since there may be other bootstraps:
 * STATUS_USAGE: no server answers; STATUS_ERROR: no memory or no thread; STATUS_UNAVAILABLE: no
 * library, or built without PMIx; STATUS_INTERRUPTED: a signal came; STATUS_TIMEOUT: a call is
 * still running in its thread. The last two are final. */
enum status pmix_open(double seconds, struct process_manager **manager, char *why, size_t size);

/* Writes the library's version; false: writes why there is none, and what to do. */
bool pmix_library(char *text, size_t size);

#endif
