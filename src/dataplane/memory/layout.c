/*
 * layout.c - moves bytes between the pieces of a message and contiguous memory.
 *
 * Transports and engines touch the memory of a message through these cursors only, so this is the
 * one place that knows how strided pieces are laid out.
 */
#include "dataplane/memory/memory.h"

#include <string.h>

/* The C library copies more bytes than these by one instruction (rep movsb). To and from slots,
 * whose lines are in the cache of a core, that takes twice as long. So it gets pieces. */
#define PIECE ((size_t)2 << 10)

static inline void copy_flat(char *to, const char *from, size_t bytes)
{
    for (size_t at = 0, piece; at < bytes; at += piece) {
        piece = bytes - at < PIECE ? bytes - at : PIECE;
        /* Hides the length from the compiler, which would make a `rep movsb` or `rep movsq` of the
         * call. */
        __asm__("" : "+r"(piece));
        memcpy(to + at, from + at, piece);
    }
}

static inline void place(const struct cursor *cursor, char *to, const char *from, size_t bytes)
{
    if (cursor->nontemporal)
        nontemporal_copy(to, from, bytes);
    else
        copy_flat(to, from, bytes);
}

static inline void combine(const struct cursor *cursor, char *to, const char *a, const char *b,
                           size_t elements, reduce_function *reduce, size_t element)
{
    if (cursor->nontemporal)
        nontemporal_reduce(reduce, element, to, a, b, elements);
    else
        reduce(to, a, b, elements);
}

bool piece_place(struct piece *piece, char *base, size_t size, uint64_t offset)
{
    size_t bytes;
    if (piece->run == 0 || piece->times == 0 ||
        __builtin_mul_overflow(piece->times - 1, piece->stride, &bytes) ||
        __builtin_add_overflow(bytes, piece->run, &bytes) || offset > size || bytes > size - offset)
        return false;
    piece->base = base + offset;
    return true;
}

void cursor_gather_runs(struct cursor *from, void *to, size_t bytes)
{
    char *flat = to;
    while (bytes > 0) {
        size_t run;
        const char *here = cursor_peek(from, bytes, &run);
        copy_flat(flat, here, run);
        cursor_advance(from, run);
        flat += run;
        bytes -= run;
    }
}

void cursor_scatter_runs(struct cursor *to, const void *from, size_t bytes)
{
    const char *flat = from;
    while (bytes > 0) {
        size_t run;
        char *here = cursor_peek(to, bytes, &run);
        place(to, here, flat, run);
        cursor_advance(to, run);
        flat += run;
        bytes -= run;
    }
}

void cursor_copy(struct cursor *to, struct cursor *from, size_t bytes)
{
    for (size_t run; bytes > 0; bytes -= run) {
        char *target = cursor_peek(to, bytes, &run);
        const char *source = cursor_peek(from, run, &run);
        if (target != source && to->nontemporal)
            nontemporal_copy(target, source, run);
        else if (target != source && page_alias(target, source))
            copy_flat(target, source, run);
        else if (target != source)
            memcpy(target, source, run);
        cursor_advance(to, run);
        cursor_advance(from, run);
    }
}

void cursor_reduce_both(struct cursor *to, struct cursor *from, struct cursor *with, size_t bytes,
                        reduce_function *reduce, size_t element)
{
    for (size_t run; bytes > 0; bytes -= run) {
        char *target = cursor_peek(to, bytes, &run);
        const char *left = cursor_peek(from, run, &run), *right = cursor_peek(with, run, &run);
        combine(to, target, left, right, run / element, reduce, element);
        cursor_advance(to, run);
        cursor_advance(from, run);
        cursor_advance(with, run);
    }
}

void cursor_finish(struct cursor *to, struct cursor *from, size_t bytes, finish_function *finish,
                   size_t element, int ranks)
{
    for (size_t run; bytes > 0; bytes -= run) {
        char *target = cursor_peek(to, bytes, &run);
        const char *source = cursor_peek(from, run, &run);
        finish(target, source, run / element, ranks);
        cursor_advance(to, run);
        cursor_advance(from, run);
    }
}

void cursor_reduce(struct cursor *to, struct cursor *with, const void *incoming, size_t bytes,
                   reduce_function *reduce, size_t element)
{
    const char *flat = incoming;
    while (bytes > 0) {
        size_t run;
        char *target = cursor_peek(to, bytes, &run);
        const char *other = cursor_peek(with, run, &run);
        combine(to, target, other, flat, run / element, reduce, element);
        cursor_advance(to, run);
        cursor_advance(with, run);
        flat += run;
        bytes -= run;
    }
}
