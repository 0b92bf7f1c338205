/*
 * find_root.c - the addresses that lead to rank 0, and where this rank listens itself.
 */
#include "control/find_root.h"

#include "net/rendezvous.h"

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
    status = root_address_find(membership, control->config.timeout, &control->helper.root);
    if (status == STATUS_OK && membership->ranks > control->config.fan_out + 1)
        status =
            addresses_listen(membership->interface, root_address_stays_here(&control->helper.root),
                             &control->helper.listeners, &control->helper.home);
    return status;
}
