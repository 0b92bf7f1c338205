/*
 * bootstrap_tcp.c - this process is one rank, and meets the others at a host and a port.
 *
 * Who it is, and where rank 0 is, comes from the command line, or from the variables of the
 * launcher.
 */
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bootstrap_internal.h"
#include "log.h"

/* Derived ports lie below those that the kernel gives out by itself. */
#define PORT_FIRST 20000
#define PORT_COUNT 10000

/* A whole non-negative number; -1: it is none. */
static long number(const char *text)
{
    char *end;
    if (!text || *text < '0' || *text > '9')
        return -1;
    long value = strtol(text, &end, 10);
    return *end == '\0' && value <= 10000000 ? value : -1;
}

static int port_from(const char *shared)
{
    unsigned char hash[crypto_generichash_BYTES_MIN];
    crypto_generichash(hash, sizeof hash, (const unsigned char *)shared, strlen(shared), NULL, 0);
    return PORT_FIRST + (hash[0] + 256 * hash[1]) % PORT_COUNT;
}

/* torchrun's agent holds MASTER_PORT itself. */
static enum status meet_torchrun(struct membership *membership, char *shared, size_t size)
{
    const char *run = getenv("TORCHELASTIC_RUN_ID");
    snprintf(membership->root_host, sizeof membership->root_host, "%s", getenv("MASTER_ADDR"));
    snprintf(shared, size, "torchrun %s %s", getenv("MASTER_PORT"), run ? run : "");
    membership->root_port = port_from(shared);
    if (membership->root_port == number(getenv("MASTER_PORT")))
        membership->root_port++;
    return STATUS_OK;
}

static enum status meet_slurm(struct membership *membership, char *shared, size_t size)
{
    const char *list = getenv("SLURM_STEP_NODELIST"), *job = getenv("SLURM_JOB_ID");
    if (!list || !job)
        return fail(STATUS_USAGE,
                    "this is a Slurm step, but SLURM_STEP_NODELIST or SLURM_JOB_ID is "
                    "not set: give --rendezvous HOST:PORT");
    nodelist_first(list, membership->root_host, sizeof membership->root_host);
    snprintf(shared, size, "slurm %s.%s", job, getenv("SLURM_STEP_ID"));
    membership->root_port = port_from(shared);
    return STATUS_OK;
}

static const struct {
    struct launcher launcher;
    const char *needs[3]; /* further variables without which it is not this launcher */
} launchers[] = {
    /* torchrun inside a Slurm step sets its own, so it comes first. */
    {{.name = "torchrun", .rank = "RANK", .size = "WORLD_SIZE", .meet = meet_torchrun},
     {"MASTER_ADDR", "MASTER_PORT"}},
    /* A batch script has SLURM_PROCID too, and is no step. */
    {{.name = "srun", .rank = "SLURM_PROCID", .size = "SLURM_STEP_NUM_TASKS", .meet = meet_slurm},
     {"SLURM_STEP_ID"}},
    {{.name = "mpirun", .rank = "OMPI_COMM_WORLD_RANK", .size = "OMPI_COMM_WORLD_SIZE"}, {NULL}},
    {{.name = "mpiexec", .rank = "PMI_RANK", .size = "PMI_SIZE"}, {NULL}},
};

const struct launcher *launcher_detect(int *rank, int *ranks)
{
    for (size_t i = 0; i < sizeof launchers / sizeof launchers[0]; i++) {
        const struct launcher *launcher = &launchers[i].launcher;
        bool complete = true;
        for (int n = 0; launchers[i].needs[n]; n++)
            complete = complete && getenv(launchers[i].needs[n]);
        long mine = number(getenv(launcher->rank)), all = number(getenv(launcher->size));
        if (!complete || mine < 0 || all < 2 || mine >= all)
            continue;
        *rank = (int)mine;
        *ranks = (int)all;
        return launcher;
    }
    return NULL;
}

const char *launcher_incomplete(char *text, size_t size)
{
    for (size_t i = 0; i < sizeof launchers / sizeof launchers[0]; i++) {
        const struct launcher *launcher = &launchers[i].launcher;
        const char *rank = getenv(launcher->rank), *all = getenv(launcher->size), *missing = NULL;
        bool others = rank != NULL;
        for (int n = 0; launchers[i].needs[n]; n++) {
            if (getenv(launchers[i].needs[n]))
                others = true;
            else
                missing = launchers[i].needs[n];
        }
        if (!rank)
            missing = launcher->rank;
        if (!others || number(all) < 2)
            continue; /* nothing of it, or nothing that says that there are several ranks */
        if (missing)
            snprintf(text, size, "%s is %s, but %s is not set", launcher->size, all, missing);
        else
            snprintf(text, size, "%s is %s, and %s '%s' is no rank of so many", launcher->size, all,
                     launcher->rank, rank);
        return text;
    }
    return NULL;
}

void nodelist_first(const char *list, char *host, size_t size)
{
    size_t length = 0;
    for (const char *at = list; *at && *at != ',' && length + 1 < size; at++) {
        if (*at != '[') {
            host[length++] = *at;
            continue;
        }
        /* Of the alternatives in brackets, the first. */
        size_t first = strcspn(at + 1, "-,]");
        for (size_t i = 0; i < first && length + 1 < size; i++)
            host[length++] = at[1 + i];
        at += strcspn(at, "]");
        if (!*at)
            break;
    }
    host[length] = '\0';
}

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
    long value = number(colon + 1);
    if (length == 0 || length >= size || value < 1 || value > 65535)
        return false;
    memcpy(host, text, length);
    host[length] = '\0';
    *port = (int)value;
    return true;
}

static enum status membership_find(const struct job *job, struct membership *membership)
{
    *membership = (struct membership){
        .rank = job->rank, .ranks = job->world, .own_process = true, .bootstrap = "tcp"};
    char shared[256];
    const struct launcher *launcher = NULL;
    if (membership->rank < 0 || membership->ranks < 0)
        launcher = launcher_detect(&membership->rank, &membership->ranks);
    if (job->rendezvous) {
        if (!rendezvous_parse(job->rendezvous, membership->root_host, sizeof membership->root_host,
                              &membership->root_port))
            return fail(STATUS_USAGE,
                        "--rendezvous '%s' is not HOST:PORT (an IPv6 address is written "
                        "[ADDRESS]:PORT)",
                        job->rendezvous);
        snprintf(shared, sizeof shared, "port %d", membership->root_port);
    } else if (launcher && launcher->meet) {
        enum status status = launcher->meet(membership, shared, sizeof shared);
        if (status != STATUS_OK)
            return status;
    } else {
        return fail(STATUS_USAGE, "nothing says where rank 0 is: give --rendezvous HOST:PORT");
    }
    return secret_find(shared, membership);
}

enum status bootstrap_run_tcp(const struct job *job, rank_main *main, void *argument)
{
    if (sodium_init() < 0)
        return fail(STATUS_ERROR, "libsodium found no source of random numbers");
    struct membership membership;
    enum status status = membership_find(job, &membership);
    if (status == STATUS_OK) {
        struct log log;
        log_init(&log, membership.rank, job->verbosity);
        log_attach(&log);
        if (membership.rank == 0 && !membership.has_secret)
            say("no CCTEST_SECRET is set: the job is protected against accidents, not against "
                "others who mean to join it");
        status = main(job, &membership, argument);
        log_attach(NULL);
    }
    sodium_memzero(&membership, sizeof membership);
    return status;
}
