/*
 * events.h - what is to happen in a simulation, by time; of one time, in the order of its making.
 */
#ifndef CCTEST_PREDICT_SIMULATE_EVENTS_H
#define CCTEST_PREDICT_SIMULATE_EVENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct event {
    double at;      /* us */
    uint64_t order; /* events_add() numbers them */
    uint32_t kind;  /* the caller's, like the two numbers */
    uint32_t subject;
    size_t bytes;
};

struct events {
    struct event *heap;
    size_t count, room;
    uint64_t made;
};

bool events_add(struct events *events, double at, uint32_t kind, uint32_t subject, size_t bytes);
struct event events_take(struct events *events); /* the next one; there must be one */
void events_free(struct events *events);

#endif
