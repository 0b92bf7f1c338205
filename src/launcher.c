/*
 * launcher.c - what the environment says about who started this process, and as which rank.
 *
 * A launcher that says where its ranks are gives more than their number: a host and ports where
 * they meet, and a text that no other job on the machine has, from which they know each other.
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

long number_parse(const char *text)
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
    if (membership->root_port == number_parse(getenv("MASTER_PORT")))
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
    /* Who runs inside a Slurm step sets its own, so they come first. */
    {{.name = "torchrun",
      .rank = "RANK",
      .size = "WORLD_SIZE",
      .nested = true,
      .meet = meet_torchrun},
     {"MASTER_ADDR", "MASTER_PORT"}},
    {{.name = "mpirun", .rank = "OMPI_COMM_WORLD_RANK", .size = "OMPI_COMM_WORLD_SIZE"}, {NULL}},
    /* A batch script has SLURM_PROCID too, and is no step. */
    {{.name = "srun", .rank = "SLURM_PROCID", .size = "SLURM_STEP_NUM_TASKS", .meet = meet_slurm},
     {"SLURM_STEP_ID"}},
    {{.name = "mpiexec", .rank = "PMI_RANK", .size = "PMI_SIZE"}, {NULL}},
};

/* The size that launcher `i` speaks of, 0: it does not; and this process's rank. */
static long launcher_size(size_t i, long *mine)
{
    for (int n = 0; launchers[i].needs[n]; n++)
        if (!getenv(launchers[i].needs[n]))
            return 0;
    *mine = number_parse(getenv(launchers[i].launcher.rank));
    long all = number_parse(getenv(launchers[i].launcher.size));
    return *mine >= 0 && *mine < all ? all : 0;
}

bool launcher_of_one(void)
{
    long mine;
    for (size_t i = 0; i < sizeof launchers / sizeof launchers[0]; i++)
        if (launcher_size(i, &mine) == 1)
            return true;
    return false;
}

const struct launcher *launcher_detect(int *rank, int *ranks)
{
    for (size_t i = 0; i < sizeof launchers / sizeof launchers[0]; i++) {
        const struct launcher *launcher = &launchers[i].launcher;
        long mine = -1, all = launcher_size(i, &mine);
        if (all < 2)
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
        if (!others || number_parse(all) < 2)
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
