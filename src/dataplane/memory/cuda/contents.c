/*
 * contents.c - kernels fill, make and compare; the host waits for their answer, and polls for it.
 *
 * All of it goes through the queue of the kernels, in order.
 */
#include "dataplane/memory/cuda/internal.h"

#include <limits.h>
#include <string.h>

#include "dataplane/memory/cuda/kernels.h"

/* Inputs that a launch makes to compare them, so that the GPU serves other ranks in between, and
 * how many launches to begin before a wait: one blocks if too many are queued. */
#define INPUTS_MOST   ((size_t)1 << 32)
#define LAUNCHES_MOST 256

static struct cuda_queue *contents_queue(const struct memory *memory)
{
    return &cuda_engine_of(memory->engine)->queues[QUEUE_KERNELS];
}

static enum status await(const struct memory *memory)
{
    return cuda_wait_stream(contents_queue(memory)->stream, memory->tick);
}

enum status cuda_fill(const struct memory *memory, void *to, unsigned char byte, size_t bytes)
{
    if (bytes == 0 || !tick_on(memory->tick))
        return STATUS_OK;
    CUDA_TRY(cudaMemsetAsync(to, byte, bytes, contents_queue(memory)->stream),
             "cannot fill memory");
    return await(memory);
}

/* Launches a kernel whose blocks take a page of inputs at a time. */
static enum status pages_launch(const struct memory *memory, const void *kernel,
                                struct device_work *work)
{
    const size_t first = work->first / INPUT_PAGE;
    const size_t end = (work->first + work->count + INPUT_PAGE - 1) / INPUT_PAGE;
    return cuda_launch(contents_queue(memory), kernel, end - first, 1, work);
}

enum status cuda_make(const struct memory *memory, const struct inputs *inputs, int rank,
                      size_t first, size_t count, void *to)
{
    if (count == 0 || !tick_on(memory->tick))
        return STATUS_OK;
    struct device_work work = {
        .by = inputs_rule(inputs), .rank = rank, .first = first, .count = count, .at = to};
    TRY(pages_launch(memory, device_make_kernel(inputs->datatype->id), &work));
    return await(memory);
}

/* Nothing is counted yet, and the least offset is as large as can be. */
static enum status answers_clear(const struct memory *memory)
{
    struct cuda_engine *engine = cuda_engine_of(memory->engine);
    engine->answers_host->total = 0;
    engine->answers_host->least = ULLONG_MAX;
    CUDA_TRY(cudaMemcpyAsync(engine->answers, engine->answers_host, sizeof *engine->answers_host,
                             cudaMemcpyHostToDevice, contents_queue(memory)->stream),
             "cannot copy");
    return STATUS_OK;
}

static enum status answers_read(const struct memory *memory)
{
    struct cuda_engine *engine = cuda_engine_of(memory->engine);
    CUDA_TRY(cudaMemcpyAsync(engine->answers_host, engine->answers, sizeof *engine->answers_host,
                             cudaMemcpyDeviceToHost, contents_queue(memory)->stream),
             "cannot copy");
    return await(memory);
}

/* Compares elements [at, at + count). `bits`: on the device, zeroed; NULL: not asked for. */
static enum status compare_begin(const struct memory *memory, const struct comparison *comparison,
                                 size_t at, size_t count, unsigned *bits)
{
    const struct inputs *inputs = comparison->inputs;
    const bool is_combined = comparison->rank < 0;
    struct device_work work = {.by = inputs_rule(inputs),
                               .rank = is_combined ? 0 : comparison->rank,
                               .ranks = is_combined ? inputs->ranks : 1,
                               .reduction = is_combined ? inputs->reduction->id : 0,
                               .finishes = is_combined && inputs->reduction->finishes,
                               .first = comparison->first + at,
                               .count = count,
                               .at =
                                   (char *)(uintptr_t)comparison->at + at * inputs->datatype->size,
                               .total = &cuda_engine_of(memory->engine)->answers->total,
                               .bits = bits};
    return pages_launch(memory, device_compare_kernel(inputs->datatype->id), &work);
}

enum status cuda_compare(const struct memory *memory, const struct comparison *comparison,
                         size_t *wrong)
{
    *wrong = 0;
    if (comparison->count == 0 || !tick_on(memory->tick))
        return STATUS_OK;
    enum status status = answers_clear(memory);
    const size_t most =
        INPUTS_MOST / (size_t)(comparison->rank < 0 ? comparison->inputs->ranks : 1);
    int launches = 0;
    for (size_t at = 0, count; at < comparison->count && status == STATUS_OK; at += count) {
        count = comparison->count - at < most ? comparison->count - at : most;
        status = compare_begin(memory, comparison, at, count, NULL);
        if (status == STATUS_OK && ++launches % LAUNCHES_MOST == 0)
            status = await(memory);
    }
    if (status == STATUS_OK)
        status = answers_read(memory);
    if (status == STATUS_OK)
        *wrong = cuda_engine_of(memory->engine)->answers_host->total;
    return status;
}

/* The wrong elements of a part that begins at `at`, by their bits. Words of 32 elements of which
 * none is asked for are only counted. */
static void bits_select(const unsigned *bits, size_t at, size_t count, size_t *next,
                        struct selection *selection)
{
    for (size_t i = 0; i < (count + 31) / 32; i++) {
        unsigned left = bits[i];
        if (left == 0)
            continue;
        const size_t wrong = selection->wrong;
        selection->wrong += (size_t)__builtin_popcount(left);
        selection->last = at + 32 * i + 31 - (size_t)__builtin_clz(left);
        for (size_t number = wrong; *next < selection->wrong && selection->count < selection->most;
             number++, left &= left - 1) {
            if (number != *next)
                continue;
            selection->at[selection->count++] = at + 32 * i + (size_t)__builtin_ctz(left);
            *next += selection->stride;
        }
    }
}

static enum status part_select(const struct memory *memory, const struct comparison *comparison,
                               size_t at, size_t count, size_t *next, struct selection *selection)
{
    struct cuda_engine *engine = cuda_engine_of(memory->engine);
    cudaStream_t stream = contents_queue(memory)->stream;
    size_t bytes = (count + 31) / 32 * sizeof *engine->bits;
    TRY(answers_clear(memory));
    CUDA_TRY(cudaMemsetAsync(engine->bits, 0, bytes, stream), "cannot fill memory");
    enum status status = compare_begin(memory, comparison, at, count, engine->bits);
    if (status == STATUS_OK)
        status = answers_read(memory);
    if (status != STATUS_OK || engine->answers_host->total == 0)
        return status;
    CUDA_TRY(
        cudaMemcpyAsync(engine->bits_host, engine->bits, bytes, cudaMemcpyDeviceToHost, stream),
        "cannot copy");
    status = await(memory);
    if (status == STATUS_OK)
        bits_select(engine->bits_host, at, count, next, selection);
    return status;
}

enum status cuda_select(const struct memory *memory, const struct comparison *comparison,
                        struct selection *selection)
{
    enum status status = STATUS_OK;
    size_t next = selection->skip;
    selection->count = selection->wrong = 0;
    for (size_t at = 0, count;
         at < comparison->count && status == STATUS_OK && tick_on(memory->tick); at += count) {
        count = comparison->count - at < CUDA_SELECTED ? comparison->count - at : CUDA_SELECTED;
        status = part_select(memory, comparison, at, count, &next, selection);
    }
    return status;
}

enum status cuda_scan(const struct memory *memory, const void *at, unsigned char byte, size_t bytes,
                      struct damage *damage)
{
    struct cuda_engine *engine = cuda_engine_of(memory->engine);
    struct device_work work = {.at = (char *)(uintptr_t)at,
                               .byte = byte,
                               .count = bytes,
                               .total = &engine->answers->total,
                               .least = &engine->answers->least};
    enum status status = answers_clear(memory);
    if (status == STATUS_OK && bytes > 0)
        status =
            cuda_launch(contents_queue(memory), device_scan_kernel(), cuda_blocks(bytes), 1, &work);
    if (status == STATUS_OK)
        status = answers_read(memory);
    *damage =
        (struct damage){.bytes = engine->answers_host->total, .first = engine->answers_host->least};
    return status;
}

/* By way of pinned memory, in parts: from pageable memory the runtime may block. */
static enum status exchange(const struct memory *memory, char *device, char *host, size_t bytes,
                            bool reads)
{
    char *pinned = (char *)cuda_engine_of(memory->engine)->bits_host;
    enum status status = STATUS_OK;
    for (size_t at = 0, part; at < bytes && status == STATUS_OK; at += part) {
        part = bytes - at < CUDA_BITS_BYTES ? bytes - at : CUDA_BITS_BYTES;
        if (!reads)
            memcpy(pinned, host + at, part);
        CUDA_TRY(cudaMemcpyAsync(reads ? pinned : device + at, reads ? device + at : pinned, part,
                                 cudaMemcpyDefault, contents_queue(memory)->stream),
                 "cannot copy");
        status = await(memory);
        if (reads)
            memcpy(host + at, pinned, part);
    }
    return status;
}

enum status cuda_read(const struct memory *memory, const void *at, size_t bytes, void *to)
{
    return exchange(memory, (char *)(uintptr_t)at, to, bytes, true);
}

enum status cuda_write(const struct memory *memory, const void *from, size_t bytes, void *at)
{
    return exchange(memory, at, (char *)(uintptr_t)from, bytes, false);
}
