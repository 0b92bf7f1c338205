/*
 * delivery.c - the wire: takes the requests of each queue pair in order, places their bytes, and
 * completes them at both ends.
 */
#include "delivery.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>

#include "device.h"
#include "fabric.h"
#include "memory.h"
#include "pair.h"
#include "place.h"
#include "post.h"
#include "queue.h"

#define RETRY_NS   200000u
#define STEP_BYTES 65536u /* placed at most, before another thread may have the lock */

/* After their deregistration, the memory of the entries is the program's again. */
static void regions_touched(struct strict_qp *pair, const struct ibv_sge *sges, int count)
{
    for (int i = 0; i < count; i++) {
        struct strict_mr *region = memory_of(sges[i].lkey);
        if (region)
            place_release(pair, &region->race);
    }
}

static void request_unlink(struct strict_qp *pair, struct strict_request *request)
{
    pair->first = request->next;
    if (!pair->first)
        pair->last = NULL;
    request->next = NULL;
}

static void request_complete(struct strict_qp *pair, const struct strict_request *request,
                             enum ibv_wc_status status)
{
    struct ibv_wc wc = {.wr_id = request->id, .status = status, .opcode = IBV_WC_RDMA_WRITE};
    if (request->opcode == IBV_WR_SEND || request->opcode == IBV_WR_SEND_WITH_IMM)
        wc.opcode = IBV_WC_SEND;
    else if (request->opcode == IBV_WR_RDMA_READ)
        wc.opcode = IBV_WC_RDMA_READ;
    if (status != IBV_WC_SUCCESS) { /* only wr_id, status, qp_num and vendor_err are valid */
        wc.opcode = (enum ibv_wc_opcode)0x55;
        wc.byte_len = 0x55555555;
        wc.vendor_err = 0x81;
    }
    struct strict_completion *made = completion_make(pair, &wc, request->number + 1);
    if (made)
        place_release(pair, &made->race);
}

void pair_break(struct strict_qp *pair)
{
    if (pair->base.state == IBV_QPS_ERR && !pair->first)
        return;
    bool first = pair->base.state != IBV_QPS_ERR;
    pair->base.state = IBV_QPS_ERR;
    while (pair->first) {
        struct strict_request *request = pair->first;
        request_unlink(pair, request);
        if (!request->early)
            request_complete(pair, request, IBV_WC_WR_FLUSH_ERR);
        request_release(request);
        request_free(request);
    }
    struct strict_receive *receive;
    while (!pair->base.srq && (receive = receive_take(&pair->receives)))
        completion_make(pair, &(struct ibv_wc){.wr_id = receive->id, .status = IBV_WC_WR_FLUSH_ERR},
                        0);
    if (first && pair->base.srq)
        event_send(pair->base.context, IBV_EVENT_QP_LAST_WQE_REACHED, pair);
}

void pair_drop(struct strict_qp *pair)
{
    struct strict_request *lists[] = {pair->first, pair->sent_first};
    for (int i = 0; i < 2; i++) {
        while (lists[i]) {
            struct strict_request *request = lists[i];
            lists[i] = request->next;
            request_release(request);
            request_free(request);
        }
    }
    pair->first = pair->last = pair->sent_first = pair->sent_last = NULL;
}

/* The head fails, and the queue pair with it. A remote error is one of the peer, too. */
static void request_fail(struct strict_qp *pair, struct strict_qp *peer, enum ibv_wc_status status)
{
    struct strict_request *request = pair->first;
    bool early = request->early;
    request_unlink(pair, request);
    if (!early)
        request_complete(pair, request, status);
    request_release(request);
    request_free(request);
    pair_break(pair);
    if (early) /* the peer ended the connection */
        event_send(pair->base.context, IBV_EVENT_QP_REQ_ERR, pair);
    if (!peer || peer->base.state == IBV_QPS_ERR || !fabric.config.told)
        return;
    if (status == IBV_WC_REM_ACCESS_ERR || status == IBV_WC_REM_INV_REQ_ERR ||
        status == IBV_WC_REM_OP_ERR) {
        event_send(peer->base.context,
                   status == IBV_WC_REM_ACCESS_ERR ? IBV_EVENT_QP_ACCESS_ERR : IBV_EVENT_QP_REQ_ERR,
                   peer);
        pair_break(peer);
    }
}

/* The peer does not answer. */
static void request_unanswered(struct strict_qp *pair, uint64_t now)
{
    struct strict_request *request = pair->first;
    uint64_t patience = (uint64_t)fabric.config.patience * 1000000;
    if (!request->since)
        request->since = now;
    if (!patience) /* timeout 0 is without end */
        patience = pair->attr.timeout
                       ? ((uint64_t)4096 << pair->attr.timeout) * (pair->attr.retry_cnt + 1u)
                       : NEVER;
    if (now - request->since > patience)
        request_fail(pair, NULL, IBV_WC_RETRY_EXC_ERR);
    else
        request->due = now + RETRY_NS;
}

/* iWARP: the bytes have left, so the request is complete. */
static void request_complete_early(struct strict_qp *pair, struct strict_request *request)
{
    if (!request->copied) {
        char *data = fabric_allocate(request->length);
        if (memory_checksum(request->sges, request->sge_count) != request->checksum)
            violation("the source of request %lu of queue pair %u changed before it was sent",
                      (unsigned long)request->number, pair->base.qp_num);
        place_snapshot(pair, request, data);
        regions_touched(pair, request->sges, request->sge_count);
        request_release(request);
        request->data = data;
        request->copied = true;
        request->sge_count = request->length ? 1 : 0;
        request->sges[0] = (struct ibv_sge){(uintptr_t)data, (uint32_t)request->length, 0};
    }
    if (request->signaled)
        request_complete(pair, request, IBV_WC_SUCCESS);
    request->early = true;
    request->due = fabric_now() + fabric_random((uint64_t)fabric.config.delay * 1000 + 1);
}

static bool takes_receive(const struct strict_request *request)
{
    return request->opcode != IBV_WR_RDMA_WRITE && request->opcode != IBV_WR_RDMA_READ;
}

static bool is_send(const struct strict_request *request)
{
    return request->opcode == IBV_WR_SEND || request->opcode == IBV_WR_SEND_WITH_IMM;
}

/* The receiver's part of a message that takes a receive. False: the message failed or waits. */
static bool message_receive(struct strict_qp *pair, struct strict_qp *peer, uint64_t now)
{
    struct strict_request *request = pair->first;
    struct receive_queue *queue =
        peer->base.srq ? &((struct strict_srq *)peer->base.srq)->queue : &peer->receives;
    struct strict_receive *receive = receive_take(queue);
    if (!receive) {
        fabric.counts.rnr++;
        if (fabric.config.rnr_fails)
            violation("queue pair %u has no receive for a message (RNR)", peer->base.qp_num);
        if (pair->attr.rnr_retry != 7 && ++request->rnr > pair->attr.rnr_retry)
            request_fail(pair, NULL, IBV_WC_RNR_RETRY_EXC_ERR);
        else
            request->due = now + RETRY_NS;
        return false;
    }
    bool imm = request->opcode != IBV_WR_SEND;
    struct ibv_wc wc = {.wr_id = receive->id,
                        .status = (enum ibv_wc_status)fails_now(COUNT_RECEIVE),
                        .opcode = is_send(request) ? IBV_WC_RECV : IBV_WC_RECV_RDMA_WITH_IMM,
                        .byte_len = (uint32_t)request->length,
                        .imm_data = imm ? request->immediate : 0x55555555,
                        .wc_flags = imm ? IBV_WC_WITH_IMM : 0,
                        .src_qp = pair->base.qp_num};
    uint64_t room = 0;
    for (int i = 0; i < receive->sge_count; i++)
        room += receive->sges[i].length;
    if (wc.status == IBV_WC_SUCCESS && is_send(request) && room < request->length) {
        violation("a message of %lu bytes came for a receive of %lu",
                  (unsigned long)request->length, (unsigned long)room);
        wc.status = IBV_WC_LOC_LEN_ERR;
    }
    if (wc.status == IBV_WC_SUCCESS && is_send(request))
        place_scatter(pair, request, receive->sges, receive->sge_count);
    regions_touched(pair, receive->sges, receive->sge_count);
    struct strict_completion *made = completion_make(peer, &wc, 0);
    if (made)
        place_release(pair, &made->race);
    if (wc.status == IBV_WC_SUCCESS)
        return true;
    pair_break(peer);
    if (!fabric.config.told) {
        request->due = now + RETRY_NS;
        return false;
    }
    request_fail(pair, peer,
                 wc.status == IBV_WC_LOC_LEN_ERR ? IBV_WC_REM_INV_REQ_ERR : IBV_WC_REM_OP_ERR);
    return false;
}

/* All bytes of the head are placed. */
static void request_finish(struct strict_qp *pair, struct strict_qp *peer, uint64_t now)
{
    struct strict_request *request = pair->first;
    if (takes_receive(request) && !message_receive(pair, peer, now))
        return;
    if (!request->copied && request->opcode != IBV_WR_RDMA_READ &&
        memory_checksum(request->sges, request->sge_count) != request->checksum)
        violation("the source of request %lu of queue pair %u (%lu bytes) changed before delivery",
                  (unsigned long)request->number, pair->base.qp_num,
                  (unsigned long)request->length);
    if (request->opcode == IBV_WR_RDMA_READ)
        request->checksum = memory_checksum(request->sges, request->sge_count);
    if (!is_send(request) && request->opcode != IBV_WR_RDMA_READ)
        memory_delivered(request->rkey, request->remote, request->length);
    fabric.counts.delivered++;
    fabric.counts.bytes += request->length;
    if (!request->copied)
        regions_touched(pair, request->sges, request->sge_count);
    request_unlink(pair, request);
    if (request->early) {
        request_free(request);
        return;
    }
    if (pair->sent_first)
        pair->sent_last->next = request;
    else
        pair->sent_first = request;
    pair->sent_last = request;
    if (request->signaled)
        request_complete(pair, request, IBV_WC_SUCCESS);
}

/* Places some of a WRITE or READ. False: the target is not to be had. */
static bool request_place(struct strict_qp *pair, struct strict_qp *peer,
                          struct strict_request *request)
{
    struct strict_mr *region;
    const char *why = NULL;
    bool read = request->opcode == IBV_WR_RDMA_READ;
    int access = read ? IBV_ACCESS_REMOTE_READ : IBV_ACCESS_REMOTE_WRITE;
    char *to = NULL;
    if (!((int)peer->attr.qp_access_flags & access))
        why = "the queue pair at the other end does not allow remote access of this kind";
    else
        to = memory_reach(peer->base.pd, request->rkey, true, request->remote, request->length,
                          access, &region, &why);
    if (!to) {
        if (request != pair->first) /* told when its turn comes */
            return true;
        violation("a %s of %lu bytes from queue pair %u: %s", read ? "READ" : "WRITE",
                  (unsigned long)request->length, pair->base.qp_num, why);
        request_fail(pair, peer, IBV_WC_REM_ACCESS_ERR);
        return false;
    }
    if (read) {
        place_gather(pair, request, to);
        request->begun = true;
        return true;
    }
    bool ordered = fabric.config.order && !(region->access & IBV_ACCESS_RELAXED_ORDERING);
    if (!request->begun)
        place_begin(request, 128u << pair->attr.path_mtu, ordered);
    uint64_t most = STEP_BYTES / request->piece_bytes;
    uint64_t count = 1 + fabric_random(most < request->pieces ? most : 2 * request->pieces);
    for (; count && request->placed < request->pieces; count--) {
        place_piece(pair, request, to, ordered);
        fabric.counts.pieces++;
    }
    place_release(pair, &region->race);
    if (request->placed < request->pieces && fabric_random(4) == 0) /* torn for a while */
        request->due = fabric_now() + fabric_random((uint64_t)fabric.config.delay * 1000 + 1);
    return true;
}

/* One of the first messages that has still bytes to place; else the head. */
static struct strict_request *request_choose(const struct strict_qp *pair, uint64_t now)
{
    struct strict_request *request = pair->first;
    for (uint64_t skip = fabric_random((uint64_t)fabric.config.overlap); skip; skip--) {
        struct strict_request *next = request->next;
        if (!next || next->due > now || next->forced || next->opcode == IBV_WR_RDMA_READ)
            break;
        request = next;
    }
    return request;
}

/* Does a little of what the queue pair has to do. Returns when to come back. */
static uint64_t pair_step(struct strict_qp *pair, uint64_t now)
{
    struct strict_request *request = pair->first;
    if (pair->base.state == IBV_QPS_ERR || device_of(pair->base.context)->fatal) {
        pair_break(pair);
        return NEVER;
    }
    if (request->due > now)
        return request->due;
    if (request->forced) {
        request_fail(pair, pair_peer(pair), request->forced);
        return NEVER;
    }
    if (fabric.config.iwarp && !request->early && request->opcode != IBV_WR_RDMA_READ) {
        request_complete_early(pair, request);
        return request->due;
    }
    struct strict_qp *peer = pair_peer(pair);
    if (!peer) {
        request_unanswered(pair, now);
        return pair->first ? pair->first->due : NEVER;
    }
    request->since = 0;
    if (pair->waits && !pair->established)
        violation("queue pair %u accepted an iWARP connection, and sends before it got a message",
                  pair->base.qp_num);
    if (!peer->established && peer->base.state == IBV_QPS_RTR)
        event_send(peer->base.context, IBV_EVENT_COMM_EST, peer);
    peer->established = true;
    request = request_choose(pair, now);
    if (request->length && !is_send(request) &&
        (!request->begun || request->placed < request->pieces) &&
        !request_place(pair, peer, request))
        return NEVER;
    request = pair->first;
    if (request->placed == request->pieces &&
        (request->begun || !request->length || is_send(request)))
        request_finish(pair, peer, now);
    return pair->first ? pair->first->due : NEVER;
}

static void wire_sleep(uint64_t until)
{
    fabric.sleeping = true;
    if (until == NEVER) {
        pthread_cond_wait(&fabric.wake, &fabric.lock);
    } else {
        struct timespec at = {.tv_sec = (time_t)(until / 1000000000u),
                              .tv_nsec = (long)(until % 1000000000u)};
        pthread_cond_timedwait(&fabric.wake, &fabric.lock, &at);
    }
    fabric.sleeping = false;
}

/* Without it, a machine with few cores would wait for the wire most of the time. */
void wire_help(void)
{
    if (atomic_load(&fabric.active_count) == 0 || pthread_mutex_trylock(&fabric.lock) != 0)
        return;
    for (int tries = 4; tries > 0 && fabric.active_count > 0; tries--) {
        struct strict_qp *pair = fabric.active[fabric_random(fabric.active_count)];
        if (pair->first)
            pair_step(pair, fabric_now());
        if (!pair->first)
            wire_remove(pair);
    }
    pthread_mutex_unlock(&fabric.lock);
}

/* Returns when something is due. */
static uint64_t wire_pass(void)
{
    uint64_t soonest = fault_later(fabric_now());
    fabric.added = false;
    for (size_t i = fabric.active_count; i-- > 0;) {
        if (i >= fabric.active_count) /* some were removed meanwhile */
            continue;
        struct strict_qp *pair = fabric.active[i];
        uint64_t due = pair->first ? pair_step(pair, fabric_now()) : NEVER;
        if (!pair->first)
            wire_remove(pair);
        else if (due < soonest)
            soonest = due;
        if (atomic_load(&fabric.waiting)) {
            pthread_mutex_unlock(&fabric.lock);
            sched_yield();
            pthread_mutex_lock(&fabric.lock);
        }
    }
    return fabric.added ? 0 : soonest;
}

static void *wire_run(void *unused)
{
    (void)unused;
    race_hide();
    prctl(PR_SET_TIMERSLACK, 1000ul, 0ul, 0ul, 0ul); /* ns; 50 us is usual */
    pthread_mutex_lock(&fabric.lock);
    while (fabric.contexts) {
        uint64_t due = wire_pass();
        if (fabric.contexts && due > fabric_now())
            wire_sleep(due);
    }
    fabric.started = false;
    pthread_cond_broadcast(&fabric.wake);
    pthread_mutex_unlock(&fabric.lock);
    race_show();
    return NULL;
}

void wire_start(void)
{
    static bool prepared;
    pthread_t thread;
    if (!prepared) {
        pthread_condattr_t attributes;
        pthread_condattr_init(&attributes);
        pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
        pthread_cond_init(&fabric.wake, &attributes);
        pthread_condattr_destroy(&attributes);
        prepared = true;
    }
    if (fabric.started)
        return;
    if (pthread_create(&thread, NULL, wire_run, NULL) != 0)
        abort();
    pthread_detach(thread);
    fabric.started = true;
}

void wire_await(void)
{
    if (fabric.contexts)
        return;
    pthread_cond_broadcast(&fabric.wake);
    while (fabric.started && !fabric.contexts)
        pthread_cond_wait(&fabric.wake, &fabric.lock);
}

void wire_add(struct strict_qp *pair)
{
    if (!pair->active) {
        if (fabric.active_count == fabric.active_room) {
            fabric.active_room = fabric.active_room ? fabric.active_room * 2 : 64;
            fabric.active = realloc(fabric.active, fabric.active_room * sizeof(struct strict_qp *));
            if (!fabric.active)
                abort();
        }
        pair->active = fabric.added = true;
        fabric.active[fabric.active_count++] = pair;
    }
    if (fabric.sleeping)
        pthread_cond_broadcast(&fabric.wake);
}

void wire_remove(struct strict_qp *pair)
{
    for (size_t i = 0; pair->active && i < fabric.active_count; i++) {
        if (fabric.active[i] == pair) {
            fabric.active[i] = fabric.active[--fabric.active_count];
            pair->active = false;
        }
    }
}
