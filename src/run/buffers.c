/*
 * buffers.c - one rank's source, destination and scratch, with canaries around each.
 *
 * A canary is a page of poison. One stands before each buffer. The other begins at the first byte
 * that the problem does not use, so an algorithm that writes one byte too many is seen at every
 * size, not only at the largest.
 */
#include "run/run.h"

#include "base/log.h"

#include <string.h>

#define CANARY 4096u /* bytes; also what buffers are aligned to */
_Static_assert(BUFFERS_MARGIN >= BUFFERS * 3 * CANARY, "two canaries, and an alignment, each");

enum status buffers_allocate(const struct memory_kind *memory, const size_t bytes[BUFFERS],
                             size_t spare, const struct tick *tick, struct buffers *buffers)
{
    size_t total = 0, offset[BUFFERS];
    *buffers = (struct buffers){.region = {.fd = -1}};
    for (int b = 0; b < BUFFERS; b++) {
        size_t pages;
        offset[b] = total + CANARY;
        if (__builtin_add_overflow(bytes[b], 3 * CANARY - 1, &pages) ||
            __builtin_add_overflow(total, pages / CANARY * CANARY, &total) || total > PTRDIFF_MAX)
            return fail(STATUS_ERROR,
                        "a %s buffer of %zu bytes does not fit into the address space; choose "
                        "smaller sizes (-e)",
                        buffer_names[b], bytes[b]);
    }
    if (spare > PTRDIFF_MAX - total)
        return fail_option(STATUS_ERROR, "inject",
                           "a message of %zu bytes that is dropped (--inject) does not fit "
                           "into the address space; choose smaller sizes (-e)",
                           spare);
    TRY(memory->allocate(total + spare, tick, &buffers->region));
    for (int b = 0; b < BUFFERS; b++) {
        buffers->base[b] = buffers->region.base + offset[b];
        buffers->bytes[b] = bytes[b];
    }
    buffers->spare = buffers->region.base + total;
    return STATUS_OK;
}

void buffers_release(struct buffers *buffers)
{
    if (buffers->region.kind)
        buffers->region.kind->release(&buffers->region);
    *buffers = (struct buffers){.region = {.fd = -1}};
}

char *buffers_place(const struct buffers *buffers, const struct schedule *schedule, size_t element,
                    enum buffer buffer)
{
    return buffers->base[schedule->storage[buffer]] + schedule->base[buffer] * element;
}

enum status buffers_guard(const struct memory *memory, struct buffers *buffers,
                          const size_t used[BUFFERS])
{
    for (int b = 0; b < BUFFERS; b++) {
        TRY(memory->kind->fill(memory, buffers->base[b] - CANARY, PATTERN_POISON, CANARY));
        TRY(memory->kind->fill(memory, buffers->base[b] + used[b], PATTERN_POISON, CANARY));
    }
    return STATUS_OK;
}

enum status buffers_overrun(const struct memory *memory, const struct buffers *buffers,
                            const size_t used[BUFFERS], struct overrun *overrun)
{
    overrun->bytes = 0;
    for (int b = 0; b < BUFFERS; b++) {
        for (int behind = 0; behind < 2; behind++) {
            ptrdiff_t canary = behind ? (ptrdiff_t)used[b] : -(ptrdiff_t)CANARY;
            struct damage damage;
            TRY(memory->kind->scan(memory, buffers->base[b] + canary, PATTERN_POISON, CANARY,
                                   &damage));
            if (damage.bytes == 0)
                continue;
            *overrun = (struct overrun){.buffer = (enum buffer)b,
                                        .bytes = damage.bytes,
                                        .first = canary + (ptrdiff_t)damage.first};
            return STATUS_OK;
        }
    }
    return STATUS_OK;
}

/*
 * The memory of a rank's rings.
 */
#define RING_LEAST ((size_t)128 << 10) /* two parts, so that engine and link work at once */
#define RING_MOST  ((size_t)4 << 20)
#define AREA_MOST  ((size_t)256 << 20) /* of a rank, unless its rings are the least */

static size_t ring_bytes(int channels)
{
    size_t bytes = AREA_MOST / (size_t)channels;
    bytes -= bytes % RING_LEAST;
    return bytes < RING_LEAST ? RING_LEAST : bytes > RING_MOST ? RING_MOST : bytes;
}

size_t staging_area_bytes(int channels)
{
    return channels > 0 ? ring_bytes(channels) * (size_t)channels : 0;
}

/* To divide AREA_MOST among more rings may leave a rest. */
size_t staging_area_most(int channels)
{
    size_t least = RING_LEAST * (size_t)channels, most = RING_MOST * (size_t)channels;
    return most < AREA_MOST ? most : least > AREA_MOST ? least : AREA_MOST;
}

enum status staging_area_open(const struct memory *memory, int channels, const struct tick *tick,
                              struct staging_area *area)
{
    *area = (struct staging_area){.region = {.fd = -1}};
    if (channels == 0)
        return STATUS_OK;
    area->kind = memory->kind;
    TRY(memory_find("host")->allocate(staging_area_bytes(channels), tick, &area->region));
    if (memory->kind->pin) {
        TRY(memory->kind->pin(area->region.base, area->region.bytes));
        area->is_pinned = true;
    }
    area->staging = staging_create(memory, area->region.base, ring_bytes(channels), channels);
    return area->staging ? STATUS_OK : fail(STATUS_ERROR, "out of memory for %d rings", channels);
}

void staging_area_forget(struct staging_area *area)
{
    staging_destroy(area->staging);
    *area = (struct staging_area){.region = {.fd = -1}};
}

void staging_area_close(struct staging_area *area)
{
    if (area->is_pinned)
        area->kind->unpin(area->region.base);
    if (area->region.kind)
        area->region.kind->release(&area->region);
    staging_area_forget(area);
}

/*
 * Is there memory for what all ranks of a host are going to take?
 *
 * Each rank alone might find enough as it begins to allocate. That all of them together take too
 * much would then be seen only when the machine's memory is all but gone, after minutes of filling
 * it.
 */
void memory_request_code(struct codec codec, struct memory_request *request)
{
    code_u64(codec, &request->bytes);
    code_u64(codec, &request->spare);
    for (int i = 0; i < MEMORY_POOLS; i++) {
        code_u64(codec, &request->pools[i].which);
        code_u64(codec, &request->pools[i].left);
    }
}

struct memory_request memory_request_make(const struct memory_kind *memory, size_t bytes,
                                          size_t spare, const struct memory_pool *pools)
{
    struct memory_request request = {.spare = spare};
    if (__builtin_add_overflow((uint64_t)bytes, memory->engine_bytes, &request.bytes))
        request.bytes = UINT64_MAX;
    for (int i = 0; i < MEMORY_POOLS; i++) {
        request.pools[i].which = pools[i].which;
        request.pools[i].left = pools[i].left;
    }
    return request;
}

static void add(uint64_t *sum, uint64_t bytes)
{
    if (__builtin_add_overflow(*sum, bytes, sum))
        *sum = UINT64_MAX;
}

/* The sum that ranks take from a pool. */
struct pool_sum {
    uint64_t bytes, spare;
    uint64_t
        left; /* the least that one of them has seen: contexts of a GPU, which take memory, come
                      one after the other */
    int ranks;
};

static struct pool_sum pool_add_up(const struct memory_pool *pool,
                                   const struct memory_request *requests, int count)
{
    struct pool_sum sum = {.left = pool->left};
    for (int r = 0; r < count; r++) {
        int i = 0;
        while (i < MEMORY_POOLS && requests[r].pools[i].which != pool->which)
            i++;
        if (i == MEMORY_POOLS)
            continue;
        add(&sum.bytes, requests[r].bytes);
        add(&sum.spare, requests[r].spare);
        sum.left = requests[r].pools[i].left < sum.left ? requests[r].pools[i].left : sum.left;
        sum.ranks++;
    }
    return sum;
}

static const struct {
    const char *taker, *advice;
} uses[] = {
    [MEMORY_BUFFERS] = {"", "ask for smaller sizes (-e)"},
    [MEMORY_SAMPLES] = {"the samples of ", "ask for fewer iterations (-n)"},
    [MEMORY_RINGS] = {"the rings of ", "name transports that reach the buffers (-x)"},
};

/* A need is never shown as less than it is: 0 MiB would explain no refusal. */
static size_t mebibytes_up(uint64_t bytes)
{
    return (size_t)((bytes >> 20) + (bytes % (1 << 20) != 0));
}

static enum status pool_check(const struct memory_kind *memory, enum memory_use use,
                              const struct memory_pool *pool, const struct memory_request *requests,
                              int count)
{
    const struct pool_sum sum = pool_add_up(pool, requests, count);
    if ((sum.ranks < 2 && !pool->is_exact) || sum.bytes <= sum.left)
        return STATUS_OK;
    return fail(STATUS_ERROR,
                "cannot allocate %zu MiB of %s memory for %s%d rank%s on %s: %s%zu MiB are "
                "available; %s%s%s%s%s",
                mebibytes_up(sum.bytes), memory->name, uses[use].taker, sum.ranks,
                plural(sum.ranks), pool->where, pool->is_exact ? "" : "about ",
                (size_t)(sum.left >> 20), uses[use].advice,
                sum.ranks == 1 ? "" : " or run fewer ranks on it",
                pool->limit_file ? ", or raise the limit of that group (" : "",
                pool->limit_file ? pool->limit_file : "", pool->limit_file ? ")" : "");
}

enum status memory_check_host(const struct memory_kind *memory, enum memory_use use,
                              const struct memory_pool *pools,
                              const struct memory_request *requests, int count)
{
    for (int i = 0; i < MEMORY_POOLS; i++)
        if (pools[i].which)
            TRY(pool_check(memory, use, &pools[i], requests, count));
    return STATUS_OK;
}

bool memory_has_spare(const struct memory_pool *pools, const struct memory_request *requests,
                      int count)
{
    bool has = true;
    for (int i = 0; i < MEMORY_POOLS; i++) {
        struct pool_sum sum = pool_add_up(&pools[i], requests, count);
        add(&sum.bytes, sum.spare);
        has &= !pools[i].which || sum.spare == 0 || sum.bytes <= sum.left;
    }
    return has;
}
