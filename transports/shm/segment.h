/*
 * segment.h - the memfd that one rank owns and its peers write into.
 */
#ifndef CCTEST_TRANSPORTS_SHM_SEGMENT_H
#define CCTEST_TRANSPORTS_SHM_SEGMENT_H

#include "transports/shm/shm.h"

/* Creates a segment with a header and `ranks` connect slots. */
enum status shm_segment_create(int ranks, uint64_t cookie, struct shm_segment **segment);
/* Appends a block of `bytes` bytes (whole pages), mapped, its memory allocated. */
enum status shm_segment_grow(struct shm_segment *segment, size_t bytes, void **block,
                             uint64_t *offset);
/* The segment of this process with this cookie, for one more use; NULL: there is none. */
struct shm_segment *shm_segment_share(uint64_t cookie);
/* Gives up one use. The last one of this process unmaps and frees it. */
void shm_segment_drop(struct shm_segment *segment);
/* Adds a mapping to the list, which then owns it. */
enum status shm_mapping_add(struct shm_mapping **list, void *address, size_t bytes);
/* Unmaps all. */
void shm_mappings_drop(struct shm_mapping **list);

#endif
