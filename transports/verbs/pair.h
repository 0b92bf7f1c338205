/*
 * pair.h - a queue pair: creates it, and brings it to the state in which it sends.
 */
#ifndef CCTEST_TRANSPORTS_VERBS_PAIR_H
#define CCTEST_TRANSPORTS_VERBS_PAIR_H

#include "transports/verbs/verbs.h"

/* Work requests of each queue pair on a rail that has `pairs` of them: its memory is this rank's. */
uint32_t verbs_pair_depth(uint32_t pairs);

/* What a queue pair holds. */
struct verbs_pair_limits {
    uint32_t depth;       /* work requests: as asked */
    uint32_t inline_most; /* bytes of one: as many as the device accepts, */
    int gather_most;      /* and pieces */
};

/* Tries to create a queue pair on rail->cq and rail->srq. NULL: errno says why not. */
struct ibv_qp *verbs_pair_try(const struct verbs_rail *rail, struct verbs_pair_limits *limits);

/* Creates a queue pair of `depth` work requests on pair->rail, in the state INIT. */
enum status verbs_pair_create(struct verbs_pair *pair, uint32_t depth);

/* Connects it to pair->remote_number: it receives and sends then. May block while the address of
 * the peer is looked up; ticks between attempts. */
enum status verbs_pair_connect(struct verbs_pair *pair);

/* Does the NIC promise that the bytes of a WRITE land in their order? */
bool verbs_pair_keeps_order(const struct verbs_pair *pair);

/* Does this rank poll the slots that the peer writes over this queue pair (poll=memory), or its
 * completion queue? */
bool verbs_pair_polls_memory(const struct verbs_pair *pair);

#define VERBS_RNR_RETRIES 6 /* how often a message that finds no receive is sent again */

/* Changes its state to attr->qp_state, as librdmacm has found it out, but with the retries of this
 * job and what options ask for. */
enum status verbs_pair_change(struct verbs_pair *pair, struct ibv_qp_attr *attr, int mask);

/* Destroys it; one that was not created is allowed. */
void verbs_pair_destroy(struct verbs_pair *pair);

#endif
