/*
 * blocks.h - pieces of memory that CUDA knows, as they are made and dropped. The lock is held.
 */
#ifndef CCTEST_TEST_CUDA_BLOCKS_H
#define CCTEST_TEST_CUDA_BLOCKS_H

#include "standin.h"

#define BLOCK_PAGE ((size_t)4096)

/* Maps a file, or private memory if it is -1, with a page without access at the end. `bytes`: of
 * whole pages, with that page. NULL: it failed. */
char *block_map(size_t bytes, int file, int protection);
struct standin_block *block_add(const struct standin_block *values);
struct standin_block *block_take(const void *pointer, enum block_kind kind, const char *call,
                                 cudaError_t *error);
/* Nothing else is ever mapped at the address of memory that was allocated. */
void block_drop(struct standin_block *block);

#endif
