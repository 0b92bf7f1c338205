/*
 * buffers.c - one rank's source, destination and scratch, with canaries around each.
 *
 * A canary is a page of poison. One stands before each buffer. The other begins at the first byte
 * that the problem does not use, so an algorithm that writes one byte too many is seen at every
 * size, not only at the largest.
 */
#include "run/buffers.h"

#include <stdint.h>
#include <string.h>

#include "base/log.h"
#include "check/pattern.h"

#define CANARY 4096u /* bytes; also what buffers are aligned to */

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

void buffers_guard(struct buffers *buffers, const size_t used[BUFFERS])
{
    for (int b = 0; b < BUFFERS; b++) {
        memset(buffers->base[b] - CANARY, PATTERN_POISON, CANARY);
        memset(buffers->base[b] + used[b], PATTERN_POISON, CANARY);
    }
}

/* How many bytes of a canary have changed; *first: the index of the first. */
static size_t canary_damage(const char *canary, size_t *first)
{
    size_t damage = 0;
    for (size_t i = CANARY; i-- > 0;) {
        if ((unsigned char)canary[i] != PATTERN_POISON) {
            damage++;
            *first = i;
        }
    }
    return damage;
}

bool buffers_overrun(const struct buffers *buffers, const size_t used[BUFFERS],
                     struct overrun *overrun)
{
    for (int b = 0; b < BUFFERS; b++) {
        for (int behind = 0; behind < 2; behind++) {
            ptrdiff_t canary = behind ? (ptrdiff_t)used[b] : -(ptrdiff_t)CANARY;
            size_t first = 0, damage = canary_damage(buffers->base[b] + canary, &first);
            if (damage == 0)
                continue;
            *overrun = (struct overrun){
                .buffer = (enum buffer)b, .bytes = damage, .first = canary + (ptrdiff_t)first};
            return true;
        }
    }
    return false;
}
