/*
 * standin.h - what the files of the stand-in share.
 */
#ifndef CCTEST_TEST_CUDA_STANDIN_H
#define CCTEST_TEST_CUDA_STANDIN_H

#include <cuda_runtime_api.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "calls.h"
#include "dataplane/memory/cuda/work.h"
#include "runtime.h"

#define STANDIN_DEVICES 16
#define STANDIN_FAULTS  16
#define STANDIN_KERNELS 512
#define STANDIN_GARBAGE 0xa5

/* Bytes of shared memory of a block, and what cudaFuncSetAttribute() allows. */
#define STANDIN_SHARED      (48 << 10)
#define STANDIN_SHARED_MOST (227 << 10)

enum { DRIVER_NEW, DRIVER_NONE, DRIVER_OLD };
enum { FABRIC_NO, FABRIC_YES, FABRIC_NO_CHANNEL, FABRIC_NO_DAEMON };
enum { ORDERING_NONE, ORDERING_OWNER, ORDERING_ALL };

struct standin_config {
    long devices, memory, async, seed, threads, sticky, hang, connections, strict, driver, peer,
        ipc, dmabuf, ordering, flush, aborts, sms, per_sm, cooperative, mps, fabric;
    long delay; /* us */
    struct standin_fault {
        enum standin_call call;
        uint64_t at;
        cudaError_t error;
    } faults[STANDIN_FAULTS];
    int fault_count;
};

/* A device that CUDA_VISIBLE_DEVICES leaves. */
struct standin_card {
    int number; /* among all of the machine */
    int part;   /* of a MIG device, from 1; 0: the device is whole */
};

enum block_kind {
    BLOCK_DEVICE,
    BLOCK_OPENED,     /* of another process */
    BLOCK_MAPPED,     /* of cuMemMap(), of this process or another */
    BLOCK_ALLOCATED,  /* host memory of cudaHostAlloc() */
    BLOCK_REGISTERED, /* host memory of cudaHostRegister() */
};

/* A piece of memory that CUDA knows. */
struct standin_block {
    enum block_kind kind;
    int device;
    char *base, *view; /* where it seems to be, and where its bytes are */
    size_t bytes;
    char *map; /* base lies here, in `map_bytes` bytes of whole pages, the last of them without
                  access if it is device memory */
    size_t map_bytes;
    int file;         /* of device memory, with `map` at offset 0; else -1 */
    unsigned pending; /* queued work that uses it */
    unsigned opens;   /* of BLOCK_OPENED */
    uint32_t access;  /* of BLOCK_MAPPED: the devices that reach it, a bit each */
    bool open;        /* device memory that the CPU can reach */
    dev_t file_device;
    ino_t file_number;
    struct standin_block *next;
};

/* The handles, behind the names that CUDA has for them. */
struct CUevent_st {
    uint64_t recorded, done; /* how often */
    uint64_t at;             /* when it was done last, in ns */
    unsigned flags;
    int device;
    struct CUevent_st *next;
};

struct CUstream_st {
    struct standin_work *first, *last; /* the first is being done */
    uint64_t queued, done;
    uint64_t random; /* of the delays */
    uint64_t seed;   /* of what else is random */
    bool destroyed;
    bool threaded; /* a thread does the work, else the calls do */
    bool ended;    /* there is no thread, or none any more */
    int device;
    struct standin_graph *capture; /* takes what is submitted; NULL: none */
    pthread_t captor;              /* the thread that began that */
    pthread_cond_t wake;           /* there is work, or it is destroyed */
    struct CUstream_st *next;
};

enum work_kind { WORK_COPY, WORK_SET, WORK_LAUNCH, WORK_RECORD, WORK_WAIT };

struct standin_work {
    enum work_kind kind;
    struct {
        char *to;
        const char *from;
        size_t to_pitch, from_pitch, width, height;
    } copy;      /* a memset has no `from` */
    char *stage; /* owned; what a copy from pageable memory has read */
    int value;
    void (*function)(struct device_work);
    void (*cooperative)(void *); /* in place of `function` */
    dim3 grid, block;
    struct device_work *argument; /* owned */
    void *pointer;                /* the argument of a cooperative kernel */
    size_t shared;
    uint64_t random;
    struct CUevent_st *event;
    uint64_t number;   /* of the record */
    bool fails, hangs; /* sticky=, hang= */
    struct standin_block **blocks;
    size_t block_count;
    struct standin_work *next;
};

/* Work in order: a cudaGraph_t, or a cudaGraphExec_t, which is uploaded once. */
struct standin_graph {
    struct standin_work *first, *last; /* which own what they own, and use no memory */
    int device;
    bool uploaded; /* a launch need not do it */
    struct standin_graph *next;
};

/* A kernel that is loaded on a device, or has an attribute set. Its first launch may allocate
 * memory of the device, such as the stacks of its threads. */
struct standin_kernel {
    const void *function;
    bool loaded;
    bool has_run; /* a cooperative launch of it is done */
    size_t shared_most;
};

struct standin {
    pthread_mutex_t lock;
    pthread_cond_t finished; /* some work is, or a stream has ended */
    pid_t pid;               /* 0: no call yet; atomic */
    uint64_t generation;
    struct standin_config config; /* of its devices only those are left that can be seen: */
    struct standin_card cards[STANDIN_DEVICES];
    cudaError_t sticky;
    uint64_t random, calls[STANDIN_CALL_COUNT];
    size_t used[STANDIN_DEVICES]; /* bytes */
    bool peers[STANDIN_DEVICES][STANDIN_DEVICES];
    struct standin_block *blocks, *old_blocks; /* old ones keep their addresses */
    struct CUstream_st *streams, *old_streams;
    struct CUevent_st *events, *old_events;
    struct standin_graph *graphs, *ready_graphs; /* those that are instantiated */
    struct standin_kernel kernels[STANDIN_DEVICES][STANDIN_KERNELS];
    unsigned open[STANDIN_DEVICES];        /* kernels that reach memory in mode=sync */
    unsigned cooperative[STANDIN_DEVICES]; /* launches that may wait for others and are not done */
    uint64_t resident[STANDIN_DEVICES];    /* their blocks that run */
    struct runtime_counts counts;
};

extern struct standin standin;

/* Ends the process with a sentence if the text is not well formed. */
void standin_parse(struct standin_config *config, const char *text);
/* Leaves the devices that the text of CUDA_VISIBLE_DEVICES lists; NULL: all. */
void standin_cards_see(struct standin_config *config, struct standin_card *cards,
                       const char *visible);
/* The number here of a device of the machine, or of a part of one; false: it cannot be seen. */
bool standin_card_find(const struct standin_card *card, int *device);
/* Do two devices have access to each other's memory? Parts of MIG devices have none. */
bool standin_cards_reach(int device, int peer);
const char *standin_call_name(enum standin_call call);
cudaError_t standin_call_error(enum standin_call call);        /* that fits the call */
bool standin_error_find(const char *name, cudaError_t *error); /* false: there is none */

/* Begins a call: on cudaSuccess the lock is held until standin_leave(), which returns its error.
 * Both note an error as the thread's last. */
cudaError_t standin_enter(enum standin_call call);
cudaError_t standin_leave(cudaError_t error);
void standin_lock(void);
void standin_unlock(void);

/* Ends the process, or returns `error`. The lock is held. */
cudaError_t standin_violation(cudaError_t error, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* A call blocks: a violation if strict=yes. The lock is held. */
void standin_blocks(const char *call);

uint64_t standin_now(void); /* ns */
uint64_t standin_random(uint64_t *state, uint64_t below);
void *standin_allocate(size_t bytes);

int standin_device(void); /* the thread's */

/* All below: the lock is held. */

/* The block that holds the address, or NULL. */
struct standin_block *standin_find(const void *pointer);
/* Checks [pointer, pointer + bytes): sets the block that holds all of it, or NULL if it is pageable
 * memory. */
cudaError_t standin_range(const void *pointer, size_t bytes, const char *what,
                          struct standin_block **block);
bool block_is_device(const struct standin_block *block);
/* Does the device reach this memory of a device? */
bool standin_block_serves(const struct standin_block *block, int device);
/* In mode=sync: a kernel of the device begins or ends. What the kernels that run reach, of their
 * devices and peers, can be reached. */
void standin_memory_open(int device, bool open);
/* Once more: there is other memory, or another peer. */
void standin_memory_protect(void);

/* NICs of the provider of tests/verbs, if it is linked, reach device memory, or do no more. */
void standin_nics_reach(const struct standin_block *block, bool reach);

/* Has memory of the device fabric handles? */
bool standin_fabric_serves(int device);
/* A function of memory with fabric handles, by its name; false: there is none. */
bool standin_fabric_entry(const char *name, void **function);
/* Are there addresses, handles or memory? */
bool standin_fabric_is_left(void);
void standin_fabric_forget(void);

/* The errors for a handle that is not there. */
cudaError_t standin_stream_check(cudaStream_t stream);
cudaError_t standin_event_check(cudaEvent_t event);

/* Takes the work over, and does it, queues it, or adds it to what the stream captures. */
void standin_submit(cudaStream_t stream, struct standin_work *work);
/* Waits until the stream has done so many; an error that is sticky ends that. */
cudaError_t standin_await(cudaStream_t stream, uint64_t count);
void standin_work_uses(struct standin_work *work, struct standin_block *block);
void standin_work_free(struct standin_work *work);
void standin_graph_capture(cudaStream_t stream, struct standin_work *work);
/* The thread captures one stream more (1) or less (-1). */
void standin_captures(int change);

/* Waits for the threads of destroyed streams, and forgets those, and destroyed events. */
void standin_streams_forget(void);
void standin_blocks_forget(void);
void standin_graphs_forget(void);

/* A call waits for the cooperative kernels of the device, if there are any: a violation if
 * strict=yes. */
cudaError_t standin_kernels_await(const char *call, int device, bool waits);

/* A stream that is of the thread's device, a kernel, and numbers that a device allows? */
cudaError_t standin_launch_check(const char *call, cudaStream_t stream, const void *function,
                                 dim3 grid, dim3 block);
/* A device's record of the kernel, and whether its first launch must load it. */
struct standin_kernel *standin_kernel_find(int device, const void *function);
void standin_kernel_launch(const void *function);
/* The work uses the block that has the address, if there is one, which the device must reach. */
cudaError_t standin_launch_uses(struct standin_work *work, int device, const void *address);

/* Does the work run a cooperative kernel that may wait for others? */
bool standin_kernel_waits(const struct standin_work *work);
/* A cooperative launch begins on the device: a violation if strict=yes, and the kernel has not run
 * there, and another one is not done. */
cudaError_t standin_kernel_begin(const struct standin_work *work, int device);

/* Without the lock in mode=async. */
void standin_kernel_run(const struct standin_work *work);
/* Gives the lock back while it waits for room, and while the kernel runs. */
void standin_cooperative_run(struct CUstream_st *stream, struct standin_work *work);

#endif
