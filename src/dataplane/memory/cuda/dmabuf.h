/*
 * dmabuf.h - memory of a GPU that NICs write and read (GPUDirect RDMA).
 */
#ifndef CCTEST_DATAPLANE_MEMORY_CUDA_DMABUF_H
#define CCTEST_DATAPLANE_MEMORY_CUDA_DMABUF_H

#include "dataplane/memory/memory.h"

/* Why the GPU with this number exports no memory as a dmabuf (one clause); NULL: it does. */
const char *cuda_share_lack(int device);

/* Hooks of memory.h. */
enum status cuda_share(const struct region *region, enum share_way way, struct shared *shared,
                       char *reason);
enum status cuda_flush(const struct region *region);

#endif
