/*
 * find_root.c - the addresses that lead to rank 0, and where this rank listens itself.
 */
#include "controlplane/control/internal.h"

/* Finds the way to rank 0, and listens for ranks that rank 0 may have no place for. */
enum status control_prepare(struct control *control)
{
    const struct membership *membership = &control->membership;
    struct helper *helper = &control->helper;
    if (membership->rank == 0)
        return root_address_listen(membership, &helper->listeners);
    enum status status = root_address_find(membership, control->config.timeout, &helper->root);
    if (status == STATUS_OK && membership->ranks > control->config.fan_out + 1)
        status = addresses_listen(membership->interface, root_address_stays_here(&helper->root),
                                  &helper->listeners, &helper->home);
    return status;
}
