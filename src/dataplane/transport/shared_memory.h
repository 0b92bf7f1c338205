/*
 * shared_memory.h - memory that ranks share is input from outside: a peer, another process or a
 * fault may write anything there.
 */
#ifndef CCTEST_DATAPLANE_TRANSPORT_SHARED_MEMORY_H
#define CCTEST_DATAPLANE_TRANSPORT_SHARED_MEMORY_H

#include <stdatomic.h>
#include <string.h>

#include "base/status.h"

/* Copies from shared memory. What the caller then checks is what it uses: the compiler does not read
 * the original again, which may have changed. */
static inline void shared_snapshot(void *copy, const void *shared, size_t bytes)
{
    memcpy(copy, shared, bytes);
    atomic_signal_fence(memory_order_seq_cst);
}

/* Fails: `what` in the memory that rank `peer` and this rank share has a value that no rank writes
 * there. */
enum status fail_garbage(int peer, const char *what);

#endif
