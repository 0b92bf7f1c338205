/*
 * test_provider_failures.c - the provider fails as it is asked to: completions, calls, events,
 * silence.
 * tier: deep; load: cpu1
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>

#include "ends.h"

/* Every status can be had; what follows is flushed, in order, signaled or not. */
static void statuses(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        enum ibv_wc_status status;
    } list[] = {{"loc_len", IBV_WC_LOC_LEN_ERR},
                {"loc_qp_op", IBV_WC_LOC_QP_OP_ERR},
                {"loc_prot", IBV_WC_LOC_PROT_ERR},
                {"mw_bind", IBV_WC_MW_BIND_ERR},
                {"bad_resp", IBV_WC_BAD_RESP_ERR},
                {"loc_access", IBV_WC_LOC_ACCESS_ERR},
                {"rem_inv_req", IBV_WC_REM_INV_REQ_ERR},
                {"rem_access", IBV_WC_REM_ACCESS_ERR},
                {"rem_op", IBV_WC_REM_OP_ERR},
                {"retry", IBV_WC_RETRY_EXC_ERR},
                {"rnr", IBV_WC_RNR_RETRY_EXC_ERR},
                {"rem_abort", IBV_WC_REM_ABORT_ERR},
                {"fatal", IBV_WC_FATAL_ERR},
                {"resp_timeout", IBV_WC_RESP_TIMEOUT_ERR},
                {"general", IBV_WC_GENERAL_ERR}};
    for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++) {
        char settings[64];
        snprintf(settings, sizeof(settings), "fail=%s:3", list[i].name);
        struct end *ends = ends_open(settings);
        for (uint64_t k = 1; k <= 5; k++)
            assert_int_equal(
                end_post(ends, IBV_WR_RDMA_WRITE, k * 8, 8, k == 1 ? IBV_SEND_SIGNALED : 0, k), 0);
        static const enum ibv_wc_status expected[] = {IBV_WC_SUCCESS, 0, IBV_WC_WR_FLUSH_ERR,
                                                      IBV_WC_WR_FLUSH_ERR};
        static const uint64_t ids[] = {1, 3, 4, 5};
        for (int k = 0; k < 4; k++) {
            struct ibv_wc wc = end_poll(&ends[0]);
            assert_int_equal(wc.wr_id, ids[k]);
            assert_int_equal(wc.status, k == 1 ? list[i].status : expected[k]);
        }
        assert_string_not_equal(ibv_wc_status_str(list[i].status), "unknown");
        bool remote = strncmp(list[i].name, "rem_", 4) == 0 && strcmp(list[i].name, "rem_abort");
        assert_int_equal(ends[1].qp->state, remote ? IBV_QPS_ERR : IBV_QPS_RTS);
        assert_int_equal(end_post(ends, IBV_WR_RDMA_WRITE, 0, 8, 0, 6), 0);
        assert_int_equal(end_poll(&ends[0]).status, IBV_WC_WR_FLUSH_ERR);
        ends_close(ends);
    }
}

/* With told=0 the other end hears nothing: its queue pair works, and a sender gets no answer. */
static void untold(void **state)
{
    (void)state;
    struct end *ends = ends_open("told=0,fail=rem_op:1");
    assert_int_equal(end_post(ends, IBV_WR_RDMA_WRITE, 0, 8, 0, 1), 0);
    assert_int_equal(end_poll(&ends[0]).status, IBV_WC_REM_OP_ERR);
    assert_int_equal(ends[1].qp->state, IBV_QPS_RTS);
    ends_close(ends);
    ends = ends_open("told=0,patience=30,fail=recv_loc_prot:1");
    assert_int_equal(end_receive(&ends[1], 0, 0, 1), 0);
    assert_int_equal(end_post(ends, IBV_WR_RDMA_WRITE_WITH_IMM, 0, 8, 0, 1), 0);
    assert_int_equal(end_poll(&ends[1]).status, IBV_WC_LOC_PROT_ERR);
    assert_int_equal(end_poll(&ends[0]).status, IBV_WC_RETRY_EXC_ERR);
    ends_close(ends);
}

static void receives_fail(void **state)
{
    (void)state;
    struct end *ends = ends_open("fail=recv_loc_prot:2");
    for (uint64_t i = 0; i < 2; i++) {
        assert_int_equal(end_receive(&ends[1], 0, 0, i), 0);
        assert_int_equal(
            end_post(ends, IBV_WR_RDMA_WRITE_WITH_IMM, 0, 8, IBV_SEND_SIGNALED, 10 + i), 0);
        assert_int_equal(end_poll(&ends[1]).status, i ? IBV_WC_LOC_PROT_ERR : IBV_WC_SUCCESS);
        assert_int_equal(end_poll(&ends[0]).status, i ? IBV_WC_REM_OP_ERR : IBV_WC_SUCCESS);
    }
    ends_close(ends);
}

/* A message without a receive waits for one, or fails after the retries. */
static void receiver_not_ready(void **state)
{
    (void)state;
    struct end *ends = ends_open("order=0");
    assert_int_equal(end_post(ends, IBV_WR_RDMA_WRITE_WITH_IMM, 0, 8, IBV_SEND_SIGNALED, 1), 0);
    double until = seconds_now() + 20;
    while (provider_counts().rnr == 0)
        assert_true(seconds_now() < until);
    assert_int_equal(end_receive(&ends[1], 0, 0, 1), 0);
    assert_int_equal(end_poll(&ends[0]).status, IBV_WC_SUCCESS);
    assert_int_equal(end_poll(&ends[1]).status, IBV_WC_SUCCESS);
    ends_close(ends);
    provider_configure("order=0");
    for (int i = 0; i < 2; i++)
        end_open(&ends[i], 0);
    for (int turn = IBV_QPS_INIT; turn <= IBV_QPS_RTS; turn++) {
        for (int i = 0; i < 2; i++) {
            struct ibv_qp_attr attr = end_attr(&ends[i], ends[!i].qp->qp_num, &ends[!i]);
            attr.rnr_retry = 2;
            assert_int_equal(end_modify(ends[i].qp, attr, (enum ibv_qp_state)turn), 0);
        }
    }
    assert_int_equal(end_post(ends, IBV_WR_RDMA_WRITE_WITH_IMM, 0, 8, 0, 1), 0);
    assert_int_equal(end_poll(&ends[0]).status, IBV_WC_RNR_RETRY_EXC_ERR);
    ends_close(ends);
}

/* No answer: a port that is cut or down, a queue pair that is gone, a subnet that does not meet. */
static void unanswered(void **state)
{
    (void)state;
    for (int way = 0; way < 4; way++) {
        struct end *ends = ends_open(way == 3 ? "patience=30,fail=cut:1" : "patience=30");
        if (way == 0)
            provider_cut(0, 0, 1, true);
        else if (way == 1)
            provider_port_state(0, 0, 1, IBV_PORT_DOWN);
        else if (way == 2)
            assert_int_equal(end_modify(ends[1].qp, (struct ibv_qp_attr){0}, IBV_QPS_ERR), 0);
        double began = seconds_now();
        assert_int_equal(end_post(ends, IBV_WR_RDMA_WRITE, 0, 8, 0, 1), 0);
        assert_int_equal(end_poll(&ends[0]).status, IBV_WC_RETRY_EXC_ERR);
        assert_true(seconds_now() - began > 0.025);
        ends_close(ends);
    }
    static struct end ends[2];
    provider_configure("patience=10,devices=2,subnets=2");
    end_open(&ends[0], 0);
    end_open(&ends[1], 1);
    ends_connect(ends);
    assert_int_equal(end_post(ends, IBV_WR_RDMA_WRITE, 0, 8, 0, 1), 0);
    assert_int_equal(end_poll(&ends[0]).status, IBV_WC_RETRY_EXC_ERR);
    ends_close(ends);
}

/* Calls that fail. */
static void calls_fail(void **state)
{
    (void)state;
    provider_configure("fail=open:2+alloc_pd:2+reg_mr:2+create_cq:2+create_srq:2+create_qp:2+"
                       "query_port:2+modify_einval:2+modify_etimedout:3+post_send:1+post_recv:1");
    static struct end end;
    end_open(&end, 0);
    struct ibv_device **list = ibv_get_device_list(NULL);
    assert_null(ibv_open_device(list[0]));
    assert_int_equal(errno, ENOMEM);
    ibv_free_device_list(list);
    assert_null(ibv_alloc_pd(end.context));
    assert_null(ibv_reg_mr(end.pd, end.memory, 4096, 0));
    assert_int_equal(errno, ENOMEM);
    assert_null(ibv_create_cq(end.context, 1, NULL, NULL, 0));
    struct ibv_srq_init_attr init = {.attr = {.max_wr = 1}};
    assert_null(ibv_create_srq(end.pd, &init));
    assert_null(end_pair(&end));
    struct ibv_port_attr port;
    assert_int_equal(ibv_query_port(end.context, 1, &port), 0);
    assert_int_equal(ibv_query_port(end.context, 1, &port), EIO);
    struct ibv_qp_attr attr = end_attr(&end, end.qp->qp_num, &end);
    assert_int_equal(end_modify(end.qp, attr, IBV_QPS_INIT), 0);
    assert_int_equal(end_modify(end.qp, attr, IBV_QPS_RTR), EINVAL);
    assert_int_equal(end_modify(end.qp, attr, IBV_QPS_RTR), ETIMEDOUT);
    assert_int_equal(end_receive(&end, 0, 0, 1), EIO);
    end_close(&end);
    provider_configure("memlock=64");
    struct ibv_device **devices = ibv_get_device_list(NULL);
    struct ibv_context *context = ibv_open_device(devices[0]);
    ibv_free_device_list(devices);
    struct ibv_pd *pd = ibv_alloc_pd(context);
    assert_null(ibv_reg_mr(pd, end.memory, END_BYTES, 0));
    assert_int_equal(errno, ENOMEM);
    assert_int_equal(ibv_dealloc_pd(pd), 0);
    assert_int_equal(ibv_close_device(context), 0);
}

/* Attributes that the kernel refuses while connecting. */
static void refusals(void **state)
{
    (void)state;
    provider_configure("mtu=1024");
    static struct end end;
    end_open(&end, 0);
    struct ibv_qp_attr good = end_attr(&end, end.qp->qp_num, &end), attr = good;
    attr.pkey_index = 9;
    assert_int_equal(end_modify(end.qp, attr, IBV_QPS_INIT), EINVAL);
    attr = good;
    attr.port_num = 3;
    assert_int_equal(end_modify(end.qp, attr, IBV_QPS_INIT), EINVAL);
    assert_int_equal(end_modify(end.qp, good, IBV_QPS_INIT), 0);
    attr = good;
    attr.path_mtu = IBV_MTU_4096;
    assert_int_equal(end_modify(end.qp, attr, IBV_QPS_RTR), EINVAL);
    attr = good;
    attr.ah_attr.grh.sgid_index = 200;
    assert_int_equal(end_modify(end.qp, attr, IBV_QPS_RTR), EINVAL);
    attr = good;
    attr.ah_attr.is_global = 0;
    assert_int_equal(end_modify(end.qp, attr, IBV_QPS_RTR), EINVAL);
    end_close(&end);
    provider_configure("sl=3,tclass=104");
    end_open(&end, 0);
    attr = end_attr(&end, end.qp->qp_num, &end);
    assert_int_equal(end_modify(end.qp, attr, IBV_QPS_INIT), 0);
    attr.ah_attr.sl = 3;
    assert_int_equal(end_modify(end.qp, attr, IBV_QPS_RTR), EINVAL);
    attr.ah_attr.grh.traffic_class = 104;
    assert_int_equal(end_modify(end.qp, attr, IBV_QPS_RTR), 0);
    end_close(&end);
}

static int event_type(struct ibv_context *context)
{
    struct ibv_async_event event;
    if (ibv_get_async_event(context, &event) != 0)
        return -errno;
    ibv_ack_async_event(&event);
    return (int)event.event_type;
}

static void events(void **state)
{
    (void)state;
    struct end *ends = ends_open("fail=event_fatal:5+event_cq:2+event_port_err:3+event_gid:4");
    struct ibv_context *context = ends[0].context;
    fcntl(context->async_fd, F_SETFL, fcntl(context->async_fd, F_GETFL) | O_NONBLOCK);
    assert_int_equal(event_type(context), -EAGAIN);
    provider_event(0, 0, 1, IBV_EVENT_PKEY_CHANGE);
    struct pollfd ready = {context->async_fd, POLLIN, 0};
    assert_int_equal(poll(&ready, 1, 0), 1);
    assert_int_equal(event_type(context), IBV_EVENT_PKEY_CHANGE);
    assert_int_equal(poll(&ready, 1, 0), 0);
    for (int i = 0; i < 5; i++)
        assert_int_equal(end_post(ends, IBV_WR_RDMA_WRITE, 0, 8, IBV_SEND_SIGNALED, 1), 0);
    assert_int_equal(event_type(context), IBV_EVENT_CQ_ERR);
    assert_int_equal(event_type(context), IBV_EVENT_PORT_ERR);
    assert_int_equal(event_type(context), IBV_EVENT_GID_CHANGE);
    assert_int_equal(event_type(context), IBV_EVENT_DEVICE_FATAL);
    while (end_poll(&ends[0]).status != IBV_WC_WR_FLUSH_ERR) {
    }
    struct ibv_device **list = ibv_get_device_list(NULL);
    assert_null(ibv_open_device(list[0]));
    ibv_free_device_list(list);
    ends_close(ends);
}

/* Waits for it. */
static int event_await(struct ibv_context *context)
{
    struct pollfd ready = {context->async_fd, POLLIN, 0};
    assert_int_equal(poll(&ready, 1, 20000), 1);
    return event_type(context);
}

/* The port's tables change before the event tells of it. */
static void addresses_go(void **state)
{
    (void)state;
    struct end *ends = ends_open("patience=10,fail=gid_gone:1+pkey_gone:2+lid_changed:3");
    struct ibv_context *context = ends[0].context;
    struct ibv_port_attr before, after;
    union ibv_gid gid;
    __be16 pkey;
    assert_int_equal(ibv_query_port(context, 1, &before), 0);
    for (int i = 0; i < 3; i++)
        assert_int_equal(end_post(ends, IBV_WR_RDMA_WRITE, 0, 8, IBV_SEND_SIGNALED, 1), 0);
    assert_int_equal(event_await(context), IBV_EVENT_GID_CHANGE);
    assert_int_equal(event_await(context), IBV_EVENT_PKEY_CHANGE);
    assert_int_equal(event_await(context), IBV_EVENT_LID_CHANGE);
    assert_int_equal(ibv_query_gid(context, 1, 3, &gid), 0);
    assert_int_equal(gid.global.interface_id, 0);
    assert_int_equal(ibv_query_pkey(context, 1, 0, &pkey), 0);
    assert_int_equal(pkey, 0);
    assert_int_equal(ibv_query_port(context, 1, &after), 0);
    assert_int_not_equal(before.lid, after.lid);
    ends_close(ends);
}

/* The request fails first, with the port still up; the event comes later. */
static void port_dies(void **state)
{
    (void)state;
    struct end *ends = ends_open("late=50000,fail=port_dies:2");
    struct ibv_context *context = ends[0].context;
    struct ibv_port_attr attr;
    fcntl(context->async_fd, F_SETFL, fcntl(context->async_fd, F_GETFL) | O_NONBLOCK);
    for (uint64_t i = 0; i < 2; i++) {
        assert_int_equal(provider_counts().struck > 0, 0);
        assert_int_equal(end_post(ends, IBV_WR_RDMA_WRITE, 0, 8, IBV_SEND_SIGNALED, i), 0);
        assert_int_equal(end_poll(&ends[0]).status, i ? IBV_WC_LOC_QP_OP_ERR : IBV_WC_SUCCESS);
    }
    double failed = (double)provider_counts().struck * 1e-9;
    int type;
    do
        type = event_await(context);
    while (type == IBV_EVENT_QP_LAST_WQE_REACHED);
    assert_int_equal(type, IBV_EVENT_PORT_ERR);
    assert_true(seconds_now() - failed >= 0.05);
    assert_int_equal(ibv_query_port(context, 1, &attr), 0);
    assert_int_equal(attr.state, IBV_PORT_DOWN);
    ends_close(ends);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(statuses),      cmocka_unit_test(untold),
        cmocka_unit_test(receives_fail), cmocka_unit_test(receiver_not_ready),
        cmocka_unit_test(unanswered),    cmocka_unit_test(calls_fail),
        cmocka_unit_test(refusals),      cmocka_unit_test(events),
        cmocka_unit_test(addresses_go),  cmocka_unit_test(port_dies),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
