/*
 * pair.h - a queue pair: creates it, and brings it to the state in which it sends.
 */
#ifndef CCTEST_TRANSPORTS_VERBS_PAIR_H
#define CCTEST_TRANSPORTS_VERBS_PAIR_H

#include "transports/verbs/verbs.h"

/* Creates a queue pair of `depth` work requests on queue->rail, in the state INIT. */
enum status verbs_pair_create(struct verbs_queue *queue, uint32_t depth);

/* Connects it to queue->remote_number: it receives and sends then. */
enum status verbs_pair_connect(struct verbs_queue *queue);

/* Does this rank poll the slots that the peer writes over this queue pair (poll=memory), or its
 * completion queue? */
bool verbs_pair_polls_memory(const struct verbs_queue *queue);

#define VERBS_RNR_RETRIES 6 /* how often a message that finds no receive is sent again */

/* Changes its state to attr->qp_state, as librdmacm has found it out, but with the retries of this
 * job and what options ask for. */
enum status verbs_pair_change(struct verbs_queue *queue, struct ibv_qp_attr *attr, int mask);

/* Destroys it; one that was not created is allowed. */
void verbs_pair_destroy(struct verbs_queue *queue);

#endif
