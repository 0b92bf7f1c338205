/*
 * events.c - what is to happen in a simulation, by time: a heap, each node with four children,
 * which is flatter than one with two and has them in one or two cache lines.
 */
#include "predict/simulate/internal.h"

#include <stdlib.h>

/*
 * Numbers, each with a key that may change.
 */
bool index_heap_reserve(struct index_heap *heap, uint32_t room)
{
    if (room <= heap->room)
        return true;
    uint32_t *items = realloc(heap->items, room * sizeof *items);
    if (items)
        heap->items = items;
    uint32_t *at = realloc(heap->at, room * sizeof *at);
    if (at)
        heap->at = at;
    double *key = realloc(heap->key, room * sizeof *key);
    if (key)
        heap->key = key;
    if (!items || !at || !key)
        return false;
    for (uint32_t i = heap->room; i < room; i++)
        at[i] = UINT32_MAX;
    heap->room = room;
    return true;
}

void index_heap_free(struct index_heap *heap)
{
    free(heap->items);
    free(heap->at);
    free(heap->key);
    *heap = (struct index_heap){0};
}

static void heap_put(struct index_heap *heap, uint32_t at, uint32_t number)
{
    heap->items[at] = number;
    heap->at[number] = at;
}

static void heap_sift(struct index_heap *heap, uint32_t number)
{
    uint32_t at = heap->at[number], above;
    double key = heap->key[number];
    for (; at > 0 && heap->key[heap->items[above = (at - 1) / 2]] > key; at = above)
        heap_put(heap, at, heap->items[above]);
    for (uint32_t child; (child = 2 * at + 1) < heap->count; at = child) {
        if (child + 1 < heap->count &&
            heap->key[heap->items[child + 1]] < heap->key[heap->items[child]])
            child++;
        if (heap->key[heap->items[child]] >= key)
            break;
        heap_put(heap, at, heap->items[child]);
    }
    heap_put(heap, at, number);
}

void index_heap_set(struct index_heap *heap, uint32_t number, double key)
{
    heap->key[number] = key;
    if (heap->at[number] == UINT32_MAX)
        heap->at[number] = heap->count++;
    heap_sift(heap, number);
}

void index_heap_remove(struct index_heap *heap, uint32_t number)
{
    uint32_t at = heap->at[number], last = heap->items[--heap->count];
    heap->at[number] = UINT32_MAX;
    if (last == number)
        return;
    heap_put(heap, at, last);
    heap_sift(heap, last);
}

/*
 * The events of a simulation.
 */
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
