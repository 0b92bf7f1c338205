/*
 * managed.c - this process is one rank of a job that a process manager started, and the
 * manager carries rank 0's word to it.
 *
 * Rank 0 makes up a random word and listens before anybody is told of it; what it says then goes
 * over the manager's own connections. The word is the job's secret, or makes one that the user has
 * for all his jobs that of this job alone. The others take leave of the manager as soon as they
 * have heard rank 0, and rank 0 when all have joined: from then on it sees them as processes that
 * may end at any time, with any exit status. Who never joins is found out as under any bootstrap.
 */
#include <sodium.h>
#include <string.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/host.h"
#include "base/log.h"
#include "base/signals.h"
#include "bootstrap/bootstrap_internal.h"
#include "bootstrap/process_manager.h"

_Static_assert(MANAGER_TEXT_MOST > (4 + HOST_NAME_BYTES + SECRET_BYTES + ADDRESSES_BLOB_MOST) * 2,
               "what rank 0 says fits");

/* Rank 0 says: its host's name, the word, where it listens. */
bool meeting_encode(const struct membership *root, const unsigned char word[SECRET_BYTES],
                    char text[MANAGER_TEXT_MOST])
{
    struct bytes bytes = {0};
    unsigned char home[ADDRESSES_BLOB_MOST];
    bytes_put_text(&bytes, root->root_host);
    bytes_put(&bytes, word, SECRET_BYTES);
    bytes_put(&bytes, home, addresses_encode(&root->root_home, home));
    bool whole = !bytes.failed;
    if (whole)
        sodium_bin2hex(text, MANAGER_TEXT_MOST, bytes.data, bytes.size);
    if (bytes.data)
        sodium_memzero(bytes.data, bytes.size);
    bytes_free(&bytes);
    return whole;
}

bool meeting_decode(const char *text, struct membership *membership,
                    unsigned char word[SECRET_BYTES])
{
    unsigned char bytes[MANAGER_TEXT_MOST / 2];
    size_t size = 0;
    const char *end = NULL;
    if (sodium_hex2bin(bytes, sizeof bytes, text, strlen(text), NULL, &size, &end) || *end)
        return false;
    struct reader reader = {.at = bytes, .left = size};
    read_text(&reader, membership->root_host, sizeof membership->root_host);
    const unsigned char *said = read_bytes(&reader, SECRET_BYTES);
    if (said)
        memcpy(word, said, SECRET_BYTES);
    bool whole = !reader.bad && addresses_decode(reader.at, reader.left, &membership->root_home);
    sodium_memzero(bytes, sizeof bytes);
    return whole && membership->root_home.count > 0;
}

/* Rank 0 listens, and makes up the word. */
static enum status root_prepare(const struct bootstrap_options *options,
                                struct membership *membership, unsigned char word[SECRET_BYTES],
                                char text[MANAGER_TEXT_MOST])
{
    host_name(membership->root_host, HOST_NAME_BYTES);
    enum status status =
        addresses_listen(options->interface, false, &membership->listeners, &membership->root_home);
    if (status != STATUS_OK)
        return status;
    randombytes_buf(word, SECRET_BYTES);
    return meeting_encode(membership, word, text) ? STATUS_OK : fail(STATUS_ERROR, "out of memory");
}

/* A rank 0 that fails before it is known where it listens still says so: the others wait for it. */
static enum status membership_find(const struct bootstrap_options *options,
                                   struct process_manager *manager, struct membership *membership)
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
    unsigned char word[SECRET_BYTES] = {0};
    enum status status = secret_find("", membership);
    if (manager->rank == 0 && status == STATUS_OK)
        status = root_prepare(options, membership, word, text);
    if (status != STATUS_OK)
        text[0] = '\0';
    enum status met = manager->broadcast(manager, options->timeout, text);
    status = status != STATUS_OK ? status : met;
    if (status == STATUS_OK && manager->rank > 0 && !meeting_decode(text, membership, word)) {
        status = interface_check(options->interface); /* what rank 0 says, then */
        if (status == STATUS_OK)
            status = fail(STATUS_ERROR, "rank 0 failed before the ranks met: it says why");
    }
    secret_mix(word, membership);
    membership->has_secret = true;
    sodium_memzero(word, sizeof word);
    sodium_memzero(text, sizeof text);
    return status;
}

static void manager_leave(void *argument)
{
    struct process_manager **manager = argument;
    if (*manager)
        (*manager)->close(*manager);
    *manager = NULL;
}

enum status bootstrap_run_manager(const struct bootstrap_options *options,
                                  struct process_manager *manager, rank_main *main, void *argument)
{
    /* What comes between two of the manager's answers is read by the rank, too. */
    sigset_t set;
    signals_ending(&set);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    struct membership membership;
    enum status status = membership_find(options, manager, &membership);
    if (manager->rank > 0 || status != STATUS_OK)
        manager_leave(&manager);
    membership.joined = manager_leave;
    membership.joined_argument = &manager;
    if (status == STATUS_OK)
        status = rank_main_run(options, &membership, main, argument);
    else
        listeners_close(&membership.listeners);
    manager_leave(&manager);
    sodium_memzero(&membership, sizeof membership);
    return status;
}
