/*
 * buffers.h - one rank's source, destination and scratch, with canaries around each, and a spare
 * area.
 */
#ifndef CCTEST_RUN_BUFFERS_H
#define CCTEST_RUN_BUFFERS_H

#include "run/check/finding.h"
#include "dataplane/memory/memory.h"
#include "collective/schedule/schedule.h"

#define BUFFERS_MARGIN                                                                             \
    ((size_t)3 * 3 * 4096) /* bytes: canaries and alignment of a region, at most */

/* One region holds all three, each between two canaries, each beginning at a 4096-byte boundary.
 * The spare area is its end. */
struct buffers {
    struct region region;
    char *base[BUFFERS];
    size_t bytes[BUFFERS]; /* capacity of each */
    char *spare;
};

/* `spare`: bytes of the spare area; 0 is allowed. */
enum status buffers_allocate(const struct memory_kind *memory, const size_t bytes[BUFFERS],
                             size_t spare, const struct tick *tick, struct buffers *buffers);
void buffers_release(struct buffers *buffers);

/* The address of a schedule's buffer: in place, source and destination share memory. */
char *buffers_place(const struct buffers *buffers, const struct schedule *schedule, size_t element,
                    enum buffer buffer);

/* Writes canaries directly around the first `used[b]` bytes of each buffer. */
enum status buffers_guard(const struct memory *memory, struct buffers *buffers,
                          const size_t used[BUFFERS]);

/* Was a canary overwritten? *overrun: the damage to the first such canary; of 0 bytes if there is
 * none. */
enum status buffers_overrun(const struct memory *memory, const struct buffers *buffers,
                            const size_t used[BUFFERS], struct overrun *overrun);

#endif
