/*
 * membership.h - what a bootstrap gives a rank, and what else it needs to join its job.
 */
#ifndef CCTEST_CONTROLPLANE_CONTROL_MEMBERSHIP_H
#define CCTEST_CONTROLPLANE_CONTROL_MEMBERSHIP_H

#include <stdatomic.h>
#include <stdbool.h>
#include <sys/types.h>

#include "base/failure.h"
#include "base/net/address.h"
#include "base/net/handshake.h"
#include "base/rank_state.h"

/* What a bootstrap gives a rank. */
struct membership {
    int rank, ranks;
    /* Where rank 0's control plane listens: as it said itself, or (root_home.count 0) at a host and
     * a port that all ranks know. */
    struct address_list root_home;
    char root_host[256];
    int root_port;
    int spare_ports; /* so many further ones after root_port may be tried, in their order: rank 0
                        listens at the first that is free, and the others look for it at all */
    const char *interface;      /* the only one at which ranks may listen; NULL: any */
    struct listeners listeners; /* rank 0: the listeners that are open already */
    unsigned char secret[SECRET_BYTES];
    bool has_secret;       /* false: protects against accidents only */
    bool own_process;      /* the rank is a process of its own: it kills and watches signals itself
                                 (of ranks that are threads, rank 0 watches for all) */
    bool started_here;     /* by the process whose exit status the job's is; else it is rank 0's */
    bool by_hand;          /* the user started it as this rank, perhaps in a terminal of its own */
    bool names_late;       /* name servers learn the names of the job's hosts only as these start */
    pid_t supervisor;      /* the parent, which the rank does not outlive; 0: it may */
    const char *bootstrap; /* "local", "tcp", "pmix", "pmi" */
    /* This rank's place among the ranks of its node, and how many they are, as the launcher counts
     * them; node_ranks 0: it did not say. */
    int node_rank, node_ranks;
    /* Called at rank 0 when all ranks have joined; NULL: not called. */
    void (*joined)(void *argument);
    void *joined_argument;
};

#define FILE_SECONDS 30.0 /* that one write to a file may take; a reader may pause for longer */

struct control_config {
    double timeout;      /* seconds without progress of any rank, at most */
    const char *options; /* canonical text of everything that all ranks must agree on */
    int fan_out; /* ranks that are connected to one, at most; 0: the usual (tests want others) */
    /* Rank 0: why there can be no job, which it has said, and now tells all ranks that call; or
     * NULL. control_join() returns its status then. */
    const struct failure *refusal;
    const char *_Atomic const
        *writing; /* what rank 0 writes results to just now; NULL at the others */
    const _Atomic bool *awaits_reader;   /* likewise: it waits until a process reads that */
    const _Atomic unsigned long *writes; /* likewise: how many pieces of results it has written */
    /* Rank 0: called by the helper, again and again, with what its main thread does; or NULL. */
    void (*running)(void *argument, const struct progress_snapshot *now);
    void *running_argument;
    _Atomic bool *hurries; /* set where rank 0 is to wait no longer for a reader; likewise */
    /* Where this process writes the status of the job: called before the helper ends it. Writes
     * *status, unless one was written, and returns what was. False: results are being written. */
    bool (*conclude)(void *argument, enum status *status);
    void *conclude_argument;
};

#endif
