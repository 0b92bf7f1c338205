/*
 * index_heap.c - numbers, each with a key that may change.
 */
#include "predict/simulate/internal.h"

#include <stdlib.h>

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
