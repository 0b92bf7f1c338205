/*
 * tcp.c - this process is one rank, which meets the others at a host and a port.
 *
 * Its rank and the address of rank 0 come from the command line or from the launcher's variables.
 */
#include "controlplane/bootstrap/internal.h"

#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/signals.h"
#include "base/net/net.h"

bool rendezvous_parse(const char *text, char *host, size_t size, int *port)
{
    const char *colon = strrchr(text, ':');
    if (!colon)
        return false;
    size_t length = (size_t)(colon - text);
    if (text[0] == '[') {
        if (length < 3 || colon[-1] != ']')
            return false;
        text++;
        length -= 2;
    } else if (memchr(text, ':', length)) {
        return false; /* an IPv6 address without brackets is ambiguous */
    }
    long value = number_parse(colon + 1);
    if (length == 0 || length >= size || value < 1 || value > 65535)
        return false;
    memcpy(host, text, length);
    host[length] = '\0';
    *port = (int)value;
    return true;
}

static enum status membership_find(const struct bootstrap_options *options,
                                   const struct launch *launch, struct membership *membership)
{
    *membership =
        (struct membership){.rank = launch->rank,
                            .ranks = launch->ranks,
                            .interface = options->interface,
                            .own_process = true,
                            .by_hand = options->rank >= 0,
                            .names_late = launch->launcher && launch->launcher->names_late,
                            .bootstrap = "tcp"};
    char shared[256];
    if (options->rendezvous) {
        if (!rendezvous_parse(options->rendezvous, membership->root_host,
                              sizeof membership->root_host, &membership->root_port))
            return fail(STATUS_USAGE,
                        "--rendezvous '%s' is not HOST:PORT (an IPv6 address is written "
                        "[ADDRESS]:PORT)",
                        options->rendezvous);
        enum status status = rendezvous_check_interface(options->interface, membership->root_host);
        if (status != STATUS_OK)
            return status;
        snprintf(shared, sizeof shared, "port %d", membership->root_port);
    } else { /* bootstrap_choose() has refused launchers without meet() */
        enum status status = launch->launcher->meet(membership, shared, sizeof shared);
        if (status != STATUS_OK)
            return status;
    }
    return secret_find(shared, membership);
}

enum status bootstrap_run_tcp(const struct bootstrap_options *options, const struct launch *launch,
                              rank_main *main, void *argument)
{
    /* The rank reads signals that come from here on, when it can tell the others. */
    signals_hold();
    struct membership membership;
    enum status status = membership_find(options, launch, &membership);
    if (status == STATUS_OK)
        status = rank_main_run(options, &membership, main, argument);
    sodium_memzero(&membership, sizeof membership);
    return status;
}
