/*
 * cooperative.c - kernels whose threads wait for each other: each is a thread of this process.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "standin.h"

#define STACK_BYTES ((size_t)256 << 10)
#define THREADS     4 /* of a block at most, if `threads` of CUDA_STANDIN is 0 */

/* A block of threads that runs. The lock guards the barrier. */
struct running_block {
    const struct standin_work *work;
    dim3 index;
    char *shared;
    pthread_mutex_t lock;
    pthread_cond_t released;
    unsigned live;    /* threads that have not ended */
    unsigned arrived; /* of those, at the barrier */
    uint64_t turn;
    bool votes; /* the barrier is one with a vote */
    bool all;   /* of those that arrived say yes */
    bool result;
};

struct running_thread {
    struct running_block *block;
    dim3 index;
    pthread_t thread;
};

/* The declarations of device_host.h. */
extern __thread uint3 threadIdx, blockIdx;
extern __thread dim3 blockDim, gridDim;
void __syncthreads(void);
int __syncthreads_and(int vote);
char *device_shared(void);
void __nanosleep(unsigned nanoseconds);
void __threadfence_system(void);
void __trap(void);
long long clock64(void);
unsigned long long device_nanoseconds(void);

static __thread struct running_block *own_block; /* NULL: the thread runs no cooperative kernel */

static uint64_t volume(dim3 extent)
{
    return (uint64_t)extent.x * extent.y * extent.z;
}

static dim3 place(uint64_t at, dim3 extent)
{
    return (dim3){(unsigned)(at % extent.x), (unsigned)(at / extent.x % extent.y),
                  (unsigned)(at / extent.x / extent.y)};
}

/* A kernel that is not cooperative has the lock in mode=sync. */
static void kernel_violation(const char *what, cudaError_t sticky)
{
    bool locks = own_block || standin.config.async;
    if (locks)
        standin_lock();
    standin_violation(sticky, "%s", what);
    if (sticky != cudaSuccess)
        standin.sticky = sticky;
    if (locks)
        standin_unlock();
}

/* The block's lock is held. */
static void barrier_release(struct running_block *block)
{
    block->result = block->all;
    block->all = true;
    block->arrived = 0;
    block->turn++;
    pthread_cond_broadcast(&block->released);
}

static bool barrier(bool votes, bool vote)
{
    struct running_block *block = own_block;
    if (!block) {
        kernel_violation("a kernel that was not launched cooperatively has a barrier", cudaSuccess);
        return vote;
    }
    pthread_mutex_lock(&block->lock);
    bool differs = block->arrived > 0 && block->votes != votes;
    block->votes = votes;
    block->all &= vote;
    uint64_t turn = block->turn;
    if (++block->arrived == block->live)
        barrier_release(block);
    while (block->turn == turn)
        pthread_cond_wait(&block->released, &block->lock);
    bool result = block->result;
    pthread_mutex_unlock(&block->lock);
    if (differs)
        kernel_violation("the threads of a block are at different barriers", cudaSuccess);
    return result;
}

void __syncthreads(void)
{
    barrier(false, true);
}

int __syncthreads_and(int vote)
{
    return barrier(true, vote != 0);
}

char *device_shared(void)
{
    if (own_block)
        return own_block->shared;
    kernel_violation("a kernel that was not launched cooperatively has shared memory", cudaSuccess);
    return NULL;
}

void __nanosleep(unsigned nanoseconds)
{
    struct timespec nap = {.tv_nsec = nanoseconds < 1000000 ? nanoseconds : 1000000};
    if (nanoseconds < 1000)
        sched_yield();
    else
        nanosleep(&nap, NULL);
}

/* ThreadSanitizer knows no fences. */
void __threadfence_system(void)
{
#ifdef __SANITIZE_THREAD__
    static int word;
    __atomic_fetch_add(&word, 0, __ATOMIC_SEQ_CST);
#else
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
#endif
}

void __trap(void)
{
    kernel_violation("a kernel calls __trap()", cudaErrorLaunchFailure);
}

long long clock64(void)
{
    return (long long)standin_now();
}

unsigned long long device_nanoseconds(void)
{
    return standin_now();
}

/* Threads that have ended are not waited for. */
static void *thread_run(void *argument)
{
    const struct running_thread *own = argument;
    struct running_block *block = own->block;
    own_block = block;
    gridDim = block->work->grid;
    blockDim = block->work->block;
    blockIdx = (uint3){block->index.x, block->index.y, block->index.z};
    threadIdx = (uint3){own->index.x, own->index.y, own->index.z};
    block->work->cooperative(block->work->pointer);
    pthread_mutex_lock(&block->lock);
    block->live--;
    if (block->arrived > 0 && block->arrived == block->live)
        barrier_release(block);
    pthread_mutex_unlock(&block->lock);
    return NULL;
}

static void thread_start(struct running_thread *thread)
{
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    if (pthread_create(&thread->thread, &attributes, thread_run, thread) != 0) {
        fprintf(stderr, "cuda stand-in: cannot start a thread of a kernel\n");
        abort();
    }
    pthread_attr_destroy(&attributes);
}

static void kernel_run(const struct standin_work *work)
{
    const uint64_t count = volume(work->grid), threads = volume(work->block);
    struct running_block *blocks = standin_allocate(count * sizeof *blocks);
    struct running_thread *all = standin_allocate(count * threads * sizeof *all);
    for (uint64_t i = 0; i < count; i++) {
        blocks[i] = (struct running_block){.work = work,
                                           .index = place(i, work->grid),
                                           .shared = standin_allocate(work->shared),
                                           .live = (unsigned)threads,
                                           .all = true};
        memset(blocks[i].shared, STANDIN_GARBAGE, work->shared);
        pthread_mutex_init(&blocks[i].lock, NULL);
        pthread_cond_init(&blocks[i].released, NULL);
    }
    for (uint64_t i = 0; i < count * threads; i++) {
        all[i] = (struct running_thread){.block = &blocks[i / threads],
                                         .index = place(i % threads, work->block)};
        thread_start(&all[i]);
    }
    for (uint64_t i = 0; i < count * threads; i++)
        pthread_join(all[i].thread, NULL);
    for (uint64_t i = 0; i < count; i++) {
        pthread_mutex_destroy(&blocks[i].lock);
        pthread_cond_destroy(&blocks[i].released);
        free(blocks[i].shared);
    }
    free(blocks);
    free(all);
}

/* The work uses each block of memory that the rest of the pointer's block has an address of. Others
 * may write there what is no address, so ThreadSanitizer does not look. */
__attribute__((no_sanitize_thread)) static cudaError_t memory_uses(struct standin_work *work,
                                                                   int device)
{
    uintptr_t least = UINTPTR_MAX, most = 0, word;
    for (const struct standin_block *each = standin.blocks; each; each = each->next) {
        uintptr_t base = (uintptr_t)each->base;
        least = base < least ? base : least;
        most = base + each->bytes > most ? base + each->bytes : most;
    }
    const struct standin_block *block = standin_find(work->pointer);
    size_t at = (size_t)((char *)work->pointer - block->base + 7) / 8 * 8;
    cudaError_t error = cudaSuccess;
    for (; error == cudaSuccess && at + sizeof word <= block->bytes; at += sizeof word) {
        word = __atomic_load_n((uintptr_t *)(void *)(block->view + at), __ATOMIC_RELAXED);
        if (word >= least && word < most)
            error = standin_launch_uses(work, device, (const void *)word);
    }
    return error;
}

void standin_cooperative_run(struct CUstream_st *stream, struct standin_work *work)
{
    const int device = stream->device;
    const uint64_t blocks = volume(work->grid);
    uint64_t room = (uint64_t)(standin.config.sms * standin.config.per_sm);
    while (standin.resident[device] + blocks > room && standin.sticky == cudaSuccess)
        pthread_cond_wait(&standin.finished, &standin.lock);
    if (standin.sticky == cudaSuccess)
        standin.sticky = work->pointer ? memory_uses(work, device) : cudaSuccess;
    if (standin.sticky != cudaSuccess)
        return;
    standin.resident[device] += blocks;
    standin_memory_open(device, true);
    standin_unlock();
    kernel_run(work);
    standin_lock();
    standin_memory_open(device, false);
    standin.resident[device] -= blocks;
}

cudaError_t standin_kernels_await(const char *call, int device, bool waits)
{
    if (standin.cooperative[device] > 0 && standin.config.strict)
        return standin_violation(cudaErrorUnknown, "%s waits for a kernel that waits", call);
    while (waits && standin.cooperative[device] > 0 && standin.sticky == cudaSuccess)
        pthread_cond_wait(&standin.finished, &standin.lock);
    return waits ? standin.sticky : cudaSuccess;
}

/* Without an argument it has nothing to wait for. */
bool standin_kernel_waits(const struct standin_work *work)
{
    return work->cooperative && work->pointer;
}

cudaError_t standin_kernel_begin(const struct standin_work *work, int device)
{
    const void *kernel = (const void *)(uintptr_t)work->cooperative;
    if (!kernel || standin_kernel_find(device, kernel)->has_run)
        return cudaSuccess;
    return standin_kernels_await("the first launch of a kernel", device, false);
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, const void *function,
                                                          int threads, size_t shared)
{
    cudaError_t error = standin_enter(CALL_cudaOccupancyMaxActiveBlocksPerMultiprocessor);
    if (error != cudaSuccess)
        return error;
    if (!function)
        return standin_leave(cudaErrorInvalidDeviceFunction);
    if (threads <= 0)
        return standin_leave(cudaErrorInvalidValue);
    bool fits =
        threads <= 1024 && shared <= standin_kernel_find(standin_device(), function)->shared_most;
    *blocks = fits ? (int)standin.config.per_sm : 0;
    return standin_leave(cudaSuccess);
}

static dim3 block_of(dim3 asked)
{
    if (standin.config.threads)
        return (dim3){(unsigned)standin.config.threads, 1, 1};
    return volume(asked) <= THREADS ? asked : (dim3){THREADS, 1, 1};
}

/* The lock is held. */
static cudaError_t cooperative_submit(cudaStream_t stream, const struct standin_work *values)
{
    if (values->pointer && !block_is_device(standin_find(values->pointer)))
        return standin_violation(cudaErrorInvalidValue,
                                 "cudaLaunchCooperativeKernel: the argument %p is the address of "
                                 "no device memory",
                                 values->pointer);
    struct standin_work *work = standin_allocate(sizeof *work);
    *work = *values;
    cudaError_t error = standin_launch_uses(work, stream->device, work->pointer);
    if (error == cudaSuccess && !stream->capture)
        error = standin_kernel_begin(work, stream->device);
    if (error == cudaSuccess)
        standin_submit(stream, work);
    else
        free(work);
    return error;
}

cudaError_t cudaLaunchCooperativeKernel(const void *function, dim3 grid, dim3 block,
                                        void **arguments, size_t shared, cudaStream_t stream)
{
    cudaError_t error = standin_enter(CALL_cudaLaunchCooperativeKernel);
    if (error != cudaSuccess)
        return error;
    error = standin_launch_check("cudaLaunchCooperativeKernel", stream, function, grid, block);
    if (error == cudaSuccess && !standin.config.cooperative)
        error = cudaErrorNotSupported;
    if (error == cudaSuccess &&
        (!arguments || !arguments[0] ||
         shared > standin_kernel_find(standin_device(), function)->shared_most))
        error = cudaErrorInvalidValue;
    if (error == cudaSuccess &&
        volume(grid) > (uint64_t)(standin.config.sms * standin.config.per_sm))
        error = cudaErrorCooperativeLaunchTooLarge;
    if (error != cudaSuccess)
        return standin_leave(error);
    standin_kernel_launch(function);
    struct standin_work work = {.kind = WORK_LAUNCH,
                                .cooperative = (void (*)(void *))(uintptr_t)function,
                                .grid = grid,
                                .block = block_of(block),
                                .shared = shared};
    memcpy(&work.pointer, arguments[0], sizeof work.pointer);
    return standin_leave(cooperative_submit(stream, &work));
}
