/*
 * launcher.c - which launcher started this process, and as which rank, by the environment.
 *
 * Some launchers also name hosts. Then the ranks derive a meeting point from the variables (rank
 * 0's host, some ports), and a text that no other job on the machine has, for the job's key.
 */
#include "controlplane/bootstrap/bootstrap.h"

#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/host_list.h"
#include "base/log.h"
#include "base/text.h"

/* Derived ports lie below the kernel's ephemeral ports. Another job may hold one of them, so there
 * are spare ones. */
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

/* A variable; NULL: unset or empty. */
static const char *variable(const char *name)
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

/* torchrun's agent occupies MASTER_PORT itself. */
static enum status meet_torchrun(struct membership *membership, char *shared, size_t size)
{
    const char *run = getenv("TORCHELASTIC_RUN_ID"), *port = getenv("MASTER_PORT");
    long number = number_parse(port);
    if (number < 1 || number > 65535)
        return fail(
            STATUS_USAGE,
            "MASTER_PORT is '%s', which is not a port: set it to the same port (1 to 65535) for "
            "all ranks, or give --rendezvous HOST:PORT",
            port);
    snprintf(membership->root_host, sizeof membership->root_host, "%s", getenv("MASTER_ADDR"));
    snprintf(shared, size, "torchrun %s %s", port, run ? run : "");
    ports_derive(membership, shared);
    long taken = number - membership->root_port;
    if (taken >= 0 && taken <= PORTS_SPARE)
        membership->root_port += (int)taken + 1;
    return STATUS_OK;
}

/* A step's id is unique in its job, even in a heterogeneous job, and a job's id in its cluster. Two
 * clusters may have the same name, but not the same controller. */
static void slurm_name_step(char *shared, size_t size)
{
    static const char *const names[] = {"SLURM_WORKING_CLUSTER", "SLURM_CLUSTER_NAME",
                                        "SLURM_JOB_ID", "SLURM_STEP_ID"};
    struct text text = text_in(shared, size);
    text_add(&text, "slurm");
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const char *value = getenv(names[i]);
        text_add(&text, " %s", value ? value : "");
    }
}

/* Slurm places rank 0 on the first node of the step, except with an arbitrary distribution. */
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
                    "SLURM_STEP_NODELIST is '%s', which is not a list of nodes: give --rendezvous "
                    "NODE:PORT with the node of rank 0",
                    list);
    slurm_name_step(shared, size);
    ports_derive(membership, shared);
    return STATUS_OK;
}

static const struct {
    struct launcher launcher;
    const char *needs[3]; /* further variables that this launcher always sets */
} launchers[] = {
    /* It may run inside a Slurm step and sets variables of its own, so it comes first. */
    {{.name = "torchrun",
      .rank = "RANK",
      .size = "WORLD_SIZE",
      .nested = true,
      .meet = meet_torchrun},
     {"MASTER_ADDR", "MASTER_PORT"}},
    /* In a Slurm job, it starts a step with one agent per node; its ranks inherit the variables. */
    {{.name = "mpirun",
      .rank = "OMPI_COMM_WORLD_RANK",
      .size = "OMPI_COMM_WORLD_SIZE",
      .terminal = true},
     {NULL}},
    /* MPICH: its proxies may be a Slurm step themselves. */
    {{.name = "mpiexec", .rank = "PMI_RANK", .size = "PMI_SIZE", .pmi = true},
     {"PMI_FD", "MPI_LOCALNRANKS"}},
    /* A batch script has SLURM_PROCID too, but it is no step. */
    {{.name = "srun", .rank = "SLURM_PROCID", .size = "SLURM_STEP_NUM_TASKS", .meet = meet_slurm},
     {"SLURM_STEP_ID"}},
    /* Other launchers that speak PMI; srun --mpi=pmi2 does too. */
    {{.name = "mpiexec", .rank = "PMI_RANK", .size = "PMI_SIZE"}, {NULL}},
    /* Kubernetes. Its containers may run a launcher themselves, so it comes last. */
    {{.name = "an Indexed Job", .rank = "JOB_COMPLETION_INDEX", .names_late = true}, {NULL}},
};

/* The number of ranks that launcher `i` gives, else `world`, and this process's rank; 0: not this
 * launcher. */
static long launcher_size(size_t i, int world, long *rank)
{
    const char *size = launchers[i].launcher.size;
    for (int n = 0; launchers[i].needs[n]; n++)
        if (!variable(launchers[i].needs[n]))
            return 0;
    *rank = number_parse(getenv(launchers[i].launcher.rank));
    long ranks = size ? number_parse(getenv(size)) : world;
    return *rank >= 0 && *rank < ranks ? ranks : 0;
}

bool launcher_of_one(void)
{
    long rank;
    for (size_t i = 0; i < sizeof launchers / sizeof launchers[0]; i++)
        if (launcher_size(i, -1, &rank) == 1)
            return true;
    return false;
}

bool launcher_makes_terminal(void)
{
    long rank;
    for (size_t i = 0; i < sizeof launchers / sizeof launchers[0]; i++)
        if (launchers[i].launcher.terminal && launcher_size(i, -1, &rank) > 0)
            return true;
    return false;
}

struct launch launcher_detect(int world)
{
    for (size_t i = 0; i < sizeof launchers / sizeof launchers[0]; i++) {
        long rank, ranks = launcher_size(i, world, &rank);
        if (ranks > 1)
            return (struct launch){&launchers[i].launcher, (int)rank, (int)ranks};
    }
    return (struct launch){.rank = -1};
}

/* Launchers that cctest does not support. A process with such a rank is one of several. */
static const struct {
    const char *rank, *size; /* size NULL: it has no such variable */
} unsupported[] = {
    {"MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE"}, /* MVAPICH's mpirun_rsh */
    {"MPIRUN_RANK", "MPIRUN_NPROCS"},
    {"PMI_ID", "PMI_SIZE"}, /* PMI over a TCP port */
    {"PALS_RANKID", "PALS_SIZE"},
    {"ALPS_APP_PE", NULL},
    {"JSM_NAMESPACE_RANK", "JSM_NAMESPACE_SIZE"},
    {"FLUX_TASK_RANK", "FLUX_JOB_SIZE"},
};

/* Where the launcher gives no number of ranks. */
static bool index_garbled(const struct launcher *launcher, int world, char *text, size_t size)
{
    const char *rank = variable(launcher->rank);
    long number = number_parse(rank);
    if (!rank || (number >= 0 && number < world))
        return false;
    if (number >= 0 && world < 0)
        snprintf(text, size, "%s is %ld, but the number of ranks is not known", launcher->rank,
                 number);
    else
        snprintf(text, size, "%s is '%.20s', which is not a rank%s", launcher->rank, rank,
                 number >= 0 ? " below --world" : "");
    return true;
}

static const char *unsupported_text(char *to, size_t size)
{
    for (size_t i = 0; i < sizeof unsupported / sizeof unsupported[0]; i++) {
        const char *rank = getenv(unsupported[i].rank);
        const char *ranks = unsupported[i].size ? getenv(unsupported[i].size) : NULL;
        if (!rank || number_parse(ranks) == 1)
            continue;
        struct text text = text_in(to, size);
        text_add(&text, "%s is '%.20s'", unsupported[i].rank, rank);
        if (ranks)
            text_add(&text, " and %s '%.20s'", unsupported[i].size, ranks);
        else if (unsupported[i].size)
            text_add(&text, ", but %s is not set", unsupported[i].size);
        return to;
    }
    return NULL;
}

/* Describes how the variables of launcher `i` contradict each other or are incomplete; false: they
 * do not speak of several ranks. Any shell may have RANK or WORLD_SIZE, so one of them alone means
 * nothing: another variable of the launcher must be set, or the name must be the launcher's own.
 * Then a size other than 1 counts, even if it is no number. Without a size, a rank counts: any rank
 * if the name is the launcher's own, else a rank above 0, since all shells and batch scripts of
 * Slurm have rank 0. */
static bool launcher_garbled(size_t i, int world, char *text, size_t size)
{
    const struct launcher *launcher = &launchers[i].launcher;
    if (!launcher->size)
        return index_garbled(launcher, world, text, size);
    const char *rank = variable(launcher->rank), *count = variable(launcher->size), *missing = NULL;
    bool own = !launchers[i].needs[0], named = own;
    for (int n = 0; launchers[i].needs[n]; n++) {
        if (variable(launchers[i].needs[n]))
            named = true;
        else
            missing = launchers[i].needs[n];
    }
    long ranks = number_parse(count);
    bool several = count ? ranks != 1 && (named || rank)
                   : own ? rank != NULL
                         : named && number_parse(rank) > 0;
    if (!several)
        return false;
    if (!count)
        snprintf(text, size, "%s is %.20s, but %s is not set", launcher->rank, rank,
                 launcher->size);
    else if (ranks < 1)
        snprintf(text, size, "%s is '%.20s', which is not a number of ranks", launcher->size,
                 count);
    else if (missing || !rank)
        snprintf(text, size, "%s is %ld, but %s is not set", launcher->size, ranks,
                 rank ? missing : launcher->rank);
    else
        snprintf(text, size, "%s is %ld, but %s is '%.20s', which is not a rank below it",
                 launcher->size, ranks, launcher->rank, rank);
    return true;
}

const char *launcher_incomplete(int world, char *text, size_t size)
{
    for (size_t i = 0; i < sizeof launchers / sizeof launchers[0]; i++)
        if (launcher_garbled(i, world, text, size))
            return text;
    return unsupported_text(text, size);
}

/* A host and its room. */
struct first_host {
    char *host;
    size_t size;
    bool found;
};

static bool first_host_take(void *argument, const char *host)
{
    struct first_host *first = argument;
    snprintf(first->host, first->size, "%s", host);
    first->found = true;
    return false;
}

bool nodelist_first(const char *list, char *host, size_t size)
{
    struct first_host first = {.host = host, .size = size};
    host[0] = '\0';
    host_list_expand(list, first_host_take, &first);
    return first.found;
}
