/*
 * cpu_contents.h - what stands in memory that a CPU reads and writes: the hooks of struct
 * memory_kind (memory.h) behind "Contents", whose contracts hold here.
 */
#ifndef CCTEST_DATAPLANE_MEMORY_CPU_CONTENTS_H
#define CCTEST_DATAPLANE_MEMORY_CPU_CONTENTS_H

#include "dataplane/memory/contents.h"

enum status cpu_fill(const struct memory *memory, void *to, unsigned char byte, size_t bytes);
enum status cpu_make(const struct memory *memory, const struct inputs *inputs, int rank,
                     size_t first, size_t count, void *to);
enum status cpu_compare(const struct memory *memory, const struct comparison *comparison,
                        size_t *wrong);
enum status cpu_select(const struct memory *memory, const struct comparison *comparison,
                       struct selection *selection);
enum status cpu_scan(const struct memory *memory, const void *at, unsigned char byte, size_t bytes,
                     struct damage *damage);
enum status cpu_read(const struct memory *memory, const void *at, size_t bytes, void *to);
enum status cpu_write(const struct memory *memory, const void *from, size_t bytes, void *at);

#endif
