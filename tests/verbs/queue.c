/*
 * queue.c - completion queues and queues of receives.
 *
 * A completion is withheld until its moment, which is random, but never before the last one of its
 * queue pair and side. Moments are rounded up now and then, so that completions come in batches.
 */
#include "queue.h"

#include <errno.h>
#include <stdlib.h>

#include "delivery.h"
#include "device.h"
#include "fabric.h"
#include "memory.h"
#include "post.h"

#define BATCH_NS 16384u /* a power of two */

struct ibv_cq *ibv_create_cq(struct ibv_context *context, int entries, void *user,
                             struct ibv_comp_channel *channel, int vector)
{
    fabric_enter();
    int error = fails_now(COUNT_CREATE_CQ);
    struct strict_cq *cq = NULL;
    if (entries < 1 || entries > fabric.config.entries || channel || vector != 0)
        error = EINVAL;
    if (!error) {
        cq = fabric_allocate(sizeof(*cq));
        cq->base.context = context;
        cq->base.cq_context = user;
        cq->base.cqe = entries;
        atomic_init(&cq->ready, NEVER);
        context_of(context)->objects[OBJECT_CQ]++;
    }
    fabric_leave();
    errno = error;
    return cq ? &cq->base : NULL;
}

int ibv_destroy_cq(struct ibv_cq *base)
{
    fabric_count_destroyed();
    fabric_enter();
    struct strict_cq *cq = (struct strict_cq *)base;
    int users = cq->users;
    if (users)
        violation("ibv_destroy_cq() while %d queue pairs use it", users);
    if (cq->unacknowledged)
        violation("ibv_destroy_cq() with %d events that were not acknowledged", cq->unacknowledged);
    if (!users) {
        events_drop(base->context, base);
        context_of(base->context)->objects[OBJECT_CQ]--;
        free(cq);
    }
    fabric_leave();
    return users ? EBUSY : 0;
}

struct strict_completion *completion_make(struct strict_qp *pair, const struct ibv_wc *wc,
                                          uint64_t frees)
{
    struct strict_cq *cq = (struct strict_cq *)(frees ? pair->base.send_cq : pair->base.recv_cq);
    uint64_t *last = frees ? &pair->send_ready : &pair->receive_ready;
    if (cq->held >= cq->base.cqe) {
        if (wc->status == IBV_WC_WR_FLUSH_ERR)
            return NULL;
        violation("a completion queue of %d entries overran", cq->base.cqe);
        event_send(cq->base.context, IBV_EVENT_CQ_ERR, cq);
        return NULL;
    }
    struct strict_completion *made = fabric_allocate(sizeof(*made)), *before = NULL;
    made->wc = *wc;
    made->wc.qp_num = pair->base.qp_num;
    made->qp = pair;
    made->frees = frees;
    uint64_t hold = (uint64_t)fabric.config.hold * 1000;
    made->ready = fabric_now() + (fabric_random(2) ? fabric_random(hold + 1) : 0);
    if (hold && fabric_random(4) == 0)
        made->ready = (made->ready | (BATCH_NS - 1)) + 1;
    if (made->ready < *last)
        made->ready = *last;
    *last = made->ready;
    for (struct strict_completion *each = cq->first; each && each->ready <= made->ready;
         each = each->next)
        before = each;
    made->next = before ? before->next : cq->first;
    *(before ? &before->next : &cq->first) = made;
    cq->held++;
    fabric.counts.completions++;
    atomic_store(&cq->ready, cq->first->ready);
    return made;
}

static void cq_forget(struct strict_cq *cq, const struct strict_qp *pair)
{
    struct strict_completion **link = &cq->first;
    while (*link) {
        struct strict_completion *each = *link;
        if (each->qp != pair) {
            link = &each->next;
            continue;
        }
        *link = each->next;
        cq->held--;
        free(each);
    }
    atomic_store(&cq->ready, cq->first ? cq->first->ready : NEVER);
}

void completions_drop(struct strict_qp *pair)
{
    cq_forget((struct strict_cq *)pair->base.send_cq, pair);
    cq_forget((struct strict_cq *)pair->base.recv_cq, pair);
}

/* Without the lock where nothing is ready, which is nearly always. */
int queue_poll(struct ibv_cq *base, int most, struct ibv_wc *wc)
{
    struct strict_cq *cq = (struct strict_cq *)base;
    race_hide();
    uint64_t ready = atomic_load(&cq->ready);
    bool none = ready == NEVER || ready > fabric_now();
    if (none)
        wire_help();
    race_show();
    if (none || most < 1)
        return 0;
    fabric_enter();
    int count = 0, error = fails_now(COUNT_POLL_CQ);
    uint64_t now = fabric_now();
    if (fabric.config.hold && most > 1)
        most = 1 + (int)fabric_random((uint64_t)most);
    while (!error && count < most && cq->first && cq->first->ready <= now) {
        struct strict_completion *each = cq->first;
        cq->first = each->next;
        cq->held--;
        wc[count++] = each->wc;
        race_acquire(&each->race);
        if (each->frees)
            requests_free(each->qp, each->frees);
        free(each);
    }
    atomic_store(&cq->ready, cq->first ? cq->first->ready : NEVER);
    fabric_leave();
    errno = error;
    return error ? -1 : count;
}

int queue_notify(struct ibv_cq *cq, int solicited)
{
    (void)cq, (void)solicited;
    fabric_enter();
    violation("ibv_req_notify_cq() of a completion queue without a channel");
    fabric_leave();
    return EINVAL;
}

void receive_queue_make(struct receive_queue *queue, uint32_t depth, uint32_t sge_most)
{
    queue->slots = fabric_allocate(depth * sizeof(*queue->slots));
    queue->sges = fabric_allocate((size_t)depth * sge_most * sizeof(*queue->sges));
    queue->depth = depth;
    queue->sge_most = sge_most;
}

void receive_queue_free(struct receive_queue *queue)
{
    struct strict_receive *receive;
    while ((receive = receive_take(queue))) {
    }
    free(queue->slots);
    free(queue->sges);
}

struct strict_receive *receive_take(struct receive_queue *queue)
{
    if (queue->posted == queue->taken)
        return NULL;
    struct strict_receive *receive = &queue->slots[queue->taken++ % queue->depth];
    for (int i = 0; i < receive->sge_count; i++) {
        struct strict_mr *region = memory_of(receive->sges[i].lkey);
        if (region)
            region->users--;
    }
    return receive;
}

/* Translates the entries to where they lie here. False: one is wrong, which was told. */
static bool receive_reach(struct receive_queue *queue, const struct ibv_pd *pd,
                          const struct ibv_recv_wr *wr, struct strict_receive *receive)
{
    receive->id = wr->wr_id;
    receive->sge_count = wr->num_sge;
    receive->sges = &queue->sges[(queue->posted % queue->depth) * queue->sge_most];
    for (int i = 0; i < wr->num_sge; i++) {
        const struct ibv_sge *sge = &wr->sg_list[i];
        struct strict_mr *region;
        const char *why;
        char *data = memory_reach(pd, sge->lkey, false, sge->addr, sge->length,
                                  IBV_ACCESS_LOCAL_WRITE, &region, &why);
        if (!data) {
            violation("a receive of %u bytes: %s", sge->length, why);
            while (i-- > 0)
                memory_of(receive->sges[i].lkey)->users--;
            return false;
        }
        region->users++;
        receive->sges[i] = (struct ibv_sge){(uintptr_t)data, sge->length, sge->lkey};
    }
    return true;
}

static int receive_post_one(struct receive_queue *queue, const struct ibv_pd *pd,
                            const struct ibv_recv_wr *wr)
{
    int error = fails_now(COUNT_POST_RECV);
    if (error)
        return error;
    if (wr->num_sge < 0 || (uint32_t)wr->num_sge > queue->sge_most) {
        violation("a receive has %d entries, and its queue allows %u", wr->num_sge,
                  queue->sge_most);
        return EINVAL;
    }
    if (queue->posted - queue->taken == queue->depth)
        return ENOMEM;
    if (!receive_reach(queue, pd, wr, &queue->slots[queue->posted % queue->depth]))
        return EINVAL;
    queue->posted++;
    return 0;
}

static int receive_post(struct receive_queue *queue, struct ibv_pd *pd, struct ibv_recv_wr *wr,
                        struct ibv_recv_wr **bad)
{
    int error = 0;
    for (; wr && !error; wr = wr->next) {
        error = receive_post_one(queue, pd, wr);
        if (error)
            *bad = wr;
    }
    return fabric.config.iwarp ? -error : error;
}

int queue_post_srq(struct ibv_srq *base, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
    fabric_enter();
    int error = receive_post(&((struct strict_srq *)base)->queue, base->pd, wr, bad);
    fabric_leave();
    return error;
}

int queue_post_recv(struct ibv_qp *base, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
    fabric_enter();
    int error = EINVAL;
    struct strict_qp *pair = (struct strict_qp *)base;
    if (base->srq)
        violation("ibv_post_recv() to a queue pair with a shared receive queue");
    else if (base->state == IBV_QPS_RESET)
        violation("ibv_post_recv() to a queue pair in state RESET");
    else
        error = receive_post(&pair->receives, base->pd, wr, bad);
    fabric_leave();
    return error;
}

struct ibv_srq *ibv_create_srq(struct ibv_pd *pd, struct ibv_srq_init_attr *init)
{
    fabric_enter();
    int error = fails_now(COUNT_CREATE_SRQ);
    struct strict_srq *srq = NULL;
    if (!fabric.config.srqs)
        error = EOPNOTSUPP;
    if (init->attr.max_wr < 1 || init->attr.max_wr > fabric.config.receives ||
        init->attr.max_sge > fabric.config.sges)
        error = EINVAL;
    if (!error) {
        srq = fabric_allocate(sizeof(*srq));
        srq->base.context = pd->context;
        srq->base.srq_context = init->srq_context;
        srq->base.pd = pd;
        receive_queue_make(&srq->queue, init->attr.max_wr, init->attr.max_sge);
        ((struct strict_pd *)pd)->users++;
        context_of(pd->context)->objects[OBJECT_SRQ]++;
    }
    fabric_leave();
    errno = error;
    return srq ? &srq->base : NULL;
}

int ibv_destroy_srq(struct ibv_srq *base)
{
    fabric_count_destroyed();
    fabric_enter();
    struct strict_srq *srq = (struct strict_srq *)base;
    int users = srq->users;
    if (users)
        violation("ibv_destroy_srq() while %d queue pairs use it", users);
    if (srq->unacknowledged)
        violation("ibv_destroy_srq() with %d events that were not acknowledged",
                  srq->unacknowledged);
    if (!users) {
        receive_queue_free(&srq->queue);
        events_drop(base->context, base);
        ((struct strict_pd *)base->pd)->users--;
        context_of(base->context)->objects[OBJECT_SRQ]--;
        free(srq);
    }
    fabric_leave();
    return users ? EBUSY : 0;
}
