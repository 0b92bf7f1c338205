/*
 * post.c - ibv_post_send(): checks a request as a NIC does, and remembers what its source holds.
 */
#include "post.h"

#include <endian.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "delivery.h"
#include "fabric.h"
#include "memory.h"

#define KNOWN_FLAGS (IBV_SEND_FENCE | IBV_SEND_SIGNALED | IBV_SEND_SOLICITED | IBV_SEND_INLINE)

void request_release(struct strict_request *request)
{
    for (int i = 0; i < request->sge_count && !request->copied; i++) {
        struct strict_mr *region = memory_of(request->sges[i].lkey);
        if (region)
            region->users--;
    }
}

void request_free(struct strict_request *request)
{
    free(request->data);
    free(request);
}

void requests_free(struct strict_qp *pair, uint64_t count)
{
    struct strict_request *request;
    if (count > pair->freed)
        pair->freed = count;
    while ((request = pair->sent_first) && request->number < count) {
        pair->sent_first = request->next;
        if (fabric.config.recheck && !request->copied &&
            memory_checksum(request->sges, request->sge_count) != request->checksum)
            violation("the source of request %" PRIu64 " of queue pair %u (%" PRIu64
                      " bytes) changed before its completion was polled",
                      request->number, pair->base.qp_num, request->length);
        request_release(request);
        request_free(request);
    }
    if (!pair->sent_first)
        pair->sent_last = NULL;
}

/* The whole request; NULL: it keeps the rules. */
static const char *request_wrong(const struct strict_qp *pair, const struct ibv_send_wr *wr)
{
    if (pair->base.state != IBV_QPS_RTS && pair->base.state != IBV_QPS_ERR)
        return "the queue pair is neither in state RTS nor in ERR";
    if (wr->num_sge < 0 || (uint32_t)wr->num_sge > pair->cap.max_send_sge)
        return "it has more entries than the queue pair allows";
    if (wr->send_flags & ~(unsigned)KNOWN_FLAGS)
        return "its flags are not known";
    switch (wr->opcode) {
    case IBV_WR_RDMA_WRITE:
    case IBV_WR_RDMA_WRITE_WITH_IMM:
    case IBV_WR_SEND:
    case IBV_WR_SEND_WITH_IMM:
        break;
    case IBV_WR_RDMA_READ:
        if (wr->send_flags & IBV_SEND_INLINE)
            return "a READ cannot be inline";
        if (pair->attr.max_rd_atomic == 0)
            return "the queue pair allows no READ (max_rd_atomic is 0)";
        break;
    default:
        return "its operation is not offered by a reliable connection";
    }
    uint64_t length = 0;
    for (int i = 0; i < wr->num_sge; i++)
        length += wr->sg_list[i].length;
    if (wr->send_flags & IBV_SEND_INLINE && length > pair->cap.max_inline_data)
        return "it has more inline bytes than the queue pair allows";
    if (length > fabric.devices->ports[0].attr.max_msg_sz)
        return "it is longer than the port's longest message";
    return NULL;
}

/* Finds the sources in registered memory. A wrong one is told, and fails the request. */
static void request_reach(struct strict_request *request, const struct ibv_pd *pd,
                          const struct ibv_send_wr *wr)
{
    int access = wr->opcode == IBV_WR_RDMA_READ ? IBV_ACCESS_LOCAL_WRITE : 0;
    for (int i = 0; i < wr->num_sge; i++) {
        const struct ibv_sge *sge = &wr->sg_list[i];
        struct strict_mr *region;
        const char *why;
        if (sge->length == 0)
            continue;
        char *data =
            memory_reach(pd, sge->lkey, false, sge->addr, sge->length, access, &region, &why);
        if (!data) {
            violation("a request sends %u bytes: %s", sge->length, why);
            request->forced = IBV_WC_LOC_PROT_ERR;
            return;
        }
        region->users++;
        request->sges[request->sge_count++] =
            (struct ibv_sge){(uintptr_t)data, sge->length, sge->lkey};
        request->length += sge->length;
    }
    if (wr->opcode != IBV_WR_RDMA_READ)
        request->checksum = memory_checksum(request->sges, request->sge_count);
}

static void request_copy(struct strict_request *request, const struct ibv_send_wr *wr)
{
    for (int i = 0; i < wr->num_sge; i++)
        request->length += wr->sg_list[i].length;
    request->data = fabric_allocate(request->length);
    request->copied = true;
    request->sge_count = 1;
    request->sges[0] = (struct ibv_sge){(uintptr_t)request->data, (uint32_t)request->length, 0};
    char *to = request->data;
    for (int i = 0; i < wr->num_sge; i++) {
        memcpy(to, (const char *)(uintptr_t)wr->sg_list[i].addr, wr->sg_list[i].length);
        to += wr->sg_list[i].length;
    }
}

static struct strict_request *request_make(struct strict_qp *pair, const struct ibv_send_wr *wr)
{
    struct strict_request *request =
        fabric_allocate(sizeof(*request) + (size_t)(wr->num_sge + 1) * sizeof(request->sges[0]));
    request->id = wr->wr_id;
    request->number = pair->posted++;
    request->opcode = wr->opcode;
    request->signaled = pair->signals_all || wr->send_flags & IBV_SEND_SIGNALED;
    request->immediate = wr->imm_data;
    request->remote = wr->wr.rdma.remote_addr;
    request->rkey = wr->wr.rdma.rkey;
    if (wr->send_flags & IBV_SEND_INLINE)
        request_copy(request, wr);
    else
        request_reach(request, pair->base.pd, wr);
    int forced = fails_now(COUNT_REQUEST);
    if (forced)
        request->forced = (enum ibv_wc_status)forced;
    fabric.counts.requests++;
    race_release(&request->race);
    return request;
}

static int request_post(struct strict_qp *pair, const struct ibv_send_wr *wr)
{
    int error = fails_now(COUNT_POST_SEND);
    if (error)
        return error;
    if (fabric.config.iwarp &&
        (wr->opcode == IBV_WR_RDMA_WRITE_WITH_IMM || wr->opcode == IBV_WR_SEND_WITH_IMM))
        return EINVAL;
    const char *wrong = request_wrong(pair, wr);
    if (wrong) {
        violation("a request posted to queue pair %u: %s", pair->base.qp_num, wrong);
        return EINVAL;
    }
    if (pair->posted - pair->freed >= pair->cap.max_send_wr)
        return ENOMEM;
    struct strict_request *request = request_make(pair, wr);
    request->due = fabric_now();
    if (fabric_random(4) == 0)
        request->due += fabric_random((uint64_t)fabric.config.delay * 1000 + 1);
    if (pair->first)
        pair->last->next = request;
    else
        pair->first = request;
    pair->last = request;
    fault_events(&pair->base);
    return 0;
}

int queue_post_send(struct ibv_qp *base, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
    fabric_enter();
    struct strict_qp *pair = (struct strict_qp *)base;
    int error = 0;
    for (; wr && !error; wr = wr->next) {
        error = request_post(pair, wr);
        if (error)
            *bad = wr;
    }
    if (pair->first)
        wire_add(pair);
    fabric_leave();
    return fabric.config.iwarp ? -error : error;
}
