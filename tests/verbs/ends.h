/*
 * ends.h - two connected queue pairs over the provider, for its own tests.
 */
#ifndef CCTEST_TEST_VERBS_ENDS_H
#define CCTEST_TEST_VERBS_ENDS_H

#include "../unit/child.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "provider.h"

#define END_BYTES  (256 << 10)
#define END_DEPTH  16
#define END_INLINE 64

struct end {
    struct ibv_context *context;
    struct ibv_pd *pd;
    struct ibv_cq *cq;
    struct ibv_srq *srq;
    struct ibv_qp *qp;
    struct ibv_mr *mr;
    _Alignas(64) char memory[END_BYTES];
};

/* The RC queue pair's attributes at RTR and RTS, with the other end's number. */
static inline struct ibv_qp_attr end_attr(struct end *end, uint32_t number, struct end *other)
{
    struct ibv_qp_attr attr = {.path_mtu = IBV_MTU_1024,
                               .dest_qp_num = number,
                               .rq_psn = 7,
                               .sq_psn = 7,
                               .min_rnr_timer = 12,
                               .timeout = 14,
                               .retry_cnt = 3,
                               .rnr_retry = 7,
                               .port_num = 1,
                               .qp_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ,
                               .ah_attr = {.port_num = 1}};
    struct ibv_port_attr port, own;
    assert_int_equal(ibv_query_port(other->context, 1, &port), 0);
    assert_int_equal(ibv_query_port(end->context, 1, &own), 0);
    attr.ah_attr.dlid = port.lid;
    attr.ah_attr.is_global = own.link_layer == IBV_LINK_LAYER_ETHERNET;
    attr.ah_attr.grh.sgid_index = attr.ah_attr.is_global ? 3 : 0;
    attr.ah_attr.grh.hop_limit = 64;
    ibv_query_gid(other->context, 1, attr.ah_attr.grh.sgid_index, &attr.ah_attr.grh.dgid);
    attr.max_rd_atomic = attr.max_dest_rd_atomic = 1;
    return attr;
}

static inline int end_modify(struct ibv_qp *qp, struct ibv_qp_attr attr, enum ibv_qp_state state)
{
    attr.qp_state = state;
    int mask = IBV_QP_STATE;
    if (state == IBV_QPS_INIT)
        mask |= IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;
    else if (state == IBV_QPS_RTR)
        mask |= IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
    else if (state == IBV_QPS_RTS)
        mask |= IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
                IBV_QP_MAX_QP_RD_ATOMIC;
    return ibv_modify_qp(qp, &attr, mask);
}

static inline struct ibv_qp *end_pair(struct end *end)
{
    struct ibv_qp_init_attr init = {
        .send_cq = end->cq,
        .recv_cq = end->cq,
        .srq = end->srq,
        .cap = {.max_send_wr = END_DEPTH, .max_send_sge = 3, .max_inline_data = END_INLINE},
        .qp_type = IBV_QPT_RC};
    return ibv_create_qp(end->pd, &init);
}

static inline void end_open(struct end *end, int device)
{
    struct ibv_device **list = ibv_get_device_list(NULL);
    end->context = ibv_open_device(list[device]);
    ibv_free_device_list(list);
    assert_non_null(end->context);
    end->pd = ibv_alloc_pd(end->context);
    end->cq = ibv_create_cq(end->context, 4 * END_DEPTH, NULL, NULL, 0);
    struct ibv_srq_init_attr init = {.attr = {.max_wr = END_DEPTH, .max_sge = 1}};
    end->srq = ibv_create_srq(end->pd, &init);
    end->mr = ibv_reg_mr(end->pd, end->memory, END_BYTES,
                         IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ);
    end->qp = end_pair(end);
    assert_non_null(end->qp);
    memset(end->memory, 0, END_BYTES);
}

static inline void end_close(struct end *end)
{
    assert_int_equal(ibv_destroy_qp(end->qp), 0);
    assert_int_equal(ibv_destroy_srq(end->srq), 0);
    assert_int_equal(ibv_destroy_cq(end->cq), 0);
    assert_int_equal(ibv_dereg_mr(end->mr), 0);
    assert_int_equal(ibv_dealloc_pd(end->pd), 0);
    assert_int_equal(ibv_close_device(end->context), 0);
}

static inline void ends_connect(struct end *ends)
{
    for (int state = IBV_QPS_INIT; state <= IBV_QPS_RTS; state++)
        for (int i = 0; i < 2; i++)
            assert_int_equal(end_modify(ends[i].qp,
                                        end_attr(&ends[i], ends[!i].qp->qp_num, &ends[!i]),
                                        (enum ibv_qp_state)state),
                             0);
}

/* A fabric with these settings, and two ends that are connected. */
static inline struct end *ends_open(const char *settings)
{
    static struct end ends[2];
    provider_configure(settings);
    end_open(&ends[0], 0);
    end_open(&ends[1], 0);
    ends_connect(ends);
    return ends;
}

static inline void ends_close(struct end *ends)
{
    end_close(&ends[0]);
    end_close(&ends[1]);
    provider_check();
}

/* Posts one entry of the sender's memory to the same place at the other end. */
static inline int end_post(struct end *ends, enum ibv_wr_opcode opcode, size_t at, size_t bytes,
                           unsigned flags, uint64_t id)
{
    struct ibv_sge sge = {(uintptr_t)ends[0].memory + at, (uint32_t)bytes, ends[0].mr->lkey};
    struct ibv_send_wr wr = {.wr_id = id,
                             .sg_list = &sge,
                             .num_sge = bytes ? 1 : 0,
                             .opcode = opcode,
                             .send_flags = flags,
                             .imm_data = (uint32_t)id};
    struct ibv_send_wr *bad;
    wr.wr.rdma.remote_addr = (uintptr_t)ends[1].memory + at;
    wr.wr.rdma.rkey = ends[1].mr->rkey;
    return ibv_post_send(ends[0].qp, &wr, &bad);
}

static inline int end_receive(struct end *end, size_t at, size_t bytes, uint64_t id)
{
    struct ibv_sge sge = {(uintptr_t)end->memory + at, (uint32_t)bytes, end->mr->lkey};
    struct ibv_recv_wr wr = {.wr_id = id, .sg_list = &sge, .num_sge = bytes ? 1 : 0}, *bad;
    return ibv_post_srq_recv(end->srq, &wr, &bad);
}

static inline double seconds_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* The next completion. */
static inline struct ibv_wc end_poll(struct end *end)
{
    struct ibv_wc wc;
    double until = seconds_now() + 20;
    while (ibv_poll_cq(end->cq, 1, &wc) == 0)
        assert_true(seconds_now() < until);
    return wc;
}

static inline int violation_work(void *argument)
{
    void (*const *work)(void) = argument;
    (*work)();
    exit(0); /* where the provider looks for what was left */
}

/* Runs `work` in a child, which must end by abort() with a sentence that holds `sentence`. */
static inline void assert_violation(void (*work)(void), const char *sentence)
{
    const struct child *child = child_run(violation_work, &work);
    if (!strstr(child->err, sentence))
        print_error("expected: %s\nsaid: %s\n", sentence, child->err);
    assert_non_null(strstr(child->err, sentence));
    assert_true(WIFSIGNALED(child->status) || WEXITSTATUS(child->status) != 0);
}

#endif
