/*
 * communicator.h - one rank's part of a communicator of NCCL.
 */
#ifndef CCTEST_RUN_REFERENCE_NCCL_COMMUNICATOR_H
#define CCTEST_RUN_REFERENCE_NCCL_COMMUNICATOR_H

#include <cuda_runtime_api.h>

#include "run/reference/nccl/api.h"
#include "run/reference/reference.h"

/* A call that may take long, or for ever if another rank is lost: made by another thread. */
struct nccl_slow_call {
    const struct nccl_communicator *communicator;
    int (*make)(void *argument); /* returns NCCL's result */
    void *argument;
    int result;
};

struct nccl_communicator {
    struct nccl_api api;
    int version;
    int rank, ranks, device;
    const struct tick *tick;
    struct ncclComm *comm; /* NULL: there is none yet */
    cudaStream_t stream;   /* of all collectives */
    cudaEvent_t event;     /* behind the collective that runs */
    struct nccl_slow_call slow;
    bool is_abandoned; /* a thread is still in a call: it may use all that the session has */
    struct nccl_unique_id id;
};

/* The communicator behind the name that the sessions of all vendors have. */
static inline struct nccl_communicator *nccl_of(struct vendor_session *session)
{
    return (struct nccl_communicator *)(void *)session;
}

/* Records the failure of a call, in NCCL's words. `what`: "start allreduce". */
enum status nccl_failed(const struct nccl_communicator *communicator, int result, const char *what);

/* Runs make(argument) in a thread on this rank's device, and waits for it. For `seconds` it counts as
 * work, then as a wait for other ranks. The argument must stay if the communicator is abandoned.
 * NCCL_IN_PROGRESS is a success. */
enum status nccl_call_slowly(struct nccl_communicator *communicator, int (*make)(void *argument),
                             void *argument, const char *what, double seconds, int *result);

/* As in vendor.h. */
enum status nccl_open(struct control *control, const struct vendor_task *tasks, int count,
                      const struct tick *tick, struct vendor_session **session);
void nccl_close(struct vendor_session *session);

#endif
