/*
 * resent_packets.h - which hosts lose packets: what TCP sent again while pairs were measured.
 *
 * A loss that few iterations meet leaves their median as it was. A pair's number is the packets that
 * both of its hosts sent again. A host's is the lower median of its pairs', so that a lossy partner
 * does not move it; the screening of single hosts (accept/judge/host_values.h) judges it.
 */
#ifndef CCTEST_ACCEPT_RESENT_PACKETS_H
#define CCTEST_ACCEPT_RESENT_PACKETS_H

#include "accept/trials.h"
#include "accept/judge/rounds.h"

/* Adds what a job of a pair, run with -v, sent again to acceptance->resent. */
enum status resent_packets_take(struct acceptance *acceptance, const struct host_pair *pair,
                                const json_t *document);

/* Finds the hosts that stand out, as findings of the stage pairs. Sets acceptance->loses_packets. */
enum status resent_packets_judge(struct acceptance *acceptance);

#endif
