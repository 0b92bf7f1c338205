/*
 * rank_state.h - what is known of a rank: where it runs, what it is doing, how it failed.
 */
#ifndef CCTEST_BASE_RANK_STATE_H
#define CCTEST_BASE_RANK_STATE_H

#include <stdatomic.h>
#include <stdint.h>

#include "base/failure.h"

/* A rank as all others know it, after joining. */
struct member {
    int rank;
    char host[64];
    long pid;
    int node;       /* index of its host in order of first appearance */
    int local_rank; /* its place among the ranks of its host */
};

/* The phase of a rank, written by its main thread as it goes, read by its helper thread. */
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
/* How far a rank is into an iteration. */
enum iteration_stage {
    ITERATION_BEGUN,    /* it has begun it */
    ITERATION_STARTING, /* it is at the start barrier, before it */
    ITERATION_RELEASED, /* it may begin it, and has not */
};
#define STEP_UNHEARD (-1) /* as a step: what was sent to `peer` is not acknowledged */
#define STEP_DEVICE  (-2) /* as a step: a device, such as a GPU, is still at work for this rank */
#define STEP_VENDOR  (-3) /* likewise: in a vendor's collective, which shows no steps */
struct progress {
    _Atomic uint64_t progress; /* grows whenever this rank progresses in any way */
    _Atomic uint64_t ticks;    /* grows with each piece of a long call (tick.h) */
    _Atomic int phase;
    _Atomic int collective, algorithm; /* index of the choice in the job */
    _Atomic uint64_t bytes;            /* size of the collective */
    _Atomic int64_t iteration;
    _Atomic int stage; /* enum iteration_stage, of that iteration */
    /* The operation that it waits in; `operation` -1: none (computing, or in the control plane). */
    _Atomic int operation, kind, peer, lane, step;
    _Atomic uint64_t done, length; /* bytes of that operation */
};

/* A rank's progress as it was read at one moment. */
struct progress_snapshot {
    uint64_t progress;
    int phase, collective, algorithm, stage;
    uint64_t bytes;
    int64_t iteration;
    int operation, kind, peer, lane, step;
    uint64_t done, length;
};

/* An error as it is reported: which rank of which host, in which phase, and the sentence. */
struct job_error {
    int rank;
    char host[64];
    char phase[16];
    char message[MESSAGE_MOST];
};

struct job_error job_error_make(int rank, const char *host, const char *phase, const char *message);
/* The error of this process, rank 0, which failed before there was a job: the failure that it has
 * recorded. */
struct job_error job_error_own(void);

#endif
