/*
 * memory_check.c - is there memory for what all ranks of a host are going to take?
 *
 * Each rank alone might find enough as it begins to allocate. That all of them together take too
 * much would then be seen only when the machine's memory is all but gone, after minutes of filling
 * it.
 */
#include "run/memory_check.h"

#include "base/log.h"

void memory_request_encode(const struct memory_request *request, struct bytes *share)
{
    bytes_put_u64(share, request->bytes);
    for (int i = 0; i < MEMORY_POOLS; i++)
        bytes_put_u64(share, request->pools[i]);
}

void memory_request_decode(struct memory_request *request, struct reader *reader)
{
    request->bytes = read_u64(reader);
    for (int i = 0; i < MEMORY_POOLS; i++)
        request->pools[i] = read_u64(reader);
}

static bool request_takes_from(const struct memory_request *request, const struct memory_pool *pool)
{
    for (int i = 0; i < MEMORY_POOLS; i++)
        if (request->pools[i] == pool->which)
            return true;
    return false;
}

static enum status pool_check(const struct memory_kind *memory, const struct memory_pool *pool,
                              const struct memory_request *requests, int count)
{
    uint64_t bytes = 0;
    int ranks = 0;
    for (int i = 0; i < count; i++) {
        if (!request_takes_from(&requests[i], pool))
            continue;
        if (__builtin_add_overflow(bytes, requests[i].bytes, &bytes))
            bytes = UINT64_MAX;
        ranks++;
    }
    if (ranks < 2 || bytes <= pool->left)
        return STATUS_OK;
    return fail(
        STATUS_ERROR,
        "cannot allocate %zu MiB of %s memory for %d ranks on this machine: about %zu MiB are "
        "available; ask for smaller sizes (-e) or run fewer ranks on it",
        (size_t)(bytes >> 20), memory->name, ranks, pool->left >> 20);
}

enum status memory_check_host(const struct memory_kind *memory, const struct memory_pool *pools,
                              const struct memory_request *requests, int count)
{
    enum status status = STATUS_OK;
    for (int i = 0; i < MEMORY_POOLS && status == STATUS_OK; i++)
        if (pools[i].which)
            status = pool_check(memory, &pools[i], requests, count);
    return status;
}
