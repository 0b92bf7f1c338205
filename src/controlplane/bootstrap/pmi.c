/*
 * pmi.c - PMI-1, which MPICH's mpiexec (hydra) speaks over a socket that each process inherits:
 * lines of "key=value" words, one request and one answer at a time. It needs no library.
 *
 * Rank 0 publishes a name, which the others can look up at once. The key-value space would need a
 * barrier of all ranks, which does not tell which rank is missing. No other job sees the name,
 * since each job has an mpiexec of its own.
 */
#include "controlplane/bootstrap/internal.h"

#include <errno.h>
#include <signal.h>
#include <sodium.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/list.h"
#include "base/log.h"
#include "base/signals.h"
#include "base/timed_call.h"

#define ANSWER_SECONDS 1.0 /* past the deadline: hydra crashes if the receiver has gone */

struct pmi {
    struct process_manager manager; /* first: the public part */
    int fd;
    char space[256]; /* the name of the job's key-value space */
    char line[2048]; /* the last answer */
};

/* Reads a line, byte by byte: the next line may be for the next process with this socket. */
static int line_read(struct pmi *pmi, int signals, double until)
{
    size_t size = 0;
    while (size + 1 < sizeof pmi->line) {
        int end = timed_call_await(pmi->fd, signals, until - clock_seconds());
        if (end != 0)
            return end;
        if (read(pmi->fd, pmi->line + size, 1) != 1)
            return ECONNRESET;
        if (pmi->line[size] == '\n') {
            pmi->line[size] = '\0';
            return 0;
        }
        size++;
    }
    return EPROTO;
}

/* Sends a request, and reads an answer that begins with "cmd=`expected`". Returns 0, an errno
 * (ENODATA: the manager refused), or minus a signal. */
static int pmi_ask(struct pmi *pmi, double seconds, const char *expected, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
static int pmi_ask(struct pmi *pmi, double seconds, const char *expected, const char *format, ...)
{
    char request[MANAGER_TEXT_MOST + sizeof pmi->space + 64];
    va_list arguments;
    va_start(arguments, format);
    int size = vsnprintf(request, sizeof request, format, arguments);
    va_end(arguments);
    errno = 0;
    bool sent = size >= 0 && (size_t)size < sizeof request &&
                send(pmi->fd, request, (size_t)size, MSG_NOSIGNAL) == size;
    sodium_memzero(request, sizeof request); /* it may hold the nonce */
    if (!sent)
        return errno ? errno : EPIPE;
    sigset_t mask;
    int signals = signals_borrow(&mask);
    int end = line_read(pmi, signals, clock_seconds() + seconds);
    signals_return(signals, &mask);
    const char *rc = strstr(pmi->line, " rc=");
    if (end == 0 && (strncmp(pmi->line, "cmd=", 4) != 0 ||
                     strncmp(pmi->line + 4, expected, strlen(expected)) != 0))
        return EPROTO;
    return end == 0 && rc && strtol(rc + 4, NULL, 10) != 0 ? ENODATA : end;
}

/* The value of `key` in the last answer; false: it has none, or one that is too long. */
static bool answer_word(const struct pmi *pmi, const char *key, char *word, size_t size)
{
    char begin[32];
    snprintf(begin, sizeof begin, " %s=", key);
    const char *at = strstr(pmi->line, begin);
    if (!at)
        return false;
    at += strlen(begin);
    size_t length = strcspn(at, " ");
    if (length >= size)
        return false;
    memcpy(word, at, length);
    word[length] = '\0';
    return true;
}

/* Sleeps, but wakes at a signal. Returns 0, or minus the signal. */
static int pmi_pause(double seconds)
{
    sigset_t mask;
    int signals = signals_borrow(&mask), end = timed_call_await(-1, signals, seconds);
    signals_return(signals, &mask);
    return end == ETIMEDOUT ? 0 : end;
}

/* Asks for rank 0's text until it is published. */
static int text_get(struct pmi *pmi, double seconds, char text[MANAGER_TEXT_MOST])
{
    double until = clock_seconds() + seconds, pause = PAUSE_FIRST;
    int end;
    while ((end = pmi_ask(pmi, until - clock_seconds() + ANSWER_SECONDS, "lookup_result",
                          "cmd=lookup_name service=" MANAGER_KEY ".%s\n", pmi->space)) == ENODATA) {
        if (clock_seconds() > until)
            return ETIMEDOUT;
        end = pmi_pause(pause);
        if (end != 0)
            return end;
        pause = 2 * pause < PAUSE_MOST ? 2 * pause : PAUSE_MOST;
    }
    char value[MANAGER_TEXT_MOST + 1];
    if (end == 0 && answer_word(pmi, "port", value, sizeof value) && *value == '-')
        memcpy(text, value + 1, strlen(value));
    else if (end == 0)
        end = EPROTO;
    sodium_memzero(value, sizeof value);
    return end;
}

static enum status pmi_broadcast(struct process_manager *manager, double seconds,
                                 char text[MANAGER_TEXT_MOST])
{
    struct pmi *pmi = (struct pmi *)manager;
    char why[100];
    int end;
    if (manager->rank == 0) /* "-", since a value must not be empty */
        end = pmi_ask(pmi, seconds, "publish_result",
                      "cmd=publish_name service=" MANAGER_KEY ".%s port=-%s\n", pmi->space, text);
    else
        end = text_get(pmi, seconds, text);
    if (end == 0)
        return STATUS_OK;
    if (end == ETIMEDOUT && manager->rank > 0)
        return fail(STATUS_TIMEOUT,
                    "rank 0 could not be reached by rank %d within %.3g s through mpiexec (PMI): "
                    "check that "
                    "rank 0 was started and runs cctest",
                    manager->rank, seconds);
    return fail(end < 0 ? STATUS_INTERRUPTED : STATUS_ERROR,
                "rank %d could not meet the others through mpiexec (PMI): %s", manager->rank,
                timed_call_text(end, why, sizeof why));
}

static void pmi_close(struct process_manager *manager)
{
    struct pmi *pmi = (struct pmi *)manager;
    timed_call_reraise(pmi_ask(pmi, MANAGER_CLOSE_SECONDS, "finalize_ack", "cmd=finalize\n"));
    sodium_memzero(pmi, sizeof *pmi); /* the last answer may hold the nonce */
    free(pmi);
}

static int variable_number(const char *name)
{
    return (int)number_parse(getenv(name));
}

enum status pmi_open(double seconds, struct process_manager **manager, char *why, size_t size)
{
    *manager = NULL;
    struct pmi *pmi = new_array(1, sizeof *pmi);
    pmi->fd = variable_number("PMI_FD");
    pmi->manager = (struct process_manager){.name = "pmi",
                                            .rank = variable_number("PMI_RANK"),
                                            .ranks = variable_number("PMI_SIZE"),
                                            .local_rank = variable_number("MPI_LOCALRANKID"),
                                            .local_ranks = variable_number("MPI_LOCALNRANKS"),
                                            .broadcast = pmi_broadcast,
                                            .close = pmi_close};
    if (pmi->manager.local_rank < 0 || pmi->manager.local_ranks < 0)
        pmi->manager.local_rank = pmi->manager.local_ranks = 0;
    int end =
        pmi_ask(pmi, seconds, "response_to_init", "cmd=init pmi_version=1 pmi_subversion=1\n");
    if (end == 0)
        end = pmi_ask(pmi, seconds, "my_kvsname", "cmd=get_my_kvsname\n");
    if (end == 0 && !answer_word(pmi, "kvsname", pmi->space, sizeof pmi->space))
        end = EPROTO;
    if (end == 0) {
        *manager = &pmi->manager;
        return STATUS_OK;
    }
    char text[100];
    snprintf(why, size, "its PMI socket (PMI_FD) does not answer: %s%s",
             timed_call_text(end, text, sizeof text),
             end == EPIPE || end == ECONNRESET ? " (it serves only one command per process)" : "");
    free(pmi);
    return end < 0 ? STATUS_INTERRUPTED : STATUS_USAGE;
}
