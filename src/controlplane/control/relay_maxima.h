/*
 * relay_maxima.h - a relay reduces the maxima of the ranks behind it to one array.
 */
#ifndef CCTEST_CONTROLPLANE_CONTROL_RELAY_MAXIMA_H
#define CCTEST_CONTROLPLANE_CONTROL_RELAY_MAXIMA_H

#include "controlplane/control/uplink.h"

/* Takes the content of MAXIMA, of this rank or of ranks behind it; false: it is malformed. */
bool relay_take_maxima(struct relay *relay, const void *data, size_t size);

/* Sends them on when they are whole. A rank that does not come, or has another way by now, holds
 * the others up for a moment only. */
void relay_tend_maxima(struct relay *relay);

#endif
