/*
 * pair.c - queue pairs: creation, states, and the address of the other end.
 */
#include "pair.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "delivery.h"
#include "device.h"
#include "fabric.h"
#include "queue.h"

struct strict_qp *pair_find(uint32_t number)
{
    struct strict_qp *pair = fabric.pairs[number % BUCKETS];
    while (pair && pair->base.qp_num != number)
        pair = pair->next;
    return pair;
}

static const char *pair_init_wrong(const struct ibv_pd *pd, const struct ibv_qp_init_attr *init)
{
    const struct provider_config *config = &fabric.config;
    if (!init->send_cq || !init->recv_cq || init->send_cq->context != pd->context ||
        init->recv_cq->context != pd->context)
        return "its completion queues are missing or of another context";
    if (init->srq && init->srq->pd != pd)
        return "its shared receive queue is of another protection domain";
    if (init->qp_type != IBV_QPT_RC)
        return "it is no reliable connection";
    if (init->cap.max_send_wr < 1 || init->cap.max_send_wr > config->sends ||
        (!init->srq && init->cap.max_recv_wr > config->receives))
        return "it is deeper than the device allows";
    if (init->cap.max_send_sge > config->sges ||
        (!init->srq && init->cap.max_recv_sge > config->sges))
        return "it has more entries than the device allows";
    return NULL;
}

struct ibv_qp *ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *init)
{
    fabric_enter();
    int error = fails_now(COUNT_CREATE_QP), before = errno;
    const char *wrong = pair_init_wrong(pd, init);
    /* No function tells the most inline bytes, so that programs try. */
    bool excess = init->cap.max_inline_data > fabric.config.inline_most;
    if (excess && fabric.config.excess == EXCESS_LESS)
        init->cap.max_inline_data = (uint32_t)fabric.config.inline_most;
    else if (excess)
        error = EINVAL;
    if (wrong)
        error = EINVAL;
    if (wrong)
        violation("ibv_create_qp(): %s", wrong);
    struct strict_qp *pair = NULL;
    if (!error) {
        pair = fabric_allocate(sizeof(*pair));
        if (!fabric.pair_number)
            fabric.pair_number = 16 + (uint32_t)fabric_random(1000);
        fabric.pair_number += 1 + (uint32_t)fabric_random(3);
        pair->base = (struct ibv_qp){.context = pd->context,
                                     .qp_context = init->qp_context,
                                     .pd = pd,
                                     .send_cq = init->send_cq,
                                     .recv_cq = init->recv_cq,
                                     .srq = init->srq,
                                     .qp_num = fabric.pair_number & 0xffffff,
                                     .state = IBV_QPS_RESET,
                                     .qp_type = init->qp_type};
        if (init->srq)
            init->cap.max_recv_wr = init->cap.max_recv_sge = 0;
        else
            receive_queue_make(&pair->receives, init->cap.max_recv_wr, init->cap.max_recv_sge);
        pair->cap = init->cap;
        pair->signals_all = init->sq_sig_all;
        pair->fiber = race_fiber_make();
        struct strict_qp **bucket = &fabric.pairs[pair->base.qp_num % BUCKETS];
        pair->next = *bucket;
        *bucket = pair;
        ((struct strict_pd *)pd)->users++;
        ((struct strict_cq *)init->send_cq)->users++;
        ((struct strict_cq *)init->recv_cq)->users++;
        if (init->srq)
            ((struct strict_srq *)init->srq)->users++;
        context_of(pd->context)->objects[OBJECT_QP]++;
        wire_start();
    }
    fabric_leave();
    errno = excess && fabric.config.excess == EXCESS_SILENT ? before : error;
    return pair ? &pair->base : NULL;
}

int ibv_destroy_qp(struct ibv_qp *base)
{
    fabric_count_destroyed();
    fabric_enter();
    struct strict_qp *pair = (struct strict_qp *)base,
                     **link = &fabric.pairs[base->qp_num % BUCKETS];
    while (*link && *link != pair)
        link = &(*link)->next;
    if (!*link) {
        violation("ibv_destroy_qp() of a queue pair that is not there");
        fabric_leave();
        return EINVAL;
    }
    *link = pair->next;
    if (pair->unacknowledged)
        violation("ibv_destroy_qp() with %d events that were not acknowledged",
                  pair->unacknowledged);
    wire_remove(pair);
    pair_drop(pair);
    completions_drop(pair);
    events_drop(base->context, base);
    if (!base->srq)
        receive_queue_free(&pair->receives);
    ((struct strict_pd *)base->pd)->users--;
    ((struct strict_cq *)base->send_cq)->users--;
    ((struct strict_cq *)base->recv_cq)->users--;
    if (base->srq)
        ((struct strict_srq *)base->srq)->users--;
    context_of(base->context)->objects[OBJECT_QP]--;
    race_fiber_destroy(pair->fiber);
    free(pair);
    fabric_leave();
    return 0;
}

/* Attributes that a change of state needs, and others that it may have. */
static const struct transition {
    enum ibv_qp_state from, to;
    int needs, allows;
} transitions[] = {
    {IBV_QPS_RESET, IBV_QPS_INIT, IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS, 0},
    {IBV_QPS_INIT, IBV_QPS_INIT, 0, IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS},
    {IBV_QPS_INIT, IBV_QPS_RTR,
     IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
         IBV_QP_MIN_RNR_TIMER,
     IBV_QP_ALT_PATH | IBV_QP_ACCESS_FLAGS | IBV_QP_PKEY_INDEX},
    {IBV_QPS_RTR, IBV_QPS_RTS,
     IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC,
     IBV_QP_CUR_STATE | IBV_QP_ALT_PATH | IBV_QP_ACCESS_FLAGS | IBV_QP_MIN_RNR_TIMER |
         IBV_QP_PATH_MIG_STATE},
    {IBV_QPS_RTS, IBV_QPS_RTS, 0,
     IBV_QP_CUR_STATE | IBV_QP_ACCESS_FLAGS | IBV_QP_MIN_RNR_TIMER | IBV_QP_ALT_PATH |
         IBV_QP_PATH_MIG_STATE},
};

static const struct transition *transition_find(enum ibv_qp_state from, enum ibv_qp_state to)
{
    for (size_t i = 0; i < sizeof(transitions) / sizeof(transitions[0]); i++)
        if (transitions[i].from == from && transitions[i].to == to)
            return &transitions[i];
    return NULL;
}

static struct provider_port *pair_port(const struct strict_qp *pair)
{
    return &device_of(pair->base.context)->ports[pair->attr.port_num - 1];
}

/* An errno for attributes that the kernel refuses in INIT and RTR; 0: it takes them. */
static int attr_error(const struct strict_qp *pair, const struct ibv_qp_attr *attr, int mask)
{
    if (mask & IBV_QP_PORT && (attr->port_num < 1 || attr->port_num > fabric.config.ports))
        return EINVAL;
    if (!(mask & IBV_QP_PORT) && !pair->attr.port_num)
        return 0;
    int number = mask & IBV_QP_PORT ? attr->port_num : pair->attr.port_num;
    const struct provider_port *port = &device_of(pair->base.context)->ports[number - 1];
    if (mask & IBV_QP_PKEY_INDEX &&
        (attr->pkey_index >= port->attr.pkey_tbl_len || !port->pkeys[attr->pkey_index]))
        return EINVAL;
    if (mask & IBV_QP_PATH_MTU &&
        (attr->path_mtu < IBV_MTU_256 || attr->path_mtu > port->attr.active_mtu))
        return EINVAL;
    if ((mask & IBV_QP_RQ_PSN && attr->rq_psn > 0xffffff) ||
        (mask & IBV_QP_SQ_PSN && attr->sq_psn > 0xffffff))
        return EINVAL;
    if ((mask & IBV_QP_TIMEOUT && attr->timeout > 31) ||
        (mask & IBV_QP_RETRY_CNT && attr->retry_cnt > 7) ||
        (mask & IBV_QP_RNR_RETRY && attr->rnr_retry > 7) ||
        (mask & IBV_QP_MIN_RNR_TIMER && attr->min_rnr_timer > 31))
        return EINVAL;
    if (!(mask & IBV_QP_AV))
        return 0;
    const struct ibv_ah_attr *to = &attr->ah_attr;
    bool roce = port->attr.link_layer == IBV_LINK_LAYER_ETHERNET;
    const struct provider_config *config = &fabric.config;
    if ((config->sl >= 0 && to->sl != config->sl) ||
        (config->tclass >= 0 && to->grh.traffic_class != config->tclass))
        return EINVAL;
    if (to->port_num != number || to->sl > 15 || (roce && !to->is_global) ||
        (!roce && !to->dlid && !to->is_global))
        return EINVAL;
    if (to->is_global && (to->grh.sgid_index >= port->attr.gid_tbl_len ||
                          !(port->gids[to->grh.sgid_index].gid.global.interface_id)))
        return EINVAL;
    return 0;
}

static void attr_take(struct ibv_qp_attr *own, const struct ibv_qp_attr *attr, int mask)
{
#define TAKE(bit, member)                                                                          \
    if (mask & (bit))                                                                              \
    own->member = attr->member
    TAKE(IBV_QP_PKEY_INDEX, pkey_index);
    TAKE(IBV_QP_PORT, port_num);
    TAKE(IBV_QP_ACCESS_FLAGS, qp_access_flags);
    TAKE(IBV_QP_AV, ah_attr);
    TAKE(IBV_QP_PATH_MTU, path_mtu);
    TAKE(IBV_QP_DEST_QPN, dest_qp_num);
    TAKE(IBV_QP_RQ_PSN, rq_psn);
    TAKE(IBV_QP_SQ_PSN, sq_psn);
    TAKE(IBV_QP_MAX_DEST_RD_ATOMIC, max_dest_rd_atomic);
    TAKE(IBV_QP_MAX_QP_RD_ATOMIC, max_rd_atomic);
    TAKE(IBV_QP_MIN_RNR_TIMER, min_rnr_timer);
    TAKE(IBV_QP_TIMEOUT, timeout);
    TAKE(IBV_QP_RETRY_CNT, retry_cnt);
    TAKE(IBV_QP_RNR_RETRY, rnr_retry);
#undef TAKE
}

static int pair_modify(struct strict_qp *pair, const struct ibv_qp_attr *attr, int mask)
{
    enum ibv_qp_state from = pair->base.state;
    enum ibv_qp_state to = mask & IBV_QP_STATE ? attr->qp_state : from;
    if (to == IBV_QPS_ERR || to == IBV_QPS_RESET) {
        pair_break(pair);
        if (to == IBV_QPS_RESET) {
            pair_drop(pair);
            completions_drop(pair);
            pair->base.state = IBV_QPS_RESET;
            pair->posted = pair->freed = 0;
            pair->established = false;
        }
        return 0;
    }
    int error = fails_now(COUNT_MODIFY);
    if (error)
        return error;
    const struct transition *transition = transition_find(from, to);
    int rest = mask & ~IBV_QP_STATE;
    if (fabric.config.iwarp && !mask) /* rdma_init_qp_attr() gives that for RTR and RTS */
        return 0;
    if (fabric.config.iwarp == IWARP_BY_CM && to != IBV_QPS_INIT)
        return EINVAL;
    if (!transition) {
        violation("ibv_modify_qp() from state %d to %d", (int)from, (int)to);
        return EINVAL;
    }
    int needs = transition->needs;
    if (fabric.config.iwarp) /* it has no partitions, and a port is no choice */
        needs &= ~(IBV_QP_PKEY_INDEX | IBV_QP_PORT);
    if ((rest & needs) != needs || rest & ~(transition->needs | transition->allows)) {
        violation("ibv_modify_qp() from state %d to %d with mask 0x%x: 0x%x is needed, and 0x%x "
                  "allowed",
                  (int)from, (int)to, (unsigned)mask, (unsigned)needs,
                  (unsigned)transition->allows);
        return EINVAL;
    }
    error = attr_error(pair, attr, rest);
    if (error)
        return error;
    attr_take(&pair->attr, attr, rest);
    pair->base.state = to;
    if (from == IBV_QPS_RESET) {
        context_of(pair->base.context)->pairs++;
        fabric.counts.pairs++;
    }
    return 0;
}

int ibv_modify_qp(struct ibv_qp *base, struct ibv_qp_attr *attr, int mask)
{
    fabric_enter();
    int error = pair_modify((struct strict_qp *)base, attr, mask);
    fabric_leave();
    return error;
}

int ibv_query_qp(struct ibv_qp *base, struct ibv_qp_attr *attr, int mask,
                 struct ibv_qp_init_attr *init)
{
    (void)mask;
    fabric_enter();
    struct strict_qp *pair = (struct strict_qp *)base;
    *attr = pair->attr;
    attr->qp_state = attr->cur_qp_state = base->state;
    attr->cap = pair->cap;
    *init = (struct ibv_qp_init_attr){.qp_context = base->qp_context,
                                      .send_cq = base->send_cq,
                                      .recv_cq = base->recv_cq,
                                      .srq = base->srq,
                                      .cap = pair->cap,
                                      .qp_type = base->qp_type,
                                      .sq_sig_all = pair->signals_all};
    fabric_leave();
    return 0;
}

int ibv_query_qp_data_in_order(struct ibv_qp *qp, enum ibv_wr_opcode operation, uint32_t flags)
{
    (void)qp;
    return !flags && (operation == IBV_WR_RDMA_WRITE || operation == IBV_WR_RDMA_WRITE_WITH_IMM) &&
           fabric.config.order;
}

/* Does the address that `pair` sends to lead to the port? */
static bool address_leads(const struct strict_qp *pair, const struct provider_port *own,
                          const struct provider_port *port)
{
    const struct ibv_ah_attr *to = &pair->attr.ah_attr;
    if (own->subnet != port->subnet || own->attr.link_layer != port->attr.link_layer)
        return false;
    if (own->attr.link_layer == IBV_LINK_LAYER_INFINIBAND && to->dlid != port->attr.lid)
        return false;
    if (!to->is_global)
        return true;
    uint32_t type = own->gids[to->grh.sgid_index].gid_type;
    for (int i = 0; i < port->attr.gid_tbl_len; i++)
        if (port->gids[i].gid_type == type &&
            memcmp(&port->gids[i].gid, &to->grh.dgid, sizeof(to->grh.dgid)) == 0)
            return true;
    return false;
}

static bool pkeys_match(uint16_t one, uint16_t other)
{
    return (one & 0x7fff) == (other & 0x7fff) && (one | other) & 0x8000;
}

struct strict_qp *pair_peer(const struct strict_qp *pair)
{
    struct strict_qp *peer = pair_find(pair->attr.dest_qp_num);
    if (!peer || (peer->base.state != IBV_QPS_RTR && peer->base.state != IBV_QPS_RTS) ||
        peer->attr.dest_qp_num != pair->base.qp_num || peer->attr.rq_psn != pair->attr.sq_psn)
        return NULL;
    const struct provider_port *own = pair_port(pair), *port = pair_port(peer);
    if (own->cut || port->cut || own->attr.state != IBV_PORT_ACTIVE ||
        port->attr.state != IBV_PORT_ACTIVE || device_of(peer->base.context)->fatal)
        return NULL;
    if (!pkeys_match(own->pkeys[pair->attr.pkey_index], port->pkeys[peer->attr.pkey_index]))
        return NULL;
    if (!address_leads(pair, own, port) || !address_leads(peer, port, own))
        return NULL;
    if (pair->attr.path_mtu != peer->attr.path_mtu)
        violation("the ends of a connection have path MTU %d and %d", 128 << pair->attr.path_mtu,
                  128 << peer->attr.path_mtu);
    return peer;
}

void pair_establish(uint32_t number, const struct ibv_qp_attr *attr, bool accepts)
{
    struct strict_qp *pair = pair_find(number);
    if (!pair || (pair->base.state != IBV_QPS_RESET && pair->base.state != IBV_QPS_INIT)) {
        violation("an iWARP connection for queue pair %u, which is not in state INIT", number);
        return;
    }
    unsigned access = pair->attr.qp_access_flags;
    pair->attr = *attr;
    pair->attr.qp_access_flags = access;
    pair->base.state = IBV_QPS_RTS;
    pair->waits = accepts;
}
