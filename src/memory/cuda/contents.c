/*
 * contents.c - kernels fill, make and compare; the host waits for their answer, and polls for it.
 *
 * All of it goes through the queue of the kernels, in order.
 */
#include "memory/cuda/contents.h"

#include <limits.h>
#include <string.h>

#include "memory/cuda/engine.h"
#include "memory/cuda/failure.h"
#include "memory/cuda/kernels.h"
#include "memory/cuda/wait.h"

#define LAUNCHES_MOST 256 /* to begin before a wait: a launch blocks if too many are queued */

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

static enum status make_begin(const struct memory *memory, const struct inputs *inputs, int rank,
                              size_t first, size_t count, void *to)
{
    struct device_work work = {
        .by = inputs_rule(inputs), .rank = rank, .first = first, .count = count, .at = to};
    return cuda_launch(contents_queue(memory), device_make_kernel(inputs->datatype->id),
                       count * inputs->datatype->size, 1, &work);
}

enum status cuda_make(const struct memory *memory, const struct inputs *inputs, int rank,
                      size_t first, size_t count, void *to)
{
    if (count == 0 || !tick_on(memory->tick))
        return STATUS_OK;
    enum status status = make_begin(memory, inputs, rank, first, count, to);
    return status == STATUS_OK ? await(memory) : status;
}

/* Makes what is expected in the first tile: the elements of one rank, or those of all, combined. */
static enum status expect_begin(const struct memory *memory, const struct comparison *comparison,
                                size_t at, size_t count)
{
    const struct inputs *inputs = comparison->inputs;
    struct cuda_engine *engine = cuda_engine_of(memory->engine);
    int rank = comparison->rank < 0 ? 0 : comparison->rank;
    int last = comparison->rank < 0 ? inputs->ranks - 1 : comparison->rank;
    size_t first = comparison->first + at, bytes = count * inputs->datatype->size;
    struct device_work work = {.ranks = inputs->ranks,
                               .run_count = 1,
                               .runs = {{.to = engine->tiles[0],
                                         .from = engine->tiles[0],
                                         .with = engine->tiles[1],
                                         .elements = count}}};
    enum status status = make_begin(memory, inputs, rank, first, count, engine->tiles[0]);
    while (status == STATUS_OK && rank++ < last) {
        status = make_begin(memory, inputs, rank, first, count, engine->tiles[1]);
        if (status == STATUS_OK)
            status = cuda_launch(contents_queue(memory),
                                 device_reduce_kernel(inputs->datatype->id, inputs->reduction->id),
                                 bytes, 1, &work);
    }
    if (status == STATUS_OK && comparison->rank < 0 && inputs->reduction->finishes)
        status = cuda_launch(contents_queue(memory), device_finish_kernel(inputs->datatype->id),
                             bytes, 1, &work);
    return status;
}

/* Compares elements [at, at + count), of a tile at most. `bits`: on the device, zeroed; NULL: not
 * asked for. */
static enum status compare_begin(const struct memory *memory, const struct comparison *comparison,
                                 size_t at, size_t count, unsigned *bits)
{
    const struct cuda_engine *engine = cuda_engine_of(memory->engine);
    size_t size = comparison->inputs->datatype->size;
    struct device_work work = {.at = (char *)(uintptr_t)comparison->at + at * size,
                               .expected = engine->tiles[0],
                               .count = count,
                               .total = &engine->answers->total,
                               .bits = bits};
    enum status status = expect_begin(memory, comparison, at, count);
    return status == STATUS_OK ? cuda_launch(contents_queue(memory), device_compare_kernel(size),
                                             count * size, 1, &work)
                               : status;
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

static size_t tile_elements(const struct comparison *comparison)
{
    return CUDA_TILE / comparison->inputs->datatype->size;
}

enum status cuda_compare(const struct memory *memory, const struct comparison *comparison,
                         size_t *wrong)
{
    *wrong = 0;
    if (comparison->count == 0 || !tick_on(memory->tick))
        return STATUS_OK;
    enum status status = answers_clear(memory);
    size_t most = tile_elements(comparison);
    int launches = 0;
    for (size_t at = 0, count; at < comparison->count && status == STATUS_OK; at += count) {
        count = comparison->count - at < most ? comparison->count - at : most;
        status = compare_begin(memory, comparison, at, count, NULL);
        launches += 2 * comparison->inputs->ranks;
        if (status != STATUS_OK || launches < LAUNCHES_MOST)
            continue;
        launches = 0;
        status = await(memory);
    }
    if (status == STATUS_OK)
        status = answers_read(memory);
    if (status == STATUS_OK)
        *wrong = cuda_engine_of(memory->engine)->answers_host->total;
    return status;
}

/* The wrong elements of a tile that begins at `at`, by their bits. */
static void bits_select(const unsigned *bits, size_t at, size_t count, size_t *next,
                        struct selection *selection)
{
    for (size_t i = 0; i < count; i++) {
        if (i % 32 == 0 && bits[i / 32] == 0) {
            i += 31;
            continue;
        }
        if (!(bits[i / 32] >> i % 32 & 1))
            continue;
        selection->last = at + i;
        if (selection->wrong++ != *next || selection->count == selection->most)
            continue;
        selection->at[selection->count++] = selection->last;
        *next += selection->stride;
    }
}

static enum status tile_select(const struct memory *memory, const struct comparison *comparison,
                               size_t at, size_t count, size_t *next, struct selection *selection)
{
    struct cuda_engine *engine = cuda_engine_of(memory->engine);
    cudaStream_t stream = contents_queue(memory)->stream;
    size_t bytes = (count + 31) / 32 * sizeof *engine->bits;
    enum status status = answers_clear(memory);
    if (status != STATUS_OK)
        return status;
    CUDA_TRY(cudaMemsetAsync(engine->bits, 0, bytes, stream), "cannot fill memory");
    status = compare_begin(memory, comparison, at, count, engine->bits);
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
    size_t most = tile_elements(comparison), next = selection->skip;
    selection->count = selection->wrong = 0;
    for (size_t at = 0, count;
         at < comparison->count && status == STATUS_OK && tick_on(memory->tick); at += count) {
        count = comparison->count - at < most ? comparison->count - at : most;
        status = tile_select(memory, comparison, at, count, &next, selection);
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
        status = cuda_launch(contents_queue(memory), device_scan_kernel(), bytes, 1, &work);
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
        part = bytes - at < CUDA_TILE / 8 ? bytes - at : CUDA_TILE / 8;
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
