/*
 * managed.c - this process is one rank of a process manager's job; the manager carries rank 0's
 * address to the other ranks.
 *
 * Rank 0 listens, draws a random nonce and broadcasts both over the manager's own connections. The
 * nonce is the job's secret, or makes the user's secret unique to this job. The other ranks
 * disconnect from the manager as soon as they have the broadcast, and rank 0 when all have joined:
 * from then on the manager accepts any exit status at any time. A rank that never joins is detected
 * as under any bootstrap.
 */
#include "controlplane/bootstrap/internal.h"

#include "base/bytes.h"
#include "base/host.h"
#include "base/log.h"
#include "base/net/net.h"
#include "base/signals.h"

#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

_Static_assert(MANAGER_TEXT_MOST > (4 + HOST_NAME_BYTES + SECRET_BYTES + ADDRESSES_BLOB_MOST) * 2,
               "rank 0's text fits");

void meeting_encode(const struct membership *root, const unsigned char nonce[SECRET_BYTES],
                    char text[MANAGER_TEXT_MOST])
{
    struct bytes bytes = {0};
    unsigned char home[ADDRESSES_BLOB_MOST];
    bytes_put_text(&bytes, root->root_host);
    bytes_put(&bytes, nonce, SECRET_BYTES);
    bytes_put(&bytes, home, addresses_encode(&root->root_home, home));
    sodium_bin2hex(text, MANAGER_TEXT_MOST, bytes.data, bytes.size);
    sodium_memzero(bytes.data, bytes.size);
    bytes_free(&bytes);
}

bool meeting_decode(const char *text, struct membership *membership,
                    unsigned char nonce[SECRET_BYTES])
{
    unsigned char bytes[MANAGER_TEXT_MOST / 2];
    size_t size = 0;
    const char *end = NULL;
    if (sodium_hex2bin(bytes, sizeof bytes, text, strlen(text), NULL, &size, &end) || *end)
        return false;
    struct reader reader = {.at = bytes, .left = size};
    read_text(&reader, membership->root_host, sizeof membership->root_host);
    const unsigned char *sent = read_bytes(&reader, SECRET_BYTES);
    if (sent)
        memcpy(nonce, sent, SECRET_BYTES);
    bool whole = !reader.bad && addresses_decode(reader.at, reader.left, &membership->root_home);
    sodium_memzero(bytes, sizeof bytes);
    return whole && membership->root_home.count > 0;
}

/* Rank 0 listens, and draws the nonce. */
static enum status root_prepare(const struct bootstrap_options *options,
                                struct membership *membership, unsigned char nonce[SECRET_BYTES],
                                char text[MANAGER_TEXT_MOST])
{
    host_name(membership->root_host, HOST_NAME_BYTES);
    TRY(addresses_listen(options->interface, false, &membership->listeners,
                         &membership->root_home));
    randombytes_buf(nonce, SECRET_BYTES);
    meeting_encode(membership, nonce, text);
    return STATUS_OK;
}

/* If rank 0 fails here, it broadcasts an empty text: the others wait for it. */
static enum status manager_membership(const struct bootstrap_options *options,
                                      struct process_manager *manager,
                                      struct membership *membership)
{
    *membership = (struct membership){.rank = manager->rank,
                                      .ranks = manager->ranks,
                                      .interface = options->interface,
                                      .own_process = true,
                                      .supervisor = getppid(),
                                      .bootstrap = manager->name,
                                      .node_rank = manager->local_rank,
                                      .node_ranks = manager->local_ranks};
    char text[MANAGER_TEXT_MOST] = "";
    unsigned char nonce[SECRET_BYTES] = {0};
    enum status status = secret_find("", membership);
    if (manager->rank == 0 && status == STATUS_OK)
        status = root_prepare(options, membership, nonce, text);
    if (status != STATUS_OK)
        text[0] = '\0';
    enum status met = manager->broadcast(manager, options->timeout, text);
    status = status != STATUS_OK ? status : met;
    if (status == STATUS_OK && manager->rank > 0 && !meeting_decode(text, membership, nonce)) {
        status = interface_check(options->interface); /* the likeliest failure of rank 0 */
        if (status == STATUS_OK)
            status =
                fail(STATUS_ERROR, "rank 0 failed before the ranks met: its own message says why");
    }
    secret_mix(nonce, membership);
    membership->has_secret = true;
    sodium_memzero(nonce, sizeof nonce);
    sodium_memzero(text, sizeof text);
    return status;
}

static void manager_close(void *argument)
{
    struct process_manager **manager = argument;
    if (*manager)
        (*manager)->close(*manager);
    *manager = NULL;
}

enum status bootstrap_run_managed(const struct bootstrap_options *options,
                                  struct process_manager *manager, rank_main *main, void *argument)
{
    /* The rank reads signals that come from here on, also between two calls of the manager. */
    signals_hold();
    struct membership membership;
    enum status status = manager_membership(options, manager, &membership);
    if (manager->rank > 0 || status != STATUS_OK)
        manager_close(&manager);
    membership.joined = manager_close;
    membership.joined_argument = &manager;
    if (status == STATUS_OK)
        status = rank_main_run(options, &membership, main, argument);
    else
        listeners_close(&membership.listeners);
    manager_close(&manager);
    sodium_memzero(&membership, sizeof membership);
    return status;
}

/*
 * This process is one rank, which meets the others at a host and a port.
 *
 * Its rank and the address of rank 0 come from the command line or from the launcher's variables.
 */
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

static enum status meeting_find(const struct bootstrap_options *options,
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
            return fail_option(STATUS_USAGE, "rendezvous",
                               "--rendezvous '%s' is not HOST:PORT (an IPv6 address is written "
                               "[ADDRESS]:PORT)",
                               options->rendezvous);
        TRY(rendezvous_check_interface(options->interface, membership->root_host));
        snprintf(shared, sizeof shared, "port %d", membership->root_port);
    } else { /* bootstrap_choose() has refused launchers without meet() */
        TRY(launch->launcher->meet(membership, shared, sizeof shared));
    }
    return secret_find(shared, membership);
}

enum status bootstrap_run_tcp(const struct bootstrap_options *options, const struct launch *launch,
                              rank_main *main, void *argument)
{
    /* The rank reads signals that come from here on, when it can tell the others. */
    signals_hold();
    struct membership membership;
    enum status status = meeting_find(options, launch, &membership);
    if (status == STATUS_OK)
        status = rank_main_run(options, &membership, main, argument);
    sodium_memzero(&membership, sizeof membership);
    return status;
}
