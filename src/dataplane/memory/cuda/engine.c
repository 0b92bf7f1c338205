/*
 * engine.c - local operations in memory of a GPU, and between it and pinned memory.
 *
 * Nothing waits: work begins in one call and is found finished in a later one.
 */
#include "dataplane/memory/cuda/cuda.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/list.h"
#include "base/log.h"
#include "dataplane/memory/cuda/kernels.h"

#define THREADS     256u               /* of a block */
#define BLOCKS_MOST 2048u              /* of a launch: several rounds of the largest GPU */
#define PER_THREAD  64u                /* bytes, at least, before there are more blocks */
#define BLOCK_COPY  ((size_t)64 << 10) /* shorter runs are copied by a kernel, several at once */

size_t cuda_blocks(size_t bytes)
{
    size_t blocks = (bytes / PER_THREAD + THREADS - 1) / THREADS;
    return blocks < 1 ? 1 : blocks;
}

enum status cuda_launch(const struct cuda_queue *queue, const void *kernel, size_t blocks,
                        unsigned rows, struct device_work *work)
{
    void *arguments[] = {work};
    const unsigned columns = (unsigned)(blocks < BLOCKS_MOST ? blocks : BLOCKS_MOST);
    const dim3 grid = {columns, rows, 1}, block = {THREADS, 1, 1};
    CUDA_TRY(cudaLaunchKernel(kernel, grid, block, arguments, 0, queue->stream),
             "cannot launch a kernel");
    return STATUS_OK;
}

/* Local operations. */

/* The runs of a launch, and the longest of them. */
struct batch {
    struct device_work work;
    size_t longest; /* bytes */
};

static enum status batch_launch(struct batch *batch, const struct cuda_queue *queue,
                                const void *kernel)
{
    if (batch->work.run_count == 0)
        return STATUS_OK;
    enum status status = cuda_launch(queue, kernel, cuda_blocks(batch->longest),
                                     (unsigned)batch->work.run_count, &batch->work);
    batch->work.run_count = 0;
    batch->longest = 0;
    return status;
}

/* Kinds of memory give their own kernels as the functions of a transfer (memory.h). */
static const void *kernel_of(const struct transfer *transfer)
{
    const void *kernel;
    if (transfer->kind == TRANSFER_REDUCE)
        memcpy(&kernel, &transfer->reduce, sizeof kernel);
    else if (transfer->kind == TRANSFER_FINISH)
        memcpy(&kernel, &transfer->finish, sizeof kernel);
    else
        kernel = device_copy_kernel();
    return kernel;
}

/* The next run of a transfer: of at most `most` bytes, contiguous in all of its layouts. */
static struct device_run run_next(struct transfer *transfer, size_t most, size_t *bytes)
{
    struct device_run run = {.to = cursor_peek(&transfer->cursor, most, bytes)};
    run.from = cursor_peek(&transfer->from_cursor, *bytes, bytes);
    if (transfer->kind == TRANSFER_REDUCE)
        run.with = cursor_peek(&transfer->with_cursor, *bytes, bytes);
    run.elements = transfer->kind == TRANSFER_COPY ? *bytes : *bytes / transfer->element;
    cursor_advance(&transfer->cursor, *bytes);
    cursor_advance(&transfer->from_cursor, *bytes);
    if (transfer->kind == TRANSFER_REDUCE)
        cursor_advance(&transfer->with_cursor, *bytes);
    return run;
}

/* Begins the next `bytes` bytes of a transfer in a queue: long runs of a copy by a copy engine, all
 * others by as few launches as they fit into. */
static enum status work_begin(const struct cuda_queue *queue, struct transfer *transfer,
                              size_t bytes)
{
    const void *kernel = kernel_of(transfer);
    struct batch batch = {.work = {.ranks = transfer->ranks}};
    for (size_t run_bytes; bytes > 0; bytes -= run_bytes) {
        const struct device_run run = run_next(transfer, bytes, &run_bytes);
        if (run.to == run.from && transfer->kind == TRANSFER_COPY)
            continue;
        if (transfer->kind == TRANSFER_COPY && run_bytes >= BLOCK_COPY) {
            CUDA_TRY(cudaMemcpyAsync(run.to, run.from, run_bytes, cudaMemcpyDefault, queue->stream),
                     "cannot copy");
            continue;
        }
        batch.work.runs[batch.work.run_count++] = run;
        batch.longest = run_bytes > batch.longest ? run_bytes : batch.longest;
        if (batch.work.run_count == DEVICE_RUNS)
            TRY(batch_launch(&batch, queue, kernel));
    }
    return batch_launch(&batch, queue, kernel);
}

#define NO_GPU (-1)

/* The GPU that the address belongs to. Pinned memory is of none. */
static int gpu_of(const void *address)
{
    struct cudaPointerAttributes about;
    bool is_known = cudaPointerGetAttributes(&about, address) == cudaSuccess;
    return is_known && about.type == cudaMemoryTypeDevice ? about.device : NO_GPU;
}

static enum cuda_queue_use queue_of(const struct transfer *transfer)
{
    if (transfer->kind != TRANSFER_COPY)
        return QUEUE_KERNELS;
    int from = gpu_of(transfer->from.pieces[0].base), to = gpu_of(transfer->to.pieces[0].base);
    return from == to ? QUEUE_KERNELS : to != NO_GPU ? QUEUE_TO_DEVICE : QUEUE_TO_HOST;
}

void cuda_engine_post(struct engine *posted, struct transfer *transfer)
{
    if (transfer->length == 0)
        return;
    struct cuda_queue *queue = &cuda_engine_of(posted)->queues[queue_of(transfer)];
    transfer_start_local(transfer);
    *queue->end = transfer;
    queue->end = &transfer->next;
}

/* Bytes of a transfer to begin now. Each beginning costs the host some microseconds, so what a link
 * delivers little by little is gathered while an earlier part is under way, of which there are two
 * at most. */
static size_t transfer_part(const struct transfer *transfer)
{
    const size_t turn = transfer_turn(transfer, transfer->element, CUDA_GRAIN_MOST);
    const size_t part = turn - turn % transfer->element, open = transfer->issued - transfer->done;
    const size_t bytes = transfer->limit - transfer->issued;
    if (open > part || (open > 0 && bytes < part && transfer->limit < transfer->length))
        return 0;
    return bytes < part ? bytes : part;
}

static enum status step_begin(struct cuda_queue *queue, struct transfer *transfer, size_t bytes)
{
    struct cuda_step *step = &queue->steps[queue->begun % CUDA_EVENTS];
    TRY(work_begin(queue, transfer, bytes));
    transfer->issued += bytes;
    step->transfer = transfer;
    step->end = transfer->issued;
    CUDA_TRY(cudaEventRecord(step->event, queue->stream), "cannot record an event");
    queue->begun++;
    return STATUS_OK;
}

/* Finds the steps that are done. */
static enum status queue_end_steps(struct cuda_queue *queue)
{
    for (; queue->ended != queue->begun; queue->ended++) {
        const struct cuda_step *step = &queue->steps[queue->ended % CUDA_EVENTS];
        cudaError_t error = cudaEventQuery(step->event);
        if (error == cudaErrorNotReady)
            return STATUS_OK;
        CUDA_TRY(error, "a copy or a kernel failed");
        transfer_advance(step->transfer, step->end - step->transfer->done);
    }
    return STATUS_OK;
}

/* Begins a part of each transfer that may go on. */
static enum status queue_begin_steps(struct cuda_queue *queue)
{
    for (struct transfer **link = &queue->first; *link;) {
        struct transfer *transfer = *link;
        const size_t bytes = transfer_part(transfer);
        if (queue->begun - queue->ended == CUDA_EVENTS)
            return STATUS_OK;
        if (bytes > 0)
            TRY(step_begin(queue, transfer, bytes));
        if (transfer->issued < transfer->length) {
            link = &transfer->next;
            continue;
        }
        *link = transfer->next;
        if (!*link)
            queue->end = link;
        transfer->next = NULL;
    }
    return STATUS_OK;
}

enum status cuda_engine_progress(struct engine *moving)
{
    struct cuda_engine *engine = cuda_engine_of(moving);
    for (int i = 0; i < CUDA_QUEUES; i++) {
        TRY(queue_end_steps(&engine->queues[i]));
        TRY(queue_begin_steps(&engine->queues[i]));
    }
    return STATUS_OK;
}

bool cuda_engine_busy(const struct engine *asked)
{
    const struct cuda_engine *engine = (const struct cuda_engine *)(const void *)asked;
    for (int i = 0; i < CUDA_QUEUES; i++)
        if (engine->queues[i].begun != engine->queues[i].ended)
            return true;
    return false;
}

/* Opening. */

static enum status kernel_load(const void *kernel)
{
    struct cudaFuncAttributes about;
    if (kernel)
        CUDA_TRY(cudaFuncGetAttributes(&about, kernel), "the GPU has no code for a kernel");
    return STATUS_OK;
}

/* Loads the code of every kernel, which otherwise happens at its first launch. */
static enum status kernels_load(void)
{
    TRY(kernel_load(device_copy_kernel()));
    TRY(kernel_load(device_scan_kernel()));
    for (int type = 0; type < DATATYPES; type++) {
        TRY(kernel_load(device_make_kernel(type)));
        TRY(kernel_load(device_compare_kernel(type)));
        TRY(kernel_load(device_finish_kernel(type)));
        for (int reduction = 0; reduction < REDUCTIONS; reduction++)
            TRY(kernel_load(device_reduce_kernel(type, reduction)));
    }
    return STATUS_OK;
}

enum status cuda_take(size_t bytes, void **memory)
{
    size_t left = 0, total = 0;
    char gpu[MEMORY_DEVICE_TEXT];
    *memory = NULL;
    cudaError_t error = cudaMalloc(memory, bytes > 0 ? bytes : 1);
    if (error != cudaErrorMemoryAllocation) {
        CUDA_TRY(error, "cannot allocate memory of the GPU");
        return STATUS_OK;
    }
    cudaMemGetInfo(&left, &total);
    return fail(STATUS_ERROR,
                "cannot allocate %zu MiB on %s: %zu of its %zu MiB are free; ask for smaller sizes "
                "(-e) or run fewer ranks on it",
                (bytes + (1 << 20) - 1) >> 20, memory_device_text(cuda_current(), gpu), left >> 20,
                total >> 20);
}

static enum status queue_open(struct cuda_queue *queue)
{
    queue->end = &queue->first;
    CUDA_TRY(cudaStreamCreateWithFlags(&queue->stream, cudaStreamNonBlocking),
             "cannot make a stream");
    for (int i = 0; i < CUDA_EVENTS; i++)
        CUDA_TRY(cudaEventCreateWithFlags(&queue->steps[i].event, cudaEventDisableTiming),
                 "cannot make an event");
    return STATUS_OK;
}

static const char pinned_use[] =
    "into which the GPU writes the results of its checks: run fewer ranks here";

/* Memory for contents, that lasts as long as the engine: CUDA_ENGINE_BYTES of the GPU, and pinned
 * memory for what comes back. */
static enum status engine_allocate(struct cuda_engine *engine)
{
    void *memory = NULL;
    TRY(cuda_take(sizeof *engine->answers, &memory));
    engine->answers = memory;
    TRY(cuda_take(CUDA_BITS_BYTES, &memory));
    engine->bits = memory;
    cudaError_t error = cudaHostAlloc(&memory, sizeof *engine->answers_host, cudaHostAllocDefault);
    if (error != cudaSuccess)
        return cuda_pin_failed(error, sizeof *engine->answers_host, pinned_use);
    engine->answers_host = memory;
    error = cudaHostAlloc(&memory, CUDA_BITS_BYTES, cudaHostAllocDefault);
    if (error != cudaSuccess)
        return cuda_pin_failed(error, CUDA_BITS_BYTES, pinned_use);
    engine->bits_host = memory;
    return STATUS_OK;
}

static enum status engine_prepare(void *preparing)
{
    struct cuda_engine *engine = preparing;
    if (engine->use == ENGINE_CONTENTS)
        TRY(engine_allocate(engine));
    for (int i = 0; i < CUDA_QUEUES; i++)
        TRY(queue_open(&engine->queues[i]));
    return kernels_load();
}

static bool engine_works(const struct cuda_engine *engine)
{
    for (int i = 0; i < CUDA_QUEUES; i++)
        if (engine->queues[i].stream &&
            cudaStreamQuery(engine->queues[i].stream) == cudaErrorNotReady)
            return true;
    return false;
}

static void queue_close(const struct cuda_queue *queue)
{
    if (!queue->stream)
        return;
    for (int i = 0; i < CUDA_EVENTS && queue->steps[i].event; i++)
        cudaEventDestroy(queue->steps[i].event);
    cudaStreamDestroy(queue->stream);
}

/* In a thread of its own, which has no device yet. */
static void engine_release(void *releasing)
{
    const struct cuda_engine *engine = releasing;
    if (cudaSetDevice(engine->device) != cudaSuccess)
        return;
    for (int i = 0; i < CUDA_QUEUES; i++)
        queue_close(&engine->queues[i]);
    cudaFree(engine->answers);
    cudaFree(engine->bits);
    cudaFreeHost(engine->answers_host);
    cudaFreeHost(engine->bits_host);
}

void cuda_engine_close(struct engine *closing)
{
    struct cuda_engine *engine = cuda_engine_of(closing);
    /* A GPU that does not end its work keeps what it has until the process ends. */
    if (!engine || engine_works(engine) || cuda_give_back(engine_release, engine))
        free(engine);
}

void cuda_engine_forget(struct engine *forgotten)
{
    free(cuda_engine_of(forgotten));
}

enum status cuda_engine_open(enum engine_use use, const struct tick *tick, struct engine **opened)
{
    struct cuda_engine *engine = new_array(1, sizeof *engine);
    bool abandoned;
    *opened = NULL;
    engine->use = use;
    engine->device = cuda_current()->number;
    enum status status =
        cuda_wait_call(engine_prepare, engine, tick, "cannot load kernels", &abandoned);
    if (status == STATUS_OK)
        *opened = (struct engine *)(void *)engine;
    else if (!abandoned)
        cuda_engine_close((struct engine *)(void *)engine);
    return status;
}
