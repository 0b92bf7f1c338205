/*
 * blobs.c - the result of an exchange: bytes of each rank.
 */
#include "control/blobs.h"

#include <stdlib.h>

void blobs_free(struct blobs *blobs)
{
    for (int i = 0; blobs->data && i < blobs->count; i++)
        free(blobs->data[i]);
    free(blobs->data);
    free(blobs->size);
    *blobs = (struct blobs){0};
}
