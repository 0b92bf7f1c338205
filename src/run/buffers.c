/*
 * buffers.c - one rank's source, destination and scratch, with canaries around each.
 *
 * A canary is a page of poison. One stands before each buffer. The other begins at the first byte
 * that the problem does not use, so an algorithm that writes one byte too many is seen at every
 * size, not only at the largest.
 */
#include "run/run.h"

#include <stdint.h>
#include <string.h>

#include "base/log.h"
#include "run/check/check.h"

#define CANARY 4096u /* bytes; also what buffers are aligned to */
_Static_assert(BUFFERS_MARGIN >= BUFFERS * 3 * CANARY, "two canaries, and an alignment, each");

enum status buffers_allocate(const struct memory_kind *memory, const size_t bytes[BUFFERS],
                             size_t spare, const struct tick *tick, struct buffers *buffers)
{
    size_t total = 0, offset[BUFFERS];
    *buffers = (struct buffers){.region = {.fd = -1}};
    for (int b = 0; b < BUFFERS; b++) {
        size_t pages;
        offset[b] = total + CANARY;
        if (__builtin_add_overflow(bytes[b], 3 * CANARY - 1, &pages) ||
            __builtin_add_overflow(total, pages / CANARY * CANARY, &total) || total > PTRDIFF_MAX)
            return fail(STATUS_ERROR,
                        "a %s buffer of %zu bytes does not fit into the address space; choose "
                        "smaller sizes (-e)",
                        buffer_names[b], bytes[b]);
    }
    if (spare > PTRDIFF_MAX - total)
        return fail(STATUS_ERROR,
                    "a message of %zu bytes that is dropped (--inject) does not fit "
                    "into the address space; choose smaller sizes (-e)",
                    spare);
    enum status status = memory->allocate(total + spare, tick, &buffers->region);
    if (status != STATUS_OK)
        return status;
    for (int b = 0; b < BUFFERS; b++) {
        buffers->base[b] = buffers->region.base + offset[b];
        buffers->bytes[b] = bytes[b];
    }
    buffers->spare = buffers->region.base + total;
    return STATUS_OK;
}

void buffers_release(struct buffers *buffers)
{
    if (buffers->region.kind)
        buffers->region.kind->release(&buffers->region);
    *buffers = (struct buffers){.region = {.fd = -1}};
}

char *buffers_place(const struct buffers *buffers, const struct schedule *schedule, size_t element,
                    enum buffer buffer)
{
    return buffers->base[schedule->storage[buffer]] + schedule->base[buffer] * element;
}

enum status buffers_guard(const struct memory *memory, struct buffers *buffers,
                          const size_t used[BUFFERS])
{
    enum status status = STATUS_OK;
    for (int b = 0; b < BUFFERS && status == STATUS_OK; b++) {
        status = memory->kind->fill(memory, buffers->base[b] - CANARY, PATTERN_POISON, CANARY);
        if (status == STATUS_OK)
            status = memory->kind->fill(memory, buffers->base[b] + used[b], PATTERN_POISON, CANARY);
    }
    return status;
}

enum status buffers_overrun(const struct memory *memory, const struct buffers *buffers,
                            const size_t used[BUFFERS], struct overrun *overrun)
{
    overrun->bytes = 0;
    for (int b = 0; b < BUFFERS; b++) {
        for (int behind = 0; behind < 2; behind++) {
            ptrdiff_t canary = behind ? (ptrdiff_t)used[b] : -(ptrdiff_t)CANARY;
            struct damage damage;
            enum status status = memory->kind->scan(memory, buffers->base[b] + canary,
                                                    PATTERN_POISON, CANARY, &damage);
            if (status != STATUS_OK)
                return status;
            if (damage.bytes == 0)
                continue;
            *overrun = (struct overrun){.buffer = (enum buffer)b,
                                        .bytes = damage.bytes,
                                        .first = canary + (ptrdiff_t)damage.first};
            return STATUS_OK;
        }
    }
    return STATUS_OK;
}
