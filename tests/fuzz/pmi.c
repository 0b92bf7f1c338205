/*
 * pmi.c - the answers of mpiexec over the socket that a rank inherits.
 *
 * Input: the rank (0 or 1), then all answers of mpiexec, which are sent before the first request.
 */
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.h"
#include "controlplane/bootstrap/internal.h"
#include "fuzz.h"

#define SECONDS 5.0 /* never reached: the other end is closed */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct reader input = {.at = data, .left = size};
    int pair[2];
    char fd[16], why[256] = "", own[MANAGER_TEXT_MOST] = "text", text[MANAGER_TEXT_MOST];
    struct process_manager *manager;
    struct log log;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0)
        abort();
    log_init(&log, -1, 0);
    log_attach(&log);
    snprintf(fd, sizeof fd, "%d", pair[0]);
    setenv("PMI_FD", fd, 1);
    setenv("PMI_RANK", input_u8(&input) % 2 ? "1" : "0", 1);
    setenv("PMI_SIZE", "2", 1);
    require(send(pair[1], input.at, input.left, 0) == (ssize_t)input.left);
    shutdown(pair[1], SHUT_WR);
    enum status status = pmi_open(SECONDS, &manager, why, sizeof why);
    require((status == STATUS_OK) == (manager != NULL) && (manager || why[0]));
    if (manager) {
        memcpy(text, own, sizeof text);
        status = manager->broadcast(manager, SECONDS, text);
        require(status == STATUS_OK || log.failure.text[0]);
        require(memchr(text, '\0', sizeof text));
        manager->close(manager);
    }
    log_attach(NULL);
    close(pair[0]);
    close(pair[1]);
    return 0;
}

/* Answers of hydra. */
void fuzz_seeds(void)
{
    static const char *const ends[] = {
        "cmd=publish_result info=ok rc=0 msg=success\ncmd=finalize_ack\n",
        "cmd=lookup_result rc=1 msg=service_not_found\n"
        "cmd=lookup_result port=-0123456789abcdef info=ok rc=0 msg=success\n"
        "cmd=finalize_ack\n"};
    for (int rank = 0; rank < 2; rank++) {
        char text[512], name[16];
        int size = snprintf(text, sizeof text,
                            "%ccmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0\n"
                            "cmd=my_kvsname kvsname=kvs_123_0\n%s",
                            rank, ends[rank]);
        snprintf(name, sizeof name, "rank-%d", rank);
        fuzz_seed(name, text, (size_t)size);
    }
    /* Values around the longest that is valid. */
    for (size_t length = MANAGER_TEXT_MOST - 1; length <= MANAGER_TEXT_MOST + 1; length++) {
        char text[2 * MANAGER_TEXT_MOST], name[32];
        int size = snprintf(text, sizeof text,
                            "%ccmd=response_to_init rc=0\ncmd=my_kvsname kvsname=k\n"
                            "cmd=barrier_out\ncmd=get_result rc=0 value=-%0*d\n",
                            1, (int)length, 7);
        snprintf(name, sizeof name, "value-%zu", length);
        fuzz_seed(name, text, (size_t)size);
    }
}
