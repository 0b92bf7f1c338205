/*
 * cm.c - librdmacm: addresses, requests for connections, and what queue pairs need for them.
 *
 * The identifiers hold no queue pairs: programs create their own, and bring them up with
 * rdma_init_qp_attr(). So the requesting end of InfiniBand and RoCE gets CONNECT_RESPONSE and
 * calls rdma_establish(). With iWARP the connection itself brings both queue pairs up.
 */
#include "cm.h"

#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

#include "device.h"
#include "fabric.h"
#include "pair.h"

#define FIRST_PORT 20000

static int cm_result(int error)
{
    errno = error;
    return error ? -1 : 0;
}

/* The IPv4 address that a port has in any case, the last of its table. */
static union ibv_gid cm_address(const struct strict_device *device, int port)
{
    const struct provider_config *config = &fabric.config;
    long place = (device->host * config->devices + device->number) * config->ports + port;
    uint32_t address =
        htonl(10u << 24 | (uint32_t)device->ports[port - 1].subnet << 16 | (uint32_t)place);
    union ibv_gid gid = {.raw = {[10] = 255, [11] = 255}};
    memcpy(gid.raw + 12, &address, 4);
    return gid;
}

static bool gids_equal(const union ibv_gid *one, const union ibv_gid *other)
{
    return memcmp(one->raw, other->raw, sizeof(one->raw)) == 0;
}

static bool gid_is_mapped(const union ibv_gid *gid)
{
    static const union ibv_gid mapped = {.raw = {[10] = 255, [11] = 255}};
    return memcmp(gid->raw, mapped.raw, 12) == 0;
}

/* Subnets have 16 bits, those of IPv6 64. */
static bool subnets_meet(const union ibv_gid *one, const union ibv_gid *other)
{
    return memcmp(one->raw, other->raw, gid_is_mapped(one) ? 14 : 8) == 0;
}

static union ibv_gid gid_of_socket(const struct sockaddr_storage *address)
{
    union ibv_gid gid = {.raw = {[10] = 255, [11] = 255}};
    if (address->ss_family == AF_INET6)
        memcpy(gid.raw, &((const struct sockaddr_in6 *)(const void *)address)->sin6_addr, 16);
    else
        memcpy(gid.raw + 12, &((const struct sockaddr_in *)(const void *)address)->sin_addr, 4);
    return gid;
}

static struct sockaddr_storage socket_of_gid(const union ibv_gid *gid, uint16_t port)
{
    struct sockaddr_storage address = {.ss_family = gid_is_mapped(gid) ? AF_INET : AF_INET6};
    struct sockaddr_in *in = (struct sockaddr_in *)(void *)&address;
    in->sin_port = htons(port);
    if (address.ss_family == AF_INET)
        memcpy(&in->sin_addr, gid->raw + 12, 4);
    else
        memcpy(&((struct sockaddr_in6 *)(void *)&address)->sin6_addr, gid->raw, 16);
    return address;
}

/* In front of the address both families have the port. */
static uint16_t socket_port(const struct sockaddr_storage *address)
{
    return ntohs(((const struct sockaddr_in *)(const void *)address)->sin_port);
}

/* A copy of what the program gives. */
static struct sockaddr_storage socket_take(const struct sockaddr *given)
{
    struct sockaddr_storage address = {0};
    memcpy(&address, given,
           given->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in));
    return address;
}

/* The port of an address, and its place in the table; NULL: there is none. */
static struct strict_device *cm_find(const struct sockaddr_storage *address, int *port, int *index)
{
    const union ibv_gid wanted = gid_of_socket(address);
    for (long i = 0; i < fabric.config.hosts * fabric.config.devices; i++)
        for (*port = 1; *port <= fabric.config.ports; ++*port) {
            struct strict_device *device = &fabric.devices[i];
            const struct provider_port *at = &device->ports[*port - 1];
            const union ibv_gid usual = cm_address(device, *port);
            for (*index = 0; *index < at->attr.gid_tbl_len; ++*index)
                if (at->gids[*index].gid_type == IBV_GID_TYPE_ROCE_V2 &&
                    gids_equal(&at->gids[*index].gid, &wanted))
                    return device;
            *index = at->attr.gid_tbl_len - 1;
            if (gids_equal(&usual, &wanted))
                return device;
        }
    return NULL;
}

/* NULL: the usual address of the port. */
static void cm_bind(struct strict_id *id, struct strict_device *device, int number, int index,
                    const struct sockaddr_storage *address)
{
    const union ibv_gid gid = address ? gid_of_socket(address) : cm_address(device, number);
    id->device = device;
    id->gid = index;
    id->base.port_num = (uint8_t)number;
    id->base.verbs = device_context(device);
    id->base.route.addr.src_storage = socket_of_gid(&gid, id->port);
}

/* Is the address of the identifier that of another? */
static bool cm_is_taken(const struct strict_id *id)
{
    for (const struct strict_id *other = fabric.ids; other; other = other->next)
        if (other != id && (other->state == CM_BOUND || other->state == CM_LISTENING) &&
            other->port == id->port &&
            (!id->device || !other->device ||
             (id->device == other->device && id->base.port_num == other->base.port_num &&
              id->gid == other->gid)))
            return true;
    return false;
}

/* A port number that is free at the address of the identifier. As with the kernel, another address
 * may use it. */
static void cm_port_choose(struct strict_id *id)
{
    static uint16_t of_any;
    uint16_t *count = id->device ? &id->device->cm_ports[id->base.port_num - 1][id->gid] : &of_any;
    do
        id->port = (uint16_t)(FIRST_PORT + (*count)++ % 40000);
    while (cm_is_taken(id));
    struct sockaddr_in *in = (struct sockaddr_in *)(void *)&id->base.route.addr.src_storage;
    in->sin_port = htons(id->port); /* of both families */
}

int rdma_bind_addr(struct rdma_cm_id *base, struct sockaddr *given)
{
    static const union ibv_gid any = {.raw = {0}}, any_ipv4 = {.raw = {[10] = 255, [11] = 255}};
    struct strict_id *id = (struct strict_id *)base;
    int error = 0, number, index;
    fabric_enter();
    if (id->state != CM_IDLE || (given->sa_family != AF_INET && given->sa_family != AF_INET6)) {
        error = EINVAL;
    } else {
        const struct sockaddr_storage address = socket_take(given);
        const union ibv_gid gid = gid_of_socket(&address);
        id->port = socket_port(&address);
        if (!gids_equal(&gid, &any) && !gids_equal(&gid, &any_ipv4)) {
            struct strict_device *device = cm_find(&address, &number, &index);
            if (device)
                cm_bind(id, device, number, index, &address);
            else
                error = EADDRNOTAVAIL;
        }
        if (!error && id->port == 0)
            cm_port_choose(id);
        else if (!error && cm_is_taken(id))
            error = EADDRINUSE;
        id->state = error ? CM_IDLE : CM_BOUND;
    }
    fabric_leave();
    return cm_result(error);
}

int rdma_listen(struct rdma_cm_id *base, int backlog)
{
    (void)backlog;
    fabric_enter();
    struct strict_id *id = (struct strict_id *)base;
    int error = id->state == CM_BOUND ? 0 : EINVAL;
    if (!error)
        id->state = CM_LISTENING;
    fabric_leave();
    return cm_result(error);
}

__be16 rdma_get_src_port(struct rdma_cm_id *base)
{
    return htons(((struct strict_id *)base)->port);
}

/* The first port of this host that reaches the other. */
static struct strict_device *cm_route(const struct strict_device *to, int port, int *number)
{
    for (long i = 0; i < fabric.config.devices; i++) {
        struct strict_device *device = &fabric.devices[device_host() * fabric.config.devices + i];
        for (*number = 1; *number <= fabric.config.ports; ++*number)
            if (device->ports[*number - 1].subnet == to->ports[port - 1].subnet)
                return device;
    }
    return NULL;
}

int rdma_resolve_addr(struct rdma_cm_id *base, struct sockaddr *from, struct sockaddr *to,
                      int milliseconds)
{
    (void)milliseconds;
    fabric_enter();
    struct strict_id *id = (struct strict_id *)base;
    const struct sockaddr_storage target = socket_take(to);
    struct sockaddr_storage source;
    int port, number = id->base.port_num, error = fails_now(COUNT_RESOLVE), far, near = id->gid;
    if (id->state > CM_BOUND) {
        fabric_leave();
        return cm_result(EINVAL);
    }
    struct strict_device *there = cm_find(&target, &port, &far);
    struct strict_device *here = id->device;
    if (from) {
        source = socket_take(from);
        here = cm_find(&source, &number, &near);
    } else if (!here && there) {
        here = cm_route(there, port, &number);
        near = here ? here->ports[number - 1].attr.gid_tbl_len - 1 : 0;
    }
    if (!there || !here)
        error = ENODEV;
    else if (here->ports[number - 1].subnet != there->ports[port - 1].subnet ||
             !subnets_meet(&here->ports[number - 1].gids[near].gid,
                           &there->ports[port - 1].gids[far].gid))
        error = ENETUNREACH;
    if (error) {
        cm_event_send(id, RDMA_CM_EVENT_ADDR_ERROR, -error, NULL, 0);
    } else {
        cm_bind(id, here, number, near, from ? &source : NULL);
        id->base.route.addr.dst_storage = target;
        id->state = CM_ADDRESS_RESOLVED;
        cm_event_send(id, RDMA_CM_EVENT_ADDR_RESOLVED, 0, NULL, 0);
    }
    fabric_leave();
    return 0;
}

int rdma_resolve_route(struct rdma_cm_id *base, int milliseconds)
{
    (void)milliseconds;
    fabric_enter();
    struct strict_id *id = (struct strict_id *)base;
    int error = id->state == CM_ADDRESS_RESOLVED ? 0 : EINVAL;
    if (!error) {
        id->state = CM_ROUTE_RESOLVED;
        cm_event_send(id, RDMA_CM_EVENT_ROUTE_RESOLVED, 0, NULL, 0);
    }
    fabric_leave();
    return cm_result(error);
}

static struct strict_id *listener_find(const struct sockaddr_storage *address)
{
    int number, index;
    struct strict_device *device = cm_find(address, &number, &index);
    for (struct strict_id *id = fabric.ids; id; id = id->next)
        if (id->state == CM_LISTENING && id->port == socket_port(address) &&
            (!id->device ||
             (id->device == device && id->base.port_num == number && id->gid == index)))
            return id;
    return NULL;
}

/* The attributes of `other` that `own` must know in RTR and RTS. */
static void cm_learn(struct strict_id *own, const struct strict_id *other,
                     const struct rdma_conn_param *parameters)
{
    const struct provider_port *here = &own->device->ports[own->base.port_num - 1];
    const struct provider_port *there = &other->device->ports[other->base.port_num - 1];
    own->remote = (struct ibv_qp_attr){
        .path_mtu = here->attr.active_mtu < there->attr.active_mtu ? here->attr.active_mtu
                                                                   : there->attr.active_mtu,
        .dest_qp_num = other->number,
        .rq_psn = other->own_packet,
        .sq_psn = own->own_packet,
        .port_num = own->base.port_num,
        .timeout = 19,
        .retry_cnt = parameters->retry_count,
        .rnr_retry = parameters->rnr_retry_count,
        .max_dest_rd_atomic = parameters->responder_resources,
        .max_rd_atomic = parameters->initiator_depth,
        .qp_access_flags = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE,
        .ah_attr = {.dlid = there->attr.lid,
                    .is_global = 1,
                    .port_num = own->base.port_num,
                    .grh = {.dgid = there->gids[other->gid].gid,
                            .sgid_index = (uint8_t)own->gid,
                            .hop_limit = 64}}};
}

int rdma_connect(struct rdma_cm_id *base, struct rdma_conn_param *parameters)
{
    fabric_enter();
    struct strict_id *id = (struct strict_id *)base;
    int error = fails_now(COUNT_CONNECT);
    if (id->state != CM_ROUTE_RESOLVED || parameters->private_data_len > 56 ||
        !pair_find(parameters->qp_num)) {
        violation("rdma_connect() in state %d, with %u private bytes, for queue pair %u",
                  (int)id->state, parameters->private_data_len, parameters->qp_num);
        fabric_leave();
        return cm_result(EINVAL);
    }
    struct strict_id *listener = listener_find(&id->base.route.addr.dst_storage);
    id->number = parameters->qp_num;
    if (!listener || error) {
        cm_event_send(id, error ? RDMA_CM_EVENT_UNREACHABLE : RDMA_CM_EVENT_REJECTED,
                      error ? -error : 8, NULL, 0); /* 8: no such service */
        fabric_leave();
        return 0;
    }
    struct strict_id *asked =
        cm_id_make(listener->base.channel, listener->base.context, RDMA_PS_TCP);
    int number, index;
    const struct sockaddr_storage *address = &id->base.route.addr.dst_storage;
    struct strict_device *device = cm_find(address, &number, &index);
    asked->port = listener->port;
    cm_bind(asked, device, number, index, address);
    asked->base.route.addr.dst_storage = id->base.route.addr.src_storage;
    asked->peer = id;
    id->peer = asked;
    id->state = CM_REQUESTED;
    asked->state = CM_ASKED;
    cm_learn(asked, id, parameters);
    cm_learn(id, asked, parameters); /* the number follows */
    struct strict_cm_event *event =
        cm_event_send(asked, RDMA_CM_EVENT_CONNECT_REQUEST, 0, parameters->private_data,
                      parameters->private_data_len);
    event->event.listen_id = &listener->base;
    event->event.param.conn.qp_num = id->number;
    event->event.param.conn.responder_resources = parameters->initiator_depth;
    event->event.param.conn.initiator_depth = parameters->responder_resources;
    event->event.param.conn.retry_count = parameters->retry_count;
    event->event.param.conn.rnr_retry_count = parameters->rnr_retry_count;
    fabric_leave();
    return 0;
}

int rdma_accept(struct rdma_cm_id *base, struct rdma_conn_param *parameters)
{
    fabric_enter();
    struct strict_id *id = (struct strict_id *)base;
    if (id->state != CM_ASKED || !pair_find(parameters->qp_num)) {
        violation("rdma_accept() in state %d, for queue pair %u", (int)id->state,
                  parameters->qp_num);
        fabric_leave();
        return cm_result(EINVAL);
    }
    struct strict_id *peer = id->peer;
    id->number = parameters->qp_num;
    id->remote.rnr_retry = parameters->rnr_retry_count;
    if (!peer) {
        fabric_leave();
        return cm_result(ECONNRESET);
    }
    peer->remote.dest_qp_num = id->number;
    bool iwarp = fabric.config.iwarp;
    if (iwarp) {
        pair_establish(id->number, &id->remote, true);
        pair_establish(peer->number, &peer->remote, false);
    }
    id->state = iwarp ? CM_CONNECTED : CM_ACCEPTED;
    peer->state = iwarp ? CM_CONNECTED : CM_REPLIED;
    struct strict_cm_event *event =
        cm_event_send(peer, iwarp ? RDMA_CM_EVENT_ESTABLISHED : RDMA_CM_EVENT_CONNECT_RESPONSE, 0,
                      parameters->private_data, parameters->private_data_len);
    event->event.param.conn.qp_num = id->number;
    if (iwarp)
        cm_event_send(id, RDMA_CM_EVENT_ESTABLISHED, 0, NULL, 0);
    fabric_leave();
    return 0;
}

int rdma_reject(struct rdma_cm_id *base, const void *data, uint8_t size)
{
    fabric_enter();
    struct strict_id *id = (struct strict_id *)base;
    int error = id->state == CM_ASKED ? 0 : EINVAL;
    if (!error && id->peer) {
        id->peer->state = CM_CLOSED;
        cm_event_send(id->peer, RDMA_CM_EVENT_REJECTED, 28, data, size); /* 28: by the user */
        id->peer->peer = NULL;
        id->peer = NULL;
    }
    id->state = error ? id->state : CM_CLOSED;
    fabric_leave();
    return cm_result(error);
}

/* The requesting end is ready: the other may begin, too. */
int rdma_establish(struct rdma_cm_id *base)
{
    fabric_enter();
    struct strict_id *id = (struct strict_id *)base;
    int error = id->state == CM_REPLIED ? 0 : EINVAL;
    if (error)
        violation("rdma_establish() in state %d", (int)id->state);
    else
        id->state = CM_CONNECTED;
    if (!error && id->peer) {
        id->peer->state = CM_CONNECTED;
        cm_event_send(id->peer, RDMA_CM_EVENT_ESTABLISHED, 0, NULL, 0);
    }
    fabric_leave();
    return cm_result(error);
}

int rdma_disconnect(struct rdma_cm_id *base)
{
    fabric_enter();
    struct strict_id *id = (struct strict_id *)base;
    int error = id->state == CM_CONNECTED || id->state == CM_ACCEPTED ? 0 : EINVAL;
    if (!error) {
        struct strict_id *peer = id->peer;
        id->state = CM_CLOSED;
        cm_event_send(id, RDMA_CM_EVENT_DISCONNECTED, 0, NULL, 0);
        cm_event_send(id, RDMA_CM_EVENT_TIMEWAIT_EXIT, 0, NULL, 0);
        if (peer && peer->state != CM_CLOSED) {
            peer->state = CM_CLOSED;
            cm_event_send(peer, RDMA_CM_EVENT_DISCONNECTED, 0, NULL, 0);
        }
    }
    fabric_leave();
    return cm_result(error);
}

int rdma_init_qp_attr(struct rdma_cm_id *base, struct ibv_qp_attr *attr, int *mask)
{
    fabric_enter();
    struct strict_id *id = (struct strict_id *)base;
    enum ibv_qp_state state = attr->qp_state;
    bool iwarp = fabric.config.iwarp;
    int error = 0;
    *attr = id->remote;
    attr->qp_state = state;
    attr->port_num = base->port_num;
    attr->qp_access_flags = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;
    if (!id->device || (state != IBV_QPS_INIT && !id->remote.dest_qp_num))
        error = EINVAL;
    else if (state == IBV_QPS_INIT)
        *mask = IBV_QP_STATE | IBV_QP_ACCESS_FLAGS | (iwarp ? 0 : IBV_QP_PKEY_INDEX | IBV_QP_PORT);
    else if (iwarp)
        *mask = 0;
    else if (state == IBV_QPS_RTR)
        *mask = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
    else if (state == IBV_QPS_RTS)
        *mask = IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC;
    else
        error = EINVAL;
    fabric_leave();
    return cm_result(error);
}
