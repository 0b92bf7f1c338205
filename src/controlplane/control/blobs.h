/*
 * blobs.h - the result of an exchange: bytes of each rank, and how they are read.
 */
#ifndef CCTEST_CONTROLPLANE_CONTROL_BLOBS_H
#define CCTEST_CONTROLPLANE_CONTROL_BLOBS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/bytes.h"
#include "base/status.h"

#define POSTMORTEM_MOST ((size_t)64 << 10) /* bytes that a rank adds after the job has failed */

enum exchange {
    EXCHANGE_ALLGATHER,
    EXCHANGE_GATHER,
    EXCHANGE_PEERS,   /* each rank gets what is addressed to it, and nothing else */
    EXCHANGE_MAXIMUM, /* control_maximum() */
    EXCHANGES
};

/* One rank's share of an exchange each, in rank order; of EXCHANGE_PEERS one blob, this rank's
 * parcels (parcels.h). Freed with blobs_free(). */
struct blobs {
    int count;
    void **data; /* NULL where the size is 0 */
    size_t *size;
};
void blobs_free(struct blobs *blobs);

/* Calls `decode` for the share of each rank in turn. It returns false for invalid data, as does a
 * share that is too short or too long for it; then fails with "rank 3 sent invalid <what> data".
 * Rank 3 is the reason, unless it is `own`, the rank that reads. */
enum status blobs_read(const struct blobs *blobs, int own, const char *what,
                       bool (*decode)(void *argument, int rank, struct reader *reader),
                       void *argument);

#endif
