/*
 * blobs.c - the result of an exchange: bytes of each rank, and how they are read.
 */
#include "controlplane/control/control.h"

#include <stdlib.h>

#include "base/log.h"

void blobs_free(struct blobs *blobs)
{
    for (int i = 0; blobs->data && i < blobs->count; i++)
        free(blobs->data[i]);
    free(blobs->data);
    free(blobs->size);
    *blobs = (struct blobs){0};
}

#define INVALID "rank %d sent invalid %s data: check that all ranks run the same version of cctest"

enum status blobs_read(const struct blobs *blobs, int own, const char *what,
                       bool (*decode)(void *argument, int rank, struct reader *reader),
                       void *argument)
{
    for (int rank = 0; rank < blobs->count; rank++) {
        struct reader reader = {.at = blobs->data[rank], .left = blobs->size[rank]};
        if (!decode(argument, rank, &reader) || reader.bad || reader.left > 0)
            return rank == own ? fail(STATUS_ERROR, INVALID, rank, what)
                               : fail_peer(REASON_PEER_INVALID, rank, INVALID, rank, what);
    }
    return STATUS_OK;
}
