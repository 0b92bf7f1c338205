/*
 * scratch.c - scratch that no operation touches takes no room.
 *
 * An algorithm may ask for scratch for every block and use that of a few: simpler than to know
 * beforehand which. When the schedule is finished, what is touched moves together.
 */
#include "schedule/scratch.h"

#include <stdlib.h>

#include "schedule/builder_internal.h"
#include "schedule/builder_memory.h"

/* Elements [from, to) of scratch; they move to `at`. */
struct piece {
    size_t from, to, at;
};

static int piece_compare(const void *x, const void *y)
{
    const struct piece *a = x, *b = y;
    return a->from < b->from ? -1 : a->from > b->from;
}

/* Calls `visit` for every span of scratch. */
static void scratch_each(struct operation *operations, size_t count,
                         void (*visit)(void *context, struct span *span), void *context)
{
    for (size_t i = 0; i < count; i++) {
        const struct message *messages[] = {&operations[i].to, &operations[i].from,
                                            &operations[i].with};
        for (int m = 0; m < 3; m++)
            for (size_t s = 0; s < messages[m]->count; s++) {
                /* The builder's own copy: nobody has seen it yet. */
                struct span *span = (struct span *)(uintptr_t)&messages[m]->spans[s];
                if (span->buffer == BUFFER_SCRATCH)
                    visit(context, span);
            }
    }
}

struct pieces {
    struct piece *items; /* NULL: they are only counted */
    size_t count;
};

static void piece_add(void *context, struct span *span)
{
    struct pieces *pieces = context;
    if (pieces->items)
        pieces->items[pieces->count] =
            (struct piece){.from = span->offset,
                           .to = span->offset + (span->times - 1) * span->stride + span->run};
    pieces->count++;
}

static void span_move(void *context, struct span *span)
{
    const struct pieces *pieces = context;
    size_t low = 0, high = pieces->count;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (pieces->items[middle].from <= span->offset)
            low = middle;
        else
            high = middle;
    }
    span->offset = pieces->items[low].at + (span->offset - pieces->items[low].from);
}

/* Pieces that meet or overlap become one, and move to where the ones before them end. Returns the
 * elements of all. */
static size_t pieces_place(struct pieces *pieces)
{
    size_t kept = 0, end = 0;
    for (size_t i = 0; i < pieces->count; i++) {
        struct piece *last = kept ? &pieces->items[kept - 1] : NULL;
        if (last && pieces->items[i].from <= last->to)
            last->to = pieces->items[i].to > last->to ? pieces->items[i].to : last->to;
        else
            pieces->items[kept++] = pieces->items[i];
    }
    pieces->count = kept;
    for (size_t i = 0; i < kept; i++) {
        pieces->items[i].at = end;
        end += pieces->items[i].to - pieces->items[i].from;
    }
    return end;
}

void scratch_compact(struct builder *b, struct operation *operations)
{
    size_t *extent = &b->schedule->extent[BUFFER_SCRATCH];
    struct pieces pieces = {0};
    if (*extent == 0)
        return;
    scratch_each(operations, b->count, piece_add, &pieces);
    pieces.items = builder_draft(b, (pieces.count + 1) * sizeof *pieces.items);
    if (!pieces.items)
        return;
    pieces.count = 0;
    scratch_each(operations, b->count, piece_add, &pieces);
    qsort(pieces.items, pieces.count, sizeof *pieces.items, piece_compare);
    size_t touched = pieces_place(&pieces);
    if (touched < *extent)
        scratch_each(operations, b->count, span_move, &pieces);
    *extent = touched;
}
