/*
 * listener.c - where a rail listens for the requests of librdmacm, and its addresses there.
 *
 * Two RoCE ports meet in a subnet that both have, which is known only when they connect. So a rail
 * listens at each address that it names to its peers, and nowhere else. The kernel chooses a port
 * number that is free at the first address. Another program may use it at a further one: then the
 * rail begins again, with another port number.
 */
#include "transports/verbs/internal.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <rdma/rdma_cma.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "host/host.h"

#define BACKLOG    4096
#define TRIES_MOST 8 /* of port numbers */

struct sockaddr_storage verbs_cm_address(const struct verbs_port *port, int number,
                                         uint16_t port_number, uint32_t scope)
{
    union ibv_gid gid = verbs_port_gid(port, number);
    struct sockaddr_storage address = {0};
    if (gid_is_ipv4(gid.raw)) {
        struct sockaddr_in *in = (void *)&address;
        in->sin_family = AF_INET;
        in->sin_port = htons(port_number);
        memcpy(&in->sin_addr, gid.raw + 12, sizeof in->sin_addr);
    } else {
        struct sockaddr_in6 *in6 = (void *)&address;
        in6->sin6_family = AF_INET6;
        in6->sin6_port = htons(port_number);
        in6->sin6_scope_id = scope;
        memcpy(&in6->sin6_addr, gid.raw, sizeof in6->sin6_addr);
    }
    return address;
}

/* Is the first GID an IP address by which librdmacm finds the rail? An IPv6 address must be one of
 * this host: a GID of InfiniBand looks alike. */
static bool rail_has_address(struct verbs_rail *rail)
{
    const unsigned char *gid = rail->port.gid.raw;
    struct ifaddrs *list;
    bool found = gid_is_ipv4(gid);
    if (found || getifaddrs(&list) != 0)
        return found;
    for (const struct ifaddrs *one = list; one && !found; one = one->ifa_next) {
        const struct sockaddr_in6 *address = (const void *)one->ifa_addr;
        if (!address || address->sin6_family != AF_INET6)
            continue;
        found = memcmp(&address->sin6_addr, gid, sizeof address->sin6_addr) == 0;
        rail->scope = found ? address->sin6_scope_id : 0;
    }
    freeifaddrs(list);
    return found;
}

/* At GID `number` of the rail. `port_number` 0: the kernel chooses. NULL: it cannot, see errno. */
static struct rdma_cm_id *listener_open(struct verbs_rail *rail, int number, uint16_t port_number)
{
    struct sockaddr_storage address =
        verbs_cm_address(&rail->port, number, port_number, rail->scope);
    struct rdma_cm_id *id;
    if (rdma_create_id(rail->endpoint->cm, &id, rail, RDMA_PS_TCP) != 0)
        return NULL;
    if (rdma_bind_addr(id, (struct sockaddr *)&address) == 0 && rdma_listen(id, BACKLOG) == 0)
        return id;
    int error = errno;
    rdma_destroy_id(id);
    errno = error;
    return NULL;
}

static void other_forget(struct verbs_rail *rail, int index)
{
    struct verbs_port *port = &rail->port;
    port->other_count--;
    for (int i = index; i < port->other_count; i++) {
        port->others[i] = port->others[i + 1];
        rail->other_indices[i] = rail->other_indices[i + 1];
    }
}

/* At the further addresses. False: another program uses the port number at one of them. The last
 * try forgets such an address. */
static bool others_listen(struct verbs_rail *rail, bool last)
{
    struct verbs_port *port = &rail->port;
    int i = 0;
    while (i < port->other_count) {
        char text[INET_ADDRSTRLEN];
        rail->listeners[i + 1] = listener_open(rail, i + 1, port->cm_port);
        if (rail->listeners[i + 1]) {
            i++;
            continue;
        }
        bool in_use = errno == EADDRINUSE;
        if (in_use && !last)
            return false;
        say_verbose(in_use ? 0 : 1, "verbs: NIC %s does not listen at %s: %s", port->name,
                    inet_ntop(AF_INET, port->others[i].address, text, sizeof text),
                    strerror(errno));
        other_forget(rail, i);
    }
    return true;
}

/* At all addresses. False: not at the first, see errno. */
static bool addresses_listen(struct verbs_rail *rail)
{
    for (int tries = 1;; tries++) {
        rail->listeners[0] = listener_open(rail, 0, 0);
        if (!rail->listeners[0])
            return false;
        rail->port.cm_port = ntohs(rdma_get_src_port(rail->listeners[0]));
        if (others_listen(rail, tries == TRIES_MOST))
            return true;
        verbs_listen_end(rail);
    }
}

enum status verbs_listen(struct verbs_rail *rail, char *reason)
{
    bool has_address = rail_has_address(rail);
    if (!has_address && rail->endpoint->settings[VERBS_GID].given) {
        snprintf(reason, TRANSPORT_REASON_MOST,
                 "GID %d of NIC %s (gid=) is no IP address of this host, by which librdmacm finds "
                 "it (connect=rdmacm): choose another, or leave gid= out",
                 rail->gid_index, rail->port.name);
        return STATUS_UNAVAILABLE;
    }
    if (!has_address && rail->port.link_layer == IBV_LINK_LAYER_INFINIBAND) {
        snprintf(
            reason, TRANSPORT_REASON_MOST,
            "NIC %s is InfiniBand, where cctest knows no IP address by which librdmacm finds it "
            "(connect=rdmacm): leave connect= out",
            rail->port.name);
        return STATUS_UNAVAILABLE;
    }
    if (!has_address) {
        snprintf(reason, TRANSPORT_REASON_MOST,
                 "NIC %s has no IPv4 address, by which librdmacm finds it (connect=rdmacm): give "
                 "its network interface one, or leave connect= out%s",
                 rail->port.name, rail->port.iwarp ? " and use RoCE or InfiniBand" : "");
        return STATUS_UNAVAILABLE;
    }
    if (!addresses_listen(rail)) {
        snprintf(reason, TRANSPORT_REASON_MOST,
                 "NIC %s cannot listen for connections (connect=rdmacm): %s; " VERBS_CM_ADVICE,
                 rail->port.name, strerror(errno));
        return STATUS_UNAVAILABLE;
    }
    return STATUS_OK;
}

void verbs_listen_end(struct verbs_rail *rail)
{
    for (int i = 0; i <= VERBS_OTHERS_MOST; i++) {
        if (!rail->listeners[i])
            continue;
        rdma_destroy_id(rail->listeners[i]);
        tick_on(rail->endpoint->base.config.tick);
        rail->listeners[i] = NULL;
    }
}
