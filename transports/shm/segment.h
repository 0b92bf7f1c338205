/*
 * segment.h - the memfd that one rank owns and its peers write into.
 */
#ifndef CCTEST_TRANSPORTS_SHM_SEGMENT_H
#define CCTEST_TRANSPORTS_SHM_SEGMENT_H

#include "transports/shm/shm.h"

/* Creates a segment with a header and `ranks` desks. */
enum status shm_segment_create(int ranks, uint64_t cookie, struct shm_segment **segment);
/* Appends a block of `bytes` bytes (whole pages), mapped and really there. */
enum status shm_segment_grow(struct shm_segment *segment, size_t bytes, void **block,
                             uint64_t *offset);
/* Gives up one use; the last one (of this process) unmaps and frees. */
void shm_segment_drop(struct shm_segment *segment);
enum status shm_mapping_add(struct shm_mapping **list, void *address, size_t bytes);
void shm_mappings_drop(struct shm_mapping **list);

#endif
