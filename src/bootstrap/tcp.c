/*
 * tcp.c - this process is one rank, and meets the others at a host and a port.
 *
 * Who it is, and where rank 0 is, comes from the command line, or from the variables of the
 * launcher.
 */
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/signals.h"
#include "bootstrap/bootstrap_internal.h"
#include "net/socket.h"

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
        return false; /* an IPv6 address without brackets: where does it end? */
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
                                   const struct bootstrap *bootstrap, struct membership *membership)
{
    *membership = (struct membership){.rank = bootstrap->rank,
                                      .ranks = bootstrap->ranks,
                                      .interface = options->interface,
                                      .own_process = true,
                                      .by_hand = options->rank >= 0,
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
    } else { /* a launcher that says nothing of hosts was refused by bootstrap_choose() */
        enum status status = bootstrap->launcher->meet(membership, shared, sizeof shared);
        if (status != STATUS_OK)
            return status;
    }
    return secret_find(shared, membership);
}

enum status bootstrap_run_tcp(const struct bootstrap_options *options,
                              const struct bootstrap *bootstrap, rank_main *main, void *argument)
{
    /* What comes from here on is read by the rank, when it can tell the others. */
    sigset_t set;
    signals_ending(&set);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    struct membership membership;
    enum status status = membership_find(options, bootstrap, &membership);
    if (status == STATUS_OK)
        status = rank_main_run(options, &membership, main, argument);
    sodium_memzero(&membership, sizeof membership);
    return status;
}
