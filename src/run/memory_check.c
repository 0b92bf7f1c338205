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
    bytes_put_u64(share, request->group);
}

void memory_request_decode(struct memory_request *request, struct reader *reader)
{
    request->bytes = read_u64(reader);
    request->group = read_u64(reader);
}

/* Of several ranks together. */
struct sum {
    uint64_t bytes;
    int ranks;
};

static void sum_add(struct sum *sum, uint64_t bytes)
{
    if (__builtin_add_overflow(sum->bytes, bytes, &sum->bytes))
        sum->bytes = UINT64_MAX;
    sum->ranks++;
}

static enum status sum_check(const struct sum *sum, const struct memory_kind *memory, size_t left)
{
    if (sum->ranks < 2 || sum->bytes <= left)
        return STATUS_OK;
    return fail(
        STATUS_ERROR,
        "cannot allocate %zu MiB of %s memory for %d ranks on this machine: about %zu MiB are "
        "available; ask for smaller sizes (-e) or run fewer ranks on it",
        (size_t)(sum->bytes >> 20), memory->name, sum->ranks, left >> 20);
}

enum status memory_check_host(const struct memory_kind *memory, const struct memory_left *left,
                              const struct memory_request *requests, int count)
{
    struct sum host = {0}, group = {0};
    for (int i = 0; i < count; i++) {
        sum_add(&host, requests[i].bytes);
        if (left->which && requests[i].group == left->which)
            sum_add(&group, requests[i].bytes);
    }
    enum status status = sum_check(&host, memory, left->machine);
    return status == STATUS_OK ? sum_check(&group, memory, left->group) : status;
}
