/*
 * test_provider_objects.c - rules of the provider about the life of objects: what creates, connects
 * and destroys them, and their events.
 * tier: deep; load: cpu1
 */
#include <errno.h>

#include "fabric.h"
#include "meeting.h"
#include "rules.h"

static struct end *ends;

/* ---- queue pairs ---- */

static void pair_with(struct ibv_qp_init_attr change)
{
    ends = ends_open("");
    struct ibv_qp_init_attr init = {.send_cq = ends[0].cq,
                                    .recv_cq = change.recv_cq ? NULL : ends[0].cq,
                                    .srq = ends[change.srq ? 1 : 0].srq,
                                    .cap = {.max_send_wr = change.cap.max_send_wr ?: 1,
                                            .max_send_sge = change.cap.max_send_sge ?: 1},
                                    .qp_type = change.qp_type ?: IBV_QPT_RC};
    ibv_create_qp(ends[0].pd, &init);
}

/* Any pointer marks what is to be wrong. */
static struct strict_cq some_cq;
static struct strict_srq some_srq;

static void pair_without_queue(void)
{
    pair_with((struct ibv_qp_init_attr){.recv_cq = &some_cq.base});
}

static void pair_of_two_domains(void)
{
    pair_with((struct ibv_qp_init_attr){.srq = &some_srq.base});
}

static void pair_unreliable(void)
{
    pair_with((struct ibv_qp_init_attr){.qp_type = IBV_QPT_UD});
}

static void pair_too_deep(void)
{
    pair_with((struct ibv_qp_init_attr){.cap = {.max_send_wr = 1 << 20}});
}

static void pair_too_wide(void)
{
    pair_with((struct ibv_qp_init_attr){.cap = {.max_send_sge = 99}});
}

static void pair_not_there(void)
{
    static struct strict_qp pair;
    ends = ends_open("");
    ibv_destroy_qp(&pair.base);
}

/* ---- receives ---- */

static void receive_too_wide(void)
{
    ends = ends_open("");
    struct ibv_sge sges[2] = {{(uintptr_t)ends[0].memory, 8, ends[0].mr->lkey},
                              {(uintptr_t)ends[0].memory, 8, ends[0].mr->lkey}};
    struct ibv_recv_wr wr = {.sg_list = sges, .num_sge = 2}, *bad;
    ibv_post_srq_recv(ends[0].srq, &wr, &bad);
}

static void receive_beside_shared(void)
{
    ends = ends_open("");
    struct ibv_recv_wr wr = {0}, *bad;
    ibv_post_recv(ends[0].qp, &wr, &bad);
}

static void receive_before_init(void)
{
    ends = ends_open("");
    struct ibv_qp_init_attr init = {.send_cq = ends[0].cq,
                                    .recv_cq = ends[0].cq,
                                    .cap = {.max_send_wr = 1, .max_recv_wr = 1},
                                    .qp_type = IBV_QPT_RC};
    struct ibv_recv_wr wr = {0}, *bad;
    ibv_post_recv(ibv_create_qp(ends[0].pd, &init), &wr, &bad);
}

static void notified(void)
{
    ends = ends_open("");
    ibv_req_notify_cq(ends[0].cq, 0);
}

/* ---- regions, contexts ---- */

static void region_not_there(void)
{
    static struct strict_mr region;
    ends = ends_open("");
    ibv_dereg_mr(&region.base);
}

static void context_not_open(void)
{
    static struct strict_context context;
    ends = ends_open("");
    ibv_close_device(&context.verbs.context);
}

static void configured_while_open(void)
{
    ends = ends_open("");
    provider_configure("");
}

/* ---- asynchronous events ---- */

/* Takes an event of this type from the first end. */
static struct ibv_async_event event_of(const char *settings, enum ibv_event_type type)
{
    struct ibv_async_event event;
    ends = ends_open(settings);
    end_post(ends, IBV_WR_RDMA_WRITE, 0, 8, IBV_SEND_SIGNALED, 1);
    end_poll(&ends[0]);
    do
        ibv_get_async_event(ends[0].context, &event);
    while (event.event_type != type);
    return event;
}

static void pair_event_left(void)
{
    event_of("fail=event_qp_req:1", IBV_EVENT_QP_REQ_ERR);
    ibv_destroy_qp(ends[0].qp);
}

static void shared_event_left(void)
{
    event_of("fail=event_srq:1", IBV_EVENT_SRQ_ERR);
    ibv_destroy_qp(ends[0].qp);
    ibv_destroy_srq(ends[0].srq);
}

static void queue_event_left(void)
{
    event_of("fail=event_cq:1", IBV_EVENT_CQ_ERR);
    ibv_destroy_qp(ends[0].qp);
    ibv_destroy_cq(ends[0].cq);
}

static void context_event_left(void)
{
    event_of("fail=event_pkey:1", IBV_EVENT_PKEY_CHANGE);
    end_close(&ends[0]);
}

static void event_twice(void)
{
    struct ibv_async_event event = event_of("fail=event_qp_req:1", IBV_EVENT_QP_REQ_ERR);
    ibv_ack_async_event(&event);
    ibv_ack_async_event(&event);
}

/* ---- librdmacm ---- */

static struct meeting *meeting;

static void connects_too_early(void)
{
    struct rdma_conn_param parameters = {0};
    struct rdma_cm_id *id;
    meeting = meeting_open("");
    rdma_create_id(meeting->channel[0], &id, NULL, RDMA_PS_TCP);
    parameters.qp_num = meeting->ends[0].qp->qp_num;
    rdma_connect(id, &parameters);
}

static void connects_with_too_much(void)
{
    static const char data[57];
    meeting = meeting_open("");
    struct rdma_conn_param parameters = {.private_data = data,
                                         .private_data_len = sizeof data,
                                         .qp_num = meeting->ends[0].qp->qp_num};
    rdma_connect(meeting->id[0], &parameters);
}

static void connects_nothing(void)
{
    struct rdma_conn_param parameters = {.qp_num = 0};
    meeting = meeting_open("");
    rdma_connect(meeting->id[0], &parameters);
}

static void accepts_unasked(void)
{
    struct rdma_conn_param parameters = {0};
    meeting = meeting_open("");
    parameters.qp_num = meeting->ends[0].qp->qp_num;
    rdma_accept(meeting->id[0], &parameters);
}

static void establishes_unasked(void)
{
    meeting = meeting_open("");
    rdma_establish(meeting->id[0]);
}

static void accepts_with_failed_pair(void)
{
    meeting = meeting_open("iwarp=1");
    meeting_ask(meeting);
    struct rdma_conn_param parameters = {.qp_num = meeting->ends[1].qp->qp_num};
    end_modify(meeting->ends[1].qp, (struct ibv_qp_attr){0}, IBV_QPS_ERR);
    rdma_accept(meeting->id[1], &parameters);
}

static void accepts_and_sends(void)
{
    struct ibv_send_wr wr = {.opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED}, *bad;
    meeting = meeting_open("iwarp=1");
    meeting_ask(meeting);
    meeting_connect(meeting, true);
    ibv_post_send(meeting->ends[1].qp, &wr, &bad);
    for (;;)
        end_poll(&meeting->ends[1]);
}

static void channel_in_use(void)
{
    meeting = meeting_open("");
    rdma_destroy_event_channel(meeting->channel[0]);
}

static void id_not_there(void)
{
    static struct rdma_cm_id id;
    meeting = meeting_open("");
    rdma_destroy_id(&id);
}

static struct rdma_cm_event *connect_event(void)
{
    meeting = meeting_open("");
    struct rdma_conn_param parameters = {.qp_num = meeting->ends[0].qp->qp_num};
    rdma_connect(meeting->id[0], &parameters);
    rdma_destroy_id(meeting->listener);
    return event_take(meeting, 0, RDMA_CM_EVENT_REJECTED);
}

static void id_event_left(void)
{
    connect_event();
    rdma_destroy_id(meeting->id[0]);
}

static void id_event_twice(void)
{
    struct rdma_cm_event *event = connect_event();
    rdma_ack_cm_event(event);
    rdma_ack_cm_event(event);
}

static void ids_left(void)
{
    provider_configure("");
    rdma_create_event_channel();
    exit(0);
}

static const struct rule rules[] = {
    {"a queue pair without a queue", pair_without_queue,
     "ibv_create_qp(): its completion queues are missing or of another context"},
    {"a queue pair of two domains", pair_of_two_domains,
     "ibv_create_qp(): its shared receive queue is of another protection domain"},
    {"a queue pair of another type", pair_unreliable,
     "ibv_create_qp(): it is no reliable connection"},
    {"a queue pair that is too deep", pair_too_deep,
     "ibv_create_qp(): it is deeper than the device allows"},
    {"a queue pair with too many entries", pair_too_wide,
     "ibv_create_qp(): it has more entries than the device allows"},
    {"a queue pair that is not there", pair_not_there,
     "ibv_destroy_qp() of a queue pair that is not there"},
    {"a receive with too many entries", receive_too_wide,
     "a receive has 2 entries, and its queue allows 1"},
    {"a receive beside the shared queue", receive_beside_shared,
     "ibv_post_recv() to a queue pair with a shared receive queue"},
    {"a receive before INIT", receive_before_init,
     "ibv_post_recv() to a queue pair in state RESET"},
    {"a notification without a channel", notified,
     "ibv_req_notify_cq() of a completion queue without a channel"},
    {"a region that is not there", region_not_there,
     "ibv_dereg_mr() of a region that is not registered"},
    {"a context that is not open", context_not_open,
     "ibv_close_device() of a context that is not open"},
    {"a new fabric while one is in use", configured_while_open,
     "provider_configure() while a context is open"},
    {"an event of a queue pair that is not acknowledged", pair_event_left,
     "ibv_destroy_qp() with 1 events that were not acknowledged"},
    {"one of a receive queue", shared_event_left,
     "ibv_destroy_srq() with 1 events that were not acknowledged"},
    {"one of a completion queue", queue_event_left,
     "ibv_destroy_cq() with 1 events that were not acknowledged"},
    {"one of a context", context_event_left,
     "ibv_close_device(strict0) with 1 events that were not acknowledged"},
    {"an event that is acknowledged twice", event_twice, "that was acknowledged before"},
    {"a connection without an address", connects_too_early, "rdma_connect() in state 0"},
    {"a connection with too much data", connects_with_too_much, "with 57 private bytes"},
    {"a connection without a queue pair", connects_nothing, "for queue pair 0"},
    {"an answer that was not asked for", accepts_unasked, "rdma_accept() in state 4"},
    {"a connection that is not there", establishes_unasked, "rdma_establish() in state 4"},
    {"an answer with a queue pair that failed", accepts_with_failed_pair,
     "which is not in state INIT"},
    {"an answer whose end sends first", accepts_and_sends,
     "accepted an iWARP connection, and sends before it got a message"},
    {"a channel in use", channel_in_use, "rdma_destroy_event_channel() while 1 identifiers use it"},
    {"an identifier that is not there", id_not_there,
     "rdma_destroy_id() of an identifier that is not there"},
    {"an event of an identifier that is not acknowledged", id_event_left,
     "rdma_destroy_id() with 1 events that were not acknowledged"},
    {"an event of an identifier that is acknowledged twice", id_event_twice,
     "rdma_ack_cm_event() of an event that is not there, or was acknowledged before"},
    {"a channel that is left", ids_left,
     "identifiers or event channels of librdmacm are still there at the end"},
};

int main(void)
{
    return rules_run(rules, sizeof rules / sizeof *rules, NULL, 0);
}
