/*
 * fault.c - makes the n-th request, call or moment fail.
 */
#include "fault.h"

#include <errno.h>
#include <string.h>

#include "device.h"
#include "fabric.h"

/* `event`: `error` is an event, or one of these. */
enum { CUT = -1, PORT_DIES = -2, GID_GONE = -3, PKEY_GONE = -4, LID_CHANGED = -5 };
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
    {"port_dies", COUNT_REQUEST, PORT_DIES, true},
    {"gid_gone", COUNT_REQUEST, GID_GONE, true},
    {"pkey_gone", COUNT_REQUEST, PKEY_GONE, true},
    {"lid_changed", COUNT_REQUEST, LID_CHANGED, true},
};
#define KINDS ((int)(sizeof(kinds) / sizeof(kinds[0])))

int fault_find(const char *name)
{
    for (int i = 0; i < KINDS; i++)
        if (strcmp(kinds[i].name, name) == 0)
            return i;
    return -1;
}

static void fault_strikes(void)
{
    if (!fabric.counts.struck)
        fabric.counts.struck = fabric_now();
}

int fails_now(enum fault_count count)
{
    uint64_t number = ++fabric.faults.of[count];
    for (int i = 0; i < fabric.config.fault_count; i++) {
        const struct fault *fault = &fabric.config.faults[i];
        const struct fault_kind *kind = &kinds[fault->kind];
        if (kind->count != count || fault->at != number || kind->event)
            continue;
        fault_strikes();
        return kind->error;
    }
    return 0;
}

/* The address of the queue pair changes, and its device says so. */
static void fault_address(struct strict_qp *pair, int kind)
{
    struct strict_device *device = device_of(pair->base.context);
    int number = pair->attr.port_num;
    struct provider_port *port = &device->ports[number - 1];
    if (kind == GID_GONE) {
        memset(&port->gids[pair->attr.ah_attr.grh.sgid_index].gid, 0, sizeof(union ibv_gid));
        device_event(device, number, IBV_EVENT_GID_CHANGE);
    } else if (kind == PKEY_GONE) {
        port->pkeys[pair->attr.pkey_index] = 0;
        device_event(device, number, IBV_EVENT_PKEY_CHANGE);
    } else {
        port->attr.lid++;
        device_event(device, number, IBV_EVENT_LID_CHANGE);
    }
}

/* The request that was posted last fails, and the port says nothing yet. */
static void fault_port_dies(struct strict_qp *pair)
{
    struct strict_device *device = device_of(pair->base.context);
    device->ports[pair->attr.port_num - 1].cut = true;
    pair->last->forced = IBV_WC_LOC_QP_OP_ERR;
    fabric.dying = (struct dying_port){.device = device,
                                       .number = pair->attr.port_num,
                                       .at = fabric_now() + (uint64_t)fabric.config.late * 1000};
}

uint64_t fault_later(uint64_t now)
{
    struct dying_port dying = fabric.dying;
    if (!dying.device)
        return NEVER;
    if (dying.at > now)
        return dying.at;
    fabric.dying = (struct dying_port){0};
    device_port_state(dying.device, dying.number, IBV_PORT_DOWN);
    return NEVER;
}

void fault_events(struct ibv_qp *qp)
{
    struct strict_qp *pair = (struct strict_qp *)qp;
    struct strict_device *device = device_of(qp->context);
    int number = pair->attr.port_num;
    for (int i = 0; i < fabric.config.fault_count; i++) {
        const struct fault *fault = &fabric.config.faults[i];
        const struct fault_kind *kind = &kinds[fault->kind];
        if (!kind->event || fault->at != fabric.faults.of[kind->count])
            continue;
        fault_strikes();
        if (kind->error == CUT)
            device->ports[number - 1].cut = true;
        else if (kind->error == PORT_DIES)
            fault_port_dies(pair);
        else if (kind->error < CUT)
            fault_address(pair, kind->error);
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
