/*
 * provenance.h - finds the receive that brought an element of the result, by the schedule.
 */
#ifndef CCTEST_COLLECTIVE_SCHEDULE_PROVENANCE_H
#define CCTEST_COLLECTIVE_SCHEDULE_PROVENANCE_H

#include "collective/schedule/schedule.h"

/* The receive that brought destination element `element` to this rank. Starts at the last operation
 * that wrote the element; from a local one it goes on to the writer of its input. Returns the index
 * of the receive; -1: the element is of this rank's source, or was never written. */
int provenance_of(const struct schedule *schedule, size_t element);

/* The element of `message` that lies at element `at` of `storage`; SIZE_MAX: none. */
size_t message_find(const struct schedule *schedule, struct message message, int storage,
                    size_t at);

/* The storage of message element `position`, and its element there. */
void message_locate(const struct schedule *schedule, struct message message, size_t position,
                    int *storage, size_t *at);

#endif
