/*
 * verdict.h - which fault is the first: from what rank 0 knows of all ranks to a sentence for the
 * user.
 *
 * Pure. Either some ranks were lost or have failed (the causes), or the deadline has passed without
 * progress: then each rank waits for a peer, and the root of the wait-for graph is named.
 */
#ifndef CCTEST_CONTROLPLANE_VERDICT_VERDICT_H
#define CCTEST_CONTROLPLANE_VERDICT_VERDICT_H

#include "controlplane/verdict/situation.h"

void verdict_reach(const struct situation *situation, struct verdict *verdict);

#endif
