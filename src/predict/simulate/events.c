/*
 * events.c - what is to happen in a simulation, by time: a heap, each node with four children, which
 * is flatter than one with two and has them in one or two cache lines.
 */
#include "predict/simulate/internal.h"

#include <stdlib.h>

#define CHILDREN 4

static bool event_before(const struct event *a, const struct event *b)
{
    return a->at < b->at || (a->at == b->at && a->order < b->order);
}

bool events_add(struct events *events, double at, uint32_t kind, uint32_t subject, size_t bytes)
{
    if (events->count == events->room) {
        size_t room = events->room ? 2 * events->room : 256;
        struct event *heap = realloc(events->heap, room * sizeof *heap);
        if (!heap)
            return false;
        events->heap = heap;
        events->room = room;
    }
    const struct event added = {
        .at = at, .order = events->made++, .kind = kind, .subject = subject, .bytes = bytes};
    size_t place = events->count++;
    while (place > 0 && event_before(&added, &events->heap[(place - 1) / CHILDREN])) {
        events->heap[place] = events->heap[(place - 1) / CHILDREN];
        place = (place - 1) / CHILDREN;
    }
    events->heap[place] = added;
    return true;
}

struct event events_take(struct events *events)
{
    const struct event first = events->heap[0], last = events->heap[--events->count];
    size_t place = 0;
    for (size_t child; (child = CHILDREN * place + 1) < events->count; place = child) {
        size_t end = child + CHILDREN < events->count ? child + CHILDREN : events->count;
        for (size_t other = child + 1; other < end; other++)
            if (event_before(&events->heap[other], &events->heap[child]))
                child = other;
        if (!event_before(&events->heap[child], &last))
            break;
        events->heap[place] = events->heap[child];
    }
    if (events->count > 0)
        events->heap[place] = last;
    return first;
}

void events_free(struct events *events)
{
    free(events->heap);
    *events = (struct events){0};
}
