/*
 * scratch.c - leaves out the scratch memory that no operation touches.
 *
 * An algorithm may ask for scratch for every block and use it for a few: it need not know in
 * advance for which. When the schedule is finished, the touched parts move together.
 */
#include "collective/schedule/internal.h"

#include <stdlib.h>

/* Elements [from, to) of scratch; they move to `at`. */
struct scratch_interval {
    size_t from, to, at;
};

static int interval_compare(const void *x, const void *y)
{
    const struct scratch_interval *a = x, *b = y;
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
                /* The builder's own copy, which no other code has seen yet. */
                struct span *span = (struct span *)(uintptr_t)&messages[m]->spans[s];
                if (span->buffer == BUFFER_SCRATCH)
                    visit(context, span);
            }
    }
}

struct intervals {
    struct scratch_interval *items; /* NULL: only count them */
    size_t count;
};

static void interval_add(void *context, struct span *span)
{
    struct intervals *intervals = context;
    if (intervals->items)
        intervals->items[intervals->count] = (struct scratch_interval){
            .from = span->offset,
            .to = span->offset + (span->times - 1) * span->stride + span->run};
    intervals->count++;
}

static void span_move(void *context, struct span *span)
{
    const struct intervals *intervals = context;
    size_t low = 0, high = intervals->count;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (intervals->items[middle].from <= span->offset)
            low = middle;
        else
            high = middle;
    }
    span->offset = intervals->items[low].at + (span->offset - intervals->items[low].from);
}

/* Joins intervals that touch or overlap, and places them one after the other. Returns the elements
 * of all. */
static size_t intervals_place(struct intervals *intervals)
{
    size_t kept = 0, end = 0;
    for (size_t i = 0; i < intervals->count; i++) {
        struct scratch_interval *last = kept ? &intervals->items[kept - 1] : NULL;
        if (last && intervals->items[i].from <= last->to)
            last->to = intervals->items[i].to > last->to ? intervals->items[i].to : last->to;
        else
            intervals->items[kept++] = intervals->items[i];
    }
    intervals->count = kept;
    for (size_t i = 0; i < kept; i++) {
        intervals->items[i].at = end;
        end += intervals->items[i].to - intervals->items[i].from;
    }
    return end;
}

void scratch_compact(struct builder *b, struct operation *operations)
{
    size_t *extent = &b->schedule->extent[BUFFER_SCRATCH];
    struct intervals intervals = {0};
    if (*extent == 0)
        return;
    scratch_each(operations, b->count, interval_add, &intervals);
    intervals.items = builder_draft(b, (intervals.count + 1) * sizeof *intervals.items);
    if (!intervals.items)
        return;
    intervals.count = 0;
    scratch_each(operations, b->count, interval_add, &intervals);
    qsort(intervals.items, intervals.count, sizeof *intervals.items, interval_compare);
    size_t touched = intervals_place(&intervals);
    if (touched < *extent)
        scratch_each(operations, b->count, span_move, &intervals);
    *extent = touched;
}
