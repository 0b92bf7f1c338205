/*
 * memory_check.h - is there memory for what all ranks of a host are going to take?
 */
#ifndef CCTEST_RUN_MEMORY_CHECK_H
#define CCTEST_RUN_MEMORY_CHECK_H

#include "base/bytes.h"
#include "dataplane/memory/memory.h"

/* What memory is for. */
enum memory_use {
    MEMORY_BUFFERS,
    MEMORY_SAMPLES, /* of them there is more than of buffers */
    MEMORY_RINGS,   /* through which links move what they do not reach */
};

/* What a rank is going to take, as the other ranks of its host must know. */
struct memory_request {
    uint64_t bytes;
    uint64_t spare; /* and so many more, if they are there: it can do without */
    struct {
        uint64_t which, left; /* as in struct memory_pool */
    } pools[MEMORY_POOLS];
};

/* Of a rank that takes `bytes` bytes, with `spare` more if it can, and which has seen these pools.
 * `memory`: its engine counts, too. */
struct memory_request memory_request_make(const struct memory_kind *memory, size_t bytes,
                                          size_t spare, const struct memory_pool *pools);
void memory_request_encode(const struct memory_request *request, struct bytes *share);
void memory_request_decode(struct memory_request *request, struct reader *reader);

/* `requests`: of the `count` ranks of this host. `pools`: this rank's, seen before any rank of the
 * host allocated. STATUS_ERROR where the ranks of a pool together ask for more than the least that
 * one of them has seen there. Where that is an estimate, what one rank alone cannot have is for
 * allocate() to say. */
enum status memory_check_host(const struct memory_kind *memory, enum memory_use use,
                              const struct memory_pool *pools,
                              const struct memory_request *requests, int count);

/* Is there memory for what they can do without, too? The same for all ranks of a pool. */
bool memory_has_spare(const struct memory_pool *pools, const struct memory_request *requests,
                      int count);

#endif
