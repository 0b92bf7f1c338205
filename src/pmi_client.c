/*
 * pmi_client.c - PMI-1, which MPICH's mpiexec (hydra) speaks with each process over a socket that
 * it inherits: lines of "key=value" words, a question and an answer at a time.
 *
 * It takes no library.
 */
#include <errno.h>
#include <signal.h>
#include <sodium.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bootstrap_internal.h"
#include "clock.h"
#include "control_signal.h"
#include "errand.h"
#include "log.h"

struct pmi {
    struct manager manager; /* first: what others see of it */
    int fd;
    char space[256]; /* the name of the job's key-value space */
    char line[2048]; /* the last answer */
};

/* Reads a line, byte by byte: what follows it may be for who comes after this process. */
static int line_read(struct pmi *pmi, int signals, double until)
{
    size_t size = 0;
    while (size + 1 < sizeof pmi->line) {
        int end = errand_await(pmi->fd, signals, until - clock_seconds());
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

/* Asks, and takes an answer that begins with "cmd=`expected`". 0, an errno, or minus a signal. */
static int pmi_ask(struct pmi *pmi, double seconds, const char *expected, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
static int pmi_ask(struct pmi *pmi, double seconds, const char *expected, const char *format, ...)
{
    char question[MANAGER_TEXT_MOST + sizeof pmi->space + 64];
    va_list arguments;
    va_start(arguments, format);
    int size = vsnprintf(question, sizeof question, format, arguments);
    va_end(arguments);
    errno = 0;
    bool sent = size >= 0 && (size_t)size < sizeof question &&
                send(pmi->fd, question, (size_t)size, MSG_NOSIGNAL) == size;
    sodium_memzero(question, sizeof question); /* it may tell what makes the job's key */
    if (!sent)
        return errno ? errno : EPIPE;
    sigset_t mask;
    int signals = signals_borrow(&mask);
    int end = line_read(pmi, signals, clock_seconds() + seconds);
    signals_return(signals, &mask);
    const char *rc = strstr(pmi->line, " rc=");
    if (end == 0 && (strncmp(pmi->line, "cmd=", 4) != 0 ||
                     strncmp(pmi->line + 4, expected, strlen(expected)) != 0 ||
                     (rc && strtol(rc + 4, NULL, 10) != 0)))
        return EPROTO;
    return end;
}

/* The value of `key` in the last answer; false: there is none, or it is too long. */
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

static enum status pmi_broadcast(struct manager *manager, double seconds,
                                 char text[MANAGER_TEXT_MOST])
{
    struct pmi *pmi = (struct pmi *)manager;
    char why[100];
    int end = 0;
    if (manager->rank == 0) /* "-": a value is not empty */
        end = pmi_ask(pmi, seconds, "put_result",
                      "cmd=put kvsname=%s key=" MANAGER_KEY " value=-%s\n", pmi->space, text);
    if (end == 0)
        end = pmi_ask(pmi, seconds, "barrier_out", "cmd=barrier_in\n");
    if (end == 0 && manager->rank > 0)
        end = pmi_ask(pmi, seconds, "get_result", "cmd=get kvsname=%s key=" MANAGER_KEY "\n",
                      pmi->space);
    char value[MANAGER_TEXT_MOST + 1];
    if (end == 0 && manager->rank > 0) {
        if (answer_word(pmi, "value", value, sizeof value) && *value == '-')
            memcpy(text, value + 1, strlen(value));
        else
            end = EPROTO;
    }
    sodium_memzero(value, sizeof value);
    if (end == 0)
        return STATUS_OK;
    if (end == ETIMEDOUT)
        return fail(STATUS_TIMEOUT,
                    "rank %d waited for %.3g s for all %d ranks to meet through mpiexec (PMI): "
                    "were all started, and do all run cctest?",
                    manager->rank, seconds, manager->ranks);
    return fail(end < 0 ? STATUS_INTERRUPTED : STATUS_ERROR,
                "rank %d could not meet the others through mpiexec (PMI): %s", manager->rank,
                errand_text(end, why, sizeof why));
}

static void pmi_close(struct manager *manager)
{
    struct pmi *pmi = (struct pmi *)manager;
    pmi_ask(pmi, MANAGER_LEAVE_SECONDS, "finalize_ack", "cmd=finalize\n");
    sodium_memzero(pmi, sizeof *pmi); /* answers, too */
    free(pmi);
}

static int variable(const char *name)
{
    return (int)number_parse(getenv(name));
}

enum status pmi_open(double seconds, struct manager **manager, char *why, size_t size)
{
    *manager = NULL;
    struct pmi *pmi = calloc(1, sizeof *pmi);
    if (!pmi) {
        snprintf(why, size, "there is no memory for PMI");
        return STATUS_ERROR;
    }
    pmi->fd = variable("PMI_FD");
    pmi->manager = (struct manager){.name = "pmi",
                                    .rank = variable("PMI_RANK"),
                                    .ranks = variable("PMI_SIZE"),
                                    .local_rank = variable("MPI_LOCALRANKID"),
                                    .local_ranks = variable("MPI_LOCALNRANKS"),
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
             errand_text(end, text, sizeof text),
             end == EPIPE || end == ECONNRESET ? " (it serves one command of each process)" : "");
    free(pmi);
    return end < 0 ? STATUS_INTERRUPTED : STATUS_USAGE;
}
