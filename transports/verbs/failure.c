/*
 * failure.c - failures of the device, of a queue pair or of a port, as sentences for the user.
 *
 * The status of a completion says what the NIC saw; the table says what mostly causes it. Only the
 * first error of a queue pair is told, because all later requests are flushed.
 */
#include "transports/verbs/internal.h"

#include <arpa/inet.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"

/* A port that goes down fails requests before the device reports it as an event. */
#define EVENT_NS 100000000

struct wc_cause {
    enum ibv_wc_status status;
    enum failure_reason reason; /* REASON_OWN: a fault of this rank or its NIC */
    const char *likely;         /* the likely cause, and what to do */
};

static const struct wc_cause causes[] = {
    {IBV_WC_RETRY_EXC_ERR, REASON_PEER_LOST,
     "the peer's NIC does not answer: its process died, its port or cable is down, or the network "
     "drops packets (RoCE: see PFC and ECN); see what that rank or its host says"},
    {IBV_WC_RNR_RETRY_EXC_ERR, REASON_PEER_LOST,
     "the peer has no receive posted: its process hangs, or its NIC lost a completion"},
    {IBV_WC_REM_ACCESS_ERR, REASON_OWN,
     "the peer's NIC refuses the address or key: the peer has released its memory, or a NIC or "
     "switch corrupts packets"},
    {IBV_WC_REM_INV_REQ_ERR, REASON_OWN,
     "the peer's NIC finds the request invalid: the two ends run different versions of cctest or "
     "of firmware"},
    {IBV_WC_REM_OP_ERR, REASON_PEER_LOST,
     "the peer's NIC failed while it served the request: see the kernel log of its host"},
    {IBV_WC_REM_ABORT_ERR, REASON_PEER_LOST, "the peer's NIC aborted the request"},
    {IBV_WC_LOC_PROT_ERR, REASON_OWN,
     "this rank's NIC may not access the memory: PCI access control (ACS) or the IOMMU redirects "
     "it, or the memory was unmapped; see the kernel log"},
    {IBV_WC_LOC_LEN_ERR, REASON_OWN, "this rank's NIC finds a message of the wrong length"},
    {IBV_WC_LOC_QP_OP_ERR, REASON_OWN,
     "this rank's NIC found its queue pair inconsistent, or its port went down: see the kernel "
     "log"},
    {IBV_WC_LOC_ACCESS_ERR, REASON_OWN,
     "this rank's NIC may not access the memory locally: PCI access control (ACS) or the IOMMU; "
     "see the kernel log"},
    {IBV_WC_MW_BIND_ERR, REASON_OWN, "memory windows are not used: this is a fault of the driver"},
    {IBV_WC_BAD_RESP_ERR, REASON_PEER_LOST,
     "the peer's NIC answered with an unexpected packet: a switch or NIC corrupts or reorders"},
    {IBV_WC_FATAL_ERR, REASON_OWN, "this rank's NIC failed: see the kernel log"},
    {IBV_WC_RESP_TIMEOUT_ERR, REASON_PEER_LOST, "the peer's NIC took too long to answer"},
    {IBV_WC_GENERAL_ERR, REASON_OWN, "this rank's NIC gives no further cause: see the kernel log"},
};

static const struct wc_cause *cause_find(enum ibv_wc_status status)
{
    for (size_t i = 0; i < sizeof causes / sizeof *causes; i++)
        if (causes[i].status == status)
            return &causes[i];
    return &causes[sizeof causes / sizeof *causes - 1];
}

enum status verbs_post_failed(const struct verbs_pair *pair, int error)
{
    return fail(STATUS_ERROR, "NIC %s refuses a work request for rank %d: %s",
                pair->rail->port.name, pair->lane->peer->rank,
                strerror(error < 0 ? -error : error));
}

enum status verbs_rail_failed(const struct verbs_rail *rail, const char *what, int error)
{
    return fail(STATUS_ERROR, "NIC %s %s: %s", rail->port.name, what,
                strerror(error < 0 ? -error : error));
}

/* Asynchronous events. */

static bool gid_is_intact(const struct verbs_rail *rail, int index, const unsigned char *raw,
                          size_t bytes)
{
    union ibv_gid gid;
    return ibv_query_gid(rail->context, rail->port_number, index, &gid) == 0 &&
           memcmp(gid.raw + sizeof gid.raw - bytes, raw, bytes) == 0;
}

/* Is the address of the rail still what its queue pairs use? Other entries of its tables may come
 * and go. */
static bool rail_is_intact(const struct verbs_rail *rail)
{
    struct ibv_port_attr attr;
    __be16 key = 0;
    const struct verbs_port *port = &rail->port;
    if (ibv_query_port(rail->context, rail->port_number, &attr) != 0 || attr.lid != port->lid ||
        (!port->iwarp &&
         !gid_is_intact(rail, rail->gid_index, port->gid.raw, sizeof port->gid.raw)))
        return false;
    for (int i = 0; i < port->other_count; i++)
        if (rail->other_used[i] &&
            !gid_is_intact(rail, rail->other_indices[i], port->others[i].address, 4))
            return false;
    return port->pkey == 0 ||
           (ibv_query_pkey(rail->context, rail->port_number, rail->pkey_index, &key) == 0 &&
            ntohs(key) == port->pkey);
}

enum event_scope { SCOPE_DEVICE, SCOPE_PORT, SCOPE_ADDRESS, SCOPE_QUEUE };

/* The events that end the job; others are harmless. */
static const struct event_kind {
    enum ibv_event_type type;
    enum event_scope scope;
    const char *what;
} event_kinds[] = {
    {IBV_EVENT_DEVICE_FATAL, SCOPE_DEVICE, "the device failed: see the kernel log"},
    {IBV_EVENT_PORT_ERR, SCOPE_PORT, "its port went down: see its cable, and the switch"},
    {IBV_EVENT_LID_CHANGE, SCOPE_ADDRESS, "the subnet manager gave the port another LID"},
    {IBV_EVENT_PKEY_CHANGE, SCOPE_ADDRESS, "the P_Key that this job uses is gone"},
    {IBV_EVENT_GID_CHANGE, SCOPE_ADDRESS,
     "the GID that this job uses is gone: its IP address changed"},
    {IBV_EVENT_CQ_ERR, SCOPE_QUEUE, "its completion queue overflowed"},
    {IBV_EVENT_SRQ_ERR, SCOPE_QUEUE, "its shared receive queue failed"},
    {IBV_EVENT_QP_FATAL, SCOPE_QUEUE, "a queue pair failed: see the kernel log"},
    {IBV_EVENT_QP_REQ_ERR, SCOPE_QUEUE, "a peer sent a queue pair an invalid request"},
    {IBV_EVENT_QP_ACCESS_ERR, SCOPE_QUEUE, "a peer's request violated the rights of a queue pair"},
};

static const struct event_kind *event_find(const struct verbs_rail *rail,
                                           const struct ibv_async_event *event)
{
    for (size_t i = 0; i < sizeof event_kinds / sizeof *event_kinds; i++) {
        const struct event_kind *kind = &event_kinds[i];
        if (kind->type != event->event_type)
            continue;
        bool of_port = kind->scope == SCOPE_PORT || kind->scope == SCOPE_ADDRESS;
        bool mine = !of_port || event->element.port_num == rail->port_number;
        return mine && !(kind->scope == SCOPE_ADDRESS && rail_is_intact(rail)) ? kind : NULL;
    }
    return NULL;
}

/* Takes all events. Fails at one that ends the job and whose scope is at most `scope`. */
static enum status events_take(struct verbs_rail *rail, enum event_scope scope)
{
    struct ibv_async_event event;
    enum status status = STATUS_OK;
    while (status == STATUS_OK && ibv_get_async_event(rail->context, &event) == 0) {
        const struct event_kind *kind = event_find(rail, &event);
        if (kind && kind->scope <= scope)
            status = fail(STATUS_ERROR, "NIC %s of host %s reported an event (%s): %s",
                          rail->port.name, rail->endpoint->address.host,
                          ibv_event_type_str(event.event_type), kind->what);
        ibv_ack_async_event(&event);
    }
    return status;
}

enum status verbs_rail_check(struct verbs_rail *rail)
{
    return events_take(rail, SCOPE_QUEUE);
}

/* Completions. */

/* Reads the events of the rail, and waits a little for one that makes requests fail. */
static bool event_explains(struct verbs_rail *rail)
{
    uint64_t end = clock_ns() + EVENT_NS;
    for (uint64_t now = 0; now < end; now = clock_ns()) {
        struct pollfd events = {.fd = rail->context->async_fd, .events = POLLIN};
        if (events_take(rail, SCOPE_ADDRESS) != STATUS_OK)
            return true;
        poll(&events, 1, (int)(EVENT_NS / 1000000));
    }
    return false;
}

enum status verbs_completion_failed(struct verbs_rail *rail, struct verbs_pair *pair,
                                    const struct ibv_wc *completion)
{
    if (completion->status == IBV_WC_WR_FLUSH_ERR || !pair || pair->broken) {
        if (pair && !pair->broken)
            pair->flushed = true; /* check() tells it if no cause comes */
        return STATUS_OK;
    }
    pair->broken = true;
    uint64_t failed = clock_ns();
    if (event_explains(rail))
        return log_current()->failure.status;
    /* The opcode of a failed completion is not valid; receives are told by their number. */
    bool receives = completion->wr_id >> 63;
    const struct verbs_peer *peer = pair->lane->peer;
    const char *own = rail->port.name, *other = peer->address.ports[pair->remote_rail].name;
    const struct wc_cause *cause = cause_find(completion->status);
    char text[MESSAGE_MOST], since[64] = "", vendor[40] = "";
    bool unreached = completion->status == IBV_WC_RETRY_EXC_ERR && pair->last_success == 0 &&
                     strcmp(own, other) != 0 && !rail->endpoint->matches;
    if (pair->last_success > 0)
        snprintf(since, sizeof since, " %.1f s after the last success",
                 (double)(failed - pair->last_success) / 1e9);
    if (completion->vendor_err)
        snprintf(vendor, sizeof vendor, ", vendor error 0x%x", completion->vendor_err);
    snprintf(text, sizeof text,
             "the %s rank %d on %s, from NIC %s to NIC %s, failed%s with status %d (%s%s): %s%s",
             receives ? "receive from" : "RDMA WRITE to", peer->rank, peer->address.host,
             receives ? other : own, receives ? own : other, since, completion->status,
             ibv_wc_status_str(completion->status), vendor, cause->likely,
             unreached ? "; if the rails of these NICs do not meet, give -x verbs:rails=match"
                       : "");
    return cause->reason == REASON_OWN ? fail(STATUS_ERROR, "%s", text)
                                       : fail_peer(cause->reason, peer->rank, "%s", text);
}
