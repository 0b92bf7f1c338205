/*
 * memory_check.c - is there memory for what all ranks of a host are going to take?
 *
 * Each rank alone might find enough as it begins to allocate. That all of them together take too
 * much would then be seen only when the machine's memory is all but gone, after minutes of filling
 * it.
 */
#include "run/run.h"

#include "base/log.h"

void memory_request_encode(const struct memory_request *request, struct bytes *share)
{
    bytes_put_u64(share, request->bytes);
    bytes_put_u64(share, request->spare);
    for (int i = 0; i < MEMORY_POOLS; i++) {
        bytes_put_u64(share, request->pools[i].which);
        bytes_put_u64(share, request->pools[i].left);
    }
}

void memory_request_decode(struct memory_request *request, struct reader *reader)
{
    request->bytes = read_u64(reader);
    request->spare = read_u64(reader);
    for (int i = 0; i < MEMORY_POOLS; i++) {
        request->pools[i].which = read_u64(reader);
        request->pools[i].left = read_u64(reader);
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

/* What ranks take from a pool together. */
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
                sum.ranks == 1 ? "" : "s", pool->where, pool->is_exact ? "" : "about ",
                (size_t)(sum.left >> 20), uses[use].advice,
                sum.ranks == 1 ? "" : " or run fewer ranks on it",
                pool->limit_file ? ", or raise the limit of that group (" : "",
                pool->limit_file ? pool->limit_file : "", pool->limit_file ? ")" : "");
}

enum status memory_check_host(const struct memory_kind *memory, enum memory_use use,
                              const struct memory_pool *pools,
                              const struct memory_request *requests, int count)
{
    enum status status = STATUS_OK;
    for (int i = 0; i < MEMORY_POOLS && status == STATUS_OK; i++)
        if (pools[i].which)
            status = pool_check(memory, use, &pools[i], requests, count);
    return status;
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
