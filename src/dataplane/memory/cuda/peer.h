/*
 * peer.h - the hooks of memory.h by which engines of other ranks reach memory of a GPU.
 */
#ifndef CCTEST_DATAPLANE_MEMORY_CUDA_PEER_H
#define CCTEST_DATAPLANE_MEMORY_CUDA_PEER_H

#include "dataplane/memory/memory.h"

enum status cuda_lend(const struct region *region, struct memory_handle *handle);
enum status cuda_map(const struct memory_handle *handle, struct memory_mapping *mapping,
                     char *reason);
void cuda_unmap(struct memory_mapping *mapping);

#endif
