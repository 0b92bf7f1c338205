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

#include "base/log.h"
#include "bootstrap/bootstrap_internal.h"

/* Derived ports lie below those that the kernel gives out by itself. Another job, or anything else,
 * may have one of them, so there are some to choose from. */
#define PORT_FIRST  20000
#define PORT_COUNT  10000
#define PORTS_SPARE 15

long number_parse(const char *text)
{
    char *end;
    if (!text || *text < '0' || *text > '9')
        return -1;
    long value = strtol(text, &end, 10);
    return *end == '\0' && value <= 10000000 ? value : -1;
}

/* A variable; an empty one says as little as none. */
static const char *told(const char *name)
{
    const char *text = getenv(name);
    return text && *text ? text : NULL;
}

static void ports_derive(struct membership *membership, const char *shared)
{
    unsigned char hash[crypto_generichash_BYTES_MIN];
    crypto_generichash(hash, sizeof hash, (const unsigned char *)shared, strlen(shared), NULL, 0);
    membership->root_port = PORT_FIRST + (hash[0] + 256 * hash[1]) % PORT_COUNT;
    membership->spare_ports = PORTS_SPARE;
}

/* torchrun's agent holds MASTER_PORT itself. */
static enum status meet_torchrun(struct membership *membership, char *shared, size_t size)
{
    const char *run = getenv("TORCHELASTIC_RUN_ID"), *port = getenv("MASTER_PORT");
    long number = number_parse(port);
    if (number < 1 || number > 65535)
        return fail(
            STATUS_USAGE,
            "MASTER_PORT is '%s', which is no port: set it to one from 1 to 65535, the same "
            "for all ranks, or give --rendezvous HOST:PORT",
            port);
    snprintf(membership->root_host, sizeof membership->root_host, "%s", getenv("MASTER_ADDR"));
    snprintf(shared, size, "torchrun %s %s", port, run ? run : "");
    ports_derive(membership, shared);
    long taken = number - membership->root_port;
    if (taken >= 0 && taken <= PORTS_SPARE)
        membership->root_port += (int)taken + 1;
    return STATUS_OK;
}

/* A step's number is unique in its job, also where the job is heterogeneous, and a job's in its
 * cluster. Two clusters may have one name, but not one controller. */
static void slurm_name_step(char *shared, size_t size)
{
    static const char *const names[] = {"SLURM_WORKING_CLUSTER", "SLURM_CLUSTER_NAME",
                                        "SLURM_JOB_ID", "SLURM_STEP_ID"};
    size_t end = (size_t)snprintf(shared, size, "slurm");
    for (size_t i = 0; i < sizeof names / sizeof names[0] && end < size; i++) {
        const char *value = getenv(names[i]);
        end += (size_t)snprintf(shared + end, size - end, " %s", value ? value : "");
    }
}

/* Slurm places rank 0 on the first node of the step, unless the user places each rank himself. */
static enum status meet_slurm(struct membership *membership, char *shared, size_t size)
{
    const char *list = getenv("SLURM_STEP_NODELIST"), *placed = getenv("SLURM_DISTRIBUTION");
    if (!list || !getenv("SLURM_JOB_ID"))
        return fail(STATUS_USAGE,
                    "this is a Slurm step, but SLURM_STEP_NODELIST or SLURM_JOB_ID is "
                    "not set: give --rendezvous HOST:PORT");
    if (number_parse(getenv("SLURM_STEP_NUM_NODES")) == 1)
        snprintf(membership->root_host, sizeof membership->root_host, "127.0.0.1");
    else if (placed && strncmp(placed, "arbitrary", strlen("arbitrary")) == 0)
        return fail(STATUS_USAGE, "srun -m arbitrary does not tell on which node rank 0 is: give "
                                  "--rendezvous NODE:PORT with that node, or use srun --mpi=pmix");
    else if (!nodelist_first(list, membership->root_host, sizeof membership->root_host))
        return fail(STATUS_USAGE,
                    "SLURM_STEP_NODELIST is '%s', which is no list of nodes: give --rendezvous "
                    "NODE:PORT with the node of rank 0",
                    list);
    slurm_name_step(shared, size);
    ports_derive(membership, shared);
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
    /* In a Slurm job, these start a step of one agent a node, whose variables their ranks have. */
    {{.name = "mpirun",
      .rank = "OMPI_COMM_WORLD_RANK",
      .size = "OMPI_COMM_WORLD_SIZE",
      .terminal = true},
     {NULL}},
    /* MPICH's: its helpers may be a Slurm step themselves. */
    {{.name = "mpiexec", .rank = "PMI_RANK", .size = "PMI_SIZE", .pmi = true},
     {"PMI_FD", "MPI_LOCALNRANKS"}},
    /* A batch script has SLURM_PROCID too, and is no step. */
    {{.name = "srun", .rank = "SLURM_PROCID", .size = "SLURM_STEP_NUM_TASKS", .meet = meet_slurm},
     {"SLURM_STEP_ID"}},
    /* Other launchers that speak PMI; srun --mpi=pmi2 does too. */
    {{.name = "mpiexec", .rank = "PMI_RANK", .size = "PMI_SIZE"}, {NULL}},
};

/* The size that launcher `i` speaks of, 0: it does not; and this process's rank. */
static long launcher_size(size_t i, long *mine)
{
    for (int n = 0; launchers[i].needs[n]; n++)
        if (!told(launchers[i].needs[n]))
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

bool launcher_makes_terminal(void)
{
    long mine;
    for (size_t i = 0; i < sizeof launchers / sizeof launchers[0]; i++)
        if (launchers[i].launcher.terminal && launcher_size(i, &mine) > 0)
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

/* Further launchers. They are not followed, but who has such a rank is not alone. */
static const struct {
    const char *rank, *size; /* size NULL: it does not say */
} doubts[] = {
    {"MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE"}, /* MVAPICH's mpirun_rsh */
    {"MPIRUN_RANK", "MPIRUN_NPROCS"},
    {"PMI_ID", "PMI_SIZE"}, /* PMI by a port */
    {"PALS_RANKID", "PALS_SIZE"},
    {"ALPS_APP_PE", NULL},
    {"JSM_NAMESPACE_RANK", "JSM_NAMESPACE_SIZE"},
    {"FLUX_TASK_RANK", "FLUX_JOB_SIZE"},
};

static const char *launcher_doubt(char *text, size_t size)
{
    for (size_t i = 0; i < sizeof doubts / sizeof doubts[0]; i++) {
        const char *rank = getenv(doubts[i].rank);
        const char *all = doubts[i].size ? getenv(doubts[i].size) : NULL;
        if (!rank || number_parse(all) == 1)
            continue;
        size_t end = (size_t)snprintf(text, size, "%s is '%.20s'", doubts[i].rank, rank);
        if (all)
            snprintf(text + end, size - end, " and %s '%.20s'", doubts[i].size, all);
        else if (doubts[i].size)
            snprintf(text + end, size - end, ", but %s is not set", doubts[i].size);
        return text;
    }
    return NULL;
}

/* How launcher `i` contradicts itself, or what it leaves out; false: it does not speak of several
 * ranks. RANK, WORLD_SIZE and the like may stand in anybody's shell, so one alone says nothing:
 * there must be another variable of the launcher, or a name that is nobody else's. Then a size says
 * it that is not 1, also where it is no number. Without a size, a rank does: any whose name is
 * nobody else's, else one that is not the first, which all shells and batch scripts of Slurm are. */
static bool launcher_stumbles(size_t i, char *text, size_t size)
{
    const struct launcher *launcher = &launchers[i].launcher;
    const char *rank = told(launcher->rank), *all = told(launcher->size), *missing = NULL;
    bool own = !launchers[i].needs[0], named = own;
    for (int n = 0; launchers[i].needs[n]; n++) {
        if (told(launchers[i].needs[n]))
            named = true;
        else
            missing = launchers[i].needs[n];
    }
    long ranks = number_parse(all);
    bool several = all   ? ranks != 1 && (named || rank)
                   : own ? rank != NULL
                         : named && number_parse(rank) > 0;
    if (!several)
        return false;
    if (!all)
        snprintf(text, size, "%s is %.20s, but %s is not set", launcher->rank, rank,
                 launcher->size);
    else if (ranks < 1)
        snprintf(text, size, "%s is '%.20s', which is no number of ranks", launcher->size, all);
    else if (missing || !rank)
        snprintf(text, size, "%s is %ld, but %s is not set", launcher->size, ranks,
                 rank ? missing : launcher->rank);
    else
        snprintf(text, size, "%s is %ld, and %s '%.20s' is no rank of so many", launcher->size,
                 ranks, launcher->rank, rank);
    return true;
}

const char *launcher_incomplete(char *text, size_t size)
{
    for (size_t i = 0; i < sizeof launchers / sizeof launchers[0]; i++)
        if (launcher_stumbles(i, text, size))
            return text;
    return launcher_doubt(text, size);
}

bool nodelist_first(const char *list, char *host, size_t size)
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
        if (first == 0 || !*at) {
            length = 0;
            break;
        }
    }
    host[length] = '\0';
    return length > 0;
}
