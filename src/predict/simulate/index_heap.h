/*
 * index_heap.h - numbers, each with a key that may change: the one with the least key is at hand.
 */
#ifndef CCTEST_PREDICT_SIMULATE_INDEX_HEAP_H
#define CCTEST_PREDICT_SIMULATE_INDEX_HEAP_H

#include <stdbool.h>
#include <stdint.h>

/* Zeroed is an empty one. */
struct index_heap {
    uint32_t *items; /* items[0] has the least key */
    uint32_t *at;    /* of each number: its place in `items`; UINT32_MAX: it is not there */
    double *key;     /* of each number */
    uint32_t count, room;
};

/* Makes place for the numbers below `room`. False: out of memory. */
bool index_heap_reserve(struct index_heap *heap, uint32_t room);
void index_heap_free(struct index_heap *heap);

/* Gives a number its key; it is added if it is not there. */
void index_heap_set(struct index_heap *heap, uint32_t number, double key);
void index_heap_remove(struct index_heap *heap, uint32_t number); /* it must be there */

#endif
