/*
 * root_address.c - where rank 0 listens, and the addresses that lead from a rank to it.
 */
#include "controlplane/control/internal.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

enum status root_address_find(const struct membership *membership, double seconds,
                              struct root_address *root)
{
    const struct address_list *there = &membership->root_home;
    char *place = root->place;
    *root = (struct root_address){.membership = membership};
    if (there->count == 0) {
        snprintf(place, sizeof root->place,
                 membership->spare_ports > 0 ? "%s ports %d to %d" : "%s port %d",
                 membership->root_host, membership->root_port,
                 membership->root_port + membership->spare_ports);
        return rendezvous_resolve(membership->interface, membership->root_host,
                                  membership->root_port, seconds, membership->names_late,
                                  root->routes, &root->count);
    }
    struct address_list here;
    TRY(addresses_find(NULL, &here));
    root->count = addresses_routes(&here, there, root->routes);
    char first[ADDRESS_TEXT];
    address_text(root->count > 0 ? &root->routes[0] : &there->list[0], first);
    snprintf(place, sizeof root->place, "%s (%s)", membership->root_host, first);
    if (root->count > 0)
        return STATUS_OK;
    return fail(STATUS_ERROR,
                "none of rank 0's addresses on %s leads there from this host: give all ranks an "
                "--interface of a network that their hosts share",
                place);
}

enum status root_address_listen(const struct membership *membership, struct listeners *listeners)
{
    const char *interface = membership->interface, *host = membership->root_host;
    *listeners = membership->listeners;
    if (listeners->count > 0)
        return STATUS_OK;
    TRY(rendezvous_listen(interface, host, membership->root_port, membership->spare_ports,
                          listeners));
    return !membership->names_late
               ? rendezvous_warn(interface, host, membership->root_port, listeners->fd[0])
               : STATUS_OK;
}

bool root_address_next_port(struct root_address *root)
{
    const struct membership *membership = root->membership;
    root->spare_port = root->spare_port < membership->spare_ports ? root->spare_port + 1 : 0;
    if (membership->spare_ports > 0)
        for (int i = 0; i < root->count; i++)
            root->routes[i].port = htons((in_port_t)(membership->root_port + root->spare_port));
    return root->spare_port > 0;
}

/* Are all ranks on this host? Then they listen on loopback alone, where no other host can
 * connect. */
static bool root_address_stays_here(const struct root_address *root)
{
    const char *host = root->membership->root_host;
    unsigned char number[16];
    if (root->membership->root_home.count == 0 && strcmp(host, "localhost") != 0 &&
        inet_pton(AF_INET, host, number) != 1 && inet_pton(AF_INET6, host, number) != 1)
        return false; /* a name that may mean another address elsewhere */
    for (int i = 0; i < root->count; i++)
        if (!address_is_loopback(&root->routes[i]))
            return false;
    return true;
}

/*
 * The addresses that lead to rank 0, and where this rank listens itself.
 */
/* Finds the way to rank 0, and listens for ranks that rank 0 may have no place for. */
enum status control_prepare(struct control *control)
{
    const struct membership *membership = &control->membership;
    struct helper *helper = &control->helper;
    if (membership->rank == 0)
        return root_address_listen(membership, &helper->listeners);
    TRY(root_address_find(membership, control->config.timeout, &helper->root));
    return membership->ranks > control->config.fan_out + 1
               ? addresses_listen(membership->interface, root_address_stays_here(&helper->root),
                                  &helper->listeners, &helper->home)
               : STATUS_OK;
}
