/*
 * step_kernel.cu - the kernel that runs a flat plan: its blocks step until the run is complete.
 *
 * One thread of a block, the leader, chooses a chunk and publishes it; all of them move it. Blocks
 * wait for blocks of other ranks, so those of all ranks of a GPU must run at the same time.
 */
#include "dataplane/execute/cuda/step_kernel.h"

#include "dataplane/execute/step.h"
#include "dataplane/memory/cuda/bodies.h"
#include "dataplane/memory/datatype.h"

#define POLL_NS 20 /* between two looks of a block that cannot move */

/* The leader's order to the block. */
struct step_order {
    struct step_chunk chunk;
    enum step_result result;
};

static_assert(sizeof(struct step_order) <= STEP_SHARED, "what the leader tells has room");

#ifdef __CUDACC__
/* The block's shared memory. */
__device__ static inline void *device_shared(void)
{
    extern __shared__ uint4 shared_memory[];
    return shared_memory;
}
#else
#define __noinline__ __attribute__((noinline))
#endif

/* A run of elements. These functions are not inline: each is there once for all types that it
 * serves, and the registers that it needs are not added to those of a step. */

template <typename T, T (*combine)(T, T)>
__device__ static __noinline__ void reduce_run(const struct step_run *run, unsigned thread,
                                               unsigned threads)
{
    reduce_part<T, combine>(run->to, run->from, run->with, run->bytes / sizeof(T), thread, threads);
}

template <typename W, int (*wins)(W, W, W, W)>
__device__ static __noinline__ void reduce_pair_run(const struct step_run *run, unsigned thread,
                                                    unsigned threads)
{
    reduce_pair_part<W, wins>(run->to, run->from, run->with, run->bytes / sizeof(pair<W>), thread,
                              threads);
}

template <typename T, typename D, T (*divide)(T, D)>
__device__ static __noinline__ void finish_run(const struct step_run *run, int ranks,
                                               unsigned thread, unsigned threads)
{
    finish_part<T, D, divide>(run->to, run->from, run->bytes / sizeof(T), ranks, thread, threads);
}

#define REDUCE_CASE(OPERATOR, function, type)                                                      \
    case REDUCTION_##OPERATOR:                                                                     \
        return reduce_run<type, function>(run, thread, threads);
#define REDUCE_PAIR_CASE(OPERATOR, function, word)                                                 \
    case REDUCTION_##OPERATOR:                                                                     \
        return reduce_pair_run<word, function>(run, thread, threads);
#define REDUCE_NUMBER(ID, operators, name, argument, made, value, type, divisor)                   \
    case TYPE_##ID:                                                                                \
        switch (plan->reduction) {                                                                 \
            operators(REDUCE_CASE, name, argument) default : return;                               \
        }
#define REDUCE_PAIR(ID, name, word)                                                                \
    case TYPE_##ID:                                                                                \
        switch (plan->reduction) {                                                                 \
            PAIR_OPERATORS(REDUCE_PAIR_CASE, name, word) default : return;                         \
        }
#define FINISH_NUMBER(ID, operators, name, argument, made, value, type, divisor)                   \
    case TYPE_##ID:                                                                                \
        return finish_run<type, divisor, finish_##name>(run, plan->ranks, thread, threads);

__device__ static void reduce_by_type(const struct flat_plan *plan, const struct step_run *run,
                                      unsigned thread, unsigned threads)
{
    switch (plan->datatype) {
        NUMBERS(REDUCE_NUMBER)
        PAIRS(REDUCE_PAIR)
    default:
        return;
    }
}

__device__ static void finish_by_type(const struct flat_plan *plan, const struct step_run *run,
                                      unsigned thread, unsigned threads)
{
    switch (plan->datatype) {
        NUMBERS(FINISH_NUMBER)
    default:
        return;
    }
}

__device__ static void body(const void *context, enum operation_kind kind,
                            const struct step_run *run, unsigned thread, unsigned threads)
{
    const struct flat_plan *plan = (const struct flat_plan *)context;
    if (kind == OPERATION_REDUCE)
        reduce_by_type(plan, run, thread, threads);
    else if (kind == OPERATION_FINISH)
        finish_by_type(plan, run, thread, threads);
    else
        copy_part(run->to, run->from, run->bytes, thread, threads);
}

/* The leader's time by activity, in ticks. */
struct stopwatch {
    long long last;
    size_t spent[ACTIVITIES];
};

/* All since the last lap was this activity. */
__device__ static inline void lap(const struct flat_plan *plan, struct stopwatch *watch,
                                  enum activity activity)
{
    if (!plan->profiles)
        return;
    const long long now = clock64();
    watch->spent[activity] += (size_t)(now - watch->last);
    watch->last = now;
}

/* Finds what the block can do next. */
__device__ static inline enum step_result choose(struct flat_plan *plan, struct step_chunk *chunk,
                                                 struct stopwatch *watch)
{
    enum step_result result;
    lap(plan, watch, PROFILE_BOOKKEEPING);
    while ((result = step_choose(plan, blockIdx.x, chunk)) == STEP_WAITS) {
        __nanosleep(POLL_NS);
        lap(plan, watch,
            flat_block_progress(plan)[blockIdx.x].starved ? PROFILE_CREDIT : PROFILE_PEER);
    }
    return result;
}

__device__ static inline void publish(struct flat_plan *plan, const struct step_chunk *chunk,
                                      struct stopwatch *watch)
{
    const enum operation_kind kind = flat_operations(plan)[chunk->operation].kind;
    const bool combines = kind == OPERATION_REDUCE || kind == OPERATION_RECV_REDUCE;
    lap(plan, watch, combines ? PROFILE_REDUCE : PROFILE_COPY);
    step_publish(plan, blockIdx.x, chunk);
}

__global__ void __launch_bounds__(STEP_THREADS, 1) run_plan(struct flat_plan *plan)
{
    struct step_order *order = (struct step_order *)device_shared();
    const bool leads = threadIdx.x == 0;
    struct stopwatch watch = {clock64(), {0}};
    enum step_result result;
    if (!plan)
        return;
    if (leads)
        step_start(plan, blockIdx.x);
    do {
        if (leads)
            order->result = choose(plan, &order->chunk, &watch);
        __syncthreads();
        result = order->result;
        if (result == STEP_GATHERS) {
            const int gathered = step_gather(&order->chunk, threadIdx.x, blockDim.x);
            result = __syncthreads_and(gathered) ? STEP_MOVED : STEP_WAITS;
        }
        if (result == STEP_MOVED)
            step_move(plan, &order->chunk, body, plan, threadIdx.x, blockDim.x);
        __syncthreads();
        if (result == STEP_MOVED && leads)
            publish(plan, &order->chunk, &watch);
    } while (result < STEP_COMPLETE);
    lap(plan, &watch, PROFILE_BOOKKEEPING);
    for (int a = 0; a < ACTIVITIES && leads && plan->profiles; a++)
        word_put(&plan->whereabouts[blockIdx.x].spent[a], watch.spent[a]);
}

const void *step_kernel(void)
{
    return (const void *)run_plan;
}
