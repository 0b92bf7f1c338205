/*
 * meeting.h - two ends that connect through librdmacm of the provider, for its own tests.
 */
#ifndef CCTEST_TEST_VERBS_MEETING_H
#define CCTEST_TEST_VERBS_MEETING_H

#include <arpa/inet.h>
#include <rdma/rdma_cma.h>

#include "ends.h"

struct meeting {
    struct end ends[2];
    struct rdma_event_channel *channel[2];
    struct rdma_cm_id *listener, *id[2];
};

static inline struct rdma_cm_event *event_take(struct meeting *meeting, int side,
                                               enum rdma_cm_event_type type)
{
    struct rdma_cm_event *event;
    assert_int_equal(rdma_get_cm_event(meeting->channel[side], &event), 0);
    if (event->event != type)
        print_error("%s instead of %s\n", rdma_event_str(event->event), rdma_event_str(type));
    assert_int_equal(event->event, type);
    return event;
}

static inline void event_expect(struct meeting *meeting, int side, enum rdma_cm_event_type type)
{
    assert_int_equal(rdma_ack_cm_event(event_take(meeting, side, type)), 0);
}

static inline void pair_bring(struct meeting *meeting, int side, enum ibv_qp_state state)
{
    struct ibv_qp_attr attr = {.qp_state = state};
    int mask;
    assert_int_equal(rdma_init_qp_attr(meeting->id[side], &attr, &mask), 0);
    assert_int_equal(ibv_modify_qp(meeting->ends[side].qp, &attr, mask), 0);
}

/* Side 0 is ready to ask for a connection to side 1, which listens. */
static inline struct meeting *meeting_open(const char *settings)
{
    static struct meeting meeting;
    provider_configure(settings);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(0x0a000001)}};
    struct sockaddr *any = (struct sockaddr *)&address;
    for (int i = 0; i < 2; i++) {
        end_open(&meeting.ends[i], 0);
        meeting.channel[i] = rdma_create_event_channel();
    }
    assert_int_equal(rdma_create_id(meeting.channel[1], &meeting.listener, NULL, RDMA_PS_TCP), 0);
    assert_int_equal(rdma_bind_addr(meeting.listener, any), 0);
    assert_int_equal(rdma_listen(meeting.listener, 8), 0);
    address.sin_port = rdma_get_src_port(meeting.listener);
    assert_int_equal(rdma_create_id(meeting.channel[0], &meeting.id[0], NULL, RDMA_PS_TCP), 0);
    assert_int_equal(rdma_resolve_addr(meeting.id[0], NULL, any, 1000), 0);
    event_expect(&meeting, 0, RDMA_CM_EVENT_ADDR_RESOLVED);
    assert_string_equal(ibv_get_device_name(meeting.id[0]->verbs->device), "strict0");
    assert_int_equal(rdma_resolve_route(meeting.id[0], 1000), 0);
    event_expect(&meeting, 0, RDMA_CM_EVENT_ROUTE_RESOLVED);
    meeting.id[1] = NULL;
    return &meeting;
}

static inline void meeting_ask(struct meeting *meeting)
{
    struct rdma_conn_param parameters = {.private_data = "who",
                                         .private_data_len = 4,
                                         .retry_count = 3,
                                         .rnr_retry_count = 7,
                                         .qp_num = meeting->ends[0].qp->qp_num};
    pair_bring(meeting, 0, IBV_QPS_INIT);
    assert_int_equal(rdma_connect(meeting->id[0], &parameters), 0);
    struct rdma_cm_event *event = event_take(meeting, 1, RDMA_CM_EVENT_CONNECT_REQUEST);
    assert_ptr_equal(event->listen_id, meeting->listener);
    assert_string_equal((const char *)event->param.conn.private_data, "who");
    assert_int_equal(event->param.conn.qp_num, meeting->ends[0].qp->qp_num);
    meeting->id[1] = event->id;
    assert_int_equal(rdma_ack_cm_event(event), 0);
}

/* The other end accepts, and both are connected. */
static inline void meeting_connect(struct meeting *meeting, bool iwarp)
{
    for (int state = IBV_QPS_INIT; state <= IBV_QPS_RTS; state++)
        pair_bring(meeting, 1, (enum ibv_qp_state)state);
    struct rdma_conn_param parameters = {.private_data = "me",
                                         .private_data_len = 3,
                                         .rnr_retry_count = 7,
                                         .qp_num = meeting->ends[1].qp->qp_num};
    assert_int_equal(rdma_accept(meeting->id[1], &parameters), 0);
    struct rdma_cm_event *event =
        event_take(meeting, 0, iwarp ? RDMA_CM_EVENT_ESTABLISHED : RDMA_CM_EVENT_CONNECT_RESPONSE);
    assert_string_equal((const char *)event->param.conn.private_data, "me");
    assert_int_equal(rdma_ack_cm_event(event), 0);
    for (int state = IBV_QPS_RTR; state <= IBV_QPS_RTS; state++)
        pair_bring(meeting, 0, (enum ibv_qp_state)state);
    if (!iwarp)
        assert_int_equal(rdma_establish(meeting->id[0]), 0);
    event_expect(meeting, 1, RDMA_CM_EVENT_ESTABLISHED);
}

static inline void meeting_close(struct meeting *meeting)
{
    for (int i = 0; i < 2; i++) {
        if (meeting->id[i])
            assert_int_equal(rdma_destroy_id(meeting->id[i]), 0);
        if (i == 1)
            assert_int_equal(rdma_destroy_id(meeting->listener), 0);
        end_close(&meeting->ends[i]);
        rdma_destroy_event_channel(meeting->channel[i]);
    }
    provider_check();
}

#endif
