/*
 * runtime.h - a strict and slow CUDA runtime in this process, for tests, without a GPU.
 *
 * It defines the cuda* functions that cctest calls (include/cuda_runtime_api.h), and is linked in
 * the place of libcudart. A kernel is a function that takes one `struct device_work` by value; g++
 * compiles it for the CPU (include/device_host.h). Streams other than the default stream exist.
 *
 * mode=sync: each call does its work before it returns. No CPU reads or writes device memory at
 * its address except a kernel that runs, and a kernel reaches only memory of its own device and of
 * its peers: all else ends by a signal. A stream of cooperative kernels is a thread from the first
 * of them on, as is one that waits for an event of such a stream: its work may be done after the
 * calls have returned. While cooperative kernels run, what they reach can be reached by all.
 * mode=async: each stream is a thread, which begins each piece of work after a random delay. Device
 * memory can be reached by the CPU. Copies from pinned memory read it late; copies from pageable
 * memory read it at once, copies to it end before the call does.
 * In both modes each block of device memory begins with garbage, ends at an inaccessible page
 * (after at most 255 bytes), is aligned to 256 bytes and no more, and its address is never used
 * again.
 * A cooperative kernel takes one `void *`, to device memory, or NULL: then it waits for no other
 * kernel. Each of its threads is a thread of this process, so that they and other kernels can wait
 * for each other. A device has room for sms * per_sm blocks of this process, and a kernel begins
 * when all of its blocks have room. A block has at most 4 threads, whatever the launch says, or as
 * many as `threads` says; blockDim is what runs. A kernel uses the block of memory that its
 * argument lies in. From its beginning on it uses each block that an aligned word between the
 * argument and the end of that memory has an address of.
 * A stream captures cooperative and other launches, memsets, copies from and to memory that is not
 * pageable, and records with cudaEventRecordExternal (others record nothing in CUDA, either). A
 * launch of the graph queues them in order, as if they were called then.
 * Strict: what CUDA leaves undefined, or refuses only by luck, is a violation: one sentence on
 * stderr, then abort(). Violations are unknown pointers, freed memory, ranges beyond a block,
 * copies of the wrong direction or with overlap, a destroyed or unknown stream or event, the
 * default stream, a launch or memset on a stream of another device than the thread's (a copy is
 * allowed there), a record on a stream of another device than the event's, memory that is freed
 * while queued work uses it or another process has it open, a kernel that is given memory of a
 * device to which its own has no peer access, a barrier or shared memory in a kernel that is not
 * cooperative, threads of a block at different barriers, __trap(), other calls of a thread
 * that captures a stream, a graph that uses what is no more, and whatever is left at exit(0).
 * Memory of cuMemCreate() comes in multiples of 2 MiB, and is mapped as a whole to all addresses of
 * one reservation. It counts until its own process has released and unmapped it; other processes
 * keep what they have imported. NICs reach what was made for them. Violations are other sizes,
 * handles and addresses that are not there or were given back before, unmapping what queued work
 * uses, freeing addresses where memory is mapped, and a kernel, copy or memset of a device to which
 * cuMemSetAccess() gave no access.
 * A kernel that is not cooperative uses the blocks that its argument has addresses of. NICs of the
 * provider of tests/verbs, where that is linked, reach device memory by a dmabuf, or by their peer
 * memory module. What they write may be seen only after cudaDeviceFlushGPUDirectRDMAWrites()
 * (flush=1 of the provider). A process that was forked after a call, and calls, gets
 * cudaErrorInitializationError.
 *
 * CUDA_STANDIN="key=value,key=value...", read once, or runtime_configure():
 *
 *   devices=N       (2); 0: cudaErrorNoDevice
 *                   Of these CUDA_VISIBLE_DEVICES leaves those that it lists, by number, in its
 *                   order; MIG-K is the K-th part of device 0, which no other part reaches
 *   memory=BYTES    of each device, and of each process (268435456)
 *   mode=sync|async (sync)
 *   seed=N          of all random choices (1)
 *   delay=US        work starts at most so late in mode=async (100)
 *   threads=N       a block of a kernel has this many threads; 0: as many as the launch says (0).
 *                   They run one after the other, so it is not seen if they need atomic operations.
 *                   Those of cooperative kernels run at the same time; 0: at most 4 of a block.
 *   sticky=N        the N-th launch (from 1) returns cudaSuccess, and does nothing; when it is
 *                   done, all calls give cudaErrorIllegalAddress (0: none)
 *   hang=N          the N-th launch never ends, if it is cooperative or in mode=async (0: none)
 *   connections=N   CUDA_DEVICE_MAX_CONNECTIONS must be N at the first call (0: it may be anything)
 *   strict=no|yes   violations are: calls that wait for a stream, or copy from or to pageable
 *                   memory, launches of kernels that cudaFuncGetAttributes() has not loaded on that
 *                   device, with several devices calls in a thread that has chosen none, and
 *                   what may wait for a cooperative kernel of the device that is not done:
 *                   cudaMalloc(), cudaFree(), cudaHostAlloc(), cudaFreeHost(),
 *                   cudaGraphInstantiate(), cudaGraphUpload(), cuMemCreate(), cuMemMap(),
 *                   cuMemSetAccess(), cuMemUnmap(), cuMemRelease(), the launch of a graph that was
 *                   not uploaded, and that of a cooperative kernel of which no launch on the device
 *                   is done (no). Without strict=yes only cudaFree() and cuMemUnmap() wait
 *   driver=new|none|old
 *                   none and old: cudaErrorInsufficientDriver everywhere (new)
 *   peer=no|yes     devices reach each other's memory (yes)
 *   ipc=no|yes      memory can be shared with other processes (yes)
 *   dmabuf=no|yes|absent
 *                   device memory can be exported; absent: the driver has no such function (yes)
 *   ordering=none|owner|all
 *                   what NICs write need not be flushed for the device that owns the memory, or for
 *                   all devices (none)
 *   flush=no|yes    it can be flushed (yes)
 *   sms=N           multiprocessors of a device (16)
 *   per_sm=N        blocks that each has room for (2)
 *   cooperative=no|yes
 *                   kernels can be launched cooperatively (yes)
 *   mps=no|yes      cudaDevAttrMpsEnabled (no)
 *   fabric=no|yes|channel|daemon
 *                   memory of the driver (fabric.c) has handles that other processes open, on all
 *                   hosts; channel: this process has no IMEX channel; daemon: it opens no handle of
 *                   another host (no). Parts of a device have none
 *   violations=status|abort
 *                   after its sentence a violation aborts, or the call gives an error (abort)
 *   fail=NAME:N+NAME:N:ERROR...
 *                   the N-th call (from 1) of the function NAME gives that error (cudaError...), or
 *                   a fitting one
 */
#ifndef CCTEST_TEST_CUDA_RUNTIME_H
#define CCTEST_TEST_CUDA_RUNTIME_H

#include <stddef.h>
#include <stdint.h>

struct runtime_counts {
    uint64_t copies, bytes; /* of copies and memsets; how many, and what they moved */
    uint64_t launches;
    uint64_t lazy;  /* launches of a kernel that no cudaFuncGetAttributes() has loaded */
    uint64_t waits; /* calls that block: synchronizations, copies to pageable memory */
    uint64_t blocks, streams, events; /* that are there now */
    uint64_t graphs;                  /* with those that are instantiated */
    uint64_t violations;
};

/* Starts anew. Nothing may be in use, but in a forked process, which forgets what its parent had.
 * NULL: as CUDA_STANDIN and CUDA_VISIBLE_DEVICES say. */
void runtime_configure(const char *text);

struct runtime_counts runtime_counts(void);

/* A violation if anything is there. Called at exit(0), too. */
void runtime_check(void);

/* Where a test reads and writes what lies at this address of device memory. For other memory it is
 * the address itself. */
void *runtime_view(const void *pointer);

/* The file of the device memory at this address, owned by the stand-in, and the offset in it; -1:
 * there is none. */
int runtime_file(const void *pointer, uint64_t *offset);

#endif
