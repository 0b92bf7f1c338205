/*
 * peer.c - measures the collectives of an MPI library as cctest measures its own, so that the two
 * can be compared.
 *
 * Both have the same start barrier (src/run/start_barrier.c), clock, sizes (bytes of the larger
 * buffer, rounded up to whole blocks), memory (private, huge pages from 32 KiB, touched by its
 * rank) and statistics. bench.py compiles it with the mpicc of each library and starts it with the
 * mpirun.
 *
 *     peer [options] COLLECTIVE BYTES[,BYTES...]
 *     peer --list                                     (needs no launcher)
 *
 * Rank 0 prints one JSON object a line, as soon as a cell (one size, one way to start) is done, and
 * "done" when all are.
 */
#include <mpi.h>

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/clock.h"
#include "run/run.h"

#define HUGE_PAGE   ((size_t)2 << 20)
#define HUGE_LEAST  ((size_t)32 << 10) /* cctest: 128 KiB for all of a rank's buffers together */
#define PROBES_MOST 256                /* iterations before the timed ones, at most */
#define BATCHES     10 /* of timed iterations; between them rank 0 decides whether to go on */

enum start { START_BARRIER, START_BACK_TO_BACK, STARTS };

static const char *const start_names[STARTS] = {"barrier", "back-to-back"};

/* The buffers of a cell, as arguments of an MPI library. */
struct problem {
    float *source, *destination;
    int count; /* elements of one block */
};

/* Blocks of a buffer. If only the root (rank 0) has the buffer, other ranks have 0 blocks. */
enum blocks { NONE, ONE, ONE_A_RANK, ONE_AT_ROOT, ONE_A_RANK_AT_ROOT };

struct collective {
    const char *name;
    enum blocks source, destination;
    int (*call)(const struct problem *problem);
};

static int call_allreduce(const struct problem *p)
{
    return MPI_Allreduce(p->source, p->destination, p->count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
}

static int call_allgather(const struct problem *p)
{
    return MPI_Allgather(p->source, p->count, MPI_FLOAT, p->destination, p->count, MPI_FLOAT,
                         MPI_COMM_WORLD);
}

static int call_reduce_scatter(const struct problem *p)
{
    return MPI_Reduce_scatter_block(p->source, p->destination, p->count, MPI_FLOAT, MPI_SUM,
                                    MPI_COMM_WORLD);
}

static int call_alltoall(const struct problem *p)
{
    return MPI_Alltoall(p->source, p->count, MPI_FLOAT, p->destination, p->count, MPI_FLOAT,
                        MPI_COMM_WORLD);
}

/* MPI_Bcast has one buffer, so it is in place at the root. */
static int call_broadcast(const struct problem *p)
{
    return MPI_Bcast(p->destination, p->count, MPI_FLOAT, 0, MPI_COMM_WORLD);
}

static int call_reduce(const struct problem *p)
{
    return MPI_Reduce(p->source, p->destination, p->count, MPI_FLOAT, MPI_SUM, 0, MPI_COMM_WORLD);
}

static int call_gather(const struct problem *p)
{
    return MPI_Gather(p->source, p->count, MPI_FLOAT, p->destination, p->count, MPI_FLOAT, 0,
                      MPI_COMM_WORLD);
}

static int call_scatter(const struct problem *p)
{
    return MPI_Scatter(p->source, p->count, MPI_FLOAT, p->destination, p->count, MPI_FLOAT, 0,
                       MPI_COMM_WORLD);
}

static int call_barrier(const struct problem *p)
{
    (void)p;
    return MPI_Barrier(MPI_COMM_WORLD);
}

static const struct collective collectives[] = {
    {"allreduce", ONE, ONE, call_allreduce},
    {"allgather", ONE, ONE_A_RANK, call_allgather},
    {"reduce_scatter", ONE_A_RANK, ONE, call_reduce_scatter},
    {"alltoall", ONE_A_RANK, ONE_A_RANK, call_alltoall},
    {"broadcast", NONE, ONE, call_broadcast},
    {"reduce", ONE, ONE_AT_ROOT, call_reduce},
    {"gather", ONE, ONE_A_RANK_AT_ROOT, call_gather},
    {"scatter", ONE_A_RANK_AT_ROOT, ONE, call_scatter},
    {"barrier", NONE, NONE, call_barrier},
};

#define COLLECTIVES (sizeof(collectives) / sizeof(*collectives))

/* One rank of the measurement. */
struct bench {
    int rank, ranks;
    long spins;    /* polls before it yields the core */
    double budget; /* seconds that a cell may take */
    long least, most;
    bool starts[STARTS];
    size_t back_to_back_most; /* larger sizes begin with a barrier only */
    const struct collective *collective;
    struct node_barrier node_barrier;
    uint64_t *samples, *slowest; /* nanoseconds, `most` of each */
};

static void die(const char *what)
{
    perror(what);
    MPI_Abort(MPI_COMM_WORLD, 1);
    abort();
}

/* Memory. */

static size_t mapped_bytes(size_t bytes)
{
    size_t unit = bytes >= HUGE_LEAST ? HUGE_PAGE : 4096;
    return (bytes + unit - 1) / unit * unit;
}

/* Private memory, on huge pages unless it is small, with every page touched. */
static float *memory_map(size_t bytes)
{
    if (bytes == 0)
        return NULL;
    size_t mapped = mapped_bytes(bytes), extra = bytes >= HUGE_LEAST ? HUGE_PAGE : 0;
    char *base =
        mmap(NULL, mapped + extra, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (base == MAP_FAILED)
        die("mmap");
    if (extra) {
        size_t before = -(uintptr_t)base % HUGE_PAGE;
        if (before)
            munmap(base, before);
        if (extra - before)
            munmap(base + before + mapped, extra - before);
        base += before;
        madvise(base, mapped, MADV_HUGEPAGE);
    }
    float *elements = (float *)base;
    for (size_t i = 0; i < bytes / sizeof(float); i++)
        elements[i] = 1;
    return elements;
}

static void memory_unmap(float *elements, size_t bytes)
{
    if (elements)
        munmap(elements, mapped_bytes(bytes));
}

/* The memory of the barrier: a memfd of rank 0, which the others open through /proc. A memfd has no
* name that could be left behind. */
static void node_barrier_share(struct bench *bench)
{
    int where[2] = {(int)getpid(), -1};
    size_t bytes = node_barrier_bytes(bench->ranks);
    if (bench->rank == 0) {
        where[1] = memfd_create("cctest-bench-barrier", MFD_CLOEXEC);
        if (where[1] < 0 || ftruncate(where[1], (off_t)bytes) < 0)
            die("memfd of the start barrier");
    }
    MPI_Bcast(where, 2, MPI_INT, 0, MPI_COMM_WORLD);
    int fd = where[1];
    if (bench->rank != 0) {
        char path[64];
        snprintf(path, sizeof(path), "/proc/%d/fd/%d", where[0], where[1]);
        fd = open(path, O_RDWR | O_CLOEXEC);
    }
    void *memory =
        fd < 0 ? MAP_FAILED : mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (memory == MAP_FAILED)
        die("mapping the start barrier");
    MPI_Barrier(MPI_COMM_WORLD);
    close(fd);
    node_barrier_open(&bench->node_barrier, memory, bench->rank, bench->ranks);
}

static void node_barrier_wait(struct bench *bench)
{
    node_barrier_arrive(&bench->node_barrier);
    for (long looks = 0; !node_barrier_passed(&bench->node_barrier); looks++) {
        if (looks < bench->spins)
            cpu_relax();
        else
            sched_yield();
    }
}

/* Measuring. */

static void iterate(struct bench *bench, const struct problem *problem, enum start start,
                    uint64_t *samples, long count)
{
    node_barrier_wait(bench);
    uint64_t begun = clock_ns();
    for (long i = 0; i < count; i++) {
        if (start == START_BARRIER && i > 0) {
            node_barrier_wait(bench);
            begun = clock_ns();
        }
        bench->collective->call(problem);
        uint64_t ended = clock_ns();
        samples[i] = ended - begun;
        begun = ended;
    }
}

/* Rank 0 decides for all. */
static long agree(long number)
{
    MPI_Bcast(&number, 1, MPI_LONG, 0, MPI_COMM_WORLD);
    return number;
}

/* Warms up, in batches that double, and finds the number of iterations that the budget allows. */
static long probe(struct bench *bench, const struct problem *problem, enum start start)
{
    uint64_t room = (uint64_t)(bench->budget * 1e9), begun = clock_ns(), took;
    long count = 1, done = 0;
    bool enough;
    do {
        uint64_t batch = clock_ns();
        iterate(bench, problem, start, bench->samples, count);
        took = (clock_ns() - batch) / (uint64_t)count;
        done += count;
        enough = done >= PROBES_MOST || done >= bench->most || clock_ns() - begun > room / 8;
        count = agree(enough ? 0 : done < bench->most - done ? done : bench->most - done);
    } while (count > 0);
    long wanted = took ? (long)(room / took) : bench->most;
    wanted = wanted < bench->least ? bench->least : wanted;
    return agree(wanted > bench->most ? bench->most : wanted);
}

/* The timed iterations; returns their number. They end early if they are much slower than the
* probe: ranks that share cores can be fast for a while and then collapse. */
static long measure(struct bench *bench, const struct problem *problem, enum start start,
                    long count)
{
    uint64_t room = (uint64_t)(2 * bench->budget * 1e9), begun = clock_ns();
    long done = 0, batch = (count + BATCHES - 1) / BATCHES;
    batch = batch < bench->least ? bench->least : batch;
    while (batch > 0) {
        batch = batch < count - done ? batch : count - done;
        iterate(bench, problem, start, bench->samples + done, batch);
        done += batch;
        batch = agree(done < count && clock_ns() - begun < room ? batch : 0);
    }
    return done;
}

static int compare_samples(const void *a, const void *b)
{
    uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;
    return (left > right) - (left < right);
}

/* Microseconds; by nearest rank, as in src/base/stats/stats.c. */
static double percentile(const uint64_t *sorted, long count, long percent)
{
    long place = (count * percent + 99) / 100;
    return (double)sorted[place > 0 ? place - 1 : 0] * 1e-3;
}

static void report(const struct bench *bench, size_t bytes, enum start start, long count)
{
    uint64_t *samples = bench->slowest;
    qsort(samples, (size_t)count, sizeof(*samples), compare_samples);
    double total = 0;
    for (long i = 0; i < count; i++)
        total += (double)samples[i] * 1e-3;
    printf("{\"collective\": \"%s\", \"bytes\": %zu, \"start\": \"%s\", \"iterations\": %ld, "
           "\"time_us\": {\"min\": %.3f, \"p50\": %.3f, \"mean\": %.3f, \"p90\": %.3f, "
           "\"p99\": %.3f, \"max\": %.3f}}\n",
           bench->collective->name, bytes, start_names[start], count, percentile(samples, count, 0),
           percentile(samples, count, 50), total / (double)count, percentile(samples, count, 90),
           percentile(samples, count, 99), percentile(samples, count, 100));
    fflush(stdout);
}

/* Blocks of a buffer on this rank. */
static size_t blocks_here(const struct bench *bench, enum blocks blocks)
{
    bool many = blocks == ONE_A_RANK || blocks == ONE_A_RANK_AT_ROOT;
    bool here = blocks == ONE || blocks == ONE_A_RANK || (blocks != NONE && bench->rank == 0);
    return !here ? 0 : many ? (size_t)bench->ranks : 1;
}

/* One size: `bytes` of the larger buffer, rounded up to whole elements in every block. */
static void bench_size(struct bench *bench, size_t bytes)
{
    const struct collective *collective = bench->collective;
    /* Rank 0 is the root, so it has all blocks. */
    size_t from = blocks_here(bench, collective->source);
    size_t to = blocks_here(bench, collective->destination), blocks = from > to ? from : to;
    long count = 0;
    if (blocks > 0)
        count = (long)((bytes + blocks * sizeof(float) - 1) / (blocks * sizeof(float)));
    count = agree(count);
    if (count > INT_MAX) {
        errno = EOVERFLOW; /* the libraries' counts are int */
        die("a block's elements");
    }
    size_t block = (size_t)count * sizeof(float);
    struct problem problem = {
        .source = memory_map(from * block),
        .destination = memory_map(to * block),
        .count = (int)count,
    };
    for (int start = 0; start < STARTS; start++) {
        if (!bench->starts[start] ||
            (start == START_BACK_TO_BACK && bytes > bench->back_to_back_most))
            continue;
        long wanted = probe(bench, &problem, (enum start)start);
        long done = measure(bench, &problem, (enum start)start, wanted);
        MPI_Reduce(bench->samples, bench->slowest, (int)done, MPI_UINT64_T, MPI_MAX, 0,
                   MPI_COMM_WORLD);
        if (bench->rank == 0)
            report(bench, blocks * block, (enum start)start, done);
    }
    memory_unmap(problem.source, from * block);
    memory_unmap(problem.destination, to * block);
}

/* The command line. */

static void usage(int rank)
{
    if (rank == 0)
        fprintf(stderr, "usage: peer [--budget SECONDS] [--least N] [--most N] [--spins N] "
                        "[--start barrier|back-to-back]... [--back-to-back-most BYTES] "
                        "COLLECTIVE BYTES[,BYTES...]\n");
    MPI_Finalize();
    exit(2);
}

static bool bench_start(struct bench *bench, const char *name)
{
    for (int start = 0; start < STARTS; start++) {
        if (strcmp(name, start_names[start]) == 0)
            return bench->starts[start] = true;
    }
    return false;
}

static void bench_options(struct bench *bench, int argc, char **argv)
{
    static const struct option options[] = {
        {"budget", required_argument, NULL, 'b'},
        {"least", required_argument, NULL, 'l'},
        {"most", required_argument, NULL, 'm'},
        {"spins", required_argument, NULL, 's'},
        {"start", required_argument, NULL, 'S'},
        {"back-to-back-most", required_argument, NULL, 'M'},
        {0},
    };
    for (int option; (option = getopt_long(argc, argv, "+", options, NULL)) != -1;) {
        if (option == 'b')
            bench->budget = atof(optarg);
        else if (option == 'l')
            bench->least = atol(optarg);
        else if (option == 'm')
            bench->most = atol(optarg);
        else if (option == 's')
            bench->spins = atol(optarg);
        else if (option == 'M')
            bench->back_to_back_most = strtoull(optarg, NULL, 10);
        else if (option != 'S' || !bench_start(bench, optarg))
            usage(bench->rank);
    }
    if (bench->least < 1 || bench->most < bench->least || argc - optind != 2)
        usage(bench->rank);
    if (!bench->starts[START_BACK_TO_BACK])
        bench->starts[START_BARRIER] = true;
    for (size_t i = 0; i < COLLECTIVES; i++) {
        if (strcmp(argv[optind], collectives[i].name) == 0)
            bench->collective = &collectives[i];
    }
    if (!bench->collective)
        usage(bench->rank);
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "--list") == 0) {
        for (size_t i = 0; i < COLLECTIVES; i++)
            puts(collectives[i].name);
        return 0;
    }
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* a launcher that is killed leaves no spinning ranks */
    MPI_Init(&argc, &argv);
    struct bench bench = {
        .spins = 300, .budget = 0.1, .least = 5, .most = 2000, .back_to_back_most = SIZE_MAX};
    MPI_Comm_rank(MPI_COMM_WORLD, &bench.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &bench.ranks);
    bench_options(&bench, argc, argv);

    long room = bench.most > PROBES_MOST ? bench.most : PROBES_MOST;
    bench.samples = calloc((size_t)room, sizeof(*bench.samples));
    bench.slowest = calloc((size_t)room, sizeof(*bench.slowest));
    if (!bench.samples || !bench.slowest)
        die("memory for samples");
    node_barrier_share(&bench);
    for (char *text = argv[optind + 1]; *text;) {
        size_t bytes = strtoull(text, &text, 10);
        if (*text && *text++ != ',')
            usage(bench.rank);
        bench_size(&bench, bytes);
    }
    if (bench.rank == 0)
        puts("done");
    fflush(stdout);
    free(bench.slowest);
    free(bench.samples);
    MPI_Finalize();
    return 0;
}
