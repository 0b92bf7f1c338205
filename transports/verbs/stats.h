/*
 * stats.h - what a lane waited for, and what it does while nothing moves.
 */
#ifndef CCTEST_TRANSPORTS_VERBS_STATS_H
#define CCTEST_TRANSPORTS_VERBS_STATS_H

#include "transports/verbs/verbs.h"

/* Segments are in flight from here on, or none is any more. */
void verbs_busy_begin(struct verbs_sender *out);
void verbs_busy_end(struct verbs_sender *out);

/* A visit of a receiving channel has moved bytes, or not. */
void verbs_starve_note(struct verbs_receiver *in, bool moved);

/* transport->wait_stats and transport->idle_report. */
void verbs_wait_stats(const struct channel *base, struct wait_stats *wait_stats);
void verbs_idle_report(const struct endpoint *base, struct idle_report *idle);

/* Called now and then while nothing moves: notes which queue pairs make no progress. */
void verbs_stalls_note(struct verbs_endpoint *endpoint);

#endif
