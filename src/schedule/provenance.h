/*
 * provenance.h - where an element of a result came from, by the schedule.
 */
#ifndef CCTEST_SCHEDULE_PROVENANCE_H
#define CCTEST_SCHEDULE_PROVENANCE_H

#include "schedule/schedule.h"

/* The operation that brought destination element `element` to this rank: the last one that wrote
 * it, or, where that was local, the one that wrote what it copied, and so on back. Returns its
 * index when it is a receive, -1 when the element was made here (or by nobody). */
int provenance_of(const struct schedule *schedule, size_t element);

#endif
