/*
 * release.h - when the start barrier of a run releases the ranks of several hosts.
 *
 * Between hosts the barrier is a dissemination barrier (run/start_barrier.h). It releases a host as soon as
 * the tokens of all others are there: the last host that comes at once, the others up to log2(hosts)
 * messages later. A rank's time begins with its own release. So a rank that is released early waits in the
 * iteration for messages of others that are not, and this lead lasts from iteration to iteration.
 */
#ifndef CCTEST_PREDICT_SIMULATE_RELEASE_H
#define CCTEST_PREDICT_SIMULATE_RELEASE_H

#include "predict/simulate/simulation.h"

/* released[r]: of each rank, us, the first at 0, by when the ranks came to the barrier (came[r], us). The
 * two may be one array. False: out of memory. */
bool release_find(const struct simulation *simulation, const double *came, double *released);

#endif
