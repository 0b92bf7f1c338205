/*
 * ring_places.h - the order of the ranks on a ring (order=auto), from where they run.
 */
#ifndef CCTEST_RUN_SESSION_RING_PLACES_H
#define CCTEST_RUN_SESSION_RING_PLACES_H

#include "run/session/session_internal.h"

/* Fills runner->split.ring_place if a candidate asks for it. Called by all ranks together, before
 * any schedule is written, and after each has chosen its device. They exchange the CPUs that they
 * may use, if CPUs read their buffers, and then the places that follow. */
enum status session_find_ring(struct session *session);

#endif
