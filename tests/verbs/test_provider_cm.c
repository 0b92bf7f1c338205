/*
 * test_provider_cm.c - librdmacm of the provider: connections are asked for, accepted, refused and
 * ended.
 * tier: deep; load: cpu1
 */
#include "meeting.h"

static void connection(const char *settings, bool iwarp)
{
    struct meeting *meeting = meeting_open(settings);
    meeting_ask(meeting);
    meeting_connect(meeting, iwarp);
    memset(meeting->ends[0].memory, 5, 100);
    assert_int_equal(end_receive(&meeting->ends[1], 0, 100, 3), 0);
    assert_int_equal(end_post(meeting->ends, IBV_WR_SEND, 0, 100, IBV_SEND_SIGNALED, 1), 0);
    assert_int_equal(end_poll(&meeting->ends[0]).status, IBV_WC_SUCCESS);
    assert_int_equal(end_poll(&meeting->ends[1]).wr_id, 3);
    assert_int_equal(meeting->ends[1].memory[99], 5);
    assert_int_equal(rdma_disconnect(meeting->id[0]), 0);
    event_expect(meeting, 1, RDMA_CM_EVENT_DISCONNECTED);
    event_expect(meeting, 0, RDMA_CM_EVENT_DISCONNECTED);
    event_expect(meeting, 0, RDMA_CM_EVENT_TIMEWAIT_EXIT);
    meeting_close(meeting);
}

static void connections(void **state)
{
    (void)state;
    connection("order=0", false);
    connection("order=1,hosts=2", false);
    connection("iwarp=1", true);
}

static void rejections(void **state)
{
    (void)state;
    struct meeting *meeting = meeting_open("");
    meeting_ask(meeting);
    assert_int_equal(rdma_reject(meeting->id[1], "no", 3), 0);
    struct rdma_cm_event *event = event_take(meeting, 0, RDMA_CM_EVENT_REJECTED);
    assert_string_equal((const char *)event->param.conn.private_data, "no");
    assert_int_equal(rdma_ack_cm_event(event), 0);
    meeting_close(meeting);
    meeting = meeting_open(""); /* the listener goes before it looks */
    struct rdma_conn_param parameters = {.qp_num = meeting->ends[0].qp->qp_num};
    assert_int_equal(rdma_connect(meeting->id[0], &parameters), 0);
    assert_int_equal(rdma_destroy_id(meeting->listener), 0);
    event_expect(meeting, 0, RDMA_CM_EVENT_REJECTED);
    assert_int_equal(rdma_create_id(meeting->channel[1], &meeting->listener, NULL, RDMA_PS_TCP), 0);
    meeting_close(meeting);
}

static void failures(void **state)
{
    (void)state;
    struct meeting *meeting = meeting_open("fail=connect:1+resolve:2");
    struct rdma_conn_param parameters = {.qp_num = meeting->ends[0].qp->qp_num};
    assert_int_equal(rdma_connect(meeting->id[0], &parameters), 0);
    event_expect(meeting, 0, RDMA_CM_EVENT_UNREACHABLE);
    struct rdma_cm_id *other;
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(0x0a000001)}};
    assert_int_equal(rdma_create_id(meeting->channel[0], &other, NULL, RDMA_PS_TCP), 0);
    assert_int_equal(rdma_resolve_addr(other, NULL, (struct sockaddr *)&address, 1000), 0);
    event_expect(meeting, 0, RDMA_CM_EVENT_ADDR_ERROR);
    assert_int_equal(rdma_destroy_id(other), 0);
    meeting_close(meeting);
}

/* Each of two addresses of a port has listeners of its own, at one port number if it must be. */
static void addresses(void **state)
{
    (void)state;
    struct meeting *meeting = meeting_open("");
    struct provider_port *port = provider_port(0, 0, 1);
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = rdma_get_src_port(meeting->listener),
                                  .sin_addr = {htonl(0x0a000101)}};
    struct sockaddr *second = (struct sockaddr *)&address;
    struct rdma_conn_param parameters = {.qp_num = meeting->ends[0].qp->qp_num};
    port->gids[4] = port->gids[3];
    port->gids[4].gid.raw[14] = 1;
    port->attr.gid_tbl_len = 5;
    assert_int_equal(rdma_destroy_id(meeting->id[0]), 0);
    assert_int_equal(rdma_create_id(meeting->channel[0], &meeting->id[0], NULL, RDMA_PS_TCP), 0);
    assert_int_equal(rdma_resolve_addr(meeting->id[0], second, second, 1000), 0);
    event_expect(meeting, 0, RDMA_CM_EVENT_ADDR_RESOLVED);
    assert_int_equal(rdma_resolve_route(meeting->id[0], 1000), 0);
    event_expect(meeting, 0, RDMA_CM_EVENT_ROUTE_RESOLVED);
    assert_int_equal(rdma_connect(meeting->id[0], &parameters), 0);
    event_expect(meeting, 0, RDMA_CM_EVENT_REJECTED);
    struct rdma_cm_id *other[2];
    for (int i = 0; i < 2; i++) {
        assert_int_equal(rdma_create_id(meeting->channel[1], &other[i], NULL, RDMA_PS_TCP), 0);
        assert_int_equal(rdma_bind_addr(other[i], second), i ? -1 : 0);
    }
    assert_int_equal(errno, EADDRINUSE);
    /* An address of IPv6 that ends with zeros is not any address. */
    struct sockaddr_in6 nowhere = {.sin6_family = AF_INET6, .sin6_addr.s6_addr = {0xfd, 1, 2, 3}};
    assert_int_equal(rdma_bind_addr(other[1], (struct sockaddr *)&nowhere), -1);
    assert_int_equal(errno, EADDRNOTAVAIL);
    for (int i = 0; i < 2; i++)
        assert_int_equal(rdma_destroy_id(other[i]), 0);
    meeting_close(meeting);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(connections),
        cmocka_unit_test(rejections),
        cmocka_unit_test(failures),
        cmocka_unit_test(addresses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
