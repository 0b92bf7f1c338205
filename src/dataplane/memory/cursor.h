/*
 * cursor.h - where the bytes of a message lie in memory, and a cursor over them.
 *
 * The byte form of schedule.h's messages: spans of elements become pieces with addresses. C11 and
 * C++17, for the host and for CUDA's compiler.
 */
#ifndef CCTEST_DATAPLANE_MEMORY_CURSOR_H
#define CCTEST_DATAPLANE_MEMORY_CURSOR_H

#include <stdbool.h>

#include "base/word.h"

/* `times` runs of `run` bytes, their starts `stride` bytes apart. Runs are whole elements. */
struct piece {
    char *base;
    size_t run, stride, times;
};

struct layout {
    const struct piece *pieces; /* none empty */
    size_t count;
    bool nontemporal; /* written past the cache (memory.h), because it is not read soon */
};

/* A place in a layout, moving forward only. */
struct cursor {
    const struct piece *piece, *end;
    size_t time;   /* run within the piece */
    size_t offset; /* byte within the run */
    bool nontemporal;
};

HOST_DEVICE void cursor_start(struct cursor *cursor, struct layout layout)
{
    cursor->piece = layout.pieces;
    cursor->end = layout.pieces + layout.count;
    cursor->time = cursor->offset = 0;
    cursor->nontemporal = layout.nontemporal;
}

/* The address of the cursor's byte. *run: how many bytes, at most `most`, are contiguous there.
 * NULL at the end. */
HOST_DEVICE char *cursor_peek(const struct cursor *cursor, size_t most, size_t *run)
{
    const struct piece *piece = cursor->piece;
    if (piece == cursor->end) {
        *run = 0;
        return NULL;
    }
    size_t left = piece->run - cursor->offset;
    if (piece->stride == piece->run) /* runs that touch are one */
        left += (piece->times - cursor->time - 1) * piece->run;
    *run = left < most ? left : most;
    return piece->base + cursor->time * piece->stride + cursor->offset;
}

/* Moves on by `bytes`, over as many runs as needed. */
HOST_DEVICE void cursor_advance(struct cursor *cursor, size_t bytes)
{
    while (bytes > 0) {
        const struct piece *piece = cursor->piece;
        size_t left = (piece->times - cursor->time) * piece->run - cursor->offset;
        if (bytes >= left) {
            bytes -= left;
            cursor->piece++;
            cursor->time = 0;
            cursor->offset = 0;
            continue;
        }
        cursor->offset += bytes;
        if (cursor->offset >= piece->run) {
            cursor->time += cursor->offset / piece->run;
            cursor->offset %= piece->run;
        }
        return;
    }
}

#endif
