/*
 * contents.h - the hooks of memory.h that fill, make, compare and copy what memory of a GPU holds.
 */
#ifndef CCTEST_DATAPLANE_MEMORY_CUDA_CONTENTS_H
#define CCTEST_DATAPLANE_MEMORY_CUDA_CONTENTS_H

#include "dataplane/memory/contents.h"

enum status cuda_fill(const struct memory *memory, void *to, unsigned char byte, size_t bytes);
enum status cuda_make(const struct memory *memory, const struct inputs *inputs, int rank,
                      size_t first, size_t count, void *to);
enum status cuda_compare(const struct memory *memory, const struct comparison *comparison,
                         size_t *wrong);
enum status cuda_select(const struct memory *memory, const struct comparison *comparison,
                        struct selection *selection);
enum status cuda_scan(const struct memory *memory, const void *at, unsigned char byte, size_t bytes,
                      struct damage *damage);
enum status cuda_read(const struct memory *memory, const void *at, size_t bytes, void *to);
enum status cuda_write(const struct memory *memory, const void *from, size_t bytes, void *at);

#endif
