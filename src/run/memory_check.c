/*
 * memory_check.c - is there memory for what all ranks of a host are going to take?
 *
 * Each of them might find room for itself as it begins to allocate. What is too much for all of
 * them would then be seen when the machine's memory is all but gone, after minutes of filling it.
 */
#include "run/memory_check.h"

#include <stdint.h>
#include <string.h>

#include "base/log.h"
#include "memory/memory_limits.h"

/* What a rank says of itself. */
struct memory_request {
    uint64_t bytes;
    uint64_t group; /* memory_left.which */
};
_Static_assert(sizeof(struct memory_request) == 2 * sizeof(uint64_t),
               "no padding travels, which would be bytes of who knows what");

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
    return fail(STATUS_ERROR,
                "cannot have %zu MiB of %s memory for %d ranks on this machine: about %zu MiB are "
                "available; ask for smaller sizes (-e) or run fewer ranks on it",
                (size_t)(sum->bytes >> 20), memory->name, sum->ranks, left >> 20);
}

enum status memory_check_host(struct control *control, const struct memory_kind *memory,
                              size_t bytes)
{
    const struct member *members = control_members(control), *me = &members[control_rank(control)];
    struct memory_left left;
    struct blobs blobs;
    memory_look(&left); /* nobody allocates before all have looked */
    struct memory_request request = {.bytes = bytes, .group = left.which};
    enum status status = control_allgather(control, &request, sizeof request, &blobs);
    if (status != STATUS_OK)
        return status;
    struct sum host = {0}, group = {0};
    for (int r = 0; r < blobs.count; r++) {
        if (members[r].node != me->node || blobs.size[r] != sizeof request)
            continue;
        memcpy(&request, blobs.data[r], sizeof request);
        sum_add(&host, request.bytes);
        if (left.which && request.group == left.which)
            sum_add(&group, request.bytes);
    }
    blobs_free(&blobs);
    status = sum_check(&host, memory, left.machine);
    return status == STATUS_OK ? sum_check(&group, memory, left.group) : status;
}
