/*
 * find_root.c - the addresses that lead to rank 0, and where this rank listens itself.
 */
#include "control/find_root.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include "net/rendezvous.h"

/* Which addresses lead from here to rank 0. */
static enum status control_find_root(struct control *control)
{
    const struct membership *membership = &control->membership;
    const struct address_list *there = &membership->root_home;
    char *place = control->helper.root_place;
    size_t room = sizeof control->helper.root_place;
    if (there->count == 0) {
        snprintf(place, room, membership->spare_ports > 0 ? "%s ports %d to %d" : "%s port %d",
                 membership->root_host, membership->root_port,
                 membership->root_port + membership->spare_ports);
        return rendezvous_resolve(membership->interface, membership->root_host,
                                  membership->root_port, control->config.timeout,
                                  control->helper.routes, &control->helper.route_count);
    }
    struct address_list here;
    enum status status = addresses_find(NULL, &here);
    if (status != STATUS_OK)
        return status;
    control->helper.route_count = addresses_routes(&here, there, control->helper.routes);
    char first[ADDRESS_TEXT];
    address_text(control->helper.route_count > 0 ? &control->helper.routes[0] : &there->list[0],
                 first);
    snprintf(place, room, "%s (%s)", membership->root_host, first);
    if (control->helper.route_count > 0)
        return STATUS_OK;
    return fail(STATUS_ERROR,
                "none of rank 0's addresses on %s leads there from this host: give all ranks an "
                "--interface of a network that their hosts share",
                place);
}

/* Are all ranks on this host? Then they listen on loopback alone, where no other host can
 * connect. */
static bool control_stays_here(const struct control *control)
{
    const char *host = control->membership.root_host;
    unsigned char number[16];
    if (control->membership.root_home.count == 0 && strcmp(host, "localhost") != 0 &&
        inet_pton(AF_INET, host, number) != 1 && inet_pton(AF_INET6, host, number) != 1)
        return false; /* a name that may mean another address elsewhere */
    for (int i = 0; i < control->helper.route_count; i++)
        if (!address_is_loopback(&control->helper.routes[i]))
            return false;
    return true;
}

/* Finds the way to rank 0, and listens for ranks that rank 0 may have no place for. */
enum status control_prepare(struct control *control)
{
    const struct membership *membership = &control->membership;
    const char *interface = membership->interface, *host = membership->root_host;
    enum status status = STATUS_OK;
    if (membership->rank == 0) {
        if (control->helper.listeners.count > 0)
            return STATUS_OK;
        status = rendezvous_listen(interface, host, membership->root_port, membership->spare_ports,
                                   &control->helper.listeners);
        return status != STATUS_OK ? status
                                   : rendezvous_warn(interface, host, membership->root_port,
                                                     control->helper.listeners.fd[0]);
    }
    status = control_find_root(control);
    if (status == STATUS_OK && membership->ranks > control->config.fan_out + 1)
        status = addresses_listen(membership->interface, control_stays_here(control),
                                  &control->helper.listeners, &control->helper.home);
    return status;
}
