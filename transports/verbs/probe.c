/*
 * probe.c - whether a NIC has what the transport needs.
 *
 * AWS EFA has datagrams and no RC, Intel's E810 and X722 have no shared receive queues, and Omni-Path
 * takes no bytes inline. Their attributes do not tell that reliably, so the probe creates one of each
 * queue. A NIC that fails here is passed over; in connect() it would end the job.
 */
#include "transports/verbs/internal.h"

#include <errno.h>


#define ENTRIES 16
_Static_assert(VERBS_OFFER_BYTES == 80, "a reason says so");

static bool probe_pair(const struct verbs_rail *rail, struct ibv_cq *cq, struct ibv_srq *srq,
                       char *reason)
{
    struct verbs_rail trial = *rail;
    struct verbs_pair_limits limits = {.depth = ENTRIES};
    trial.cq = cq;
    trial.srq = srq;
    struct ibv_qp *pair = verbs_pair_try(&trial, &limits);
    if (pair)
        ibv_destroy_qp(pair);
    else
        verbs_refuse_queue(rail, "RC queue pair with a shared receive queue and 80 bytes inline",
                           errno, reason);
    return pair != NULL;
}

static bool probe_receives(const struct verbs_rail *rail, struct ibv_cq *cq, char *reason)
{
    struct ibv_srq_init_attr attr = {.attr = {.max_wr = ENTRIES, .max_sge = 1}};
    bool has_some = rail->device.max_srq > 0;
    struct ibv_srq *srq = has_some ? ibv_create_srq(rail->pd, &attr) : NULL;
    if (!srq) {
        verbs_refuse_queue(rail, "shared receive queue", has_some ? errno : EOPNOTSUPP, reason);
        return false;
    }
    bool good = probe_pair(rail, cq, srq, reason);
    ibv_destroy_srq(srq);
    return good;
}

bool verbs_rail_probe(const struct verbs_rail *rail, char *reason)
{
    struct ibv_cq *cq = ibv_create_cq(rail->context, ENTRIES, NULL, NULL, 0);
    if (!cq) {
        verbs_refuse_queue(rail, "completion queue", errno, reason);
        return false;
    }
    bool good = probe_receives(rail, cq, reason);
    ibv_destroy_cq(cq);
    return good;
}
