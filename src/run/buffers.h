/*
 * buffers.h - one rank's source, destination and scratch, with canaries around each.
 */
#ifndef CCTEST_RUN_BUFFERS_H
#define CCTEST_RUN_BUFFERS_H

#include "memory/memory.h"
#include "schedule/schedule.h"

/* One region holds all three, each between two canaries, each beginning at a 4096-byte boundary. */
struct buffers {
    struct region region;
    char *base[BUFFERS];
    size_t bytes[BUFFERS]; /* capacity of each */
};

enum status buffers_allocate(const struct memory_kind *memory, const size_t bytes[BUFFERS],
                             const struct tick *tick, struct buffers *buffers);
void buffers_release(struct buffers *buffers);

/* Where a buffer of a schedule stands among these: in place, source and destination share one. */
char *buffers_place(const struct buffers *buffers, const struct schedule *schedule, size_t element,
                    enum buffer buffer);

/* Lays canaries directly around `used[b]` bytes of each buffer, in place of what stood there. */
void buffers_guard(struct buffers *buffers, const size_t used[BUFFERS]);

/* Which canary was overwritten? NULL: none. Else a sentence: "3 bytes behind the destination were
 * overwritten, the first at offset 8192" (in `text`). */
const char *buffers_overrun(const struct buffers *buffers, const size_t used[BUFFERS], char *text,
                            size_t size);

#endif
