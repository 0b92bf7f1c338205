/*
 * limits.c - measures the limits of the machine: copies and sums of memory, a cache line from core
 * to core, loopback TCP. A comparison of two programs shows which one is faster; the limits show
 * how much is left to gain.
 *
 *     limits [--ranks N] [--cpus A,B...] [--rounds N] [--bytes N] [--only memory|line|tcp]
 *
 * Prints one JSON object. Bandwidths are GB/s (10^9 bytes a second) of one process while all run.
 */
#include "limits.h"

#include <getopt.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"

void die(const char *what)
{
    perror(what);
    exit(1);
}

/* Processes. */

void process_idle(const struct process *process, long looks)
{
    if (looks < process->spins)
        cpu_relax();
    else
        sched_yield();
}

void process_meet(struct process *process)
{
    node_barrier_arrive(&process->node_barrier);
    for (long looks = 0; !node_barrier_passed(&process->node_barrier); looks++)
        process_idle(process, looks);
}

double process_slowest(struct process *process, double seconds)
{
    process->seconds[process->rank] = seconds;
    process_meet(process);
    double slowest = 0;
    for (int rank = 0; rank < process->ranks; rank++)
        slowest = process->seconds[rank] > slowest ? process->seconds[rank] : slowest;
    process_meet(process); /* all read this number before the next one is written */
    return slowest;
}

static void process_bind(const struct process *process)
{
    if (process->ranks > process->limits->cpu_count)
        return;
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(process->limits->cpus[process->rank], &set);
    if (sched_setaffinity(0, sizeof(set), &set))
        die("binding a process to a core");
}

/* Waits for all processes. If one fails, kills the others, which would wait for it. */
static void processes_reap(const pid_t *pids, int count)
{
    bool failed = false;
    int status;
    for (int left = count; left > 0; left--) {
        if (wait(&status) < 0)
            die("wait");
        if (status != 0 && !failed) {
            failed = true;
            for (int i = 0; i < count; i++)
                kill(pids[i], SIGKILL);
        }
    }
    if (failed) {
        fprintf(stderr, "limits: a process failed\n");
        exit(1);
    }
}

void processes_run(const struct limits *limits, int ranks,
                   void (*part)(struct process *process, void *argument), void *argument)
{
    size_t room = node_barrier_bytes(ranks), bytes = room + (size_t)ranks * sizeof(double);
    char *shared = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        die("mmap");
    fflush(stdout);
    pid_t parent = getpid(), pids[RANKS_MOST];
    for (int rank = 0; rank < ranks; rank++) {
        pids[rank] = fork();
        if (pids[rank] < 0)
            die("fork");
        if (pids[rank] > 0)
            continue;
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent)
            exit(1);
        struct process process = {
            .limits = limits,
            .rank = rank,
            .ranks = ranks,
            .spins = ranks <= limits->cpu_count ? 300 : 1,
            .seconds = (double *)(shared + room),
        };
        process_bind(&process);
        node_barrier_open(&process.node_barrier, shared, rank, ranks);
        part(&process, argument);
        exit(0);
    }
    processes_reap(pids, ranks);
    munmap(shared, bytes);
}

/* Series. */

void series_add(struct series *series, double value)
{
    if (series->count < ROUNDS_MOST)
        series->values[series->count++] = value;
}

static int compare_values(const void *a, const void *b)
{
    double left = *(const double *)a, right = *(const double *)b;
    return (left > right) - (left < right);
}

static struct series series_sorted(const struct series *series)
{
    struct series sorted = *series;
    qsort(sorted.values, (size_t)sorted.count, sizeof(*sorted.values), compare_values);
    return sorted;
}

double series_median(const struct series *series)
{
    struct series sorted = series_sorted(series);
    int half = sorted.count / 2;
    if (sorted.count == 0)
        return 0;
    return sorted.count % 2 ? sorted.values[half]
                            : (sorted.values[half - 1] + sorted.values[half]) / 2;
}

double series_best(const struct series *series, bool largest)
{
    struct series sorted = series_sorted(series);
    return sorted.count ? sorted.values[largest ? sorted.count - 1 : 0] : 0;
}

void series_print(const char *name, const struct series *series, bool largest)
{
    printf("\"%s\": {\"median\": %.3f, \"best\": %.3f, \"values\": [", name, series_median(series),
           series_best(series, largest));
    for (int i = 0; i < series->count; i++)
        printf("%s%.3f", i ? ", " : "", series->values[i]);
    printf("]}");
}

/* The command line. */

static const struct {
    const char *name;
    void (*print)(const struct limits *limits);
} parts[] = {
    {"memory", limits_memory},
    {"line", limits_line},
    {"tcp", limits_tcp},
};

#define PARTS (sizeof(parts) / sizeof(*parts))

static void usage(void)
{
    fprintf(stderr, "usage: limits [--ranks N] [--cpus A,B...] [--rounds N] [--bytes N] "
                    "[--only memory|line|tcp]...\n");
    exit(2);
}

static void limits_cpus(struct limits *limits, char *text)
{
    limits->cpu_count = 0;
    while (*text && limits->cpu_count < RANKS_MOST) {
        limits->cpus[limits->cpu_count++] = (int)strtol(text, &text, 10);
        if (*text && *text++ != ',')
            usage();
    }
}

static bool part_chosen(bool chosen[PARTS], const char *name)
{
    for (size_t i = 0; i < PARTS; i++) {
        if (strcmp(parts[i].name, name) == 0)
            return chosen[i] = true;
    }
    return false;
}

int main(int argc, char **argv)
{
    static const struct option options[] = {
        {"ranks", required_argument, NULL, 'n'},  {"cpus", required_argument, NULL, 'c'},
        {"rounds", required_argument, NULL, 'r'}, {"bytes", required_argument, NULL, 'b'},
        {"only", required_argument, NULL, 'o'},   {0},
    };
    struct limits limits = {.ranks = 2, .rounds = 5, .bytes = (size_t)256 << 20};
    bool chosen[PARTS] = {false}, all = true;
    for (int option; (option = getopt_long(argc, argv, "", options, NULL)) != -1;) {
        if (option == 'n')
            limits.ranks = atoi(optarg);
        else if (option == 'c')
            limits_cpus(&limits, optarg);
        else if (option == 'r')
            limits.rounds = atoi(optarg);
        else if (option == 'b')
            limits.bytes = strtoull(optarg, NULL, 10) / 4096 * 4096;
        else if (option == 'o' && part_chosen(chosen, optarg))
            all = false;
        else
            usage();
    }
    if (limits.ranks < 1 || limits.ranks > RANKS_MOST || limits.rounds < 1 ||
        limits.rounds > ROUNDS_MOST || limits.bytes < 1 << 20)
        usage();

    printf("{\"ranks\": %d, \"bytes\": %zu", limits.ranks, limits.bytes);
    for (size_t i = 0; i < PARTS; i++) {
        if (all || chosen[i])
            parts[i].print(&limits);
    }
    printf("}\n");
    return 0;
}
