/*
 * internal.h - for the files of run/reference/nccl/ alone.
 */
#ifndef CCTEST_RUN_REFERENCE_NCCL_INTERNAL_H
#define CCTEST_RUN_REFERENCE_NCCL_INTERNAL_H

#include <cuda_runtime_api.h>
#include <limits.h>
#include <stddef.h>

#include "run/reference/nccl/refusal.h"

/* ---- The calls of NCCL that cctest makes, as its header nccl.h has them. NCCL keeps its binary
 * interface from 2.x to 2.x, so no header of a certain version is needed.
 * ---- */

/* As ncclGetVersion() counts, since 2.9. */
#define NCCL_VERSION(major, minor, patch) ((major)*10000 + (minor)*100 + (patch))
#define NCCL_OLDEST                       NCCL_VERSION(2, 14, 0) /* that has all of the calls */
#define NCCL_SHARES_GPU                   NCCL_VERSION(2, 30, 0) /* several ranks on a GPU */

/* ncclResult_t; it grows. */
enum nccl_result {
    NCCL_SUCCESS = 0,
    NCCL_IN_PROGRESS = 7, /* 2.14 */
};

struct nccl_unique_id {
    char internal[128];
};

/* ncclConfig_t as of 2.14; later versions give the fields that it lacks their defaults, by its size
 * and version. */
struct nccl_config {
    size_t size;
    unsigned magic; /* NCCL_MAGIC */
    unsigned version;
    int blocking;
};
#define NCCL_MAGIC 0xcafebeefu

struct ncclComm; /* a communicator */

/* NCCL_CALLS(X): X(result, name, parameters). */
#define NCCL_DATA_ struct ncclComm *comm, cudaStream_t stream
#define NCCL_CALLS(X)                                                                              \
    X(int, GetVersion, (int *version))                                                             \
    X(int, GetUniqueId, (struct nccl_unique_id * id))                                              \
    X(int, CommInitRankConfig,                                                                     \
      (struct ncclComm * *comm, int ranks, struct nccl_unique_id id, int rank,                     \
       struct nccl_config *config))                                 /* 2.14 */                     \
    X(int, CommAbort, (struct ncclComm * comm))                     /* 2.4 */                      \
    X(int, CommGetAsyncError, (struct ncclComm * comm, int *error)) /* 2.4 */                      \
    X(const char *, GetErrorString, (int error))                                                   \
    X(const char *, GetLastError, (struct ncclComm * comm)) /* 2.13 */                             \
    X(int, AllReduce,                                                                              \
      (const void *from, void *to, size_t count, int type, int reduction, NCCL_DATA_))             \
    X(int, Broadcast, (const void *from, void *to, size_t count, int type, int root, NCCL_DATA_))  \
    X(int, Reduce,                                                                                 \
      (const void *from, void *to, size_t count, int type, int reduction, int root, NCCL_DATA_))   \
    X(int, AllGather, (const void *from, void *to, size_t each, int type, NCCL_DATA_))             \
    X(int, ReduceScatter,                                                                          \
      (const void *from, void *to, size_t each, int type, int reduction, NCCL_DATA_))              \
    X(int, Send, (const void *from, size_t count, int type, int peer, NCCL_DATA_)) /* 2.7 */       \
    X(int, Recv, (void *to, size_t count, int type, int peer, NCCL_DATA_))         /* 2.7 */       \
    X(int, GroupStart, (void))                                                                     \
    X(int, GroupEnd, (void))

/* The functions of the library that was loaded. */
struct nccl_api {
#define NCCL_FIELD(result, name, parameters) result(*name) parameters;
    NCCL_CALLS(NCCL_FIELD)
#undef NCCL_FIELD
};

/* ---- One collective of NCCL, as what a rank runs. ---- */

/* As in reference.h. */
enum status nccl_prepare(struct vendor_session *session, const struct vendor_call *asked,
                         struct execution **execution);

/* ---- One rank's part of a communicator of NCCL. ---- */

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

/* As in reference.h. */
enum status nccl_open(struct control *control, const struct vendor_task *tasks, int count,
                      const struct tick *tick, struct vendor_session **session);
void nccl_close(struct vendor_session *session);

/* ---- Loads NCCL. ---- */

/* Loads the library for good: it has threads of its own. Returns why it cannot (one clause, written
 * into `why`), or NULL. Initializes nothing of CUDA. */
const char *nccl_load(struct nccl_api *api, int *version, char why[VENDOR_WHY_MOST]);

/* "2.28.3" */
void nccl_version_text(int version, char *text, size_t size);

#endif
