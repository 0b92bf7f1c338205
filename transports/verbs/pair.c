/*
 * pair.c - a queue pair: creates it, and brings it to the state in which it sends.
 */
#include "transports/verbs/internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/list.h"
#include "base/log.h"
#include "base/tick.h"

#define INLINE_WANTED   256
#define PAIRS_FEW       64 /* on a rail: each as deep as is fast */
#define PAIRS_SOME      512
#define DEPTH_SOME      64
#define DEPTH_MANY      16
#define RNR_MILLISECOND 12 /* min_rnr_timer: 0.64 ms */
#define CONNECT_MOST    3  /* RoCE: a neighbour may answer late when many ask at once */

uint32_t verbs_pair_depth(uint32_t pairs)
{
    return pairs <= PAIRS_FEW ? VERBS_DEPTH : pairs <= PAIRS_SOME ? DEPTH_SOME : DEPTH_MANY;
}

/* The most bytes inline that the device accepts, down to what an offer needs. Some drivers
 * (bnxt_re) refuse more without setting errno; some (hfi1, pvrdma) give less than was asked for. */
struct ibv_qp *verbs_pair_try(const struct verbs_rail *rail, struct verbs_pair_limits *limits)
{
    static const uint32_t sizes[] = {INLINE_WANTED, 128, 96, VERBS_OFFER_BYTES};
    int pieces =
        rail->device.max_sge < VERBS_GATHER_MOST ? rail->device.max_sge : VERBS_GATHER_MOST;
    int error = 0;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct ibv_qp_init_attr attr = {.send_cq = rail->cq,
                                        .recv_cq = rail->cq,
                                        .srq = rail->srq,
                                        .cap = {.max_send_wr = limits->depth,
                                                .max_send_sge = (uint32_t)pieces,
                                                .max_inline_data = sizes[i]},
                                        .qp_type = IBV_QPT_RC};
        errno = 0;
        struct ibv_qp *qp = ibv_create_qp(rail->pd, &attr);
        error = errno;
        limits->inline_most =
            attr.cap.max_inline_data < sizes[i] ? attr.cap.max_inline_data : sizes[i];
        limits->gather_most =
            attr.cap.max_send_sge < (uint32_t)pieces ? (int)attr.cap.max_send_sge : pieces;
        if (qp && limits->inline_most >= VERBS_OFFER_BYTES)
            return qp;
        if (qp)
            ibv_destroy_qp(qp);
    }
    errno = error ? error : EINVAL;
    return NULL;
}

static enum status pair_not_created(const struct verbs_pair *pair,
                                    const struct verbs_pair_limits *limits, int error)
{
    return fail_option(
        STATUS_ERROR, "channels",
        "NIC %s cannot create queue pair number %d, of %u requests with %d pieces and %u "
        "bytes inline (%s): use an algorithm with fewer peers, fewer --channels%s",
        pair->rail->port.name, pair->rail->endpoint->pair_count + 1, limits->depth,
        limits->gather_most, limits->inline_most, strerror(error),
        error == ENOMEM ? ", or raise the limit of locked memory (ulimit -l)" : "");
}

static enum status pair_failed(const struct verbs_pair *pair, const char *what, int error,
                               const char *advice)
{
    const struct verbs_peer *peer = pair->lane->peer;
    return fail(STATUS_ERROR, "NIC %s cannot %s, for rank %d on %s at its NIC %s (%s)%s",
                pair->rail->port.name, what, peer->rank, peer->address.host,
                peer->address.ports[pair->remote_rail].name, strerror(error), advice);
}

/* The state RTR: the NIC looks for the way to the peer's NIC. */
static enum status pair_not_connected(const struct verbs_pair *pair, int error)
{
    const char *advice = "";
    if (error == ETIMEDOUT)
        advice = ": the address of the peer is not found; the two NICs may be on rails that do not "
                 "meet (rails=match)";
    else if (error == EINVAL)
        advice = ": see gid=, pkey=, mtu= and sl=, and cctest info at both ends";
    return pair_failed(pair, "connect a queue pair", error, advice);
}

enum status verbs_pair_create(struct verbs_pair *pair, uint32_t depth)
{
    struct verbs_rail *rail = pair->rail;
    struct verbs_pair_limits limits = {.depth = depth};
    pair->qp = verbs_pair_try(rail, &limits);
    if (!pair->qp)
        return pair_not_created(pair, &limits, errno);
    pair->depth = depth;
    pair->inline_most = limits.inline_most;
    pair->gather_most = limits.gather_most;
    pair->work = new_array(depth, sizeof *pair->work);
    pair->arrived = new_array(pair->lane->grants.segments, sizeof *pair->arrived);
    verbs_rail_enter(rail, pair);
    rail->completions += depth;
    rail->endpoint->pair_count++;
    if (getrandom(&pair->first_packet, sizeof pair->first_packet, 0) < 0)
        return fail(STATUS_ERROR, "cannot get random numbers: %s", strerror(errno));
    pair->first_packet &= 0xffffff;
    struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT,
                               .pkey_index = rail->pkey_index,
                               .port_num = rail->port_number,
                               .qp_access_flags = IBV_ACCESS_REMOTE_WRITE};
    int error = ibv_modify_qp(pair->qp, &attr,
                              IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
    return error ? pair_failed(pair, "initialize a queue pair", error,
                               error == EINVAL ? ": see pkey=" : "")
                 : STATUS_OK;
}

enum status verbs_pair_connect(struct verbs_pair *pair)
{
    const struct verbs_endpoint *endpoint = pair->rail->endpoint;
    struct ibv_qp_attr receive = {.qp_state = IBV_QPS_RTR,
                                  .dest_qp_num = pair->remote_number,
                                  .rq_psn = pair->remote_packet,
                                  .max_dest_rd_atomic = 1,
                                  .min_rnr_timer = RNR_MILLISECOND};
    verbs_port_route(pair->rail, &pair->lane->peer->address.ports[pair->remote_rail],
                     endpoint->settings, &receive);
    int error = ETIMEDOUT;
    for (int i = 0; error == ETIMEDOUT && i < CONNECT_MOST; i++) {
        if (i > 0 && !tick_on(endpoint->base.config.tick))
            return STATUS_INTERRUPTED;
        error = ibv_modify_qp(pair->qp, &receive,
                              IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
                                  IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
    }
    if (error)
        return pair_not_connected(pair, error);
    struct ibv_qp_attr send = {.qp_state = IBV_QPS_RTS,
                               .timeout = endpoint->patience.timeout,
                               .retry_cnt = endpoint->patience.retries,
                               .rnr_retry = VERBS_RNR_RETRIES,
                               .sq_psn = pair->first_packet,
                               .max_rd_atomic = 1};
    error = ibv_modify_qp(pair->qp, &send,
                          IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                              IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC);
    return error ? pair_failed(pair, "start a queue pair", error, "") : STATUS_OK;
}

enum status verbs_pair_change(struct verbs_pair *pair, struct ibv_qp_attr *attr, int mask)
{
    const struct verbs_endpoint *endpoint = pair->rail->endpoint;
    const struct transport_setting *settings = endpoint->settings;
    attr->path_mtu = verbs_mtu_asked(settings, attr->path_mtu);
    if (settings[VERBS_SL].given)
        attr->ah_attr.sl = (uint8_t)settings[VERBS_SL].number;
    if (settings[VERBS_TCLASS].given)
        attr->ah_attr.grh.traffic_class = (uint8_t)settings[VERBS_TCLASS].number;
    attr->min_rnr_timer = RNR_MILLISECOND;
    attr->timeout = endpoint->patience.timeout;
    attr->retry_cnt = endpoint->patience.retries;
    attr->rnr_retry = VERBS_RNR_RETRIES;
    int error = ibv_modify_qp(pair->qp, attr, mask);
    if (error && attr->qp_state == IBV_QPS_RTR)
        return pair_not_connected(pair, error);
    return error ? pair_failed(pair, "start a queue pair", error, "") : STATUS_OK;
}

bool verbs_pair_keeps_order(const struct verbs_pair *pair)
{
    return ibv_query_qp_data_in_order(pair->qp, IBV_WR_RDMA_WRITE, 0) == 1;
}

bool verbs_pair_polls_memory(const struct verbs_pair *pair)
{
    const struct transport_setting *poll = &pair->rail->endpoint->settings[VERBS_POLL];
    return poll->given ? poll->number == VERBS_POLL_MEMORY : verbs_pair_keeps_order(pair);
}

void verbs_pair_destroy(struct verbs_pair *pair)
{
    if (pair->qp) {
        ibv_destroy_qp(pair->qp);
        tick_on(pair->rail->endpoint->base.config.tick);
    }
    free(pair->work);
    free(pair->arrived);
}
