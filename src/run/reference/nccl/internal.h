/*
 * internal.h - the calls of NCCL that cctest makes, as its header nccl.h has them.
 *
 * NCCL keeps its binary interface from 2.x to 2.x, so no header of a certain version is needed.
 */
#ifndef CCTEST_RUN_REFERENCE_NCCL_INTERNAL_H
#define CCTEST_RUN_REFERENCE_NCCL_INTERNAL_H

#include <cuda_runtime_api.h>
#include <limits.h>
#include <stddef.h>

#include "run/reference/nccl/refusal.h"

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

#endif
