/*
 * proof.h - what two ranks prove to each other when librdmacm connects a queue pair of theirs.
 *
 * A proof is a hash of what the connection is for, of both ranks' nonces and of its direction,
 * keyed with the job's secret: it opens no other queue pair, and none of another job.
 */
#ifndef CCTEST_TRANSPORTS_VERBS_PROOF_H
#define CCTEST_TRANSPORTS_VERBS_PROOF_H

#include "transports/verbs/verbs.h"

#define VERBS_ANSWER_BYTES  32        /* the proof */
#define VERBS_REQUEST_BYTES (16 + 32) /* which queue pair, and the proof; InfiniBand carries 56 */

/* Does this rank connect to the peer of the queue pair, and not the peer to this rank? */
bool verbs_rank_connects(const struct verbs_pair *pair);

/* What the rank that connects sends. */
void verbs_request_encode(const struct verbs_pair *pair,
                          unsigned char request[VERBS_REQUEST_BYTES]);

/* The queue pair on this rail that a request of `size` bytes is for, and which has no connection
 * yet; NULL: no rank of this job sent it. */
struct verbs_pair *verbs_request_find(const struct verbs_rail *rail, const unsigned char *request,
                                      size_t size);

/* What the other one answers. */
void verbs_answer_encode(const struct verbs_pair *pair, unsigned char answer[VERBS_ANSWER_BYTES]);

/* Is it the answer of the peer's rank? */
bool verbs_answer_holds(const struct verbs_pair *pair, const unsigned char *answer, size_t size);

#endif
