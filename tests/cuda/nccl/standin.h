/*
 * standin.h - a strict and slow NCCL for tests, over the runtime of tests/cuda/runtime.h, which the
 * program that loads it brings.
 *
 * Its collectives are kernels in the caller's stream. They move and combine the data of all ranks,
 * be they processes of this host or, in mode=async of the runtime, threads. Ranks meet in a memfd
 * of the process that made the id.
 *
 * Strict: wrong use is a violation, one sentence on stderr, then abort(). Violations are a config
 * that is not initialized; a rank twice, or ranks that count differently; unknown types, operators
 * and roots; collectives of other kinds, counts, types, operators or roots on other ranks; memory
 * that is none of the communicator's device, or overlaps other than in place; a send outside of a
 * group, or one that no receive of the same length meets; a call while the one before is in
 * progress; any use of an aborted communicator; one that is left at exit(0).
 *
 * NCCL_STANDIN="key=value,key=value...", read at each new communicator:
 *
 *   version=N      what ncclGetVersion() says (22803)
 *   rank=N         the rank that the faults below are for (0)
 *   fail=N         its N-th collective or group (from 1) gives ncclSystemError (0: none)
 *   wrong=N        its N-th has one wrong element, if it has a result
 *   hang=N         its N-th never ends, until the communicator is aborted
 *   lost=N         likewise, and ncclCommGetAsyncError() gives ncclRemoteError from then on
 *   late=N         the call that makes its N-th returns only while the process exits, with an error
 *   stuck=0|1      1: its ncclCommInitRankConfig() never returns
 *   connect=MS     all ranks: a collective takes so long more when it is the first of its kind,
 *                  root and algorithm, a group when it has the first message to a peer, or it (0).
 *                  There are two algorithms: for CONNECT_BYTES at most, and for more.
 *   blocking=0|1   0: as if the config asked for calls that do not block (1)
 */
#ifndef CCTEST_TEST_NCCL_STANDIN_H
#define CCTEST_TEST_NCCL_STANDIN_H

#include <cuda_runtime_api.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "run/reference/nccl/internal.h"

#define RANKS_MOST    16
#define SLOT_BYTES    ((size_t)16 << 20) /* of a rank's source, at most */
#define PAIR_BYTES    ((size_t)1 << 20)  /* of a message, at most */
#define CONNECT_BYTES ((size_t)8 << 10)  /* of the count of a collective */
#define GROUP_MOST    (2 * RANKS_MOST)   /* messages of a group */

enum { SUCCESS = 0, SYSTEM_ERROR = 2, INVALID_USAGE = 5, REMOTE_ERROR = 6, IN_PROGRESS = 7 };

struct settings {
    long version, rank, fail, wrong, hang, lost, late, stuck, connect, blocking;
};

enum kind { ALL_REDUCE, BROADCAST, REDUCE, ALL_GATHER, REDUCE_SCATTER, GROUP };

/* The terms that all ranks of a collective must agree on. */
struct terms {
    enum kind kind;
    int type, reduction, root;
    uint64_t count;
};

struct standin_part {
    bool sends;
    int peer, type;
    size_t bytes;
    char *at;
};

/* One collective, or one group, of one rank. */
struct work {
    struct communicator *communicator;
    struct terms terms;
    const char *from;
    char *to;
    uint64_t number; /* of the rank's collectives, from 1; 0: a group */
    bool is_wrong, hangs, connects;
    int part_count;
    struct standin_part parts[GROUP_MOST];
    uint64_t messages[GROUP_MOST]; /* the number of each on its pair, from 1 */
    cudaStream_t stream;
    struct work *next; /* of the communicator, to be freed with it */
};

/* The state that the ranks share; their data lies behind it. */
struct meeting {
    _Atomic int joined, ranks;
    struct {
        _Atomic int there;
        char bus[32];
        cudaUUID_t uuid;
        struct terms terms;
        _Atomic uint64_t entered, left; /* collectives whose data is there; that have read it */
    } of[RANKS_MOST];
    struct {
        _Atomic uint64_t sent, taken;
        uint64_t bytes;
        int type;
    } pairs[RANKS_MOST][RANKS_MOST];
};

struct communicator { /* ncclComm */
    struct meeting *meeting;
    struct settings settings;
    int rank, ranks, device;
    uint64_t collectives, calls;
    uint64_t sent[RANKS_MOST], received[RANKS_MOST];
    bool is_connected[GROUP][RANKS_MOST][2]; /* by kind, root and algorithm */
    _Atomic int running;                     /* works that are not done */
    _Atomic bool aborted, lost;
    struct work *works, *pending; /* pending: entered, and not in the stream yet */
    int polls;                    /* until it is */
};

void violation(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));
void settings_read(struct settings *settings);
int told(const char *format, ...) __attribute__((format(printf, 1, 2))); /* INVALID_USAGE */

char *slot_of(const struct communicator *communicator, int rank);
char *pair_of(const struct communicator *communicator, int from, int to);
/* Waits until the value is there; false: the communicator was aborted. */
bool await(const struct communicator *communicator, const _Atomic uint64_t *at, uint64_t value);

size_t type_size(int type); /* 0: there is none */
/* to[i] = the combination of element i of all ranks, from element `first` of their sources on. */
void combine(const struct communicator *communicator, const struct terms *terms, size_t first,
             size_t count, char *to);

/* Waits until the process exits. */
void exit_await(void);

/* Loads the kernel on the thread's GPU; false: it cannot. */
bool work_load(void);
/* Puts it into its stream, and into the list of the communicator. */
void work_launch(struct work *work);

#endif
