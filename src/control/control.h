/*
 * control.h - the control plane: how the ranks of a job talk outside of what is measured.
 *
 * The ranks are a tree of authenticated connections with rank 0 at its root, so that no rank holds
 * those of all. Each has a helper thread for them, so that it reports, and passes on what others
 * report, also while its main thread is stuck. Up the tree go shares of exchanges, results, errors,
 * and each rank's pulse, from which rank 0 finds out who is slow, silent or dead; down it, what the
 * exchanges gave, and the end of the job. Whose parent dies or is silent turns to rank 0 itself.
 *
 * The end. The first failure ends the job: rank 0 collects what there is to know (a short while),
 * says on stderr whose fault it is, and tells everybody the verdict: one exit status for all
 * survivors. Each call below returns the verdict's status as soon as there is one. Nothing waits
 * for ever: time in which no rank of the job progresses is limited by the deadline, a rank that
 * cannot reach rank 0 any more ends by itself, and the helper thread ends a process whose main
 * thread does not react to the end (it may be writing to a pipe that nobody reads).
 */
#ifndef CCTEST_CONTROL_CONTROL_H
#define CCTEST_CONTROL_CONTROL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/status.h"
#include "net/address.h"

#define SECRET_BYTES 32

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
    struct listeners listeners; /* rank 0: those that are there already */
    unsigned char secret[SECRET_BYTES];
    bool has_secret;       /* false: protects against accidents only */
    bool own_process;      /* the rank is a process of its own: it kills and watches signals itself
                                 (of ranks that are threads, rank 0 watches for all) */
    bool by_hand;          /* the user started it as this rank: nobody else speaks beside it */
    pid_t supervisor;      /* the parent, which the rank does not outlive; 0: it may */
    const char *bootstrap; /* "local", "tcp", "pmix", "pmi" */
    /* This rank's place among those of its node, and how many they are, as the launcher counts
     * them; node_ranks 0: it did not say. */
    int node_rank, node_ranks;
    /* Called at rank 0 when all ranks have joined; NULL: nobody wants to know. */
    void (*joined)(void *argument);
    void *joined_argument;
};

struct control_config {
    double timeout;      /* seconds in which nobody may progress */
    const char *options; /* canonical text of everything that all ranks must agree on */
    int verbosity;
    int fan_out; /* ranks that are connected to one, at most; 0: the usual (tests want others) */
    const char *_Atomic const
        *writing; /* what rank 0 writes results to just now; NULL at the others */
};

/* A rank as all others know it, after joining. */
struct member {
    int rank;
    char host[64];
    long pid;
    int node;       /* index of its host in order of first appearance */
    int local_rank; /* its place among the ranks of its host */
};

struct control;

/* Joins the job: rank 0 listens, the others connect, both prove the secret, and all agree on
 * version, options and world size. Blocks until all ranks have joined, or for the deadline after
 * the last that did. Errors: said in one sentence by the rank that finds it (port taken, host
 * unknown, nobody there, a wrong secret, another version, options that differ, rank taken twice,
 * ranks missing: which). At rank 0 *control is there even so, for control_errors(),
 * control_strangers() and control_close() only; else it is NULL (as when memory ran out). */
enum status control_join(const struct membership *membership, const struct control_config *config,
                         struct control **control);

int control_rank(const struct control *control);
int control_ranks(const struct control *control);
const struct member *control_members(const struct control *control); /* control_ranks() of them */

/* One rank's share of an exchange each, in rank order. Freed with blobs_free(). */
struct blobs {
    int count;
    void **data; /* NULL where the size is 0 */
    size_t *size;
};
void blobs_free(struct blobs *blobs);

/* All ranks call the same ones in the same order. They block; each returns the verdict's status
 * when the job ends meanwhile. */
enum status control_allgather(struct control *control, const void *data, size_t size,
                              struct blobs *blobs);
enum status control_gather(struct control *control, const void *data, size_t size,
                           struct blobs *blobs); /* filled at rank 0 only, else empty */

/* Has the job ended? Cheap: one relaxed load. */
bool control_ended(const struct control *control);

/* Has no rank of the job progressed for the timeout? Who waits outside of a plan then fails, with
 * what it knows of whom it waits for: rank 0 gives the verdict in a moment. */
bool control_is_late(const struct control *control);

/* What a rank is doing, written by its main thread as it goes, read by its helper thread. */
enum phase {
    PHASE_JOIN,
    PHASE_SETUP,
    PHASE_CONNECT,
    PHASE_WARMUP,
    PHASE_CHECK,
    PHASE_TIME,
    PHASE_GATHER,
    PHASE_END,
    PHASES
};
extern const char *const phase_names[PHASES];
#define STEP_UNHEARD (-1) /* as a step: what was sent to `peer` is not acknowledged */
struct progress {
    _Atomic uint64_t progress; /* grows whenever this rank progresses in any way */
    _Atomic int phase;
    _Atomic int collective, algorithm; /* index of the choice in the job */
    _Atomic uint64_t bytes;            /* size of the collective */
    _Atomic int64_t iteration;
    _Atomic int starting; /* it is at the start barrier, before that iteration */
    /* What it waits in; operation -1: in no operation (computing, or in the control plane). */
    _Atomic int operation, kind, peer, lane, step;
    _Atomic uint64_t done, length; /* bytes of that operation */
};
struct progress *control_progress(struct control *control);
/* Enters a phase, and tells rank 0 at once: what a rank does next may be its last. */
void control_enter(struct control *control, enum phase phase);

/* Names an algorithm choice for reports: "alltoall pairwise". Called before the run by each
 * rank. */
void control_name_algorithm(struct control *control, int index, const char *text);

/* This rank failed (its log holds the sentence): tells rank 0 and waits for the verdict. Returns
 * the job's status. */
enum status control_fail(struct control *control, enum status status);

/* This rank is finished, with its own status (STATUS_OK, WRONG_DATA, SLOW). Waits until all are, or
 * the job ends otherwise. Returns the job's status, the same on every rank: the gravest. */
enum status control_finish(struct control *control, enum status status);

/* What went wrong, for JSON, at rank 0, after control_finish() or control_fail(), or after
 * control_join() has failed. Owned by control. */
struct job_error {
    int rank;
    char host[64];
    char phase[16];
    char message[1024];
};
int control_errors(const struct control *control, const struct job_error **errors);

/* Strangers that were dropped by this rank's control plane so far; at rank 0: by any rank's. */
uint64_t control_strangers(const struct control *control);

/* Ends the helper thread and closes the connection. NULL is allowed. */
void control_close(struct control *control);

#endif
