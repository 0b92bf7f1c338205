/*
 * blobs.h - the result of an exchange: bytes of each rank.
 */
#ifndef CCTEST_CONTROL_BLOBS_H
#define CCTEST_CONTROL_BLOBS_H

#include <stddef.h>

/* One rank's share of an exchange each, in rank order. Freed with blobs_free(). */
struct blobs {
    int count;
    void **data; /* NULL where the size is 0 */
    size_t *size;
};
void blobs_free(struct blobs *blobs);

#endif
