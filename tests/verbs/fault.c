/*
 * fault.c - makes the n-th request, call or moment fail.
 */
#include "fault.h"

#include <errno.h>
#include <string.h>

#include "device.h"
#include "fabric.h"

/* `event`: `error` is an event, or CUT. */
#define CUT -1
static const struct fault_kind {
    const char *name;
    enum fault_count count;
    int error;
    bool event;
} kinds[] = {
    {"loc_len", COUNT_REQUEST, IBV_WC_LOC_LEN_ERR, false},
    {"loc_qp_op", COUNT_REQUEST, IBV_WC_LOC_QP_OP_ERR, false},
    {"loc_prot", COUNT_REQUEST, IBV_WC_LOC_PROT_ERR, false},
    {"mw_bind", COUNT_REQUEST, IBV_WC_MW_BIND_ERR, false},
    {"bad_resp", COUNT_REQUEST, IBV_WC_BAD_RESP_ERR, false},
    {"loc_access", COUNT_REQUEST, IBV_WC_LOC_ACCESS_ERR, false},
    {"rem_inv_req", COUNT_REQUEST, IBV_WC_REM_INV_REQ_ERR, false},
    {"rem_access", COUNT_REQUEST, IBV_WC_REM_ACCESS_ERR, false},
    {"rem_op", COUNT_REQUEST, IBV_WC_REM_OP_ERR, false},
    {"retry", COUNT_REQUEST, IBV_WC_RETRY_EXC_ERR, false},
    {"rnr", COUNT_REQUEST, IBV_WC_RNR_RETRY_EXC_ERR, false},
    {"rem_abort", COUNT_REQUEST, IBV_WC_REM_ABORT_ERR, false},
    {"fatal", COUNT_REQUEST, IBV_WC_FATAL_ERR, false},
    {"resp_timeout", COUNT_REQUEST, IBV_WC_RESP_TIMEOUT_ERR, false},
    {"general", COUNT_REQUEST, IBV_WC_GENERAL_ERR, false},
    {"recv_loc_len", COUNT_RECEIVE, IBV_WC_LOC_LEN_ERR, false},
    {"recv_loc_prot", COUNT_RECEIVE, IBV_WC_LOC_PROT_ERR, false},
    {"recv_loc_qp_op", COUNT_RECEIVE, IBV_WC_LOC_QP_OP_ERR, false},
    {"open", COUNT_OPEN, ENOMEM, false},
    {"alloc_pd", COUNT_ALLOC_PD, ENOMEM, false},
    {"reg_mr", COUNT_REG_MR, ENOMEM, false},
    {"create_cq", COUNT_CREATE_CQ, ENOMEM, false},
    {"create_srq", COUNT_CREATE_SRQ, ENOMEM, false},
    {"create_qp", COUNT_CREATE_QP, ENOMEM, false},
    {"query_port", COUNT_QUERY_PORT, EIO, false},
    {"modify_einval", COUNT_MODIFY, EINVAL, false},
    {"modify_etimedout", COUNT_MODIFY, ETIMEDOUT, false},
    {"post_send", COUNT_POST_SEND, EIO, false},
    {"post_recv", COUNT_POST_RECV, EIO, false},
    {"poll_cq", COUNT_POLL_CQ, EIO, false},
    {"connect", COUNT_CONNECT, ECONNREFUSED, false},
    {"resolve", COUNT_RESOLVE, ENODEV, false},
    {"event_fatal", COUNT_REQUEST, IBV_EVENT_DEVICE_FATAL, true},
    {"event_port_err", COUNT_REQUEST, IBV_EVENT_PORT_ERR, true},
    {"event_port_active", COUNT_REQUEST, IBV_EVENT_PORT_ACTIVE, true},
    {"event_gid", COUNT_REQUEST, IBV_EVENT_GID_CHANGE, true},
    {"event_pkey", COUNT_REQUEST, IBV_EVENT_PKEY_CHANGE, true},
    {"event_lid", COUNT_REQUEST, IBV_EVENT_LID_CHANGE, true},
    {"event_qp_fatal", COUNT_REQUEST, IBV_EVENT_QP_FATAL, true},
    {"event_qp_req", COUNT_REQUEST, IBV_EVENT_QP_REQ_ERR, true},
    {"event_qp_access", COUNT_REQUEST, IBV_EVENT_QP_ACCESS_ERR, true},
    {"event_cq", COUNT_REQUEST, IBV_EVENT_CQ_ERR, true},
    {"event_srq", COUNT_REQUEST, IBV_EVENT_SRQ_ERR, true},
    {"cut", COUNT_REQUEST, CUT, true},
};
#define KINDS ((int)(sizeof(kinds) / sizeof(kinds[0])))

int fault_find(const char *name)
{
    for (int i = 0; i < KINDS; i++)
        if (strcmp(kinds[i].name, name) == 0)
            return i;
    return -1;
}

int fails_now(enum fault_count count)
{
    uint64_t number = ++fabric.faults.of[count];
    for (int i = 0; i < fabric.config.fault_count; i++) {
        const struct fault *fault = &fabric.config.faults[i];
        const struct fault_kind *kind = &kinds[fault->kind];
        if (kind->count == count && fault->at == number && !kind->event)
            return kind->error;
    }
    return 0;
}

void fault_events(struct ibv_qp *qp)
{
    struct strict_device *device = device_of(qp->context);
    int number = ((struct strict_qp *)qp)->attr.port_num;
    struct provider_port *port = &device->ports[number - 1];
    for (int i = 0; i < fabric.config.fault_count; i++) {
        const struct fault *fault = &fabric.config.faults[i];
        const struct fault_kind *kind = &kinds[fault->kind];
        if (!kind->event || fault->at != fabric.faults.of[kind->count])
            continue;
        if (kind->error == CUT)
            port->cut = true;
        else if (kind->error == IBV_EVENT_PORT_ERR || kind->error == IBV_EVENT_PORT_ACTIVE)
            device_port_state(device, number,
                              kind->error == IBV_EVENT_PORT_ERR ? IBV_PORT_DOWN : IBV_PORT_ACTIVE);
        else if (kind->error == IBV_EVENT_CQ_ERR)
            event_send(qp->context, (enum ibv_event_type)kind->error, qp->send_cq);
        else if (kind->error == IBV_EVENT_SRQ_ERR)
            event_send(qp->context, (enum ibv_event_type)kind->error, qp->srq);
        else if (kind->error == IBV_EVENT_QP_FATAL || kind->error == IBV_EVENT_QP_REQ_ERR ||
                 kind->error == IBV_EVENT_QP_ACCESS_ERR)
            event_send(qp->context, (enum ibv_event_type)kind->error, qp);
        else
            device_event(device, number, (enum ibv_event_type)kind->error);
    }
}
